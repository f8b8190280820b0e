"""The checks before calldata is handed out: the vault's own, made before gas is spent, and the
service's.
"""

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
from domain.rules.case import Case, moment, today
from domain.rules.listed import not_allowed
from domain.rules.recorded import recorded_value
from domain.rules.waiting import soonest
from domain.rules.worth import at_risk, cash, floor_now, worth
from domain.times import day_of, timestamp, written_time


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its clause, its code, whether it holds, and the numbers; `ok` is None where that
    could not be told, because the vault was not read.
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
class Wanted:
    """The action an agent asks calldata for: `data` to `target`; `held` is what an own live
    reservation already counts, `action_hash` what identifies it (None while there is no vault).
    """

    target: str
    data: str
    amount: Usdc
    held: Usdc = ZERO
    action_hash: str | None = None

    @property
    def selector(self) -> str:
        """The function that it calls."""
        return selector_of(self.data)


def action_checks(case: Case, wanted: Wanted) -> list[Check]:
    """Every check in a fixed order; the first that fails with a refusal is the refusal.

    The last, asking, refuses nothing: what it does not pass waits for the owner.
    Source: contract 6; equality passes (contract 5).
    """
    checks = [
        _accepted(case),
        _not_stopped(case),
        _not_paused(case),
        _not_ended(case),
        _target(case, wanted),
        _per_action(case, wanted),
        _per_day(case, wanted),
        _cash(case, wanted),
        _stop_line(case, wanted),
        _asking(case, wanted),
    ]
    if not case.unread:
        return checks
    return [replace(c, ok=None) if c.ok and c.code in OF_THE_VAULT else c for c in checks]


# What only the vault can say now: the record can tell that one does not hold, never that it does.
OF_THE_VAULT: Final = frozenset(
    {"mandate_stopped", "mandate_paused", "over_daily_cap", "over_budget", "below_stop_line"}
)


def _check(
    clause: ClauseKey, code: str, ok: bool, detail: Mapping[str, object], **words: Any
) -> Check:
    return Check(
        clause,
        code,
        ok,
        detail,
        None if ok else refusal(code, detail={**detail, "clause": int(clause)}, **words),
    )


def _is_accepted(case: Case) -> bool:
    return case.mandate.accepted_at is not None


def _accepted(case: Case) -> Check:
    return _check(ClauseKey.YOUR_FLOORS, "mandate_not_accepted", _is_accepted(case), {})


def _is_going(case: Case) -> bool:
    chain = case.chain
    by_chain = chain is not None and (chain.stopped or chain.settled)
    return case.mandate.status in (Status.DRAFT, Status.SIGNED, Status.WORKING) and not by_chain


def _not_stopped(case: Case) -> Check:
    told = {"status": case.mandate.status.value}
    return _check(ClauseKey.AT_STOP, "mandate_stopped", _is_going(case), told)


def _is_open(case: Case) -> bool:
    by_chain = case.chain is not None and case.chain.exists and case.chain.paused
    return not (case.mandate.paused or by_chain)


def _not_paused(case: Case) -> Check:
    return _check(ClauseKey.YOUR_FLOORS, "mandate_paused", _is_open(case), {})


def _is_in_time(case: Case) -> bool:
    return not case.mandate.ended(moment(case))


def _not_ended(case: Case) -> Check:
    ends = case.mandate.ends_at
    told = written_time(ends) if ends else None
    return _check(
        ClauseKey.PERIOD, "mandate_ended", _is_in_time(case), {"ends_at": told}, ends_at=told
    )


def _target(case: Case, wanted: Wanted) -> Check:
    found = case.mandate.misses(wanted.target, wanted.data)
    told: dict[str, object] = {"target": wanted.target, "selector": wanted.selector}
    if found is None:
        return Check(ClauseKey.MARKETS, "target_not_allowed", True, told)
    if found.argument is not None:
        told["argument"] = found.argument
    return Check(
        ClauseKey.MARKETS,
        "target_not_allowed",
        False,
        told,
        not_allowed(found, wanted.target, wanted.selector, detail=told | {"clause": 5}),
    )


def _bound(by: str) -> str:
    return f" (set by the agent's {by})" if by != "mandate" else ""


