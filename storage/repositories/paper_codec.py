"""Paper codec: rows of paper books, their entries and snapshots."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

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
from storage.sql import Row, canonical, micros, moment

COLUMNS: Final = (
    "book", "n", "kind", "ref", "at", "snapshot", "body", "prev_hash", "row_hash",
)  # fmt: skip
_KINDS: Final[Mapping[str, type[EntryPayload]]] = {
    "fill": Filled, "funding": Funded, "liquidation": Liquidated, "settlement": DelistedClose,
    "gap": Gap,
}  # fmt: skip
NAMES: Final = {made: kind for kind, made in _KINDS.items()}
TAKES_KEPT: Final = 4_096
_DECIMALS: Final = frozenset({"px", "size", "level", "tenths_bps", "oracle", "rate"})
_TIMES: Final = frozenset({"hour", "since", "until"})
_PRICES: Final = frozenset({"closed"})


def book_of(row: Row) -> PaperBook:
    """A book behind its row."""
    raw = json.loads(row["model"])
    return PaperBook(
        book=row["book"],
        owner_id=row["owner_id"],
        agent_id=row["agent_id"],
        name=row["name"],
        start_micros=int(row["start_micros"]),
        model=model_of(raw),
        created_at=moment(row["created_at"]),
    )


def model_of(raw: Any) -> Model:
    """A model behind its stored form."""
    return Model(**{**raw, "depth_share": Decimal(raw["depth_share"])})


def entry_of(row: Row) -> Entry:
    """An entry behind its row. Errors: ValueError, KeyError, TypeError for what is none."""
    raw = json.loads(row["body"])
    marks = {coin: Decimal(px) for coin, px in raw.pop("marks").items()}
    created: EntryPayload = _KINDS[row["kind"]](**{name: _read(name, v) for name, v in raw.items()})
    return Entry(n=int(row["n"]), at=moment(row["at"]), marks=marks, payload=created)


@lru_cache(maxsize=TAKES_KEPT)
def take_of(body: str) -> tuple[bool, Decimal, Decimal]:
    """The take that a fill's stored form names: side, level, amount. Every order that meets the
    same snapshot reads the same texts again, so results are cached.
    """
    raw = json.loads(body)
    return bool(raw["is_buy"]), Decimal(raw["level"]), Decimal(raw["size"])


def snapshot_of(row: Row) -> OrderBook:
    """A snapshot behind its row."""
    raw = json.loads(row["body"])
    bids, asks = (
        tuple(Level(Decimal(px), Decimal(size), n) for px, size, n in raw[side])
        for side in ("bids", "asks")
    )
    return OrderBook(row["coin"], moment(row["at"]), bids, asks, row["hash"])


def paper_hash(row: Row) -> str:
    """SHA-256 over an entry's columns, the hash of the one before among them."""
    text = canonical({n: row[n] for n in COLUMNS if n != "row_hash"})
    return hashlib.sha256(text.encode()).hexdigest()


def model_body(model: Model) -> dict[str, object]:
    """A model in its stored form."""
    return {
        "depth_share": format(model.depth_share, "f"),
        "latency_ms": model.latency_ms,
        "fee_tier": model.fee_tier,
        "version": model.version,
    }


def levels(levels: Sequence[Level]) -> list[list[Any]]:
    """Levels in their stored form."""
    return [[format(v.px, "f"), format(v.size, "f"), v.orders] for v in levels]


def prices(marks: Mapping[str, Decimal]) -> dict[str, str]:
    """Prices in their stored form."""
    return {coin: format(px, "f") for coin, px in marks.items()}


def _fields(created: type[EntryPayload]) -> Iterable[str]:
    return created.__dataclass_fields__


def body_of(payload: EntryPayload) -> dict[str, object]:
    """The stored form of an entry."""
    return {name: _written(name, getattr(payload, name)) for name in _fields(type(payload))}


def _written(name: str, value: Any) -> Any:
    if name in _DECIMALS:
        return format(value, "f")
    if name in _TIMES:
        return micros(value)
    return prices(value) if name in _PRICES else value


def _read(name: str, value: Any) -> Any:
    if name in _DECIMALS:
        return Decimal(value)
    if name in _TIMES:
        return moment(value)
    if name in _PRICES:
        return {coin: Decimal(px) for coin, px in value.items()}
    return value
