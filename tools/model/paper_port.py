"""Port of the paper exchange: books, and how an order is filled on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Protocol

from domain.ports import Ids, Venue
from domain.refusals import Refusal
from domain.trading.orders import Order, OrderFill
from domain.trading.paper.order_execution import MarketSnapshot
from domain.trading.venue_values import Perp, Position
from storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperExecution:
    """Result of a paper order: its fills, whether the rest waits in the book, or why it was
    refused. `word` is what its `venue.status` would be.
    """

    fills: tuple[OrderFill, ...] = ()
    rests: bool = False
    word: str = "open"
    refused: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperPosition:
    """One position of a paper book."""

    book: str
    position: Position


class PaperExchange(Protocol):
    """Fills paper orders on the market's own books. Money on paper is a replay of their fills."""

    def book_for(
        self,
        uow: UnitOfWork,
        ids: Ids,
        now: datetime,
        *,
        owner_id: str,
        agent_id: str | None,
        name: str | None,
    ) -> str:
        """The book that an order goes to: the named one, else the owner's oldest, which is made
        where there is none. Errors: `wallet_invalid_order` for a book that the caller may not use.
        """
        ...

    def latency(self, uow: UnitOfWork, owner_id: str, name: str | None) -> timedelta:
        """The time after its acceptance at which an order meets the market: as its book says, the
        owner's oldest one where none is named.
        """
        ...

    async def snapshot(
        self, venue: Venue, product: str, *, latency: timedelta, reduces: bool
    ) -> MarketSnapshot:
        """The snapshot that fills an order which is accepted now: it is taken the latency later.

        Errors: `wallet_venue_unavailable`; then nothing is filled.
        """
        ...

    def fill(
        self, uow: UnitOfWork, order: Order, market_snapshot: MarketSnapshot, now: datetime
    ) -> PaperExecution:
        """Write into the book what an order met, in the transaction that says so of the order."""
        ...

    def liquidation_est(self, uow: UnitOfWork, order: Order, perp: Perp) -> Decimal | None:
        """The product's mark at which the order's book would be liquidated if it filled whole at
        its limit; None where there is none, or where the mark of another position is not at hand.
        """
        ...

    async def settle(self, venue: Venue, order: Order) -> None:
        """Look once at an order that waits, and write down what became of it; one that was left
        between acceptance and fill is rejected. Errors: `wallet_venue_unavailable`.
        """
        ...

    async def watch(self, venue: Venue) -> int:
        """One round over books with something open: funding, liquidation, gaps; how many."""
        ...

    def books(self, uow: UnitOfWork, owner_id: str) -> Sequence[str]:
        """A person's books, oldest first."""
        ...

    def positions(self, uow: UnitOfWork, owner_id: str) -> Sequence[PaperPosition]:
        """The open positions of a person's books."""
        ...
