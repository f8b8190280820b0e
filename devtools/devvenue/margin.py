"""Margin: an account's worth, the margin of its positions, and their liquidation prices.

Source: venue page 1.1 (`clearinghouseState`) and 1.4; an account in unified or portfolio mode has
one pool of each collateral for all dexes.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from devtools.devvenue.accounts import Account
from devtools.devvenue.decimals import ONE, ZERO
from devtools.devvenue.markets import Market
from devtools.devvenue.records import Position
from devtools.devvenue.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The four figures of a margin summary."""

    value: Decimal
    notional: Decimal
    raw_usd: Decimal
    used: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One pool of money with everything that it backs."""

    cash: Decimal
    held: tuple[tuple[Market, Position], ...]
    orders_margin: Decimal

    @property
    def crossed(self) -> tuple[tuple[Market, Position], ...]:
        """The positions that share this money."""
        return tuple((m, p) for m, p in self.held if p.is_cross)

    @property
    def cross_value(self) -> Decimal:
        """Equity of the shared part."""
        return self.cash + sum((p.size * m.mark for m, p in self.crossed), ZERO)

    @property
    def cross_used(self) -> Decimal:
        """Initial margin of the shared positions."""
        return sum((p.margin_used(m.mark) for m, p in self.crossed), ZERO)

    @property
    def maintenance(self) -> Decimal:
        """Below it the shared positions are liquidated."""
        return sum((abs(p.size) * m.mark * m.maintenance for m, p in self.crossed), ZERO)

    @property
    def available(self) -> Decimal:
        """Free for new orders."""
        return self.cross_value - self.cross_used - self.orders_margin

    @property
    def withdrawable(self) -> Decimal:
        """Free to leave: a tenth of the notional stays, whatever the leverage."""
        notional = sum((abs(p.size) * m.mark for m, p in self.crossed), ZERO)
        bound = max(self.cross_used + self.orders_margin, notional / 10)
        return max(ZERO, self.cross_value - bound)

    @property
    def balance(self) -> Decimal:
        """Deposits and realized results: what a balance shows, without open profit."""
        cross = sum((p.entry for _, p in self.crossed), ZERO)
        apart = sum((p.raw_usd + p.entry for _, p in self.held if not p.is_cross), ZERO)
        return self.cash + cross + apart

    def summary(self, *, cross_only: bool) -> Summary:
        """The figures of `marginSummary` or of `crossMarginSummary`."""
        positions = self.crossed if cross_only else self.held
        value = self.cross_value
        used = self.cross_used
        if not cross_only:
            apart = sum((p.equity(m.mark) for m, p in self.held if not p.is_cross), ZERO)
            value, used = value + apart, used + apart
        signed = sum((p.size * m.mark for m, p in positions), ZERO)
        notional = sum((abs(p.size) * m.mark for m, p in positions), ZERO)
        return Summary(value=value, notional=notional, raw_usd=value - signed, used=used)


def pool(state: State, account: Account, dex: str) -> Pool:
    """The pool behind a dex: the dex alone, or every dex of the same collateral."""
    token = state.collateral(dex)
    dexes = {d for d in state.dexes if account.pooled and state.collateral(d) == token} | {dex}
    positions = tuple(
        (state.markets[coin], position)
        for coin, position in account.positions.items()
        if state.markets[coin].dex in dexes
    )
    return Pool(
        cash=account.cash(dex, token),
        held=positions,
        orders_margin=_orders_margin(state, account, dexes),
    )


def _orders_margin(state: State, account: Account, dexes: set[str]) -> Decimal:
    """Initial margin of what rests, as far as it would open."""
    bound = ZERO
    closing: dict[tuple[str, bool], Decimal] = {}
    for order in account.orders.values():
        market = state.markets[order.coin]
        if order.reduce_only or market.dex not in dexes:
            continue
        size = account.position(order.coin)
        against = -size if order.is_buy else size
        left = closing.setdefault((order.coin, order.is_buy), max(ZERO, against))
        closing[order.coin, order.is_buy] = max(ZERO, left - order.sz)
        opening = max(ZERO, order.sz - left)
        _, leverage = account.setting(order.coin, market.max_leverage, market.cross_allowed)
        bound += opening * order.px / leverage
    return bound


def liquidation_price(state: State, account: Account, market: Market) -> Decimal | None:
    """The mark at which a position is liquidated if only its own mark moves; None where it never
    is.

    Source: the venue's page on liquidations: mark - side x available / size / (1 - l x side).
    """
    position = account.positions[market.coin]
    shared = pool(state, account, market.dex)
    side = ONE if position.size > 0 else -ONE
    size = abs(position.size)
    if position.is_cross:
        room = shared.cross_value - shared.maintenance
    else:
        room = position.equity(market.mark) - size * market.mark * market.maintenance
    px = market.mark - side * room / size / (ONE - market.maintenance * side)
    return px if px > 0 else None
