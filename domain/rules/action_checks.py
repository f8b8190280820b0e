"""Action checks: the vault's own rules, checked before gas is spent, and the service's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from domain.mandates.actions import selector_of
from domain.mandates.mandate import ClauseKey, Status
from domain.money import ZERO, Usdc, text
from domain.refusals import Refusal, refusal
from domain.rules.caps import (
    budget,
    daily_cap,
    pending_on,
    per_tx_cap,
    reserved,
    spent_on,
)
from domain.rules.mark_policy import recorded_value
from domain.rules.retry_times import earliest_possible
from domain.rules.snapshot import MandateSnapshot, moment, today
from domain.rules.target_refusals import target_refusal
from domain.rules.valuation import at_risk, cash, floor_now, worth
from domain.times import day_of, timestamp, written_time


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: its clause, its code, whether it holds, and the numbers; `ok` is None where the
    vault was not read and only it can answer.
    """

    clause: ClauseKey
    code: str
    ok: bool | None
    detail: Mapping[str, object]
    refusal: Refusal | None = None

    def as_json(self) -> dict[str, object]:
        """Shape `{clause, code, ok, detail}` (contract 6)."""
        return {"clause": int(self.clause), "code": self.code, "ok": self.ok, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """The action an agent asks calldata for: `data` to `target`; `reserved` is what an own live
    reservation already counts, `action_hash` what identifies it (None while there is no vault).
    """

    target: str
    data: str
    amount: Usdc
    reserved: Usdc = ZERO
    action_hash: str | None = None

    @property
    def selector(self) -> str:
        """The function that it calls."""
        return selector_of(self.data)


def action_checks(snapshot: MandateSnapshot, request: ActionRequest) -> list[CheckResult]:
    """Every check in a fixed order; the first that fails with a refusal is the refusal.

    The last, approval, refuses nothing: an action that does not pass it waits for the owner.
    Source: contract 6; equality passes (contract 5).
    """
    checks = [
        _accepted(snapshot),
        _not_stopped(snapshot),
        _not_paused(snapshot),
        _not_ended(snapshot),
        _target(snapshot, request),
        _per_action(snapshot, request),
        _per_day(snapshot, request),
        _cash(snapshot, request),
        _stop_line(snapshot, request),
        _approval(snapshot, request),
    ]
    if not snapshot.unread:
        return checks
    return [replace(c, ok=None) if c.ok and c.code in VAULT_CHECKS else c for c in checks]


# Checks that only the vault can confirm: the record can show that one fails, never that it holds.
VAULT_CHECKS: Final = frozenset(
    {"mandate_stopped", "mandate_paused", "over_daily_cap", "over_budget", "below_stop_line"}
)


def _check(
    clause: ClauseKey, code: str, ok: bool, detail: Mapping[str, object], **fields: Any
) -> CheckResult:
    return CheckResult(
        clause,
        code,
        ok,
        detail,
        None if ok else refusal(code, detail={**detail, "clause": int(clause)}, **fields),
    )


def _is_accepted(snapshot: MandateSnapshot) -> bool:
    return snapshot.mandate.accepted_at is not None


def _accepted(snapshot: MandateSnapshot) -> CheckResult:
    return _check(ClauseKey.YOUR_FLOORS, "mandate_not_accepted", _is_accepted(snapshot), {})


def _is_not_stopped(snapshot: MandateSnapshot) -> bool:
    chain = snapshot.chain
    is_closed_on_chain = chain is not None and (chain.stopped or chain.settled)
    return (
        snapshot.mandate.status in (Status.DRAFT, Status.SIGNED, Status.WORKING)
        and not is_closed_on_chain
    )


def _not_stopped(snapshot: MandateSnapshot) -> CheckResult:
    raw = {"status": snapshot.mandate.status.value}
    return _check(ClauseKey.AT_STOP, "mandate_stopped", _is_not_stopped(snapshot), raw)


def _is_open(snapshot: MandateSnapshot) -> bool:
    is_paused_on_chain = (
        snapshot.chain is not None and snapshot.chain.exists and snapshot.chain.paused
    )
    return not (snapshot.mandate.paused or is_paused_on_chain)


def _not_paused(snapshot: MandateSnapshot) -> CheckResult:
    return _check(ClauseKey.YOUR_FLOORS, "mandate_paused", _is_open(snapshot), {})


def _is_in_time(snapshot: MandateSnapshot) -> bool:
    return not snapshot.mandate.ended(moment(snapshot))


def _not_ended(snapshot: MandateSnapshot) -> CheckResult:
    ends = snapshot.mandate.ends_at
    ends_text = written_time(ends) if ends else None
    return _check(
        ClauseKey.PERIOD,
        "mandate_ended",
        _is_in_time(snapshot),
        {"ends_at": ends_text},
        ends_at=ends_text,
    )


def _target(snapshot: MandateSnapshot, request: ActionRequest) -> CheckResult:
    mismatch = snapshot.mandate.mismatch_of(request.target, request.data)
    raw: dict[str, object] = {"target": request.target, "selector": request.selector}
    if mismatch is None:
        return CheckResult(ClauseKey.MARKETS, "target_not_allowed", True, raw)
    if mismatch.argument is not None:
        raw["argument"] = mismatch.argument
    return CheckResult(
        ClauseKey.MARKETS,
        "target_not_allowed",
        False,
        raw,
        target_refusal(mismatch, request.target, request.selector, detail=raw | {"clause": 5}),
    )


def _bound(by: str) -> str:
    return f" (set by the agent's {by})" if by != "mandate" else ""


def _per_action(snapshot: MandateSnapshot, request: ActionRequest) -> CheckResult:
    cap, by = per_tx_cap(snapshot)
    raw = {"allowed": str(cap), "attempted": str(request.amount), "bound_by": by}
    if request.amount <= cap:
        return CheckResult(ClauseKey.PER_ACTION, "over_per_tx_cap", True, raw)
    largest = remaining(snapshot)
    refused = refusal(
        "over_per_tx_cap",
        attempted=request.amount,
        allowed=cap,
        bound_by=_bound(by),
        remaining=largest.as_json(),
        detail=raw | {"clause": 2},
    )
    return CheckResult(ClauseKey.PER_ACTION, "over_per_tx_cap", False, raw, refused)


def unconfirmed_spend(snapshot: MandateSnapshot, own_reserved: Usdc = ZERO) -> Usdc:
    """Spend of this UTC day that may be on its way and is no chain row yet.

    One action shows up to three times: reserved when its calldata is handed out, claimed when it
    is reported, in the vault's figure when it is mined. A claim replaces its reservation; of that
    sum and the vault's excess over the ledger the larger counts, so that no action counts twice.
    `own_reserved` is the amount of a live reservation for the same action.
    """
    pending_spend = pending_on(snapshot, today(snapshot)) + reserved(snapshot) - own_reserved
    return max(pending_spend, unrecorded_spend(snapshot), ZERO)


def unrecorded_spend(snapshot: MandateSnapshot) -> Usdc:
    """The vault's spend of this UTC day that no ledger row has yet."""
    day, chain = today(snapshot), snapshot.chain
    if chain is None or not chain.exists or day_of(chain.block.at) != day:
        return ZERO
    totals = snapshot.measured.days.get(day)
    return max(ZERO, chain.spent_today - Usdc(totals.spent if totals else 0))


def day_used(snapshot: MandateSnapshot, reserved: Usdc = ZERO) -> Usdc:
    """The amount that counts against the day cap: measured, notional, unconfirmed, and live orders
    at the venue, which the vault does not see.
    """
    return (
        spent_on(snapshot, today(snapshot))
        + unconfirmed_spend(snapshot, reserved)
        + snapshot.orders.live
    )


def _per_day(snapshot: MandateSnapshot, request: ActionRequest) -> CheckResult:
    cap, used = daily_cap(snapshot), day_used(snapshot, request.reserved)
    raw = {"allowed": str(cap), "used": str(used), "attempted": str(request.amount)}
    # An action without spend passes, however much of the day is used: the vault checks its day cap
    # for a spend alone.
    if request.amount == ZERO or used + request.amount <= cap:
        return CheckResult(ClauseKey.PER_DAY, "over_daily_cap", True, raw)
    refused = refusal(
        "over_daily_cap",
        attempted=request.amount,
        used=used,
        allowed=cap,
        bound_by="",
        remaining=remaining(snapshot).as_json(),
        retry_at=earliest_possible(
            snapshot, lambda c: day_fits(c, request.amount, own_reserved_amount(c, request))
        ),
        detail=raw | {"clause": 3},
    )
    return CheckResult(ClauseKey.PER_DAY, "over_daily_cap", False, raw, refused)


def available_cash(snapshot: MandateSnapshot, own_reserved: Usdc = ZERO) -> tuple[Usdc | None, str]:
    """Cash that no reservation may still take, or the rest of a stricter policy's budget, with the
    limit that binds; None where cash is unknown.
    """
    limit, by = budget(snapshot)
    room = max(ZERO, limit - at_risk(snapshot)) if by == "policy" else None
    chain = snapshot.chain
    if chain is not None and chain.exists:
        free: Usdc | None = max(
            ZERO,
            chain.cash - max(ZERO, reserved(snapshot) - own_reserved - unrecorded_spend(snapshot)),
        )
    else:
        ledger_cash = cash(snapshot)
        free = (
            None
            if ledger_cash is None
            else max(ZERO, ledger_cash - max(ZERO, reserved(snapshot) - own_reserved))
        )
    if room is not None and (free is None or room < free):
        return room, "policy"
    return free, "mandate"


def _cash(snapshot: MandateSnapshot, request: ActionRequest) -> CheckResult:
    available, by = available_cash(snapshot, request.reserved)
    raw = {"allowed": text(available), "attempted": str(request.amount), "bound_by": by}
    if available is None or request.amount <= available:
        return CheckResult(ClauseKey.BUDGET, "over_budget", True, raw)
    refused = refusal(
        "over_budget",
        attempted=request.amount,
        allowed=available,
        remaining=remaining(snapshot).as_json(),
        retry_at=earliest_possible(snapshot, lambda c: _cash_fits(c, request)),
        detail=raw | {"clause": 1},
    )
    return CheckResult(ClauseKey.BUDGET, "over_budget", False, raw, refused)


def _worth_and_floor(snapshot: MandateSnapshot) -> tuple[Usdc | None, Usdc]:
    chain = snapshot.chain
    if chain is None or not chain.exists:
        return worth(snapshot), floor_now(snapshot)
    return (chain.cash + chain.positions if chain.measured else None), chain.floor


def _is_above_floor(snapshot: MandateSnapshot, current_worth: Usdc | None, floor: Usdc) -> bool:
    """True at or above the floor; an unknown worth is left to the vault, and before a deposit there
    is nothing to lose.
    """
    return current_worth is None or not snapshot.measured.deposits or current_worth >= floor


def _stop_line(snapshot: MandateSnapshot, request: ActionRequest) -> CheckResult:
    current_worth, floor = _worth_and_floor(snapshot)
    raw: dict[str, object] = {"worth": text(current_worth), "floor": str(floor)}
    # An exit takes nothing out; the vault lets it pass below the floor, by the record.
    record = recorded_value(snapshot.chain) if request.amount == ZERO else None
    if record is not None and record.stale:
        raw["recorded_value_stale"] = record.as_json()
    ok = request.amount == ZERO or _is_above_floor(snapshot, current_worth, floor)
    return _check(
        ClauseKey.STOP_LINE, "below_stop_line", ok, raw, worth=text(current_worth), floor=floor
    )


def needs_approval(snapshot: MandateSnapshot, amount: Usdc) -> bool:
    """True strictly above the approval amount, while the gate is on; a vault that keeps approvals
    itself has no gate to switch.
    """
    mandate = snapshot.mandate
    asks = bool(mandate.approvals_on_chain) or snapshot.switches.approval_gate
    above = mandate.approval_above_usdc
    return asks and above is not None and amount > above


def _approval(snapshot: MandateSnapshot, request: ActionRequest) -> CheckResult:
    raw = {"allowed": text(snapshot.mandate.approval_above_usdc), "attempted": str(request.amount)}
    approved = any(
        a.status_at(snapshot.now) == "approved" and a.action_hash == request.action_hash
        for a in snapshot.approvals
    )
    return CheckResult(
        ClauseKey.ASKING,
        "approval_missing",
        approved or not needs_approval(snapshot, request.amount),
        raw,
    )


@dataclass(frozen=True, slots=True)
class Remaining:
    """The largest single action possible now, the clause that binds, when time alone lifts it, and
    the refusal that any action meets (None where an amount is what binds).
    """

    amount: Usdc
    binding: ClauseKey
    retry_at: datetime | None = None
    blocked_by: str | None = None

    def as_json(self) -> dict[str, object]:
        """Shape `{value, binding, blocked_by, retry_at}`."""
        return {
            "value": str(self.amount),
            "binding": {"clause": int(self.binding), "key": self.binding.key},
            "blocked_by": self.blocked_by,
            "retry_at": None if self.retry_at is None else timestamp(self.retry_at),
        }


def _is_above_line(snapshot: MandateSnapshot) -> bool:
    return _is_above_floor(snapshot, *_worth_and_floor(snapshot))


# Preconditions of every action, in the order of the refusals; the first that fails is reported.
_PRECONDITIONS: Final = (
    (_is_not_stopped, ClauseKey.AT_STOP, "mandate_stopped"),
    (_is_in_time, ClauseKey.PERIOD, "mandate_ended"),
    (_is_accepted, ClauseKey.YOUR_FLOORS, "mandate_not_accepted"),
    (_is_open, ClauseKey.YOUR_FLOORS, "mandate_paused"),
    (_is_above_line, ClauseKey.STOP_LINE, "below_stop_line"),
)


def remaining(snapshot: MandateSnapshot) -> Remaining:
    """min(per action, day left, cash left), or nothing where no action is possible (contract 5)."""
    for holds, clause, code in _PRECONDITIONS:
        if not holds(snapshot):
            return Remaining(ZERO, clause, blocked_by=code)
    amount, binding = _largest_amount(snapshot)
    if binding is ClauseKey.PER_ACTION:
        return Remaining(amount, binding)
    return Remaining(
        amount, binding, earliest_possible(snapshot, lambda c: _largest_amount(c)[0] > amount)
    )


def _largest_amount(snapshot: MandateSnapshot) -> tuple[Usdc, ClauseKey]:
    """The largest amount that caps, day and cash take together, and the clause that binds it."""
    options = [
        (per_tx_cap(snapshot)[0], ClauseKey.PER_ACTION),
        (max(ZERO, daily_cap(snapshot) - day_used(snapshot)), ClauseKey.PER_DAY),
    ]
    free, _ = available_cash(snapshot)
    if free is not None:
        options.append((free, ClauseKey.BUDGET))
    amount, binding = min(options, key=lambda o: (o[0], o[1]))
    return amount, binding


def day_fits(snapshot: MandateSnapshot, amount: Usdc, reserved: Usdc = ZERO) -> bool:
    """True where the day cap leaves room for `amount`; equality passes."""
    return day_used(snapshot, reserved) + amount <= daily_cap(snapshot)


def own_reserved_amount(snapshot: MandateSnapshot, request: ActionRequest) -> Usdc:
    """The amount of the action's own reservation while it is live, else 0."""
    own = (r.action.action_hash == request.action_hash for r in snapshot.reservations)
    return request.reserved if any(own) else ZERO


def _cash_fits(snapshot: MandateSnapshot, request: ActionRequest) -> bool:
    available, _ = available_cash(snapshot, own_reserved_amount(snapshot, request))
    return available is None or request.amount <= available


def retry_after_decline(snapshot: MandateSnapshot, decided: datetime) -> datetime:
    """The time from which an action that the owner declined may be requested again."""
    return decided + timedelta(seconds=snapshot.config.declined_quiet_s)
