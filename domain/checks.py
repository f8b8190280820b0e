"""The checks before calldata is handed out: the vault's own, made before gas is spent, and the service's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from domain.book import Book, cash, daily_cap, floor_now, midnight, per_tx_cap, reserved, spent_today, text, worth
from domain.mandate import ClauseKey, Status
from domain.money import ZERO, Usdc
from domain.refusals import Refusal, refusal, timestamp


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
    """The action an agent asks calldata for; `held` is what an own live reservation already counts."""

    target: str
    selector: str
    amount: Usdc
    held: Usdc = ZERO


def action_checks(book: Book, wanted: Wanted) -> list[Check]:
    """Every check in a fixed order; the first that fails is the refusal.

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
    ]


def _check(clause: ClauseKey, code: str, ok: bool, detail: dict[str, Any], **words: Any) -> Check:
    return Check(clause, code, ok, detail, None if ok else refusal(code, detail=detail | {"clause": int(clause)}, **words))


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
    return _check(ClauseKey.YOUR_FLOORS, "mandate_paused", not (book.mandate.paused or by_chain), {})


def _not_ended(book: Book) -> Check:
    at = book.chain.block.at if book.chain else book.now
    ends = book.mandate.ends_at
    told = timestamp(ends) if ends else None
    return _check(ClauseKey.PERIOD, "mandate_ended", not book.mandate.ended(max(at, book.now)), {"ends_at": told}, ends_at=told)


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
        "over_per_tx_cap", attempted=wanted.amount, allowed=cap, bound_by=_bound(by),
        remaining=left.as_json(), detail=told | {"clause": 2},
    )  # fmt: skip
    return Check(ClauseKey.PER_ACTION, "over_per_tx_cap", False, told, refused)


def day_used(book: Book) -> Usdc:
    """What counts against the day cap: the ledger's figure or the vault's, whichever is larger, and reservations."""
    measured = spent_today(book)
    on_chain = book.chain.spent_today if book.chain else ZERO
    return max(measured, on_chain) + reserved(book)


def _per_day(book: Book, wanted: Wanted) -> Check:
    cap, used = daily_cap(book), day_used(book) - wanted.held
    told = {"allowed": str(cap), "used": str(used), "attempted": str(wanted.amount)}
    if used + wanted.amount <= cap:
        return Check(ClauseKey.PER_DAY, "over_daily_cap", True, told)
    refused = refusal(
        "over_daily_cap", attempted=wanted.amount, used=used, allowed=cap, bound_by="",
        remaining=remaining(book).as_json(), retry_at=midnight(book.now), detail=told | {"clause": 3},
    )  # fmt: skip
    return Check(ClauseKey.PER_DAY, "over_daily_cap", False, told, refused)


def _available(book: Book) -> Usdc | None:
    return book.chain.cash if book.chain and book.chain.exists else cash(book)


def _cash(book: Book, wanted: Wanted) -> Check:
    held = _available(book)
    left = None if held is None else max(ZERO, held - (reserved(book) - wanted.held))
    told = {"allowed": text(left), "attempted": str(wanted.amount)}
    ok = left is None or wanted.amount <= left
    return _check(ClauseKey.BUDGET, "over_budget", ok, told, allowed=text(left), attempted=wanted.amount)


def _stop_line(book: Book, wanted: Wanted) -> Check:
    at = book.chain.cash + book.chain.positions if book.chain and book.chain.exists else worth(book)
    floor = book.chain.floor if book.chain and book.chain.exists else floor_now(book)
    told = {"worth": text(at), "floor": str(floor)}
    # An exit takes nothing out; the vault lets it pass below the floor.
    ok = at is None or wanted.amount == ZERO or not book.state.deposits or at >= floor
    return _check(ClauseKey.STOP_LINE, "below_stop_line", ok, told, worth=text(at), floor=floor)


@dataclass(frozen=True, slots=True)
class Remaining:
    """The largest single action possible now, the clause that binds, and when time alone lifts it."""

    amount: Usdc
    binding: ClauseKey
    retry_at: Any = None

    def as_json(self) -> dict[str, Any]:
        """Shape `{value, binding, retry_at}`."""
        return {
            "value": str(self.amount),
            "binding": {"clause": int(self.binding), "key": self.binding.key},
            "retry_at": None if self.retry_at is None else timestamp(self.retry_at),
        }


def remaining(book: Book) -> Remaining:
    """min(per action, day left, cash left), or nothing where no action is possible (contract 5)."""
    for check in (_not_stopped(book), _not_ended(book), _accepted(book), _not_paused(book)):
        if not check.ok:
            return Remaining(ZERO, check.clause)
    cap, _ = per_tx_cap(book)
    day = max(ZERO, daily_cap(book) - day_used(book))
    held = _available(book)
    free = None if held is None else max(ZERO, held - reserved(book))
    options = [(cap, ClauseKey.PER_ACTION), (day, ClauseKey.PER_DAY)]
    if free is not None:
        options.append((free, ClauseKey.BUDGET))
    amount, binding = min(options, key=lambda o: (o[0], o[1]))
    return Remaining(amount, binding, midnight(book.now) if binding is ClauseKey.PER_DAY else None)


def quiet_until(book: Book, decided: Any) -> Any:
    """When an action that the owner declined may be asked for again."""
    return decided + timedelta(seconds=book.config.declined_quiet_s)
