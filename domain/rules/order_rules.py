"""Order rules: limits of mandate and policy on venue orders (contract 5, trading 00.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from domain.agents.policy import Policy
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc
from domain.refusals import Refusal, refusal
from domain.rules.rule import OrderCheck
from domain.rules.rule_table import BUDGET, PER_ACTION, REFUSING, TARGET
from domain.rules.snapshot import MandateSnapshot
from domain.rules.target_rules import unlisted_product
from domain.trading.venue_values import VENUE

# What mandate and policy refuse an order with.
ORDER_CODES: Final = ("wrong_status", *(r.refusal for r in REFUSING if r.order or r is BUDGET))

# A mandate in another state is not yet, or never was, one to order by.
_ORDERED: Final = frozenset({Status.WORKING, Status.STOPPED, Status.SETTLED})


def mandate_refuses(snapshot: MandateSnapshot, order: OrderCheck) -> Refusal | None:
    """The first rule of the mandate that the order breaks, with contract 1's codes.

    A live order has to fit into what vault and live orders leave of the day, a paper order into
    what paper orders leave of the same amount; a reduce-only order opens nothing and meets no cap.
    """
    mandate = snapshot.mandate
    if mandate.accepted_at is not None and mandate.status not in _ORDERED:
        return refusal("wrong_status", status=mandate.status.value, action="ordering at the venue")
    opens = replace(order, amount=ZERO) if order.reduce_only else order
    for rule in REFUSING:
        check = rule.order(snapshot, opens) if rule.order else None
        if check is not None and not check.ok:
            return check.refuse(rule.refusal, snapshot)
    return None


def policy_refuses(
    policy: Policy | None, product: str, amount: Usdc, open_now: Usdc
) -> Refusal | None:
    """The first rule of the policy that a live order breaks; `open_now` is its open notional."""
    if policy is None or VENUE not in venues_of(policy):
        return refusal(TARGET.refusal, unlisted_product(product))
    cap, limit = policy.per_tx_cap_usdc, policy.total_cap_usdc
    if cap is not None and amount > cap:
        bound = " (set by the agent's policy)"
        return refusal(PER_ACTION.refusal, attempted=amount, allowed=cap, bound_by=bound)
    if limit is not None and open_now + amount > limit:
        available = max(ZERO, limit - open_now)
        return refusal(BUDGET.refusal, attempted=amount, allowed=available)
    return None


def venues_of(policy: Policy | None) -> Sequence[str]:
    """The venues that an owner's own JSON names: a list of names, or of objects with one."""
    raw: object = policy.venues if policy is not None else None
    if isinstance(raw, str):
        raw = [raw]
    if not isinstance(raw, list | tuple):
        return ()
    names = [v.get("venue") if isinstance(v, dict) else v for v in raw]
    return tuple(v.lower() for v in names if isinstance(v, str))
