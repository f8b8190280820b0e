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

    target: CallTarget
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
    value_after: int | None,
) -> Mapping[str, MeasuredPosition]:
    """The positions after a call: what comes back takes the same fraction of cost as of value,
    received of received + `value_after`, the value that the log observed (contract 5).

    Units: micro-USDC; costs are rounded down. Where no probe answered (`value_after` None), the
    value before the call stands in.
    """
    key = target.key
    old = positions.get(key)
    if old is None and spent <= 0 and not value_after:
        return positions
    p = old or MeasuredPosition(target=target)
    cost = p.cost + spent
    value = max(0, p.value + spent - received) if value_after is None else value_after
    if received:
        cost = cost * value // (received + value)
    if not value and (not cost or received > 0):
        return {k: v for k, v in positions.items() if k != key}
    back = p.back or received > 0
    return {**positions, key: MeasuredPosition(target=p.target, cost=cost, value=value, back=back)}


def revalue(
    positions: Mapping[str, MeasuredPosition], values: Mapping[str, int]
) -> dict[str, MeasuredPosition]:
    """The positions, each at what its probe answered; one that no probe values is worth nothing."""
    result = {}
    for key in (*positions, *(k for k in values if k not in positions)):
        value = values.get(key, 0)
        p = fast_replace(positions.get(key) or MeasuredPosition(target=_place_of(key)), value=value)
        if p.opened:
            result[key] = fast_replace(p, back=False) if value else p
    return result


def _place_of(key: str) -> CallTarget:
    """The target of a position that no call opened: its probe values a donation."""
    return CallTarget(address=key) if key.startswith("0x") else CallTarget(market=key)


def shares(weights: Mapping[str, int], amount: int) -> dict[str, int]:
    """An amount split by weight, rounded down; the last part takes the remainder."""
    total, remainder = sum(weights.values()), amount
    parts = {}
    for n, (key, weight) in enumerate(weights.items(), start=1):
        parts[key] = remainder if n == len(weights) else amount * weight // total if total else 0
        remainder -= parts[key]
    return parts
