"""The note reader: a sentence, the longest note, and how the cost grows with the length."""

from __future__ import annotations

import time

from bench.lines import Found
from bench.stage import median
from domain.mandates.notes.draft import NOTE_MAX, parse_note
from tests.domain.mandates.notes.test_forty import CHAIN, FORTY, MARKETS

ROUNDS = 9
REPEATED = (
    "a ",
    "1,",
    "50 per trade ",
    "stop if it drops ",
    "BTC and ",
    "hundred and ",
    ". ",
    "? ",
    "for 5 days ",
    "x",
)


def ms(note: str) -> float:
    """Milliseconds of CPU of one reading, the middle of several."""
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        parse_note(note, markets=MARKETS, chain_id=CHAIN)
        spent.append((time.process_time() - start) * 1_000)
    return median(spent)


def of_length(length: int) -> list[float]:
    """What notes of a length take that are made to be slow, or are forty notes on end."""
    forty = ". ".join(note for note, *_ in FORTY) + ". "
    return [ms((piece * length)[:length]) for piece in (*REPEATED, forty)]


async def measure() -> Found:
    """A sentence, 2,000 characters, and how much more they take than twice 1,000."""
    ms("500 USDC")  # the forms are made when the first note is read
    whole, half = of_length(NOTE_MAX), of_length(NOTE_MAX // 2)
    return {
        "note_sentence_ms": (max(ms(note) for note, *_ in FORTY), "ms (at most 1)"),
        "note_longest_ms": (max(whole), "ms (at most 5)"),
        "note_longest_over_two_halves": (sum(whole) / (2 * sum(half)), "times (at most 1.5)"),
    }
