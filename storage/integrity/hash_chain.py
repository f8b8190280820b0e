"""Hash chain: rows that are numbered from 1, each naming the hash of the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from storage.sql import Row


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A deviation in the stored record; `of` is a mandate's public id, an agent's id, a paper book
    or a snapshot's hash, `seq` the row, if one.
    """

    of: str
    seq: int | None
    what: str


class HashChain:
    """A chain that is read from its first row on; `noun` is what a row is called in a finding."""

    def __init__(self, noun: str):
        self._noun, self.number, self.hash = noun, 0, ""

    def step(self, number: int, row: Row, *, has_its_hash: bool) -> Iterator[tuple[int, str]]:
        """The faults of the next row, each with the number that it is about."""
        expected, before = self.number + 1, self.hash
        self.number, self.hash = number, str(row["row_hash"])
        if number != expected:
            yield expected, f"{self._noun} {expected} is missing"
        if row["prev_hash"] != before:
            yield number, f"the previous hash is not that of the {self._noun} before"
        if not has_its_hash:
            yield number, f"the {self._noun} does not have its hash"
