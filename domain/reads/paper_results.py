"""Paper results of an agent as the Hall shows them: apart from everything measured, and with the
number of books behind them, so that the best of many can be seen to be that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.money import BPS, Usdc
from domain.times import Timestamp
from domain.trading.paper.replay import PaperAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBookResult:
    """One paper book, from its first fill to the newest entry at which its worth was known. Null
    before the first fill. `twr_bps` is over what it started with: nothing is ever paid in or out.
    """

    book: str
    started_at: Timestamp | None
    days: int
    net_usdc: Usdc | None
    twr_bps: int | None
    max_drawdown_bps: int | None
    trades: int
    gaps: int
    as_of: Timestamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperResults:
    """Paper books that were opened for an agent. `books_opened` are all that its owner ever opened,
    for whatever agent.
    """

    books_opened: int
    books: tuple[PaperBookResult, ...]
    est: Literal[True] = True


def paper_results(
    opened: int, books: Sequence[tuple[str, PaperAccount]], now: datetime
) -> PaperResults:
    """The results of an agent's books, oldest first."""
    results = tuple(_result(book, account, now) for book, account in books)
    return PaperResults(books_opened=opened, books=results)


def _result(book: str, account: PaperAccount, now: datetime) -> PaperBookResult:
    began = account.first_fill_at
    net = None if account.seen is None or began is None else account.seen - account.start
    return PaperBookResult(
        book=book,
        started_at=began,
        days=0 if began is None else max(1, (now - began).days + 1),
        net_usdc=None if net is None else Usdc(net),
        # Rounded down: a loss is not less, a gain not more than it is.
        twr_bps=None if net is None else net * BPS // account.start,
        max_drawdown_bps=None if net is None else account.drawdown_bps,
        trades=account.trades,
        gaps=account.gap_count,
        as_of=None if began is None else account.seen_at,
    )
