"""The file that keeps the development chain between two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_journal(journal: Path, chain_id: int) -> list[dict[str, Any]]:
    """The entries of a journal, the first of which says how the chain began; none where there is
    no journal yet.

    A last line that a crash cut short is cut away from the file.
    Errors: ValueError for a file that is not a journal of this chain id.
    """
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    if lines and not lines[-1].endswith(b"\n"):
        with journal.open("r+b") as file:
            file.truncate(sum(map(len, lines[:-1])))
        del lines[-1]
    entries = [json.loads(line) for line in lines]
    if entries and (entries[0].get("chain_id") != chain_id or "genesis" not in entries[0]):
        raise ValueError(f"{journal} is not a journal of chain {chain_id}")
    return entries
