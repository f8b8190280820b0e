"""Everything a derivation may look at, gathered once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from domain.approvals import Approval, Reservation
from domain.events import Event
from domain.ledger import LedgerState
from domain.mandate import Mandate, Status
from domain.money import ZERO, Usdc, total
from domain.policy import Policy
from domain.ports import Config, Switches, VaultState


@dataclass(frozen=True, slots=True)
class Book:
    """One mandate and what is known about it at `now`.

    Shapes: `events` are the newest rows, newest first; `chain` is the vault at one block, None where it was not read;
    `provisional` are chain logs that are not deep enough to be ledger rows. `policy` is the agent's, None where unset.
    """

    mandate: Mandate
    state: LedgerState
    now: datetime
    config: Config
    switches: Switches
    events: tuple[Event, ...] = ()
    chain: VaultState | None = None
    approvals: tuple[Approval, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    policy: Policy | None = None
    provisional: tuple[Mapping[str, Any], ...] = ()
    terms_status: Mapping[str, Any] | None = None
    first_events: tuple[Event, ...] = field(default=())


def moment(book: Book) -> datetime:
    """The time that decides: the newest block's where it is ahead of the clock (contract 3)."""
    return max(book.now, book.chain.block.at) if book.chain is not None else book.now


def day_of(at: datetime) -> str:
    """The UTC calendar day."""
    return at.astimezone(UTC).date().isoformat()


def today(book: Book) -> str:
    """The UTC calendar day now."""
    return day_of(moment(book))


def midnight(now: datetime) -> datetime:
    """The next 00:00 UTC."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day + timedelta(days=1)


def spent_on(book: Book, day: str) -> Usdc:
    """Spend of a UTC day: what the chain measured and what the agent reports beyond it."""
    told = book.state.days.get(day)
    return Usdc(told.spent) if told else ZERO


def spent_today(book: Book) -> Usdc:
    """Spend of this UTC day."""
    return spent_on(book, today(book))


def reserved(book: Book) -> Usdc:
    """Amounts of calldata that was handed out and may still be sent."""
    return total(r.amount for r in book.reservations)


def per_tx_cap(book: Book) -> tuple[Usdc, str]:
    """The cap per action and who set it: the stricter of mandate and policy binds (contract 5)."""
    own, policy = book.mandate.per_tx_cap, book.policy.per_tx_cap_usdc if book.policy else None
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")


def daily_cap(book: Book) -> Usdc:
    """The cap per UTC day."""
    return book.mandate.daily_cap


def budget(book: Book) -> tuple[Usdc, str]:
    """The budget and who set it: a policy's total cap may be stricter."""
    own, policy = book.mandate.budget_usdc, book.policy.total_cap_usdc if book.policy else None
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")


def at_risk(book: Book) -> Usdc:
    """Cost of what is open now."""
    return Usdc(sum(r.cost for r in book.state.open_positions.values()))


def cash(book: Book) -> Usdc | None:
    """Chain cash out of the ledger."""
    return None if book.state.cash is None else Usdc(book.state.cash)


def worth(book: Book) -> Usdc | None:
    """Cash, the estimates that move it, and the latest marks; None before the first chain row."""
    if book.state.cash is None:
        return None
    return Usdc(book.state.cash + book.state.cash_est_delta + book.state.positions_est)


def committed(book: Book) -> Usdc:
    """Deposits - withdrawals."""
    return Usdc(book.state.deposits - book.state.withdrawals)


def agent_fee_reserved(book: Book) -> Usdc | None:
    """payout bps x max(0, worth - committed), rounded down; nothing more once it is settled."""
    if book.state.settled is not None:
        return Usdc(max(0, int(book.state.settled["agent_fee"]) - book.state.payouts))
    at = worth(book)
    if at is None:
        return None
    return max(ZERO, at - committed(book)).share_down(book.mandate.payout_bps)


def floor_now(book: Book) -> Usdc:
    """The floor that binds: the vault's, in proportion while the budget is not fully paid in, else the terms'."""
    deposited = Usdc(book.state.deposits)
    if deposited and deposited < book.mandate.budget_usdc:
        return deposited.share_down(10_000 - book.mandate.stop_floor_bps)
    return book.mandate.floor


def shown_status(book: Book) -> str:
    """The status, and `ended` past the end of a mandate that is not settled (contract 3)."""
    m = book.mandate
    live = m.status in (Status.SIGNED, Status.WORKING)
    return "ended" if live and m.ended(book.now) else m.status.value


def text(amount: Usdc | None) -> str | None:
    """Wire text of an amount, null where it is unknown."""
    return None if amount is None else str(amount)
