"""Open positions of the measured book: their cost, and their value as observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.ledger.events.payloads import CallTarget
from domain.ledger.fast_copy import fast_replace


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPosition:
    """A position at one market: what it cost, and what it is worth by the newest observation.

    Units: micro-USDC; without an observation its value is its cost. `back` says that something came
    back from it since it was observed.
    """

    place: CallTarget
    cost: int = 0
    value: int = 0
    back: bool = False

    @property
    def opened(self) -> bool:
        """True while there is anything in it; what is marked at nothing may yet recover."""
        return self.value > 0 or (self.cost > 0 and not self.back)


def after_call(
    positions: Mapping[str, MeasuredPosition],
    target: CallTarget,
    spent: int,
    received: int,
    after: int | None,
) -> Mapping[str, MeasuredPosition]:
    """What comes back takes the same fraction of cost as of value: received of received + `after`,
    the value that the log observed behind it (contract 5). Costs are rounded down.

    Where nobody observed it (None), the value before the call stands in.
    """
    key = target.key
    old = positions.get(key)
    if old is None and spent <= 0 and not after:
        return positions
    p = old or MeasuredPosition(place=target)
    cost = p.cost + spent
    value = max(0, p.value + spent - received) if after is None else after
    if received:
        cost = cost * value // (received + value)
    if not value and (not cost or received > 0):
        return {k: v for k, v in positions.items() if k != key}
    back = p.back or received > 0
    return {**positions, key: MeasuredPosition(place=p.place, cost=cost, value=value, back=back)}


def revalued(
    positions: Mapping[str, MeasuredPosition], values: Mapping[str, int]
) -> dict[str, MeasuredPosition]:
    """The positions, each at what its probe answered; one that no probe values is worth nothing."""
    result = {}
    for key in (*positions, *(k for k in values if k not in positions)):
        value = values.get(key, 0)
        p = fast_replace(positions.get(key) or MeasuredPosition(place=_place_of(key)), value=value)
        if p.opened:
            result[key] = fast_replace(p, back=False) if value else p
    return result


def _place_of(key: str) -> CallTarget:
    """The place of a position that no call opened: its probe answers for what was given."""
    return CallTarget(address=key) if key.startswith("0x") else CallTarget(market=key)


def shares(weights: Mapping[str, int], amount: int) -> dict[str, int]:
    """A whole in parts by weight, rounded down; the last part takes what is over."""
    total, left = sum(weights.values()), amount
    parts = {}
    for n, (key, weight) in enumerate(weights.items(), start=1):
        parts[key] = left if n == len(weights) else amount * weight // total if total else 0
        left -= parts[key]
    return parts
