"""`POST /dev/<name>`: what a script in another process may do to the venue. Loopback only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, get_args

from devtools.devvenue.core import DevVenue
from devtools.devvenue.faults import FaultKind, VenueFault
from devtools.devvenue.refusals import Malformed
from devtools.devvenue.shapes import FormReader, T, boolean, integer, text

RULES: Final = {"strict_reduce_only", "refuse_reused_agents", "post_only_phase", "ip_budget"}
SWITCHES: Final = {"at_oi_cap", "oi_too_quick"}
_EFFECTS: Final[Mapping[object, FaultKind]] = {effect: effect for effect in get_args(FaultKind)}


@dataclass(frozen=True, slots=True)
class _Body:
    fields: Mapping[str, object]

    def must(self, name: str, reader: FormReader[T]) -> T:
        return reader(self.fields[name])

    def may(self, name: str, reader: FormReader[T]) -> T | None:
        value = self.fields.get(name)
        return None if value is None else reader(value)


def _number(value: object) -> Decimal:
    if not isinstance(value, (str, int, float)):
        raise Malformed
    return Decimal(value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Malformed
    return value


def _levels(value: object) -> list[tuple[Decimal, Decimal]]:
    rows = (_list(row) for row in _list(value))
    return [(_number(px), _number(sz)) for px, sz in rows]


def _path(value: object) -> tuple[str | int, ...]:
    return tuple(step if isinstance(step, str) else integer(step) for step in _list(value))


def _fault(venue: DevVenue, body: _Body) -> object:
    status = body.may("status", integer)
    fault = VenueFault(
        effect=body.must("effect", lambda value: _EFFECTS[value]),
        route=body.may("route", text),
        kind=body.may("kind", text),
        times=body.may("times", integer),
        status=500 if status is None else status,
        path=body.may("path", _path) or (),
        value=body.fields.get("value", "NaN"),
    )
    venue.faults.add(fault)
    return {"faults": len(venue.faults.rows)}


def _prices(venue: DevVenue, body: _Body) -> None:
    mark, oracle = body.may("mark", _number), body.may("oracle", _number)
    venue.prices(body.must("coin", text), mark, oracle)


def _set(venue: DevVenue, body: _Body) -> None:
    """Rules by name; with a coin, switches of its market."""
    coin = body.may("coin", text)
    target: object = venue.rules if coin is None else venue.market(coin)
    names = body.fields.keys() - {"coin"}
    if not names <= (RULES if coin is None else SWITCHES):
        raise Malformed
    for name in names:
        if name == "ip_budget":
            venue.rules.ip_budget = body.may(name, integer)
        else:
            setattr(target, name, body.must(name, boolean))


CONTROLS: Final[Mapping[str, Callable[[DevVenue, _Body], object]]] = {
    "fault": _fault,
    "clear": lambda venue, body: venue.faults.clear(),
    "deposit": lambda venue, body: venue.deposit(
        body.must("user", text), body.must("amount", _number), body.may("dex", text) or ""
    ),
    "move": lambda venue, body: venue.move(
        body.must("coin", text), body.must("mid", _number), body.may("size", _number)
    ),
    "book": lambda venue, body: venue.book(
        body.must("coin", text), body.must("bids", _levels), body.must("asks", _levels)
    ),
    "prices": _prices,
    "funding": lambda venue, body: venue.funding(
        body.must("coin", text), body.must("rate", _number)
    ),
    "stale": lambda venue, body: venue.stale_book(
        body.must("coin", text), body.may("time", integer)
    ),
    "halt": lambda venue, body: venue.halt(
        body.must("coin", text), delist=body.may("delist", boolean) or False
    ),
    "resume": lambda venue, body: venue.resume(body.must("coin", text)),
    "abstraction": lambda venue, body: venue.abstraction(
        body.must("user", text), body.must("mode", text)
    ),
    "prune": lambda venue, body: venue.prune(body.must("user", text)),
    "set": _set,
}


def control(venue: DevVenue, name: str, body: object) -> object:
    """Do what a script asks. Errors: `Malformed` for anything that does not fit."""
    if name not in CONTROLS or not isinstance(body, dict):
        raise Malformed
    try:
        done = CONTROLS[name](venue, _Body(body))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise Malformed from error
    return done if isinstance(done, dict) else {}
