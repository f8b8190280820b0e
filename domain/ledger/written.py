"""A payload in its stored form and back, by the one table of `domain.ledger.forms`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from domain.ledger.copies import maker
from domain.ledger.forms import Nested, Object, Value, parts_of, what_of
from domain.ledger.kinds import Kind
from domain.ledger.payloads import (
    Observed,
    ObservedPosition,
    Payload,
    Restates,
    Told,
    Unusable,
    Violation,
)
from domain.ledger.stored import Stored
from domain.money import Usdc
from domain.times import timestamp


def write(told: Told) -> dict[str, object]:
    """The stored form of a payload: what `read` reads back."""
    stored = _there(parts_of(told.what))
    again, broken = told.restates, told.violation
    if again is not None:
        stored["restates"] = placed = dict[str, object](event_id=again.event_id)
        if again.log_index is not None:
            placed["log_index"] = again.log_index
        if again.moved:
            placed["moved"] = True
    if told.log_index is not None:
        stored["log_index"] = told.log_index
    if told.observed is not None:
        stored["observed"] = _observed_json(told.observed)
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


def written(what: Payload, violation: Violation | None = None) -> dict[str, object]:
    """The stored form of what a row tells."""
    return write(Told(what=what, violation=violation))


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


def read(kind: Kind, stored: object) -> Told:
    """Read a stored payload; never raises, whatever is stored.

    A value that is unusable reads as nothing (money: 0) and is named in `unusable`, by its path.
    """
    bad: list[str] = []
    s = Stored(stored, "", bad)
    beside = s.sub("violation") if "violation" in s.values else None
    return _TOLD(
        what=what_of(kind, s),
        violation=_violation(beside) if beside is not None and beside.there else None,
        restates=_restates(s) if "restates" in s.values else None,
        log_index=s.number("log_index") if "log_index" in s.values else None,
        observed=_observed(s) if "observed" in s.values else None,
        unusable=tuple([Unusable(path) for path in sorted(bad)]) if bad else (),
    )


_TOLD: Final = maker(Told)


def _restates(s: Stored) -> Restates | None:
    restates = s.values.get("restates")
    if restates is None:
        return None
    if isinstance(restates, str):
        return Restates(event_id=restates)
    again = s.sub("restates")
    return Restates(
        event_id=again.text("event_id") or "",
        log_index=again.number("log_index"),
        moved=again.flag("moved"),
    )


def _observed(around: Stored) -> Observed | None:
    """An observation; one that is damaged anywhere is none, and is named."""
    bad: list[str] = []
    s = Stored(around.values, "", bad).sub("observed")
    listed = s.values.get("positions")
    positions = []
    for one in listed if isinstance(listed, (list, tuple)) else ():
        each = Stored(one, "observed.positions", bad)
        positions.append(ObservedPosition(key=each.text("key") or "", value=each.money("value")))
    block = s.number("block")
    if bad or block is None or not isinstance(listed, (list, tuple)):
        around.note("observed")
        return None
    return Observed(
        block=block, cash=s.sum("cash"), positions=tuple(positions), whole=s.flag("whole")
    )


def _violation(s: Stored) -> Violation:
    codes = s.values.get("codes")
    found = codes if isinstance(codes, (list, tuple)) else ()
    return Violation(
        codes=tuple(c for c in found if isinstance(c, str)), detail=s.json("detail") or {}
    )
