"""Schema revision of a database, read from its own table, without the migration tools."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from anyio import to_thread

from storage.errors import DAMAGED, Unavailable, postgres_trouble, refusal_of, sqlite_trouble

REACHED_S: Final = 10
# An address of PostgreSQL of which it is plain what is user and password, host, name and options.
_PLAIN: Final = re.compile(
    r"postgres(?:ql)?://(?:[^/?#]*@)?"
    r"((?:[\w.-]+|\[[\da-fA-F:.%]+\])?(?::\d*)?(?:,[\w.-]+(?::\d*)?)*(?:/[\w.%-]*)?)(?:[?#][^@]*)?"
)
UNNAMED: Final = "of WALLET_DATABASE_URL"
NO_ADDRESS: Final = (
    "its address is none of a PostgreSQL database, or a file that it names is not there"
)
FOREIGN: Final = "it holds tables of something else, or only a part of this service's"
# SQL_ASCII keeps any bytes as they come.
_ENCODINGS: Final = ("UTF8", "SQL_ASCII")
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_OURS: Final = "mandates"
# A revision: its number, and where older code works on its tables too, the number that has to know.
_ID: Final = re.compile(r"(\d{4})(?:_(\d{4}))?")
_REVISIONS: Final = Path(__file__).parents[1] / "migrations" / "versions"


def _shipped() -> list[str]:
    """The revisions that this version ships; their files are named for them."""
    names = (re.match(r"r(\d{4}(?:_\d{4})?)_", path.name) for path in _REVISIONS.glob("r*.py"))
    return [match[1] for match in names if match]


def latest() -> str:
    """The newest revision that this version ships."""
    return max(_shipped())


def database_name(url: str) -> str:
    """The place of a database, for people: without user, password and options. Where the parts of
    an address are not plain, none is shown: any part might be of the password.
    """
    if url.startswith("sqlite:///"):
        return url
    match = _PLAIN.fullmatch(url)
    return match[1] if match and match[1] else UNNAMED


async def revision(url: str) -> str | None:
    """The revision that a database is at, None for one that is missing or empty; nothing is
    written.

    Errors: `Unavailable` where it cannot be asked or is of something else;
    ValueError for an address of neither kind.
    """
    if url.startswith("sqlite:///"):
        try:
            return await to_thread.run_sync(on_sqlite, url.removeprefix("sqlite:///"))
        except sqlite3.Error as error:
            raise Unavailable(sqlite_trouble(error) or FOREIGN) from error
        except UnicodeDecodeError as error:  # of what SQLite says of a name
            raise Unavailable(DAMAGED) from error
    if url.startswith(("postgresql://", "postgres://")):
        return await on_postgres(url)
    raise ValueError("it begins with sqlite:/// or postgresql://")


def is_newer(at: str) -> bool:
    """Whether a revision is none that this version can work on. Of one that came later it can where
    that one says so in its name: `0041_0039` only added to what a version at 0039 knows.
    """
    match = _ID.fullmatch(at)
    return match is None or (match[2] or match[1]) > latest()[:4]


def is_enough(at: str | None) -> bool:
    """Whether this version can work on a revision as it is: its own, or a later one's tables."""
    return at is not None and at >= latest() and not is_newer(at)


def is_before_first(at: str) -> bool:
    """Whether a revision is of the development before the first, from where no upgrade leads."""
    return at[:4] < min(_shipped())[:4]


def on_sqlite(path: str) -> str | None:
    """The revision that a SQLite file is at, None for one that is missing or empty."""
    if not Path(path).exists():
        return None
    uri = f"{Path(path).absolute().as_uri()}?mode=rw"  # which makes no file
    with closing(sqlite3.connect(uri, timeout=30, uri=True)) as connection:
        tables = {name for (name,) in connection.execute(_TABLES)}
        if not tables:
            return None
        if not tables >= {"alembic_version", _OURS}:
            raise Unavailable(FOREIGN)
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if row is None:
        raise Unavailable(FOREIGN)
    return str(row[0])


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
    except (InterfaceError, InternalClientError, ValueError, OverflowError) as error:
        # What the driver says of an address quotes it.
        raise Unavailable(NO_ADDRESS) from error
    except PostgresError as error:
        raise Unavailable(refusal_of(error)) from error
    try:
        encoding = getattr(connection.get_settings(), "server_encoding", "UTF8")
        if encoding not in _ENCODINGS:
            raise Unavailable(
                f"its encoding is {encoding}, which lacks letters: make it with "
                "`createdb --template=template0 --encoding=UTF8 --locale=C`"
            )
        ours: bool = await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", _OURS)
        try:
            version = await connection.fetchval("SELECT version_num FROM alembic_version")
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):
            version = None
    except PostgresError as error:
        raise Unavailable(refusal_of(error)) from error
    finally:
        await connection.close()
    if ours != (version is not None):
        raise Unavailable(FOREIGN)
    return None if version is None else str(version)
