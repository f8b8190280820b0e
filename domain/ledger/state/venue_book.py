"""The venue's book of a mandate: what its live orders filled, network by network.

A third fold beside the measured and the claimed book: no vault's money is in it, so that it counts
in no mandate's cash, worth or fee.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final

from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import Reporter
from domain.ledger.events.payloads import VenueFilled

_EXACT: Final = Context(prec=80)
_ONE: Final = Decimal(1)


def micros_up(usdc: Decimal) -> int:
    """Micro-USDC of an exact amount, rounded up: for amounts paid."""
    return int(usdc.scaleb(6, _EXACT).quantize(_ONE, ROUND_CEILING, _EXACT))


def micros_down(usdc: Decimal) -> int:
    """Micro-USDC of an exact amount, rounded down: for amounts received or owned."""
    return int(usdc.scaleb(6, _EXACT).quantize(_ONE, ROUND_FLOOR, _EXACT))


def worth_of(size: Decimal, px: Decimal, *, round_up: bool) -> int:
    """Size x price in micro-USDC. The venue's figures have at most six decimals together, so that
    this is exact; what is not goes against the account.
    """
    exact = _EXACT.multiply(size, px)
    return micros_up(exact) if round_up else micros_down(exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class VenuePosition:
    """The mandate's own position in one product, by its orders: not the whole account's position.

    Units: `size` in the coin, negative when short; `cost` micro-USDC that it was entered for, of
    the same sign; `px` the price of its newest fill.
    """

    size: Decimal
    cost: int
    px: Decimal

    @property
    def entry_px(self) -> Decimal:
        """The average price, to eight decimals."""
        exact = _EXACT.divide(Decimal(self.cost).scaleb(-6), self.size)
        return exact.quantize(Decimal("0.00000001")).normalize() + Decimal(0)

    def result(self, mark: Decimal) -> int:
        """The open result at a mark, rounded down."""
        return worth_of(self.size, mark, round_up=False) - self.cost


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueAccount:
    """The mandate's fills on one network.

    Units: micro-USDC. `realized` is of what was closed, at average cost, before fees; `fees` are
    all of them, `builder_fees` a part; `orders` those that filled; `volume` is gross.
    """

    fills: int = 0
    orders: int = 0
    volume: int = 0
    realized: int = 0
    fees: int = 0
    builder_fees: int = 0
    positions: Mapping[str, VenuePosition] = field(default_factory=dict)

    @property
    def net(self) -> int:
        """Realized gains, less every fee."""
        return self.realized - self.fees

    def open_result(self, marks: Mapping[str, Decimal]) -> int | None:
        """The open results; None where a mark is missing."""
        if any(product not in marks for product in self.positions):
            return None
        return sum(p.result(marks[product]) for product, p in self.positions.items())

    def result(self, marks: Mapping[str, Decimal]) -> int | None:
        """Realized, less fees, with what is open at its marks; None where a mark is missing."""
        open_result = self.open_result(marks)
        return None if open_result is None else self.net + open_result


NO_ACCOUNT: Final = VenueAccount()


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueBook:
    """The accounts by network, and the network of the newest fill. Networks are never summed."""

    accounts: Mapping[str, VenueAccount] = field(default_factory=dict)
    newest: str | None = None

    def of(self, network: str) -> VenueAccount:
        """The account on a network."""
        return self.accounts.get(network, NO_ACCOUNT)


EMPTY: Final = VenueBook()


def apply(book: VenueBook, event: Event) -> VenueBook:
    """The book after one more row of the ledger; only the house's fills change it. Pure, total."""
    fill = event.content.body
    if event.reported_by is not Reporter.KEEPER or not isinstance(fill, VenueFilled):
        return book
    return apply_fill(book, fill)


def apply_fill(book: VenueBook, fill: VenueFilled) -> VenueBook:
    """The book after one more fill; one of no size or price is none."""
    if fill.size <= 0 or fill.px <= 0:
        return book
    accounts = {**book.accounts, fill.network: _apply_fill(book.of(fill.network), fill)}
    return VenueBook(accounts=accounts, newest=fill.network)


def _apply_fill(account: VenueAccount, fill: VenueFilled) -> VenueAccount:
    position = account.positions.get(fill.product)
    updated, realized = _moved_position(position, fill)
    positions = {k: p for k, p in account.positions.items() if k != fill.product}
    return VenueAccount(
        fills=account.fills + 1,
        orders=account.orders + fill.first,
        volume=account.volume + worth_of(fill.size, fill.px, round_up=fill.is_buy),
        realized=account.realized + realized,
        fees=account.fees + micros_up(fill.fee),
        builder_fees=account.builder_fees + micros_up(fill.builder_fee),
        positions=positions if updated is None else {**positions, fill.product: updated},
    )


def _moved_position(
    position: VenuePosition | None, fill: VenueFilled
) -> tuple[VenuePosition | None, int]:
    """(the position after a fill, what the fill realizes before fees)."""
    signed = fill.size if fill.is_buy else -fill.size
    realized = 0
    if position is not None and (position.size > 0) != fill.is_buy:
        closing = min(abs(position.size), fill.size)
        released = _released(position, closing)
        back = closing if position.size > 0 else -closing
        realized = worth_of(back, fill.px, round_up=False) - released
        signed += back
        size = position.size - back
        position = (
            replace(position, size=size, cost=position.cost - released, px=fill.px)
            if size
            else None
        )
    if not signed:
        return position, realized
    cost = worth_of(signed, fill.px, round_up=True) + (position.cost if position else 0)
    size = signed + (position.size if position else Decimal(0))
    return VenuePosition(size=size, cost=cost, px=fill.px), realized


def _released(position: VenuePosition, closing: Decimal) -> int:
    """The part of the cost that goes with a part of the position, rounded against the account; the
    last part takes what is left.
    """
    size = abs(position.size)
    if closing == size:
        return position.cost
    part = _EXACT.divide(_EXACT.multiply(Decimal(position.cost), closing), size)
    return int(part.quantize(_ONE, ROUND_CEILING, _EXACT))