def _per_action(case: Case, wanted: Wanted) -> Check:
    cap, by = per_tx_cap(case)
    told = {"allowed": str(cap), "attempted": str(wanted.amount), "bound_by": by}
    if wanted.amount <= cap:
        return Check(ClauseKey.PER_ACTION, "over_per_tx_cap", True, told)
    left = remaining(case)
    refused = refusal(
        "over_per_tx_cap",
        attempted=wanted.amount,
        allowed=cap,
        bound_by=_bound(by),
        remaining=left.as_json(),
        detail=told | {"clause": 2},
    )
    return Check(ClauseKey.PER_ACTION, "over_per_tx_cap", False, told, refused)


def under_way(case: Case, held: Usdc = ZERO) -> Usdc:
    """Spend of this UTC day that may be on its way and is no chain row yet.

    One action shows up to three times: reserved when its calldata is handed out, claimed when it
    is reported, in the vault's figure when it is mined. A claim stands in the place of its
    reservation; of that and what the vault has over the ledger the larger counts, so that no
    action counts twice. `held` is what an own live reservation for the same action already counts.
    """
    told = pending_on(case, today(case)) + reserved(case) - held
    return max(told, unread(case), ZERO)


def unread(case: Case) -> Usdc:
    """What the vault spent on this UTC day that no row of the ledger tells of yet."""
    day, chain = today(case), case.chain
    if chain is None or not chain.exists or day_of(chain.block.at) != day:
        return ZERO
    told = case.measured.days.get(day)
    return max(ZERO, chain.spent_today - Usdc(told.spent if told else 0))


def day_used(case: Case, held: Usdc = ZERO) -> Usdc:
    """What counts against the day cap: measured, notional, what is under way, and live orders at
    the venue, of which the vault knows nothing.
    """
    return spent_on(case, today(case)) + under_way(case, held) + case.orders.live


def _per_day(case: Case, wanted: Wanted) -> Check:
    cap, used = daily_cap(case), day_used(case, wanted.held)
    told = {"allowed": str(cap), "used": str(used), "attempted": str(wanted.amount)}
    # What takes nothing out spends nothing of the day, however much of it is used: the vault asks
    # its day cap of a spend alone.
    if wanted.amount == ZERO or used + wanted.amount <= cap:
        return Check(ClauseKey.PER_DAY, "over_daily_cap", True, told)
    refused = refusal(
        "over_daily_cap",
        attempted=wanted.amount,
        used=used,
        allowed=cap,
        bound_by="",
        remaining=remaining(case).as_json(),
        retry_at=soonest(case, lambda c: day_fits(c, wanted.amount, held_in(c, wanted))),
        detail=told | {"clause": 3},
    )
    return Check(ClauseKey.PER_DAY, "over_daily_cap", False, told, refused)


def cash_left(case: Case, held: Usdc = ZERO) -> tuple[Usdc | None, str]:
    """Cash that no handed-out calldata may still take, or what a stricter policy leaves; None
    where cash is unknown.
    """
    most, by = budget(case)
    room = max(ZERO, most - at_risk(case)) if by == "policy" else None
    chain = case.chain
    if chain is not None and chain.exists:
        free: Usdc | None = max(ZERO, chain.cash - max(ZERO, reserved(case) - held - unread(case)))
    else:
        known = cash(case)
        free = None if known is None else max(ZERO, known - max(ZERO, reserved(case) - held))
    if room is not None and (free is None or room < free):
        return room, "policy"
    return free, "mandate"


def _cash(case: Case, wanted: Wanted) -> Check:
    left, by = cash_left(case, wanted.held)
    told = {"allowed": text(left), "attempted": str(wanted.amount), "bound_by": by}
    if left is None or wanted.amount <= left:
        return Check(ClauseKey.BUDGET, "over_budget", True, told)
    refused = refusal(
        "over_budget",
        attempted=wanted.amount,
        allowed=left,
        remaining=remaining(case).as_json(),
        retry_at=soonest(case, lambda c: _cash_fits(c, wanted)),
        detail=told | {"clause": 1},
    )
    return Check(ClauseKey.BUDGET, "over_budget", False, told, refused)


