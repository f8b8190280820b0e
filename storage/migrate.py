"""Bringing a database to this version's schema."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from storage.store import sqlite_path


def upgrade(url: str, revision: str = "head") -> None:
    """Run the missing revisions. Runs its own event loop for PostgreSQL: call it from a thread inside one."""
    _on(url, lambda connection: command.upgrade(_config(connection), revision))


def current(url: str) -> str | None:
    """The revision a database is at, None for an empty one."""
    return str(found) if (found := _on(url, lambda c: MigrationContext.configure(c).get_current_revision())) else None


def latest() -> str:
    """The revision of this version."""
    from alembic.script import ScriptDirectory

    head = ScriptDirectory.from_config(_config(None)).get_current_head()
    if head is None:
        raise LookupError("no revision")
    return head


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def _on(url: str, work: Any) -> Any:
    if url.startswith("sqlite:///"):
        Path(sqlite_path(url)).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url)
        try:
            with engine.begin() as connection:
                return work(connection)
        finally:
            engine.dispose()
    return asyncio.run(_on_postgres(url, work))


async def _on_postgres(url: str, work: Any) -> Any:
    engine = create_async_engine("postgresql+asyncpg://" + url.partition("://")[2])
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()
