"""What revision a database is at: told from its own table, without the migration tools."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

_REVISIONS: Final = Path(__file__).parent / "migrations" / "versions"


def latest() -> str:
    """The newest revision that this version ships; their files are named for them."""
    names = (re.match(r"r(\d{4})_", path.name) for path in _REVISIONS.glob("r*.py"))
    return max(found[1] for found in names if found)


def is_latest(path: str) -> bool:
    """True where the file is at that revision; False where it is not, or cannot be asked."""
    if not Path(path).exists():
        return False
    try:
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except sqlite3.Error:
        return False
    return rows == [(latest(),)]


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
