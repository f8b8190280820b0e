"""What stands behind paper orders: the books of people, and how an order is filled on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from domain.ports import Ids, Venue
from domain.trading.orders import Order, OrderFill
from domain.trading.venue import Position
from storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperOutcome:
    """What became of a paper order: its fills, and whether the rest waits in the book."""

    fills: tuple[OrderFill, ...]
    rests: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperPosition:
    """One position of a paper book."""

    book: str
    position: Position


class PaperDesk(Protocol):
    """Fills paper orders on the market's own books. Money on paper is a replay of their fills."""

    def book_for(
        self,
        uow: UnitOfWork,
        ids: Ids,
        now: datetime,
        *,
        owner_id: str,
        agent_id: str | None,
        named: str | None,
    ) -> str:
        """The book that an order goes to: the named one, else the owner's oldest, which is made
        where there is none. Errors: `wallet_invalid_order` for a book that the caller may not use.
        """
        ...

    async def fill(self, venue: Venue, order: Order) -> PaperOutcome:
        """What the order meets on the market's book. Errors: `wallet_venue_unavailable`."""
        ...

    def booked(self, uow: UnitOfWork, order: Order) -> None:
        """Write into the book what became of an order, in the transaction that says so."""
        ...

    def books(self, uow: UnitOfWork, owner_id: str) -> Sequence[str]:
        """A person's books, oldest first."""
        ...

    def positions(self, uow: UnitOfWork, owner_id: str) -> Sequence[PaperPosition]:
        """The open positions of a person's books."""
        ...
