"""Order rules: limits of mandate and policy on venue orders (contract 5, trading 00.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.agents.policy import Policy
from domain.mandates.mandate import Status
from domain.mandates.targets import NOT_LISTED
from domain.money import ZERO, Usdc, text
from domain.refusals import Refusal, refusal
from domain.rules.action_checks import day_fits, day_used
from domain.rules.caps import daily_cap, per_tx_cap
from domain.rules.retry_times import earliest_possible
from domain.rules.snapshot import MandateSnapshot, moment
from domain.rules.valuation import floor_now, worth
from domain.rules.venue_exposure import below_venue_line, may_trade, venue_result
from domain.times import midnight, timestamp
from domain.trading.modes import Mode
from domain.trading.venue_values import VENUE


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCheck:
    """An order that cites a mandate. `own` is the amount it counts against the day already."""

    product: str
    mode: Mode
    amount: Usdc
    reduce_only: bool
    own: Usdc = ZERO


def mandate_refuses(snapshot: MandateSnapshot, order: OrderCheck) -> Refusal | None:
    """The first rule of the mandate that the order breaks, with contract 1's codes.

    A live order has to fit into what vault and live orders leave of the day, a paper order into
    what paper orders leave of the same amount; a reduce-only order opens nothing and meets no cap.
    """
    return _status(snapshot) or _product(snapshot, order) or _amounts(snapshot, order)


def _status(snapshot: MandateSnapshot) -> Refusal | None:
    mandate = snapshot.mandate
    if mandate.accepted_at is None:
        return refusal("mandate_not_accepted")
    if mandate.status is Status.STOPPED or mandate.status is Status.SETTLED:
        return refusal("mandate_stopped")
    if mandate.status is not Status.WORKING:
        return refusal("wrong_status", status=mandate.status.value, action="ordering at the venue")
    if mandate.paused:
        return refusal("mandate_paused")
    if mandate.ended(moment(snapshot)):
        return refusal(
            "mandate_ended", ends_at=timestamp(mandate.ends_at) if mandate.ends_at else "?"
        )
    return None


def _product(snapshot: MandateSnapshot, order: OrderCheck) -> Refusal | None:
    if may_trade(snapshot.mandate, order.product):
        return None
    return refusal("target_not_allowed", target=VENUE, selector=order.product, why=NOT_LISTED)


def _amounts(snapshot: MandateSnapshot, order: OrderCheck) -> Refusal | None:
    if order.reduce_only:
        return None
    cap, by = per_tx_cap(snapshot)
    attempted = str(order.amount)
    if order.amount > cap:
        bound = f" (set by the agent's {by})" if by != "mandate" else ""
        return refusal("over_per_tx_cap", attempted=attempted, allowed=str(cap), bound_by=bound)
    day = daily_cap(snapshot)
    day_total = day_used(snapshot) if order.mode == "live" else snapshot.orders.paper
    used = day_total - order.own
    if used + order.amount > day:
        return refusal(
            "over_daily_cap",
            attempted=attempted,
            used=str(used),
            allowed=str(day),
            bound_by="",
            remaining={"value": str(max(ZERO, day - used))},
            retry_at=_fits_at(snapshot, order),
        )
    return _line(snapshot, order)


def _fits_at(snapshot: MandateSnapshot, order: OrderCheck) -> datetime | None:
    if order.mode == "paper":
        return midnight(snapshot.now)
    return earliest_possible(
        snapshot, lambda c: day_fits(c, order.amount, min(order.own, c.orders.live))
    )


def _line(snapshot: MandateSnapshot, order: OrderCheck) -> Refusal | None:
    """The venue's stop line: vault worth and venue result together."""
    if order.mode == "paper" or not below_venue_line(snapshot):
        return None
    total_worth = (worth(snapshot) or ZERO) + (venue_result(snapshot) or ZERO)
    return refusal("below_stop_line", worth=text(total_worth), floor=str(floor_now(snapshot)))


def policy_refuses(
    policy: Policy | None, product: str, amount: Usdc, open_now: Usdc
) -> Refusal | None:
    """The first rule of an owner's policy for the agent that a live order breaks; `open_now` is the
    agent's open live notional.
    """
    if policy is None or VENUE not in venues_of(policy):
        return refusal("target_not_allowed", target=VENUE, selector=product, why=NOT_LISTED)
    cap, limit = policy.per_tx_cap_usdc, policy.total_cap_usdc
    if cap is not None and amount > cap:
        bound = " (set by the agent's policy)"
        return refusal("over_per_tx_cap", attempted=str(amount), allowed=str(cap), bound_by=bound)
    if limit is not None and open_now + amount > limit:
        available = max(ZERO, limit - open_now)
        return refusal("over_budget", attempted=str(amount), allowed=str(available))
    return None


def venues_of(policy: Policy | None) -> Sequence[str]:
    """The venues that an owner's own JSON names: a list of names, or of objects with one."""
    raw: Any = policy.venues if policy is not None else None
    if isinstance(raw, str):
        raw = [raw]
    if not isinstance(raw, list | tuple):
        return ()
    names = [v.get("venue") if isinstance(v, dict) else v for v in raw]
    return tuple(v.lower() for v in names if isinstance(v, str))
