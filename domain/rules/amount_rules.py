"""Rules about the amount of an action: caps, budget and cash, stop line, approval."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from domain.ledger.events.event import Reporter
from domain.ledger.events.payloads import AgentStatement, Executed
from domain.mandates.approvals import Approval
from domain.money import ZERO, Usdc, text
from domain.rules.caps import (
    available_cash,
    budget,
    daily_cap,
    day_fits,
    day_used,
    pending_on,
    per_tx_cap,
    spent_on,
)
from domain.rules.mark_policy import recorded_value
from domain.rules.rule import ActionRequest, JudgedRow, Numbers, OrderCheck, RuleCheck
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import cash, floor_now, worth
from domain.rules.venue_exposure import below_venue_line, venue_result
from domain.times import day_of, midnight

APPROVAL_MISSING: Final = "approval_missing"


# -- the cap per action


def within_cap(snapshot: MandateSnapshot, request: ActionRequest | OrderCheck) -> RuleCheck:
    """The amount is at most the cap per action."""
    cap, by = per_tx_cap(snapshot)
    raw = {"allowed": str(cap), "attempted": str(request.amount), "bound_by": by}
    bound_by = f" (set by the agent's {by})" if by != "mandate" else ""
    return RuleCheck(request.amount <= cap, raw, {"bound_by": bound_by})


def above_cap(judged: JudgedRow) -> Numbers | None:
    """An action above the cap per action, of mandate or policy, the one that binds."""
    cap, by = per_tx_cap(judged.snapshot)
    if judged.requested_amount <= cap or judged.vault_enforces(by):
        return None
    return Numbers(str(cap), None, str(judged.requested_amount), by)


# -- the cap per day


def within_day(snapshot: MandateSnapshot, request: ActionRequest) -> RuleCheck:
    """The amount fits into what is left of the UTC day.

    An action without spend passes, however much of the day is used: the vault checks its day cap
    for a spend alone.
    """
    cap, used = daily_cap(snapshot), day_used(snapshot, request.reserved)
    return RuleCheck(
        request.amount == ZERO or used + request.amount <= cap,
        {"allowed": str(cap), "used": str(used), "attempted": str(request.amount)},
        {"bound_by": ""},
        lambda later: day_fits(later, request.amount, _own_reserved(later, request)),
    )


def _own_reserved(snapshot: MandateSnapshot, request: ActionRequest) -> Usdc:
    """The amount of the action's own reservation while it is live, else 0."""
    own = (r.action.action_hash == request.action_hash for r in snapshot.reservations)
    return request.reserved if any(own) else ZERO


def order_within_day(snapshot: MandateSnapshot, order: OrderCheck) -> RuleCheck:
    """The order fits into what vault and live orders, or paper orders alone, leave of the day."""
    cap, is_live = daily_cap(snapshot), order.mode == "live"
    used = (day_used(snapshot) if is_live else snapshot.orders.paper) - order.own
    return RuleCheck(
        order.reduce_only or used + order.amount <= cap,
        {"allowed": str(cap), "used": str(used), "attempted": str(order.amount)},
        {"bound_by": ""},
        (lambda c: day_fits(c, order.amount, min(order.own, c.orders.live))) if is_live else None,
        retry_at=midnight(snapshot.now),
        remaining={"value": str(max(ZERO, cap - used))},
    )


def above_day(judged: JudgedRow) -> Numbers | None:
    """A claim above what is left of its UTC day."""
    day, cap = day_of(judged.at), daily_cap(judged.snapshot)
    used = spent_on(judged.snapshot, day) + pending_on(judged.snapshot, day)
    if not judged.spent or used + judged.spent <= cap:
        return None
    return Numbers(str(cap), str(used), str(judged.spent))


# -- budget and cash


def within_cash(snapshot: MandateSnapshot, request: ActionRequest) -> RuleCheck:
    """The vault has the cash, and a stricter policy's budget the room."""
    available, by = available_cash(snapshot, request.reserved)
    return RuleCheck(
        available is None or request.amount <= available,
        {"allowed": text(available), "attempted": str(request.amount), "bound_by": by},
        fits=lambda later: _cash_fits(later, request),
    )


def _cash_fits(snapshot: MandateSnapshot, request: ActionRequest) -> bool:
    available, _ = available_cash(snapshot, _own_reserved(snapshot, request))
    return available is None or request.amount <= available


def above_budget(judged: JudgedRow) -> Numbers | None:
    """An action above the whole budget, of mandate or policy, the one that binds."""
    limit, by = budget(judged.snapshot)
    if judged.spent <= limit or judged.vault_enforces(by):
        return None
    return Numbers(str(limit), None, str(judged.spent), by)


def above_cash(judged: JudgedRow) -> Numbers | None:
    """Spend above the vault's cash, for a report without a transaction, which no chain row checks;
    what is above the whole budget is told of as that.
    """
    statement, available = judged.event.content.body, cash(judged.snapshot)
    if not judged.spent or judged.event.tx_hash is not None or available is None:
        return None
    if isinstance(statement, AgentStatement) and statement.notional:
        return None
    if judged.spent <= available or judged.spent > budget(judged.snapshot)[0]:
        return None
    return Numbers(str(available), None, str(judged.spent))


