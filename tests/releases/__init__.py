"""Databases as earlier versions left them, and those versions themselves out of the repository's history."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Final

import asyncpg

from storage.sqlite_files import sqlite_path
from tests.house.sources import PACKAGES, ROOT

FOLDER: Final = Path(__file__).parent
COMMIT: Final = "0e3aafff071a21362b2944f2ee109f8a38c2e01a"
"""The version that left them: the first that serves beside a later one's tables."""
REVISION: Final = "0040"


def dump(kind: str) -> Path:
    """The file of a database, as SQL."""
    return FOLDER / f"{REVISION}_{kind}.sql.gz"


async def restored(url: str) -> None:
    """Put the database of then into an empty one."""
    kind = url.partition(":")[0]
    text = gzip.decompress(dump(kind).read_bytes()).decode()
    if kind == "sqlite":
        with closing(sqlite3.connect(sqlite_path(url))) as file:
            file.executescript(text)
        return
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(text)
    finally:
        await connection.close()


def unpacked(folder: Path, *, tests: bool = False) -> Path | None:
    """The version's own code in a folder; None where the clone's history does not reach so far."""
    names = [*PACKAGES, "pyproject.toml", *(["tests", "contracts", "docs"] if tests else [])]
    command = ["git", "archive", COMMIT, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        return None
    packed = folder / "code.tar"
    packed.write_bytes(done.stdout)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()
    return folder
