"""Schema revision of a database, read from its own table, without the migration tools."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from anyio import to_thread

from storage.errors import Unavailable, postgres_trouble, sqlite_trouble

REACHED_S: Final = 10
_VERSIONED: Final = "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
_REVISIONS: Final = Path(__file__).parents[1] / "migrations" / "versions"


def latest() -> str:
    """The newest revision that this version ships; their files are named for them."""
    names = (re.match(r"r(\d{4})_", path.name) for path in _REVISIONS.glob("r*.py"))
    return max(found[1] for found in names if found)


async def revision(url: str) -> str | None:
    """The revision that a database is at, None for one that is missing or empty; nothing is
    written.

    Errors: `Unavailable` where it cannot be asked; ValueError for an address of neither kind.
    """
    if url.startswith("sqlite:///"):
        try:
            return await to_thread.run_sync(on_sqlite, url.removeprefix("sqlite:///"))
        except sqlite3.Error as error:
            raise Unavailable(sqlite_trouble(error) or str(error)) from error
    if url.startswith(("postgresql://", "postgres://")):
        return await on_postgres(url)
    raise ValueError("it begins with sqlite:/// or postgresql://")


def is_older(at: str) -> bool:
    """Whether this version knows how to upgrade from a revision."""
    return at.isdigit() and at < latest()


def on_sqlite(path: str) -> str | None:
    """The revision that a SQLite file is at, None for one that is missing or empty."""
    if not Path(path).exists():
        return None
    uri = f"{Path(path).absolute().as_uri()}?mode=rw"  # which makes no file
    with closing(sqlite3.connect(uri, timeout=30, uri=True)) as connection:
        if not connection.execute(_VERSIONED).fetchone():
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])


async def on_postgres(url: str) -> str | None:
    """The revision that a PostgreSQL database is at, None for an empty one.

    Errors: `Unavailable` where it cannot be reached.
    """
    import asyncpg  # which a process on SQLite never loads
    from asyncpg.exceptions import InterfaceError, InternalClientError, PostgresError

    # Behind a pooler the next statement may be on another connection.
    try:
        connection = await asyncpg.connect(url, statement_cache_size=0, timeout=REACHED_S)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError) as error:
        raise Unavailable(postgres_trouble(error) or "it cannot be reached") from error
    except (PostgresError, InterfaceError, InternalClientError, ValueError) as error:
        raise Unavailable(" ".join(str(error).split())) from error
    try:
        found: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    finally:
        await connection.close()
    return found
