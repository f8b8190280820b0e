"""A PostgreSQL of the benchmarks: the binaries that the tests use, with every commit on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from tests import databases

DURABLE: Final = (
    "fsync=on", "synchronous_commit=on", "shared_buffers=128MB", "max_connections=100",
    "unix_socket_directories=", "listen_addresses=127.0.0.1",
)  # fmt: skip


@asynccontextmanager
async def durable_postgres() -> AsyncIterator[str]:
    """A server; its URL without a database. Errors: RuntimeError where there are no binaries."""
    binaries = databases._binaries()
    if binaries is None:
        raise RuntimeError("no PostgreSQL: neither on PATH, nor of Debian, nor the pgserver wheel")
    running = databases.running_postgres(binaries, DURABLE)
    url = await asyncio.to_thread(running.__enter__)
    try:
        yield url
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


async def new_database(server: str, name: str, *, template: str = "template0") -> str:
    """The URL of a new database, empty or a copy."""
    connection = await asyncpg.connect(server + "/postgres")
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    finally:
        await connection.close()
    return f"{server}/{name}"
