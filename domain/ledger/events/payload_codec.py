"""A payload in its stored form and back, by the table of `payload_schema`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payload_schema import Nested, Object, Value, parse_payload, parts_of
from domain.ledger.events.payloads import (
    EventPayload,
    LogMoved,
    Observed,
    ObservedPosition,
    Payload,
    UnusableValue,
    Violation,
)
from domain.ledger.events.stored_json import StoredJson
from domain.ledger.fast_copy import fast_constructor
from domain.money import Usdc
from domain.times import timestamp


def write(payload: EventPayload) -> dict[str, object]:
    """The stored form of a payload: what `read` reads back."""
    stored = _there(parts_of(payload.what))
    restates, broken = payload.restates, payload.violation
    if restates is not None:
        stored["restates"] = placed = dict[str, object](event_id=restates.event_id)
        if restates.log_index is not None:
            placed["log_index"] = restates.log_index
        if restates.moved:
            placed["moved"] = True
    if payload.log_index is not None:
        stored["log_index"] = payload.log_index
    if payload.observed is not None:
        stored["observed"] = _observed_json(payload.observed)
    if broken is not None:
        stored["violation"] = {"codes": list(broken.codes), "detail": dict(broken.detail)}
    return stored


def _observed_json(o: Observed) -> dict[str, object]:
    return {
        "block": o.block,
        "cash": str(o.cash),
        "positions": [
            {
                "key": p.key,
                "value": None if p.value is None else str(p.value),
                "answered": p.value is not None,
            }
            for p in o.positions
        ],
        "whole": o.whole,
    }


def written(payload: Payload, violation: Violation | None = None) -> dict[str, object]:
    """The stored form of what a row tells."""
    return write(EventPayload(what=payload, violation=violation))


def _there(values: Iterable[Value]) -> dict[str, object]:
    return {name: v if type(v) is str else _plain(v) for name, v in values}


def _plain(value: object) -> object:
    match value:
        case Usdc():
            return str(value)
        case datetime():
            return timestamp(value)
        case Object():
            return _there(value.values)
        case Nested():
            return {} if value.what is None else written(value.what)
    return value


def read(kind: LedgerKind, stored: object) -> EventPayload:
    """Read a stored payload; never raises, whatever is stored.

    A value that is unusable reads as nothing (money: 0) and is named in `unusable`, by its path.
    """
    bad: list[str] = []
    s = StoredJson(stored, "", bad)
    beside = s.sub("violation") if "violation" in s.values else None
    return _TOLD(
        what=parse_payload(kind, s),
        violation=_violation(beside) if beside is not None and beside.there else None,
        restates=_restates(s) if "restates" in s.values else None,
        log_index=s.number("log_index") if "log_index" in s.values else None,
        observed=_observed(s) if "observed" in s.values else None,
        unusable=tuple([UnusableValue(path) for path in sorted(bad)]) if bad else (),
    )


_TOLD: Final = fast_constructor(EventPayload)


def _restates(s: StoredJson) -> LogMoved | None:
    restates = s.values.get("restates")
    if restates is None:
        return None
    if isinstance(restates, str):
        return LogMoved(event_id=restates)
    moved_log = s.sub("restates")
    return LogMoved(
        event_id=moved_log.text("event_id") or "",
        log_index=moved_log.number("log_index"),
        moved=moved_log.flag("moved"),
    )


def _observed(around: StoredJson) -> Observed | None:
    """An observation; one that is damaged anywhere is none, and is named."""
    bad: list[str] = []
    s = StoredJson(around.values, "", bad).sub("observed")
    listed = s.values.get("positions")
    positions = []
    for one in listed if isinstance(listed, (list, tuple)) else ():
        each = StoredJson(one, "observed.positions", bad)
        positions.append(ObservedPosition(key=each.text("key") or "", value=each.money("value")))
    block = s.number("block")
    if bad or block is None or not isinstance(listed, (list, tuple)):
        around.note("observed")
        return None
    return Observed(
        block=block, cash=s.sum("cash"), positions=tuple(positions), whole=s.flag("whole")
    )


def _violation(s: StoredJson) -> Violation:
    codes = s.values.get("codes")
    raw_codes = codes if isinstance(codes, (list, tuple)) else ()
    return Violation(
        codes=tuple(c for c in raw_codes if isinstance(c, str)), detail=s.json("detail") or {}
    )
