"""Notes in plain English that were written before the phrases that read them, and twins of those
phrases that mean something else.

`fresh_notes.txt`, `voices.txt`: a note, ` | `, and all that it says; `-` stands for an agent that
never asks. What a note says beyond doubt is there, whether it is read or not. `fresh_twins.txt`: a
clause of which nothing may be understood. `voices_doubtful.txt`: a note that contradicts, takes
back, asks or speaks of others, and the most that may be understood of it. The clock stands at 2026-11-20T12:00Z.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.domain.mandates.purpose.draft_notes import Row, n

_HERE: Final = Path(__file__).parent
_TEXTS: Final = frozenset({"budget", "tx", "day", "ask", "on"})


def _value(name: str, said: str) -> Any:
    if said == "-":
        return None
    if name == "markets":
        return said.split(",")
    return said if name in _TEXTS else int(said)


def _row(line: str) -> Row:
    note, _, terms = line.replace(r"\n", "\n").rpartition(" |")
    pairs = [pair.partition("=") for pair in terms.split()]
    return n(note, **{name: _value(name, said) for name, _, said in pairs})


def _lines(name: str) -> list[str]:
    return (_HERE / name).read_text(encoding="utf-8").splitlines()


FRESH: Final[tuple[Row, ...]] = tuple(_row(line) for line in _lines("fresh_notes.txt"))
VOICES: Final[tuple[Row, ...]] = tuple(_row(line) for line in _lines("voices.txt"))
DOUBTFUL: Final[tuple[Row, ...]] = tuple(_row(line) for line in _lines("voices_doubtful.txt"))
TWINS: Final[tuple[str, ...]] = tuple(_lines("fresh_twins.txt"))
