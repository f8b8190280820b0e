"""`POST /dev/<name>`: what a script in another process may do to the venue. Loopback only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pydantic import TypeAdapter, ValidationError, validate_call

from devtools.devvenue.core import DevVenue
from devtools.devvenue.faults import VenueFault
from devtools.devvenue.refusals import Malformed

# The controls that are methods of the venue, whose parameters are the keys of the body.
METHODS: Final[Mapping[str, Callable[..., object]]] = {
    "deposit": DevVenue.deposit,
    "move": DevVenue.move,
    "book": DevVenue.book,
    "prices": DevVenue.prices,
    "funding": DevVenue.funding,
    "stale": DevVenue.stale_book,
    "halt": DevVenue.halt,
    "resume": DevVenue.resume,
    "abstraction": DevVenue.abstraction,
    "prune": DevVenue.prune,
}
RULES: Final = {"strict_reduce_only", "refuse_reused_agents", "post_only_phase", "ip_budget"}
SWITCHES: Final = {"at_oi_cap", "oi_too_quick"}
_SETTINGS: Final[TypeAdapter[dict[str, bool | int | None]]] = TypeAdapter(
    dict[str, bool | int | None]
)
_FAULT: Final = TypeAdapter(VenueFault)


def control(venue: DevVenue, name: str, body: object) -> object:
    """Do what a script asks. Errors: `Malformed` for anything that does not fit."""
    if not isinstance(body, dict):
        raise Malformed
    try:
        if name == "fault":
            venue.faults.add(_FAULT.validate_python(body))
            return {"faults": len(venue.faults.rows)}
        if name == "clear":
            venue.faults.clear()
        elif name == "set":
            _set(venue, body)
        else:
            validate_call(METHODS[name])(venue, **body)
    except (KeyError, TypeError, ArithmeticError, ValidationError) as error:
        raise Malformed from error
    return {}


def _set(venue: DevVenue, body: dict[str, object]) -> None:
    """Rules by name; with a coin, switches of its market. Errors: KeyError, ValidationError."""
    coin = body.pop("coin", None)
    target: object = venue.rules if coin is None else venue.market(str(coin))
    for name, value in _SETTINGS.validate_python(body, strict=True).items():
        if name not in (RULES if coin is None else SWITCHES):
            raise Malformed
        if isinstance(value, bool) is (name == "ip_budget"):
            raise Malformed
        setattr(target, name, value)
