"""What revision a database is at: told from its own table, without the migration tools."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from anyio import to_thread

_VERSIONED: Final = "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
_REVISIONS: Final = Path(__file__).parent / "migrations" / "versions"


def latest() -> str:
    """The newest revision that this version ships; their files are named for them."""
    names = (re.match(r"r(\d{4})_", path.name) for path in _REVISIONS.glob("r*.py"))
    return max(found[1] for found in names if found)


def is_latest(path: str) -> bool:
    """True where the file is at that revision; False where it is not, or cannot be asked."""
    try:
        return on_sqlite(path) == latest()
    except sqlite3.Error:
        return False


async def revision(url: str) -> str | None:
    """The revision that a database is at, None for one that is missing or empty; nothing is
    written.

    Errors: the driver's own, where it cannot be asked.
    """
    if url.startswith("sqlite:///"):
        return await to_thread.run_sync(on_sqlite, url.removeprefix("sqlite:///"))
    return await on_postgres(url)


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
    """The revision that a PostgreSQL database is at, None for an empty one."""
    import asyncpg  # which a process on SQLite never loads

    # Behind a pooler the next statement may be on another connection.
    connection = await asyncpg.connect(url, statement_cache_size=0)  # type: ignore[no-untyped-call]
    try:
        found: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    finally:
        await connection.close()
    return found
