"""The exact JSON form of the measured book: only what differs from an empty one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final

from domain.ledger.events.payloads import CallTarget
from domain.ledger.state.day_totals import DayTotals, Interval
from domain.ledger.state.measured import (
    EMPTY,
    Mark,
    MeasuredBook,
    Seen,
    SettlementResult,
    VaultClosed,
)
from domain.ledger.state.positions import MeasuredPosition
from domain.wire_fields import JsonObject

Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _flat(record_type: type[Any]) -> Pair:
    """A flat value whose only time is `at`, as a list in the order of its fields."""
    names = [f.name for f in fields(record_type)]

    def to(value: Any) -> list[Any]:
        values = [getattr(value, n) for n in names]
        return [v.isoformat() if isinstance(v, datetime) else v for v in values]

    def back(raw: list[Any]) -> Any:
        name = dict(zip(names, raw, strict=True))
        if "at" in name:
            name["at"] = datetime.fromisoformat(name["at"])
        return record_type(**name)

    return to, back


def _position(p: MeasuredPosition) -> list[Any]:
    at = p.target
    return [at.market, at.address, at.selector, at.label, p.cost, p.value, p.back]


def _position_from(raw: list[Any]) -> MeasuredPosition:
    market, address, selector, label, cost, value, back = raw
    target = CallTarget(market=market, address=address, selector=selector, label=label)
    return MeasuredPosition(target=target, cost=cost, value=value, back=back)


def _mapped(pair: Pair) -> Pair:
    to, back = pair
    return (lambda m: {k: to(v) for k, v in m.items()}), (
        lambda m: {k: back(v) for k, v in m.items()}
    )


_FORMS: Final[Mapping[str, Pair]] = {
    "positions": _mapped((_position, _position_from)),
    "days": _mapped(_flat(DayTotals)),
    "interval": _flat(Interval),
    "largest_ever": (list, tuple),
    "busiest_ever": (list, tuple),
    "seen": _flat(Seen),
    "mark": _flat(Mark),
    "earlier": _flat(Mark),
    "paused_at": (datetime.isoformat, datetime.fromisoformat),
    "stopped": _flat(VaultClosed),
    "settled": _flat(SettlementResult),
}


def to_json(book: MeasuredBook) -> dict[str, object]:
    """The fields that differ from an empty book."""
    raw: dict[str, object] = {}
    for f in fields(MeasuredBook):
        value = getattr(book, f.name)
        if value != getattr(EMPTY, f.name):
            raw[f.name] = _FORMS[f.name][0](value) if f.name in _FORMS else value
    return raw


def from_json(raw: JsonObject) -> MeasuredBook:
    """Read `to_json`'s form back."""
    read = {n: _FORMS[n][1](v) if n in _FORMS else v for n, v in raw.items()}
    return replace(EMPTY, **read)