# -- the stop line


def _worth_and_floor(snapshot: MandateSnapshot) -> tuple[Usdc | None, Usdc]:
    chain = snapshot.chain
    if chain is None or not chain.exists:
        return worth(snapshot), floor_now(snapshot)
    return (chain.cash + chain.positions if chain.measured else None), chain.floor


def within_line(snapshot: MandateSnapshot, request: ActionRequest) -> RuleCheck:
    """The mandate stands at or above its floor; an unknown worth is left to the vault, and before a
    deposit there is nothing to lose. An exit takes nothing out; the vault lets it pass below the
    floor, by the record.
    """
    current_worth, floor = _worth_and_floor(snapshot)
    raw: dict[str, object] = {"worth": text(current_worth), "floor": str(floor)}
    record = recorded_value(snapshot.chain) if request.amount == ZERO else None
    if record is not None and record.stale:
        raw["recorded_value_stale"] = record.as_json()
    is_above = current_worth is None or not snapshot.measured.deposits or current_worth >= floor
    return RuleCheck(request.amount == ZERO or is_above, raw)


def order_within_line(snapshot: MandateSnapshot, order: OrderCheck) -> RuleCheck:
    """Vault worth and venue result together stand at or above the floor, for a live order."""
    if order.reduce_only or order.mode == "paper" or not below_venue_line(snapshot):
        return RuleCheck(True)
    total_worth = (worth(snapshot) or ZERO) + (venue_result(snapshot) or ZERO)
    return RuleCheck(False, {"worth": text(total_worth), "floor": str(floor_now(snapshot))})


def below_line(judged: JudgedRow) -> Numbers | None:
    """Spend below the floor."""
    at, floor = worth(judged.snapshot), floor_now(judged.snapshot)
    if not judged.spent or at is None or not judged.snapshot.measured.deposits or at >= floor:
        return None
    return Numbers(str(floor), text(at), str(judged.spent))


# -- approval


def asks_owner(snapshot: MandateSnapshot, amount: Usdc) -> bool:
    """True strictly above the approval amount, while the gate, or the vault itself, asks."""
    mandate = snapshot.mandate
    asks = bool(mandate.approvals_on_chain) or snapshot.switches.approval_gate
    above = mandate.approval_above_usdc
    return asks and above is not None and amount > above


def approved(snapshot: MandateSnapshot, request: ActionRequest) -> RuleCheck:
    """The owner has approved this very action, or need not."""
    raw = {"allowed": text(snapshot.mandate.approval_above_usdc), "attempted": str(request.amount)}
    is_approved = any(
        a.status_at(snapshot.now) == "approved" and a.action_hash == request.action_hash
        for a in snapshot.approvals
    )
    return RuleCheck(is_approved or not asks_owner(snapshot, request.amount), raw)


def unapproved(judged: JudgedRow) -> Numbers | None:
    """An action above the approval amount that no approved item covers."""
    snapshot = judged.snapshot
    if snapshot.mandate.approvals_on_chain and judged.called is not None:
        return None  # the vault took it, so it had the owner's signature
    if not asks_owner(snapshot, judged.requested_amount) or _is_covered(judged):
        return None
    asked_above = text(snapshot.mandate.approval_above_usdc)
    return Numbers(asked_above, None, str(judged.requested_amount))


def _is_covered(judged: JudgedRow) -> bool:
    """True where an item that the owner approved covers the action; one that an earlier execution
    used does not.

    An agent's report of an executed call gets the verdict of the chain's row, which used the item
    up.
    """
    if judged.event.reported_by is Reporter.AGENT and judged.twin is not None:
        return APPROVAL_MISSING not in judged.twin.violation_codes
    # Calldata that was handed out before an item ran out may be sent as long as its reservation
    # lasts.
    grace = timedelta(seconds=judged.snapshot.config.reservation_s)
    return any(
        item.status == "approved" and judged.at < item.expires_at + grace and _covers(item, judged)
        for item in judged.snapshot.approvals
    )


def _covers(item: Approval, judged: JudgedRow) -> bool:
    if judged.called is not None:
        return _is_of(item, judged.called)
    target = judged.target
    for name, value in (("address", target.address), ("selector", target.selector)):
        if value and value.lower() != str(item.target.get(name) or "").lower():
            return False
    return item.approve_amount_usdc >= judged.requested_amount


def _is_of(item: Approval, called: Executed) -> bool:
    """True where the item is of this very call: its target, its calldata, its amount."""
    target = str(item.target.get("address") or "").lower()
    same_call = called.data_hash is not None and item.data_hash == called.data_hash.lower()
    same_place = target == (called.target.address or "").lower()
    return same_call and same_place and item.approve_amount_usdc == called.approved