def _worth_and_floor(case: Case) -> tuple[Usdc | None, Usdc]:
    chain = case.chain
    if chain is None or not chain.exists:
        return worth(case), floor_now(case)
    return (chain.cash + chain.positions if chain.measured else None), chain.floor


def _is_above(case: Case, at: Usdc | None, floor: Usdc) -> bool:
    """A worth that is unknown is left to the vault; before a deposit there is nothing to lose."""
    return at is None or not case.measured.deposits or at >= floor


def _stop_line(case: Case, wanted: Wanted) -> Check:
    at, floor = _worth_and_floor(case)
    told: dict[str, object] = {"worth": text(at), "floor": str(floor)}
    # An exit takes nothing out; the vault lets it pass below the floor, by the record.
    record = recorded_value(case.chain) if wanted.amount == ZERO else None
    if record is not None and record.stale:
        told["recorded_value_stale"] = record.as_json()
    ok = wanted.amount == ZERO or _is_above(case, at, floor)
    return _check(ClauseKey.STOP_LINE, "below_stop_line", ok, told, worth=text(at), floor=floor)


def needs_approval(case: Case, amount: Usdc) -> bool:
    """True strictly above the approval amount, while the gate is on; a vault that keeps approvals
    itself has no gate to switch.
    """
    m = case.mandate
    asks = bool(m.approvals_on_chain) or case.switches.approval_gate
    above = m.approval_above_usdc
    return asks and above is not None and amount > above


def _asking(case: Case, wanted: Wanted) -> Check:
    told = {"allowed": text(case.mandate.approval_above_usdc), "attempted": str(wanted.amount)}
    approved = any(
        a.shown(case.now) == "approved" and a.action_hash == wanted.action_hash
        for a in case.approvals
    )
    return Check(
        ClauseKey.ASKING,
        "approval_missing",
        approved or not needs_approval(case, wanted.amount),
        told,
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


def _is_above_line(case: Case) -> bool:
    return _is_above(case, *_worth_and_floor(case))


# What any action meets, in the order in which it is told; none is asked once one does not hold.
_STANDING: Final = (
    (_is_going, ClauseKey.AT_STOP, "mandate_stopped"),
    (_is_in_time, ClauseKey.PERIOD, "mandate_ended"),
    (_is_accepted, ClauseKey.YOUR_FLOORS, "mandate_not_accepted"),
    (_is_open, ClauseKey.YOUR_FLOORS, "mandate_paused"),
    (_is_above_line, ClauseKey.STOP_LINE, "below_stop_line"),
)


def remaining(case: Case) -> Remaining:
    """min(per action, day left, cash left), or nothing where no action is possible (contract 5)."""
    for stands, clause, code in _STANDING:
        if not stands(case):
            return Remaining(ZERO, clause, blocked_by=code)
    amount, binding = _most(case)
    if binding is ClauseKey.PER_ACTION:
        return Remaining(amount, binding)
    return Remaining(amount, binding, soonest(case, lambda c: _most(c)[0] > amount))


def _most(case: Case) -> tuple[Usdc, ClauseKey]:
    """The largest amount that caps, day and cash take together, and the clause that binds it."""
    options = [
        (per_tx_cap(case)[0], ClauseKey.PER_ACTION),
        (max(ZERO, daily_cap(case) - day_used(case)), ClauseKey.PER_DAY),
    ]
    free, _ = cash_left(case)
    if free is not None:
        options.append((free, ClauseKey.BUDGET))
    amount, binding = min(options, key=lambda o: (o[0], o[1]))
    return amount, binding


def day_fits(case: Case, amount: Usdc, held: Usdc = ZERO) -> bool:
    """Whether the day takes so much more; equality passes."""
    return day_used(case, held) + amount <= daily_cap(case)


def held_in(case: Case, wanted: Wanted) -> Usdc:
    """What an own reservation counts, while it is live."""
    own = (r.action.action_hash == wanted.action_hash for r in case.reservations)
    return wanted.held if any(own) else ZERO


def _cash_fits(case: Case, wanted: Wanted) -> bool:
    left, _ = cash_left(case, held_in(case, wanted))
    return left is None or wanted.amount <= left


def quiet_until(case: Case, decided: datetime) -> datetime:
    """When an action that the owner declined may be asked for again."""
    return decided + timedelta(seconds=case.config.declined_quiet_s)
