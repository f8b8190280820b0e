"""Paper codec: rows of paper books, their entries and snapshots."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from domain.trading.paper.entries import (
    DelistedClose,
    Entry,
    EntryPayload,
    Filled,
    Funded,
    Gap,
    Liquidated,
    Model,
    PaperBook,
)
from domain.trading.venue_values import Level, OrderBook
from storage.codec import Codecs, Table
from storage.sql import Row, canonical, moment

COLUMNS: Final = (
    "book", "n", "kind", "ref", "at", "snapshot", "body", "prev_hash", "row_hash",
)  # fmt: skip
_KINDS: Final[Mapping[str, type[EntryPayload]]] = {
    "fill": Filled, "funding": Funded, "liquidation": Liquidated, "settlement": DelistedClose,
    "gap": Gap,
}  # fmt: skip
NAMES: Final = {made: kind for kind, made in _KINDS.items()}
TAKES_KEPT: Final = 4_096
_BODIES: Final = Codecs(lists=(Level,))
_MARKS: Final = _BODIES.of(Mapping[str, Decimal])
MODEL: Final = _BODIES.of(Model).as_text()
BOOKS: Final = Table("paper_books", PaperBook, codecs=_BODIES)
SNAPSHOTS: Final = Table(
    "paper_snapshots", OrderBook, body={"bids": "bids", "asks": "asks"}, codecs=_BODIES
)


def body_of(payload: EntryPayload, marks: Mapping[str, Decimal]) -> str:
    """The stored form of an entry."""
    return canonical({"marks": _MARKS.dump(marks)} | _BODIES.of(type(payload)).dump(payload))


def entry_of(row: Row) -> Entry:
    """An entry behind its row. Errors: ValueError, KeyError, TypeError for what is none."""
    raw = json.loads(row["body"])
    marks = _MARKS.load(raw.pop("marks"))
    kind = _KINDS[row["kind"]]
    if unknown := raw.keys() - kind.__dataclass_fields__.keys():
        raise TypeError(f"a {row['kind']} has no {', '.join(sorted(unknown))}")
    payload = _BODIES.of(kind).load(raw)
    return Entry(n=int(row["n"]), at=moment(row["at"]), marks=marks, payload=payload)


@lru_cache(maxsize=TAKES_KEPT)
def take_of(body: str) -> tuple[bool, Decimal, Decimal]:
    """The take that a fill's stored form names: side, level, amount. Every order that meets the
    same snapshot reads the same texts again, so results are cached.
    """
    raw = json.loads(body)
    return bool(raw["is_buy"]), Decimal(raw["level"]), Decimal(raw["size"])


def paper_hash(row: Row) -> str:
    """SHA-256 over an entry's columns, the hash of the one before among them."""
    text = canonical({n: row[n] for n in COLUMNS if n != "row_hash"})
    return hashlib.sha256(text.encode()).hexdigest()
