"""Backups: a copy of a database in use, its way back, and an export of its ledgers that anyone can
verify.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import aiosqlite
import anyio

from storage.errors import DAMAGED, NoBackup, sqlite_trouble
from storage.feed.row_stream import LongReader, long_reader, sqlite_on_thread
from storage.repositories.event_row import COLUMNS
from storage.repositories.ledger import ALL_IDS, ROWS_OF
from storage.repositories.ledger_queries import ALL_HEADS, HEAD
from storage.schema.revision import on_sqlite
from storage.sqlite_files import sqlite_path
from storage.store import Store

# What systems answer to a link on a file system that has none.
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


async def backup(url: str, target: Path) -> None:
    """Copy a SQLite database while it is in use; the copy is checked before it gets its name.

    Errors: `NoBackup` for PostgreSQL, whose own tool does it, and where the target is there
    already.
    """
    if not url.startswith("sqlite:///"):
        raise NoBackup(
            "PostgreSQL is backed up by its own tool: pg_dump --format=custom --file=TARGET "
            "DATABASE_URL"
        )
    if not Path(sqlite_path(url)).is_file():
        raise NoBackup(f"there is no database at {sqlite_path(url)}")
    async with (
        _new_file(target, "a backup never replaces a file") as part,
        sqlite_on_thread(sqlite_path(url), reads_only=False) as origin,
    ):
        await _copy(origin, part)


@asynccontextmanager
async def restored(source: Path, url: str) -> AsyncIterator[str]:
    """Copy a backup for a database that is not there; yields the URL of the copy, which gets its
    name at the end of the block, and not at all where that fails. The backup stays as it is.

    Errors: `NoBackup` for PostgreSQL, whose own tool does it, without a backup, and where a
    database, or a journal of one, is there already.
    """
    if not url.startswith("sqlite:///"):
        raise NoBackup(
            "PostgreSQL is restored by its own tool: pg_restore --exit-on-error "
            "--single-transaction --dbname=DATABASE_URL BACKUP, into an empty database"
        )
    if not source.is_file() or on_sqlite(str(source)) is None:
        raise NoBackup(f"there is no backup at {source}")
    target = Path(sqlite_path(url))
    # SQLite would play what stands in a journal into whatever database has its name.
    for name in (target.with_name(target.name + end) for end in ("", "-wal", "-shm", "-journal")):
        if name.exists():
            raise NoBackup(
                f"{name} is there already; a restore never replaces a database: end what uses it, "
                "and move it away"
            )
    async with _new_file(target, "a restore never replaces a database") as part:
        uri = f"{source.absolute().as_uri()}?mode=ro"
        async with aiosqlite.connect(uri, uri=True) as origin:
            await _copy(origin, part)
        yield f"sqlite:///{part}"
        async with aiosqlite.connect(part) as copy:
            await _in_one_file(copy)


@asynccontextmanager
async def _new_file(target: Path, reason: str) -> AsyncIterator[Path]:
    """A file that gets its name at the end of the block, once it is on the disk. Others cannot read
    it: it holds every key's hash and every session. Errors: `NoBackup` where the name is taken.
    """
    if target.exists():
        raise NoBackup(f"{target} is there already; {reason}")
    await anyio.to_thread.run_sync(partial(target.parent.mkdir, parents=True, exist_ok=True))
    # A name of its own: two that are made at the same time would write into one file.
    handle, name = tempfile.mkstemp(".part", target.name + ".", target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        await anyio.to_thread.run_sync(_publish, part, target, reason)
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            part.with_name(part.name + end).unlink(missing_ok=True)


async def _copy(origin: aiosqlite.Connection, part: Path) -> None:
    """Copy in one step, on connections of their own. Between the steps of a copy in several steps
    every write of another process starts it over, so that it never ends while there are writers;
    one step holds one snapshot, and no writer waits for it.
    """
    try:
        async with aiosqlite.connect(part) as copy:
            await origin.backup(copy, pages=-1)
            await _in_one_file(copy)
            verdict = await (await copy.execute("PRAGMA integrity_check")).fetchone()
    except sqlite3.Error as error:
        if (why := sqlite_trouble(error)) is None:
            raise
        raise NoBackup(f"no copy was made: {why}") from error
    if verdict is None or verdict[0] != "ok":
        raise NoBackup(f"no copy was made: {DAMAGED}")


async def _in_one_file(copy: aiosqlite.Connection) -> None:
    """Make one file of it, complete without a -wal beside it."""
    await copy.execute("PRAGMA journal_mode = DELETE")


def _publish(part: Path, target: Path, reason: str) -> None:
    """Give the copy its name, once it is on the disk."""
    _flush(part)
    try:
        try:
            # A link, unlike a rename, fails where somebody made the target meanwhile.
            os.link(part, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # FAT, exFAT and some shares have none: an empty file that is ours takes the name first.
            os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o600))
            os.replace(part, target)
    except FileExistsError:
        raise NoBackup(f"{target} is there already; {reason}") from None
    _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


async def write_heads(source: Store | str, target: Path) -> dict[str, object]:
    """Write the head of every ledger, for `verify` to be held against later.

    Shapes: a JSON line a ledger, `{public_id, seq, row_hash}`, in the order of the ids. Answers
    `{ledgers, sha256}`; the hash is that of the file, to be kept where nobody can change it.
    """
    url = source if isinstance(source, str) else source.url
    async with long_reader(url) as reader, reader.snapshot():
        lines = [
            json.dumps({name: row[name] for name in ("public_id", "seq", "row_hash")}) + "\n"
            async for row in reader.rows(ALL_HEADS)
        ]
    text = "".join(lines).encode()
    async with _new_file(target, "heads never replace a file") as part:
        part.write_bytes(text)
    return {"ledgers": len(lines), "sha256": hashlib.sha256(text).hexdigest()}


async def export(source: Store | str, target: Path) -> dict[str, int]:
    """Write every ledger as JSON lines, each ending with its head, for `verify_export` to check
    offline.

    Shapes: a line is a row as it is stored, with `prev_hash` and `row_hash`, or `{"head":
    {public_id, seq, row_hash, created_at}}`. `row_hash` is the SHA-256 of the row without it, as
    ASCII JSON with sorted keys and no spaces. Answers `{ledgers, rows}`.
    """
    url = source if isinstance(source, str) else source.url
    counts = {"ledgers": 0, "rows": 0}
    async with _new_file(target, "an export never replaces a file") as part:
        with part.open("w", encoding="utf-8") as out:
            async with long_reader(url) as reader:
                async with reader.snapshot():
                    ids = [str(row["public_id"]) async for row in reader.rows(ALL_IDS)]
                for public_id in ids:
                    async for line in _lines(reader, public_id):
                        out.write(json.dumps(line, sort_keys=True, default=repr) + "\n")
                        counts["rows"] += "head" not in line
                    counts["ledgers"] += 1
    return counts


async def _lines(reader: LongReader, public_id: str) -> AsyncIterator[Mapping[str, object]]:
    """One ledger on one snapshot: its rows, then its head."""
    async with reader.snapshot():
        async for row in reader.rows(ROWS_OF, public_id=public_id):
            yield {name: row[name] for name in COLUMNS}
        head: dict[str, object] = {"public_id": public_id}
        head |= dict.fromkeys(("seq", "row_hash", "created_at"))
        async for row in reader.rows(HEAD, public_id=public_id):
            head |= {name: row[name] for name in ("seq", "row_hash", "created_at")}
        yield {"head": head}
