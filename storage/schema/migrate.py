"""Migrations: bring a database to this version's schema."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from storage.errors import Unavailable, sqlite_faults, sqlstate, trouble_of
from storage.sqlite_files import OPEN_WAIT_MS, connect_sqlite, sqlite_path

_LOCK: Final = 0x6D616E64617465  # "mandate": one upgrade at a time on PostgreSQL
# Whoever waits for a table's lock holds up all that come after it: so long, then again from the
# start, with a pause in which the others work.
_LOCK_MS: Final = 1_000
_TRIES: Final = 10
_PAUSE_S: Final = 1
_IN_THE_WAY: Final = frozenset({"55P03", "40P01"})


def upgrade(url: str) -> None:
    """Run the missing revisions, all or none; a second process that upgrades waits for the first.

    Runs its own event loop for PostgreSQL: call it from a thread where one runs already.
    Errors: `Unavailable` where the database is to blame, or others hold the tables of a PostgreSQL
    again and again; nothing is changed then.
    """

    def work(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_LOCK_MS}")
        command.upgrade(_config(connection), "head")

    for attempt in range(1, _TRIES + 1):
        try:
            _on(url, work)
        except DBAPIError as error:
            if sqlstate(error) not in _IN_THE_WAY:
                if (why := trouble_of(error)) is None:
                    raise
                raise Unavailable(why) from error
            if attempt == _TRIES:
                raise Unavailable("others hold its tables") from error
            time.sleep(_PAUSE_S)
        else:
            return


def _config(connection: Connection) -> Config:
    config = Config()
    # A % in a path would be read as interpolation.
    config.set_main_option(
        "script_location", str(Path(__file__).parents[1] / "migrations").replace("%", "%%")
    )
    config.attributes["connection"] = connection
    return config


def _on(url: str, work: Callable[[Connection], None]) -> None:
    if url.startswith("sqlite:///"):
        # The file keeps the journal mode: whoever opens it later finds WAL.
        with sqlite_faults():
            connect_sqlite(sqlite_path(url)).close()
        engine = _sqlite_engine(url)
        try:
            with engine.begin() as connection:
                work(connection)
        finally:
            engine.dispose()
        return
    asyncio.run(_on_postgres(url, work))


def _sqlite_engine(url: str) -> Engine:
    """An engine whose transactions hold the write lock from their start and take the DDL in as
    well.
    """
    engine = create_engine(
        url, connect_args={"timeout": OPEN_WAIT_MS / 1_000, "isolation_level": None}
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


async def _on_postgres(url: str, work: Callable[[Connection], None]) -> None:
    import asyncpg  # which a process on SQLite never loads

    # The driver reads the address, as everywhere: two readers would understand it in two ways.
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=partial(asyncpg.connect, url)
    )
    try:
        async with engine.begin() as connection:
            await connection.run_sync(work)
    finally:
        await engine.dispose()
