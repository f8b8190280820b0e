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
    """The stored form of a payload; `read` reads it back."""
    stored = _object_json(parts_of(payload.body))
    restates, violation = payload.restates, payload.violation
    if restates is not None:
        stored["restates"] = restated = dict[str, object](event_id=restates.event_id)
        if restates.log_index is not None:
            restated["log_index"] = restates.log_index
        if restates.moved:
            restated["moved"] = True
    if payload.log_index is not None:
        stored["log_index"] = payload.log_index
    if payload.observed is not None:
        stored["observed"] = _observed_json(payload.observed)
    if violation is not None:
        stored["violation"] = {"codes": list(violation.codes), "detail": dict(violation.detail)}
    return stored


def _observed_json(observed: Observed) -> dict[str, object]:
    return {
        "block": observed.block,
        "cash": str(observed.cash),
        "positions": [
            {
                "key": p.key,
                "value": None if p.value is None else str(p.value),
                "answered": p.value is not None,
            }
            for p in observed.positions
        ],
        "whole": observed.is_complete,
    }


def written(payload: Payload, violation: Violation | None = None) -> dict[str, object]:
    """The stored form of one body."""
    return write(EventPayload(body=payload, violation=violation))


def _object_json(values: Iterable[Value]) -> dict[str, object]:
    return {name: v if type(v) is str else _plain(v) for name, v in values}


def _plain(value: object) -> object:
    match value:
        case Usdc():
            return str(value)
        case datetime():
            return timestamp(value)
        case Object():
            return _object_json(value.values)
        case Nested():
            return {} if value.body is None else written(value.body)
    return value


def read(kind: LedgerKind, stored: object) -> EventPayload:
    """Read a stored payload.

    Errors: none; an unusable value reads as None (money: 0) and is listed in `unusable`, by its
    path.
    """
    bad: list[str] = []
    s = StoredJson(stored, "", bad)
    violation = s.sub("violation") if "violation" in s.values else None
    return _new_payload(
        body=parse_payload(kind, s),
        violation=_violation(violation) if violation is not None and violation.is_object else None,
        restates=_restates(s) if "restates" in s.values else None,
        log_index=s.number("log_index") if "log_index" in s.values else None,
        observed=_observed(s) if "observed" in s.values else None,
        unusable=tuple([UnusableValue(path) for path in sorted(bad)]) if bad else (),
    )


_new_payload: Final = fast_constructor(EventPayload)


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
    """An observation; None for one that is damaged anywhere, which is noted."""
    bad: list[str] = []
    s = StoredJson(around.values, "", bad).sub("observed")
    raw_positions = s.values.get("positions")
    positions = []
    for raw in raw_positions if isinstance(raw_positions, (list, tuple)) else ():
        entry = StoredJson(raw, "observed.positions", bad)
        positions.append(ObservedPosition(key=entry.text("key") or "", value=entry.money("value")))
    block = s.number("block")
    if bad or block is None or not isinstance(raw_positions, (list, tuple)):
        around.note("observed")
        return None
    return Observed(
        block=block, cash=s.sum("cash"), positions=tuple(positions), is_complete=s.flag("whole")
    )


def _violation(s: StoredJson) -> Violation:
    codes = s.values.get("codes")
    raw_codes = codes if isinstance(codes, (list, tuple)) else ()
    return Violation(
        codes=tuple(c for c in raw_codes if isinstance(c, str)), detail=s.json("detail") or {}
    )
