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
        """The named book, else the owner's oldest or a new one. Errors: `wallet_invalid_order`."""
        ...

    def latency(self, uow: UnitOfWork, owner_id: str, name: str | None) -> timedelta:
        """The time after its acceptance at which an order meets the market, by its book."""
        ...

    async def snapshot(
        self, venue: Venue, product: str, *, latency: timedelta, reduces: bool
    ) -> MarketSnapshot:
        """The snapshot, a latency later, that fills. Errors: `wallet_venue_unavailable`."""
        ...

    def fill(
        self, uow: UnitOfWork, order: Order, market: MarketSnapshot, now: datetime
    ) -> PaperExecution:
        """Write into the book what an order met, in the transaction that says so of the order."""
        ...

    def liquidation_est(self, uow: UnitOfWork, order: Order, perp: Perp) -> Decimal | None:
        """The mark that would liquidate the book if the order filled whole at its limit."""
        ...

    async def settle(self, venue: Venue, order: Order) -> None:
        """Look once at an order that waits, and store what became of it; one that was left
        before its fill is rejected. Errors: `wallet_venue_unavailable`.
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
