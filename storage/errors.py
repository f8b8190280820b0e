"""Database errors, told apart from our own mistakes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
DAMAGED: Final = "its file is damaged"
_SQLITE: Final = {
    sqlite3.SQLITE_BUSY: "another process holds its lock",
    sqlite3.SQLITE_LOCKED: "another process holds its lock",
    sqlite3.SQLITE_NOMEM: "it is out of memory",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
    sqlite3.SQLITE_PERM: "it cannot be written to",
    sqlite3.SQLITE_INTERRUPT: "it was interrupted",
    sqlite3.SQLITE_IOERR: "its disk fails",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_CANTOPEN: "its file does not open",
    sqlite3.SQLITE_PROTOCOL: "another process holds its lock",
}
# PostgreSQL, appendix A. Classes whole, then single states.
_CLASSES: Final = {
    "08": "it cannot be reached",
    "53": "it is out of resources",
    "57": "it is going down or stopped the statement",
    "58": "its system fails",
    "XX": "it is damaged",
}
_STATES: Final = {
    "53100": "its disk is full",
    "53300": "it has too many connections",
    "25P03": "it ended the transaction",
    "25006": "it cannot be written to",
    "42501": "its user lacks the rights for that",
    "40001": "others write the same rows",
    "40P01": "others write the same rows",
    "55P03": "somebody holds its lock",
    "57014": "it takes too long",
    "57P03": "it is starting or going down",
}
# Of a connection alone.
_REFUSED: Final = {
    "42": "its address has an option that it does not know",
    "28": "it lets this user not in",
    "3D": "it has no database of this name",
}


class Unavailable(Exception):
    """The database gives no answer, and that is not the caller's doing nor a mistake of ours.

    `unknown` is true where the commit had been sent: what was asked may be stored all the same.
    Everywhere else nothing is. `why` is for people, and names neither host nor file.
    """

    def __init__(self, reason: str, *, unknown: bool = False):
        super().__init__(reason)
        self.why, self.unknown = reason, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTimeouts:
    """Time limits of the database and the size of its pool. Units: `wait_ms` milliseconds for a
    lock, a connection or a place in the pool; `statement_ms` for a statement. `pool` is the number
    of connections that a process keeps to PostgreSQL, `statement_cache` the number of prepared
    statements that a connection keeps; 0 behind a pooler that hands its connections over at every
    transaction and knows none.
    """

    wait_ms: int = 5_000
    statement_ms: int = 15_000
    pool: int = 16
    statement_cache: int = 100


class NoBackup(Exception):
    """A backup, heads or an export cannot be made, or a backup not restored; the text says why."""


def sqlite_trouble(error: BaseException) -> str | None:
    """Name the trouble of the database; None for a mistake in a statement.

    Source: https://www.sqlite.org/rescode.html, primary result codes.
    """
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # the driver's own, of which this one is no mistake in a statement
        return DAMAGED if str(error).startswith("Could not decode to UTF-8") else None
    return _SQLITE.get(code & 0xFF)


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOCKED


def is_read_only_error(error: BaseException) -> bool:
    """Whether something was to be written where nothing may be."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_READONLY or sqlstate(error) == "25006"


def postgres_trouble(error: BaseException) -> str | None:
    """Name the trouble of the database; None for a mistake in a statement.

    Source: https://www.postgresql.org/docs/current/errcodes-appendix.html.
    """
    if isinstance(error, TimeoutError):
        return "it takes too long"
    if isinstance(error, OSError):
        return "it cannot be reached"
    state = sqlstate(error)
    if state is None:
        return None
    return _STATES.get(state) or _CLASSES.get(state[:2])


def refusal_of(error: BaseException) -> str:
    """The reason for which a server refuses a connection, in words of ours; the server's own may
    quote the address.
    """
    state = sqlstate(error) or ""
    return (
        postgres_trouble(error) or _REFUSED.get(state[:2]) or f"it refuses the connection ({state})"
    )


def trouble_of(error: BaseException) -> str | None:
    """Name the trouble of the database, whichever layer tells of it; None for any other error."""
    if isinstance(error, Unavailable):
        return error.why
    for cause in (error, getattr(error, "orig", None)):
        if isinstance(cause, sqlite3.Error):
            return sqlite_trouble(cause)
    return None if sqlstate(error) is None else postgres_trouble(error)


def missing_part(error: BaseException) -> str | None:
    """The table or column that a statement of ours names and the database lacks; None for another
    error. A database of another build can lack it at the same revision.
    """
    text = str(error).splitlines()[0] if str(error) else ""
    if isinstance(error, sqlite3.OperationalError):
        return text if text.startswith(("no such table", "no such column")) else None
    return text if sqlstate(error) in ("42P01", "42703") else None


def sqlstate(error: BaseException) -> str | None:
    """The five characters that PostgreSQL gave, wherever the driver put them."""
    for cause in (error, getattr(error, "orig", None), error.__cause__):
        state = getattr(cause, "sqlstate", None)
        if isinstance(state, str):
            return state
    return None


@contextmanager
def sqlite_faults() -> Iterator[None]:
    """Raise `Unavailable` in place of what SQLite says where the database is to blame."""
    try:
        yield
    except sqlite3.Error as error:
        why = sqlite_trouble(error)
        if why is None:
            raise
        raise Unavailable(why) from error
