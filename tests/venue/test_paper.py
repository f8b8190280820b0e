"""Paper beside the local venue's own matching, on the same sequence of books: never better."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.devvenue import DevVenue, Rules
from devtools.devvenue.trading import new_order, place
from devtools.devvenue.wires import OrderWire
from domain.trading.orders import Tif
from domain.trading.paper.entries import Entry, Filled, Model
from domain.trading.paper.matching import consumed_depth
from domain.trading.paper.order_execution import (
    MarketSnapshot,
    PaperOrder,
    execute_on_arrival,
    execute_resting,
)
from domain.trading.paper.replay import apply_entry, open_account
from domain.trading.venue_values import Level, OrderBook, Perp, book_hash
from tests.tools.trading.conftest import BUILDER
from tests.trading_examples import a_perp

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WALLET = "0x" + "11" * 20
LOT = Decimal("0.00001")
MODEL = Model(depth_share=Decimal("0.5"), latency_ms=400)
TIFS: dict[Tif, str] = {"ioc": "Ioc", "gtc": "Gtc", "alo": "Alo"}
RICH = 10**16
Ladder = list[tuple[int, Decimal]]


def perp(venue: DevVenue) -> Perp:
    market = venue.market("BTC")
    figures = {"mark_px": market.mark, "oracle_px": market.oracle}
    return a_perp(max_leverage=market.max_leverage, **figures)


def shown(bids: Ladder, asks: Ladder, n: int) -> OrderBook:
    at = START + timedelta(seconds=n)
    sides = [tuple(Level(Decimal(px), size, 1) for px, size in side) for side in (bids, asks)]
    return OrderBook("BTC", at, sides[0], sides[1], book_hash("BTC", at, sides[0], sides[1]))


sizes = st.integers(1, 100_000).map(lambda n: n * LOT)


@st.composite
def books(draw: st.DrawFn) -> tuple[Ladder, Ladder]:
    """Up to eight levels a side, not crossed, around a price that moves a little."""
    mid = draw(st.integers(63_985, 64_015))
    below = sorted(draw(st.sets(st.integers(1, 15), min_size=1, max_size=8)))
    above = sorted(draw(st.sets(st.integers(0, 15), min_size=1, max_size=8)))
    return [(mid - n, draw(sizes)) for n in below], [(mid + n, draw(sizes)) for n in above]


class Beside:
    """One order at the local venue and on paper, over the same books."""

    def __init__(self, is_buy: bool, limit: int, size: Decimal, tif: Tif) -> None:
        self.venue = DevVenue(lambda: int(START.timestamp() * 1_000), mainnet=True, rules=Rules())
        self.venue.deposit(WALLET, str(RICH // 10**6))
        self.venue.deposit(BUILDER.address, "200")
        self.is_buy, self.limit, self.size, self.tif = is_buy, Decimal(limit), size, tif
        self.account, self.fills = open_account(RICH), list[Filled]()
        self.asked = PaperOrder(
            order_id="o_1", coin="BTC", is_buy=is_buy, limit_px=self.limit, size=size, reduce_only=False, tif=tif,
            leverage=3, builder_tenths_bps=100,
        )  # fmt: skip
        self.waits = False

    def first(self, bids: Ladder, asks: Ladder) -> None:
        seen = shown(bids, asks, 0)
        self.venue.book("BTC", bids, asks)
        state, account = self.venue.state, self.venue.account(WALLET)
        told = {
            "a": 0, "b": self.is_buy, "p": str(self.limit), "s": str(self.size), "r": False,
            "t": {"limit": {"tif": TIFS[self.tif]}},
        }  # fmt: skip
        row, builder = OrderWire.model_validate(told), (BUILDER.address.lower(), 100)
        place(state, account, new_order(state, account, row, builder))
        sight = MarketSnapshot(snapshot=seen, perps={"BTC": perp(self.venue)})
        met = execute_on_arrival(self.account, self.asked, sight, MODEL, consumed={})
        self.asked = replace(self.asked, took=met.took)
        self._take(met.fills)
        self.waits = met.rests

    def next(self, bids: Ladder, asks: Ladder, n: int) -> None:
        self.venue.book("BTC", bids, asks)
        if not self.waits:
            return
        sight = MarketSnapshot(snapshot=shown(bids, asks, n), perps={"BTC": perp(self.venue)})
        left = self.size - sum((f.size for f in self.fills), Decimal(0))
        asked = replace(self.asked, size=left, has_fills=bool(self.fills))
        met = execute_resting(self.account, asked, sight, MODEL, consumed=consumed_depth(()))
        self._take(met.fills)
        self.waits = met.rests

    def _take(self, fills: tuple[Filled, ...]) -> None:
        for fill in fills:
            self.account = apply_entry(self.account, Entry(n=1, at=START, marks={}, payload=fill))
            self.fills.append(fill)

    def at_the_venue(self) -> list[Any]:
        return list(self.venue.account(WALLET).fills)

    def compare(self) -> None:
        """No more was filled on paper, and no unit of it came cheaper than the venue's best ones."""
        real = self.at_the_venue()
        had = sum((f.size for f in self.fills), Decimal(0))
        assert had <= sum((f.sz for f in real), Decimal(0))
        left, cost = had, Decimal(0)
        for fill in real:
            part = min(left, fill.sz)
            signed = part if self.is_buy else -part
            cost += signed * fill.px + fill.fee * part / fill.sz
            left -= part
        # A micro a fill of the venue is its own rounding to the nearest.
        on_paper = RICH - self.account.cash + sum(h.cost for h in self.account.holdings.values())
        assert on_paper + len(real) >= cost * 10**6


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(books(), min_size=1, max_size=6),
    st.booleans(),
    st.integers(63_990, 64_010),
    sizes,
    st.sampled_from(["ioc", "gtc", "alo"]),
)
def test_a_paper_order_is_never_better_than_the_local_venues_matching(
    told: list[tuple[Ladder, Ladder]], is_buy: bool, limit: int, size: Decimal, tif: Tif
) -> None:
    beside = Beside(is_buy, limit, max(size, Decimal("0.001")), tif)
    beside.first(*told[0])
    beside.compare()
    for n, (bids, asks) in enumerate(told[1:], start=1):
        beside.next(bids, asks, n)
        beside.compare()


def test_the_comparison_sees_both_sides_trade() -> None:
    beside = Beside(True, 64_000, Decimal("0.01"), "gtc")
    beside.first([(63_990, Decimal(1))], [(64_000, Decimal("0.004")), (64_001, Decimal(1))])
    assert [f.sz for f in beside.at_the_venue()] == [Decimal("0.004")]
    assert [(f.size, f.px) for f in beside.fills] == [(Decimal("0.002"), 64_000)]
    beside.next([(63_980, Decimal(1))], [(63_999, Decimal("0.006"))], 1)
    assert [f.sz for f in beside.at_the_venue()] == [Decimal("0.004"), Decimal("0.006")]
    assert [(f.size, f.px) for f in beside.fills[1:]] == [(Decimal("0.003"), 64_000)]
    beside.compare()


def test_where_the_first_level_is_deep_enough_paper_costs_what_the_venue_takes() -> None:
    beside = Beside(False, 63_000, Decimal("0.01"), "ioc")
    beside.first([(63_990, Decimal(1))], [(64_000, Decimal(1))])
    (real,), (fill,) = beside.at_the_venue(), beside.fills
    assert (fill.px, fill.size) == (real.px, real.sz)
    paid = Decimal(fill.fee + fill.builder_fee).scaleb(-6)
    assert real.fee <= paid <= real.fee + Decimal("0.000002")
