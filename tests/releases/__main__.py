"""Make the files anew, with the code of then: `python -m tests.releases`."""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.databases import _QUICK, _binaries, _run, _sql, running_postgres
from tests.releases import FOLDER, dump, unpacked


def write(kind: str, text: str) -> None:
    dump(kind).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def live(tree: Path, url: str) -> None:
    env = {"PATH": os.defpath, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", str(FOLDER / "life.py"), url]
    subprocess.run(command, cwd=tree, env=env, check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        tree, file = unpacked(Path(scratch), tests=True), Path(scratch) / "w.sqlite"
        assert tree, "the commit is not in this clone"
        live(tree, f"sqlite:///{file}")
        with closing(sqlite3.connect(file)) as lived:
            write("sqlite", "\n".join(lived.iterdump()))
        binaries = _binaries()
        assert binaries
        with running_postgres(binaries, _QUICK) as server:
            _run(_sql(server + "/postgres", "CREATE DATABASE lived"))
            live(tree, server + "/lived")
            words = ["--inserts", "--no-owner", "--no-privileges", "--rows-per-insert=50"]
            command = [binaries / "pg_dump", *words, server + "/lived"]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # What is for psql alone, or of the server's own version.
        write("postgresql", re.sub(r"(?m)^(--.*|\\.*|SELECT pg_catalog.set_config.*|)\n", "", text))


if __name__ == "__main__":
    main()
