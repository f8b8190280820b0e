"""`POST /dev/<name>`: what a script in another process may do to the venue. Loopback only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from venue.devvenue.core import DevVenue
from venue.devvenue.faults import EFFECTS, Fault
from venue.devvenue.refusals import Malformed
from venue.devvenue.shapes import boolean, integer

RULES: Final = {"strict_reduce_only", "refuse_reused_agents", "post_only_phase", "ip_budget"}
SWITCHES: Final = {"at_oi_cap", "oi_too_quick"}


def _fault(venue: DevVenue, body: dict[str, Any]) -> Any:
    if body.get("effect") not in EFFECTS:
        raise Malformed
    times = body.get("times")
    fault = Fault(
        effect=body["effect"],
        route=body.get("route"),
        kind=body.get("kind"),
        times=None if times is None else integer(times),
        status=integer(body.get("status", 500)),
        path=tuple(body.get("path", ())),
        value=body.get("value", "NaN"),
    )
    venue.faults.add(fault)
    return {"faults": len(venue.faults.rows)}


def _clear(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.faults.clear()
    return {}


def _deposit(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.deposit(body["user"], body["amount"], body.get("dex", ""))
    return {}


def _move(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.move(body["coin"], body["mid"], body.get("size"))
    return {}


def _book(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.book(body["coin"], body["bids"], body["asks"])
    return {}


def _prices(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.prices(body["coin"], body.get("mark"), body.get("oracle"))
    return {}


def _funding(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.funding(body["coin"], body["rate"])
    return {}


def _stale(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.stale_book(body["coin"], body.get("time"))
    return {}


def _halt(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.halt(body["coin"], delist=bool(body.get("delist")))
    return {}


def _resume(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.resume(body["coin"])
    return {}


def _mode(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.abstraction(body["user"], body["mode"])
    return {}


def _prune(venue: DevVenue, body: dict[str, Any]) -> Any:
    venue.prune(body["user"])
    return {}


def _set(venue: DevVenue, body: dict[str, Any]) -> Any:
    """Rules by name; with a coin, switches of its market."""
    coin = body.pop("coin", None)
    target: Any = venue.rules if coin is None else venue.market(coin)
    if not set(body) <= (RULES if coin is None else SWITCHES):
        raise Malformed
    for name, value in body.items():
        if name == "ip_budget":
            venue.rules.ip_budget = None if value is None else integer(value)
        else:
            setattr(target, name, boolean(value))
    return {}


CONTROLS: Final[dict[str, Callable[[DevVenue, dict[str, Any]], Any]]] = {
    "fault": _fault,
    "clear": _clear,
    "deposit": _deposit,
    "move": _move,
    "book": _book,
    "prices": _prices,
    "funding": _funding,
    "stale": _stale,
    "halt": _halt,
    "resume": _resume,
    "abstraction": _mode,
    "prune": _prune,
    "set": _set,
}


def control(venue: DevVenue, name: str, body: Any) -> Any:
    """Do what a script asks. Errors: `Malformed` for anything that does not fit."""
    if name not in CONTROLS or not isinstance(body, dict):
        raise Malformed
    try:
        return CONTROLS[name](venue, body)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise Malformed from error
