"""The checks before calldata is handed out: the vault's own, made before gas is spent, and the
service's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from domain.mandates.mandate import ClauseKey, Status
from domain.money import ZERO, Usdc, text
from domain.refusals import Refusal, refusal
from domain.rules.caps import (
    budget,
    daily_cap,
    frees_at,
    pending_on,
    per_tx_cap,
    reserved,
    spent_on,
)
from domain.rules.case import Book, moment, today
from domain.rules.worth import at_risk, cash, floor_now, worth
from domain.times import day_of, midnight, timestamp


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its clause, its code, whether it holds, and the numbers."""

    clause: ClauseKey
    code: str
    ok: bool
    detail: dict[str, Any]
    refusal: Refusal | None = None

    def as_json(self) -> dict[str, Any]:
        """Shape `{clause, code, ok, detail}` (contract 6)."""
        return {"clause": int(self.clause), "code": self.code, "ok": self.ok, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The action an agent asks calldata for; `held` is what an own live reservation already
    counts.
    """

    target: str
    selector: str
    amount: Usdc
    held: Usdc = ZERO


def action_checks(book: Book, wanted: Wanted) -> list[Check]:
    """Every check in a fixed order; the first that fails with a refusal is the refusal.

    The last, asking, refuses nothing: what it does not pass waits for the owner.
    Source: contract 6; equality passes (contract 5).
    """
    return [
        _accepted(book),
        _not_stopped(book),
        _not_paused(book),
        _not_ended(book),
        _target(book, wanted),
        _per_action(book, wanted),
        _per_day(book, wanted),
        _cash(book, wanted),
        _stop_line(book, wanted),
        _asking(book, wanted),
    ]


def _check(clause: ClauseKey, code: str, ok: bool, detail: dict[str, Any], **words: Any) -> Check:
    return Check(
        clause,
        code,
        ok,
        detail,
        None if ok else refusal(code, detail=detail | {"clause": int(clause)}, **words),
    )


def _accepted(book: Book) -> Check:
    ok = book.mandate.accepted_at is not None
    return _check(ClauseKey.YOUR_FLOORS, "mandate_not_accepted", ok, {})


def _not_stopped(book: Book) -> Check:
    m, chain = book.mandate, book.chain
    by_chain = chain is not None and (chain.stopped or chain.settled)
    ok = m.status in (Status.DRAFT, Status.SIGNED, Status.WORKING) and not by_chain
    return _check(ClauseKey.AT_STOP, "mandate_stopped", ok, {"status": m.status.value})


def _not_paused(book: Book) -> Check:
    by_chain = book.chain is not None and book.chain.exists and book.chain.paused
    return _check(
        ClauseKey.YOUR_FLOORS, "mandate_paused", not (book.mandate.paused or by_chain), {}
    )


def _not_ended(book: Book) -> Check:
    ends = book.mandate.ends_at
    told = timestamp(ends) if ends else None
    return _check(
        ClauseKey.PERIOD,
        "mandate_ended",
        not book.mandate.ended(moment(book)),
        {"ends_at": told},
        ends_at=told,
    )


def _target(book: Book, wanted: Wanted) -> Check:
    ok = book.mandate.contract_target(wanted.target, wanted.selector) is not None
    told = {"target": wanted.target, "selector": wanted.selector}
    return _check(ClauseKey.MARKETS, "target_not_allowed", ok, told, **told)


def _bound(by: str) -> str:
    return f" (set by the agent's {by})" if by != "mandate" else ""


def _per_action(book: Book, wanted: Wanted) -> Check:
    cap, by = per_tx_cap(book)
    told = {"allowed": str(cap), "attempted": str(wanted.amount), "bound_by": by}
    if wanted.amount <= cap:
        return Check(ClauseKey.PER_ACTION, "over_per_tx_cap", True, told)
    left = remaining(book)
    refused = refusal(
        "over_per_tx_cap",
        attempted=wanted.amount,
        allowed=cap,
        bound_by=_bound(by),
        remaining=left.as_json(),
        detail=told | {"clause": 2},
    )
    return Check(ClauseKey.PER_ACTION, "over_per_tx_cap", False, told, refused)


def under_way(book: Book, held: Usdc = ZERO) -> Usdc:
    """Spend of this UTC day that may be on its way and is no chain row yet.

    One action shows up to three times: reserved when its calldata is handed out, claimed when it
    is reported, in the vault's figure when it is mined. A claim stands in the place of its
    reservation; of that and what the vault has over the ledger the larger counts, so that no
    action counts twice. `held` is what an own live reservation for the same action already counts.
    """
    told = pending_on(book, today(book)) + reserved(book) - held
    return max(told, unread(book), ZERO)


def unread(book: Book) -> Usdc:
    """What the vault spent on this UTC day that no row of the ledger tells of yet."""
    day, chain = today(book), book.chain
    if chain is None or not chain.exists or day_of(chain.block.at) != day:
        return ZERO
    told = book.measured.days.get(day)
    return max(ZERO, chain.spent_today - Usdc(told.spent if told else 0))


def day_used(book: Book, held: Usdc = ZERO) -> Usdc:
    """What counts against the day cap: measured, notional, and what is under way."""
    return spent_on(book, today(book)) + under_way(book, held)


def _per_day(book: Book, wanted: Wanted) -> Check:
    cap, used = daily_cap(book), day_used(book, wanted.held)
    told = {"allowed": str(cap), "used": str(used), "attempted": str(wanted.amount)}
    if used + wanted.amount <= cap:
        return Check(ClauseKey.PER_DAY, "over_daily_cap", True, told)
    refused = refusal(
        "over_daily_cap",
        attempted=wanted.amount,
        used=used,
        allowed=cap,
        bound_by="",
        remaining=remaining(book).as_json(),
        retry_at=_retry_at(book, ClauseKey.PER_DAY),
        detail=told | {"clause": 3},
    )
    return Check(ClauseKey.PER_DAY, "over_daily_cap", False, told, refused)


def cash_left(book: Book, held: Usdc = ZERO) -> tuple[Usdc | None, str]:
    """Cash that no handed-out calldata may still take, or what a stricter policy leaves; None
    where cash is unknown.
    """
    most, by = budget(book)
    room = max(ZERO, most - at_risk(book)) if by == "policy" else None
    chain = book.chain
    if chain is not None and chain.exists:
        free: Usdc | None = max(ZERO, chain.cash - max(ZERO, reserved(book) - held - unread(book)))
    else:
        known = cash(book)
        free = None if known is None else max(ZERO, known - max(ZERO, reserved(book) - held))
    if room is not None and (free is None or room < free):
        return room, "policy"
    return free, "mandate"


def _cash(book: Book, wanted: Wanted) -> Check:
    left, by = cash_left(book, wanted.held)
    told = {"allowed": text(left), "attempted": str(wanted.amount), "bound_by": by}
    if left is None or wanted.amount <= left:
        return Check(ClauseKey.BUDGET, "over_budget", True, told)
    refused = refusal(
        "over_budget",
        attempted=wanted.amount,
        allowed=left,
        remaining=remaining(book).as_json(),
        detail=told | {"clause": 1},
    )
    return Check(ClauseKey.BUDGET, "over_budget", False, told, refused)


def _stop_line(book: Book, wanted: Wanted) -> Check:
    at = book.chain.cash + book.chain.positions if book.chain and book.chain.exists else worth(book)
    floor = book.chain.floor if book.chain and book.chain.exists else floor_now(book)
    told = {"worth": text(at), "floor": str(floor)}
    # An exit takes nothing out; the vault lets it pass below the floor.
    ok = at is None or wanted.amount == ZERO or not book.measured.deposits or at >= floor
    return _check(ClauseKey.STOP_LINE, "below_stop_line", ok, told, worth=text(at), floor=floor)


def needs_approval(book: Book, amount: Usdc) -> bool:
    """True strictly above the approval amount, while the gate is on."""
    above = book.mandate.approval_above_usdc
    return book.switches.approval_gate and above is not None and amount > above


def _asking(book: Book, wanted: Wanted) -> Check:
    told = {"allowed": text(book.mandate.approval_above_usdc), "attempted": str(wanted.amount)}
    approved = any(
        a.shown(book.now) == "approved"
        and a.approve_amount_usdc == wanted.amount
        and str(a.target.get("address")).lower() == wanted.target.lower()
        and str(a.target.get("selector")).lower() == wanted.selector.lower()
        for a in book.approvals
    )
    return Check(
        ClauseKey.ASKING,
        "approval_missing",
        approved or not needs_approval(book, wanted.amount),
        told,
    )


@dataclass(frozen=True, slots=True)
class Remaining:
    """The largest single action possible now, the clause that binds, and when time alone lifts
    it.
    """

    amount: Usdc
    binding: ClauseKey
    retry_at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Shape `{value, binding, retry_at}`."""
        return {
            "value": str(self.amount),
            "binding": {"clause": int(self.binding), "key": self.binding.key},
            "retry_at": None if self.retry_at is None else timestamp(self.retry_at),
        }


def remaining(book: Book) -> Remaining:
    """min(per action, day left, cash left), or nothing where no action is possible (contract 5)."""
    nothing = Wanted("", "", Usdc(1))
    for check in (
        _not_stopped(book),
        _not_ended(book),
        _accepted(book),
        _not_paused(book),
        _stop_line(book, nothing),
    ):
        if not check.ok:
            return Remaining(ZERO, check.clause)
    options = [
        (per_tx_cap(book)[0], ClauseKey.PER_ACTION),
        (max(ZERO, daily_cap(book) - day_used(book)), ClauseKey.PER_DAY),
    ]
    free, _ = cash_left(book)
    if free is not None:
        options.append((free, ClauseKey.BUDGET))
    amount, binding = min(options, key=lambda o: (o[0], o[1]))
    return Remaining(amount, binding, _retry_at(book, binding))


def _retry_at(book: Book, binding: ClauseKey) -> datetime | None:
    """The soonest time at which more becomes possible by waiting alone."""
    if binding is ClauseKey.PER_DAY:
        next_day = midnight(moment(book))
        return min(next_day, frees_at(book) or next_day)
    holds = binding is ClauseKey.BUDGET and bool(reserved(book))
    return frees_at(book) if holds else None


def quiet_until(book: Book, decided: datetime) -> datetime:
    """When an action that the owner declined may be asked for again."""
    return decided + timedelta(seconds=book.config.declined_quiet_s)
