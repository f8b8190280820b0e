"""Worth: cash, positions, floor and the agent's fee."""

from __future__ import annotations

from domain.money import ZERO, Usdc
from domain.rules.case import Book


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
    """The floor that binds: the vault's, in proportion while the budget is not fully paid in, else
    the terms'.
    """
    deposited = Usdc(book.state.deposits)
    if deposited and deposited < book.mandate.budget_usdc:
        return deposited.share_down(10_000 - book.mandate.stop_floor_bps)
    return book.mandate.floor
