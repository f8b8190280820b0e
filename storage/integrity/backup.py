"""Backups: a copy of a database in use, and an export of its ledgers that anyone can verify."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import aiosqlite
import anyio

from storage.feed.row_stream import LongReader, long_reader, sqlite_on_thread
from storage.repositories.event_row import COLUMNS
from storage.repositories.ledger import ALL_IDS, ROWS_OF
from storage.repositories.ledger_queries import HEAD
from storage.sqlite_files import sqlite_path
from storage.store import Store


class NoBackup(Exception):
    """The backup cannot be made; the text says what to do instead."""


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
    if target.exists():
        raise NoBackup(f"{target} is there already; a backup never replaces a file")
    await anyio.to_thread.run_sync(partial(target.parent.mkdir, parents=True, exist_ok=True))
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    # Whoever can read the copy can read every key's hash and every session.
    part.touch(mode=0o600, exist_ok=False)
    try:
        await _copy(sqlite_path(url), part)
        await anyio.to_thread.run_sync(_publish, part, target)
    finally:
        part.unlink(missing_ok=True)


async def _copy(source: str, part: Path) -> None:
    """Copy in one step, on connections of their own. Between the steps of a copy in several steps
    every write of another process starts it over, so that it never ends while there are writers;
    one step holds one snapshot, and no writer waits for it.
    """
    async with (
        sqlite_on_thread(source, reads_only=False) as origin,
        aiosqlite.connect(part) as copy,
    ):
        await origin.backup(copy, pages=-1)
        # One file, complete without a -wal beside it.
        await copy.execute("PRAGMA journal_mode = DELETE")
        (verdict,) = await (await copy.execute("PRAGMA integrity_check")).fetchone() or ("nothing",)
    if verdict != "ok":
        raise NoBackup(f"the copy is damaged: {verdict}")


def _publish(part: Path, target: Path) -> None:
    """Give the copy its name, once it is on the disk."""
    _flush(part)
    try:
        # A link, unlike a rename, fails where somebody made the target meanwhile.
        os.link(part, target)
    except FileExistsError:
        raise NoBackup(f"{target} is there already; a backup never replaces a file") from None
    _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


async def export(source: Store | str, target: Path) -> dict[str, int]:
    """Write every ledger as JSON lines, each ending with its head, for `verify_export` to check
    offline.

    Shapes: a line is a row as it is stored, with `prev_hash` and `row_hash`, or `{"head":
    {public_id, seq, row_hash, created_at}}`. `row_hash` is the SHA-256 of the row without it, as
    ASCII JSON with sorted keys and no spaces. Answers `{ledgers, rows}`.
    """
    url = source if isinstance(source, str) else source.url
    counts = {"ledgers": 0, "rows": 0}
    created = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(created, "w", encoding="utf-8") as out:
        async with long_reader(url) as reader:
            async with reader.snapshot():
                ids = [str(row["public_id"]) async for row in reader.rows(ALL_IDS)]
            for public_id in ids:
                async for line in _lines(reader, public_id):
                    out.write(json.dumps(line, sort_keys=True) + "\n")
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
