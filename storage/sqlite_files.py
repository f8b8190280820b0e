"""SQLite files: the path in a URL, its creation, and the settings of every connection."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from storage.errors import is_locked

# How long opening a file waits; a write waits as `DatabaseTimeouts` say.
OPEN_WAIT_MS: Final = 30_000
WAL_WAIT_MS: Final = 20
MOVED: Final = "its file was moved or replaced; what uses it has to start again"


def sqlite_path(url: str) -> str:
    """The file behind a sqlite URL."""
    return url.removeprefix("sqlite:///")


def file_at(path: str) -> tuple[int, int] | None:
    """Which file stands there, whatever it holds; None where there is none."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_dev, there.st_ino


def make_private(path: str) -> None:
    """Make the file of a database, where there is none, for its owner alone: SQLite gives the files
    beside it the same rights.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def connect_sqlite(
    path: str, *, reads_only: bool = False, wait_ms: int = OPEN_WAIT_MS
) -> sqlite3.Connection:
    """One connection with the settings every process uses: WAL, full durability, foreign keys.
    Units: `wait_ms` milliseconds to wait for another holder of the file, now and at each statement.
    """
    make_private(path)
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    connection.row_factory = sqlite3.Row
    _use_wal(connection, wait_ms)
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # Without it INSERT OR REPLACE deletes past the triggers that keep the ledger append-only.
    connection.execute("PRAGMA recursive_triggers = ON")
    if reads_only:
        connection.execute("PRAGMA query_only = ON")
    return connection


def _use_wal(connection: sqlite3.Connection, wait_ms: int) -> None:
    """Switch to WAL; the first switch of a file does not wait for a second process by itself."""
    connection.execute(f"PRAGMA busy_timeout = {WAL_WAIT_MS}")
    until = time.monotonic() + wait_ms / 1_000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() >= until:
                raise
            time.sleep(WAL_WAIT_MS / 1_000)
        else:
            return
