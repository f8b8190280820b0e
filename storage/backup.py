"""Copies of the record: a database in use, or its ledgers as lines that anybody can check."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from storage.store import Store, sqlite_path
from storage.unit_of_work import UnitOfWork

PAGES_AT_ONCE: Final = 2_048


class NoBackup(Exception):
    """The backup cannot be made; the text says what to do instead."""


async def backup(url: str, target: Path) -> None:
    """Copy a SQLite database while it is in use; the copy is checked before it gets its name.

    Errors: `NoBackup` for PostgreSQL, whose own tool does it, and where the target is there
    already.
    """
    if not url.startswith("sqlite:///"):
        raise NoBackup(
            "PostgreSQL is backed up by its own tool: pg_dump --format=custom --file=TARGET DATABASE_URL"
        )
    if not Path(sqlite_path(url)).is_file():
        raise NoBackup(f"there is no database at {sqlite_path(url)}")
    if target.exists():
        raise NoBackup(f"{target} is there already; a backup never replaces a file")
    await asyncio.to_thread(_copy, sqlite_path(url), target)


def _copy(source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        origin, copy = sqlite3.connect(source), sqlite3.connect(part)
        try:
            origin.backup(copy, pages=PAGES_AT_ONCE)
            # One file, complete without a -wal beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
            verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        finally:
            copy.close()
            origin.close()
        if verdict != "ok":
            raise NoBackup(f"the copy is damaged: {verdict}")
        _flush(part)
        # A link, unlike a rename, fails where somebody made the target meanwhile.
        os.link(part, target)
        _flush(target.parent)
    except FileExistsError:
        raise NoBackup(f"{target} is there already; a backup never replaces a file") from None
    finally:
        part.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


async def export(store: Store, target: Path) -> dict[str, int]:
    """Write every ledger as JSON lines, each ending with its head; `storage.verify.verify_export`
    checks them offline.

    Shapes: a line is a row as it is stored, with `prev_hash` and `row_hash`, or `{"head":
    {public_id, seq, row_hash, created_at}}`. `row_hash` is the SHA-256 of the row without it, as
    ASCII JSON with sorted keys and no spaces. Answers `{ledgers, rows}`.
    """
    counts = {"ledgers": 0, "rows": 0}
    with target.open("x", encoding="utf-8") as out:
        for public_id in await store.read(lambda uow: uow.ledger.all_ids()):
            lines = await store.read(partial(_lines, public_id=public_id))
            out.writelines(json.dumps(line, sort_keys=True) + "\n" for line in lines)
            counts = {"ledgers": counts["ledgers"] + 1, "rows": counts["rows"] + len(lines) - 1}
    return counts


def _lines(uow: UnitOfWork, public_id: str) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = [
        {name: row[name] for name in row.keys()}  # noqa: SIM118  # a sqlite3.Row iterates over values
        for row in uow.ledger.rows_of(public_id)
    ]
    head = uow.ledger.head_row(public_id)
    told = {
        name: head[name] if head is not None else None for name in ("seq", "row_hash", "created_at")
    }
    return [*rows, {"head": {"public_id": public_id, **told}}]
