"""What a mandate and an agent's policy say to an order at a venue (contract 5, trading 00.8)."""

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
from domain.rules.caps import daily_cap, per_tx_cap
from domain.rules.case import Case, moment
from domain.rules.checks import day_fits, day_used
from domain.rules.venue_side import below_venue_line, may_trade, venue_result
from domain.rules.waiting import soonest
from domain.rules.worth import floor_now, worth
from domain.times import midnight, timestamp
from domain.trading.modes import Mode
from domain.trading.venue import VENUE


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderWanted:
    """An order that cites a mandate. `own` is what it counts of the day already."""

    product: str
    mode: Mode
    amount: Usdc
    reduce_only: bool
    own: Usdc = ZERO


def mandate_refuses(case: Case, wanted: OrderWanted) -> Refusal | None:
    """The first rule of the mandate that the order breaks, with contract 1's codes.

    A live order has to fit into what vault and live orders leave of the day, a paper order into
    what paper orders leave of the same amount; a reduce-only order opens nothing and meets no cap.
    """
    return _standing(case) or _product(case, wanted) or _amounts(case, wanted)


def _standing(case: Case) -> Refusal | None:
    m = case.mandate
    if m.accepted_at is None:
        return refusal("mandate_not_accepted")
    if m.status is Status.STOPPED or m.status is Status.SETTLED:
        return refusal("mandate_stopped")
    if m.status is not Status.WORKING:
        return refusal("wrong_status", status=m.status.value, action="ordering at the venue")
    if m.paused:
        return refusal("mandate_paused")
    if m.ended(moment(case)):
        return refusal("mandate_ended", ends_at=timestamp(m.ends_at) if m.ends_at else "?")
    return None


def _product(case: Case, wanted: OrderWanted) -> Refusal | None:
    if may_trade(case.mandate, wanted.product):
        return None
    return refusal("target_not_allowed", target=VENUE, selector=wanted.product, why=NOT_LISTED)


def _amounts(case: Case, wanted: OrderWanted) -> Refusal | None:
    if wanted.reduce_only:
        return None
    cap, by = per_tx_cap(case)
    asked = str(wanted.amount)
    if wanted.amount > cap:
        bound = f" (set by the agent's {by})" if by != "mandate" else ""
        return refusal("over_per_tx_cap", attempted=asked, allowed=str(cap), bound_by=bound)
    day = daily_cap(case)
    taken = day_used(case) if wanted.mode == "live" else case.orders.paper
    used = taken - wanted.own
    if used + wanted.amount > day:
        return refusal(
            "over_daily_cap",
            attempted=asked,
            used=str(used),
            allowed=str(day),
            bound_by="",
            remaining={"value": str(max(ZERO, day - used))},
            retry_at=_fits_at(case, wanted),
        )
    return _line(case, wanted)


def _fits_at(case: Case, wanted: OrderWanted) -> datetime | None:
    if wanted.mode == "paper":
        return midnight(case.now)
    return soonest(case, lambda c: day_fits(c, wanted.amount, min(wanted.own, c.orders.live)))


def _line(case: Case, wanted: OrderWanted) -> Refusal | None:
    """The venue's stop line: vault worth and venue result together."""
    if wanted.mode == "paper" or not below_venue_line(case):
        return None
    both = (worth(case) or ZERO) + (venue_result(case) or ZERO)
    return refusal("below_stop_line", worth=text(both), floor=str(floor_now(case)))


def policy_refuses(
    policy: Policy | None, product: str, amount: Usdc, open_now: Usdc
) -> Refusal | None:
    """What an owner's policy for the agent says to a live order; `open_now` is the agent's open
    live notional.
    """
    if policy is None or VENUE not in venues_of(policy):
        return refusal("target_not_allowed", target=VENUE, selector=product, why=NOT_LISTED)
    cap, most = policy.per_tx_cap_usdc, policy.total_cap_usdc
    if cap is not None and amount > cap:
        bound = " (set by the agent's policy)"
        return refusal("over_per_tx_cap", attempted=str(amount), allowed=str(cap), bound_by=bound)
    if most is not None and open_now + amount > most:
        left = max(ZERO, most - open_now)
        return refusal("over_budget", attempted=str(amount), allowed=str(left))
    return None


def venues_of(policy: Policy | None) -> Sequence[str]:
    """The venues that an owner's own JSON names: a list of names, or of objects with one."""
    told: Any = policy.venues if policy is not None else None
    if isinstance(told, str):
        told = [told]
    if not isinstance(told, list | tuple):
        return ()
    named = [v.get("venue") if isinstance(v, dict) else v for v in told]
    return tuple(v.lower() for v in named if isinstance(v, str))
