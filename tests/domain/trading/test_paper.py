"""Paper: never more than its share of what stood there, never better than the venue's own arithmetic, and a book that is nothing but its entries."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.trading.paper.amounts import fee_micros, fee_tenths_bps
from domain.trading.paper.entries import Entry, EntryPayload, Filled, Gap, Model, PaperBook
from domain.trading.paper.margin import (
    RestingOrder,
    free,
    funding,
    hours,
    liquidation,
    liquidation_px,
)
from domain.trading.paper.matching import consumed_depth, take_depth
from domain.trading.paper.order_execution import (
    Execution,
    MarketSnapshot,
    PaperOrder,
    execute_on_arrival,
    execute_resting,
)
from domain.trading.paper.replay import (
    PaperAccount,
    apply_entry,
    closes,
    curve,
    open_account,
    replay,
)
from domain.trading.paper.verification import check_book
from domain.trading.venue_values import Level, OrderBook, book_hash
from tests.trading_examples import a_perp

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MODEL = Model(depth_share=Decimal("0.5"), latency_ms=400)
LOT = Decimal("0.00001")
BTC = a_perp(mark_px=Decimal(60_000), oracle_px=Decimal(60_000))
INDEX = replace(BTC, coin="xyz:XYZ100", dex="xyz")


def levels(*told: tuple[str, str]) -> tuple[Level, ...]:
    return tuple(Level(Decimal(px), Decimal(size), 1) for px, size in told)


def book(bids: tuple[Level, ...], asks: tuple[Level, ...], coin: str = "BTC") -> OrderBook:
    return OrderBook(coin, NOW, bids, asks, book_hash(coin, NOW, bids, asks))


SHOWN = book(
    levels(("59990", "1"), ("59980", "2")), levels(("60010", "1"), ("60020", "2"), ("60100", "4"))
)


def asked(size: str, limit: str, **more: Any) -> PaperOrder:
    told: dict[str, Any] = {
        "order_id": "o_1", "coin": "BTC", "is_buy": True, "limit_px": Decimal(limit), "size": Decimal(size),
        "reduce_only": False, "tif": "ioc", "leverage": 3, "builder_tenths_bps": 100,
    }  # fmt: skip
    return PaperOrder(**(told | more))


def sight(seen: OrderBook = SHOWN, **figures: Any) -> MarketSnapshot:
    return MarketSnapshot(snapshot=seen, perps={"BTC": replace(BTC, **figures)})


def meets(
    a: PaperOrder, *, account: PaperAccount | None = None, seen: OrderBook = SHOWN, **more: Any
) -> Execution:
    rich = account or open_account(10**12)
    return execute_on_arrival(
        rich, a, sight(seen, **more.pop("figures", {})), MODEL, consumed={}, **more
    )


def entries(*whats: EntryPayload, marks: dict[str, str] | None = None) -> list[Entry]:
    told = {coin: Decimal(px) for coin, px in (marks or {}).items()}
    return [Entry(n=n, at=NOW, marks=told, payload=what) for n, what in enumerate(whats, 1)]


def fill(size: str, px: str, *, is_buy: bool = True, **more: Any) -> Filled:
    told: dict[str, Any] = {
        "order_id": "o_1", "first": True, "coin": "BTC", "is_buy": is_buy, "px": Decimal(px), "size": Decimal(size),
        "level": Decimal(px), "snapshot": SHOWN.hash, "tenths_bps": Decimal(45), "builder_tenths_bps": 0,
        "fee": 0, "builder_fee": 0, "leverage": 3, "maintenance_x": 80,
    }  # fmt: skip
    return Filled(**(told | more))


def code(met: Execution) -> tuple[str, Any]:
    assert met.refused is not None
    return met.refused.kind.code, (met.refused.remaining or {}).get("venue_kind")


# -- what an order meets


def test_half_of_each_level_is_had_up_to_the_limit_and_the_rest_is_not_filled() -> None:
    # 0.5 at 60010, 1 at 60020, and nothing at 60100, which is beyond the limit.
    met = meets(asked("3", "60050"))
    assert [(f.px, f.size) for f in met.fills] == [(60010, Decimal("0.5")), (60020, 1)]
    assert not met.rests
    # 4.5 bps of 30005 are 13.50225; a builder's 10 bps are 30.005.
    assert (met.fills[0].fee, met.fills[0].builder_fee) == (13_502_250, 30_005_000)


def test_fees_are_those_of_the_first_tier_whatever_the_dex() -> None:
    assert fee_tenths_bps(BTC, crossed=True) == 45
    assert fee_tenths_bps(BTC, crossed=False) == 15
    assert fee_tenths_bps(INDEX, crossed=False) == 30
    assert fee_tenths_bps(replace(INDEX, growth_mode=True), crossed=True) == 9
    assert fee_micros(Decimal("1.000001"), Decimal(1), Decimal(45)) == 451  # 450.00045, up


def test_an_order_that_waits_fills_one_tick_through_its_limit_and_not_at_a_touch() -> None:
    a = asked("2", "60010", tif="gtc", builder_tenths_bps=0)
    touch = execute_resting(open_account(10**12), a, sight(), MODEL, consumed={})
    assert (touch.fills, touch.rests) == ((), True)
    lower = book(levels(("59900", "1")), levels(("60009", "1"), ("60010", "5")))
    met = execute_resting(open_account(10**12), a, sight(lower), MODEL, consumed={})
    assert [(f.px, f.level, f.size) for f in met.fills] == [(60010, 60009, Decimal("0.5"))]
    assert met.rests
    # 1.5 bps of 30005: it made the price.
    assert met.fills[0].fee == 4_500_750
    took = execute_resting(
        open_account(10**12), replace(a, took=True), sight(lower), MODEL, consumed={}
    )
    assert took.fills[0].fee == 13_502_250


def test_a_post_only_order_that_would_trade_is_refused_and_a_part_of_a_gtc_waits() -> None:
    assert code(meets(asked("1", "60010", tif="alo"))) == ("wallet_venue_rejected", "post_only")
    met = meets(asked("1", "60010", tif="gtc"))
    assert (len(met.fills), met.rests, met.took) == (1, True, True)
    far = meets(asked("1", "60009", tif="alo"))
    assert (far.fills, far.rests, far.took) == ((), True, False)


def test_what_the_venue_would_refuse_is_refused() -> None:
    assert code(meets(asked("1", "60050"), figures={"delisted": True}))[1] == "halted"
    assert code(meets(asked("1", "110000")))[1] == "price_band"
    assert code(meets(asked("1", "60050"), account=open_account(20_000_000_000)))[1] == "margin"
    one = RestingOrder(
        coin="BTC", is_buy=True, px=Decimal(60_000), remaining=Decimal(1), leverage=3
    )
    rich = open_account(30_000_000_000)
    assert meets(asked("1", "60050"), account=rich).fills
    assert code(meets(asked("1", "60050"), account=rich, resting=[one]))[1] == "margin"


def test_a_reduce_only_order_is_trimmed_and_never_flips() -> None:
    account = replay(10**12, entries(fill("0.3", "60000")))
    sells = asked("5", "59000", is_buy=False, reduce_only=True)
    met = meets(sells, account=account)
    assert sum(f.size for f in met.fills) == Decimal("0.3")
    assert code(meets(sells))[0] == "wallet_no_position"
    buys = asked("5", "61000", reduce_only=True)
    assert code(meets(buys, account=account))[0] == "wallet_no_position"


lots = st.integers(1, 400_000).map(lambda n: n * LOT)


@st.composite
def ladders(draw: st.DrawFn) -> tuple[Level, ...]:
    prices = sorted(draw(st.sets(st.integers(60_001, 60_040), min_size=1, max_size=20)))
    return tuple(Level(Decimal(px), draw(lots), draw(st.integers(1, 9))) for px in prices)


@given(ladders(), st.lists(st.tuples(lots, st.integers(60_000, 60_041)), min_size=1, max_size=6))
def test_orders_on_one_snapshot_never_have_more_than_the_share_of_any_level_together(
    side: tuple[Level, ...], orders: list[tuple[Decimal, int]]
) -> None:
    taken: list[tuple[Decimal, Decimal]] = []
    for size, limit in orders:
        for rests in (False, True):
            takes = take_depth(
                side, Decimal(limit), size, is_buy=True, share=MODEL.depth_share, consumed=consumed_depth(taken), sz_decimals=5, rests=rests,
            )  # fmt: skip
            assert sum((t.size for t in takes), Decimal(0)) <= size
            assert all(t.size > 0 and t.size % LOT == 0 and t.px <= limit for t in takes)
            assert all(t.px >= t.level for t in takes)
            taken += [(t.level, t.size) for t in takes]
    had = consumed_depth(taken)
    assert all(had.get(v.px, 0) <= v.size / 2 for v in side)
    assert set(had) <= {v.px for v in side}


# -- a book is its entries


def test_a_book_worked_by_hand() -> None:
    told = [
        fill("1", "60000", fee=27_000_000),
        fill("0.5", "61000", is_buy=False, order_id="o_2", fee=13_725_000, builder_fee=0),
        fill("1", "59000", is_buy=False, order_id="o_3", fee=26_550_000),
    ]
    account = replay(100_000_000_000, entries(*told))
    # 500 on the first half; 500 lost on the second; the other half opened a short.
    assert account.realized == 500_000_000 - 500_000_000
    assert account.fees == 67_275_000
    held = account.holdings["BTC"]
    assert (held.size, held.cost, held.entry_px) == (Decimal("-0.5"), -29_500_000_000, 59_000)
    assert account.unrealized({"BTC": Decimal(58_000)}) == 500_000_000
    assert account.equity({"BTC": Decimal(58_000)}) == 100_432_725_000
    assert account.equity({}) is None
    assert account.trades == 3


def test_the_fall_from_the_peak_is_rounded_up() -> None:
    told = entries(fill("1", "60000"), marks={"BTC": "60000"})
    told += [
        replace(told[0], n=2, marks={"BTC": Decimal(59_999)}, payload=Gap(since=NOW, until=NOW))
    ]
    assert replay(100_000_000_000, told).drawdown_bps == 1
    assert [e for _, e in curve(open_account(100_000_000_000), told)] == [
        100_000_000_000,
        99_999_000_000,
    ]


prices = st.integers(50_000_000, 70_000_000).map(lambda n: Decimal(n).scaleb(-3))
moves = st.lists(st.tuples(st.booleans(), lots, prices, st.integers(0, 10**9)), max_size=25)


@given(moves, prices)
def test_a_replay_is_never_better_than_exact_arithmetic_and_a_micro_a_step_at_most_worse(
    steps: list[tuple[bool, Decimal, Decimal, int]], mark: Decimal
) -> None:
    account, exact, n = open_account(10**12), Decimal(10**12), 0
    for is_buy, size, px, fee in steps:
        one = fill(str(size), str(px), is_buy=is_buy, fee=fee)
        account = apply_entry(account, entries(one)[0])
        signed = size if is_buy else -size
        exact += signed * (mark - px) * 10**6 - fee
        n += 3
    equity = account.equity({"BTC": mark})
    assert equity is not None
    assert exact - n - 1 <= equity <= exact
    whole = sum((s if b else -s for b, s, _, _ in steps), Decimal(0))
    assert account.size("BTC") == whole


@given(moves)
def test_a_fill_realizes_what_it_closes_and_nothing_where_it_opens(
    steps: list[tuple[bool, Decimal, Decimal, int]],
) -> None:
    account = open_account(10**12)
    for is_buy, size, px, _ in steps:
        one, was = fill(str(size), str(px), is_buy=is_buy), account
        account = apply_entry(account, entries(one)[0])
        told = closes(was, one)
        against = was.size("BTC") < 0 if is_buy else was.size("BTC") > 0
        assert (told is not None) == against
        assert account.realized - was.realized == (told or 0)


# -- funding, margin, liquidation


def test_funding_is_the_size_times_oracle_times_rate_rounded_against_the_person() -> None:
    rate = Decimal("0.0000125")
    paid = funding("BTC", Decimal("0.33333"), NOW, oracle=Decimal("60001.3"), rate=rate)
    assert paid.paid == 250_003  # 250002.91…
    got = funding("BTC", Decimal("-0.33333"), NOW, oracle=Decimal("60001.3"), rate=rate)
    assert got.paid == -250_002
    assert replay(10**9, entries(paid, got)).cash == 10**9 - 1


def test_the_hours_between_two_looks_are_each_owed_once() -> None:
    half = timedelta(minutes=30)
    assert list(hours(NOW - half, NOW)) == [NOW]
    assert list(hours(NOW, NOW + half)) == []
    assert list(hours(NOW - timedelta(hours=2), NOW + half)) == [NOW - timedelta(hours=1), NOW]


def test_a_book_below_its_maintenance_margin_ends_and_owes_nothing() -> None:
    # 1 BTC at 60000 with 20000: half of 1/40 of the worth is the maintenance margin.
    account = replay(20_000_000_000, entries(fill("1", "60000")))
    tenths = {"BTC": Decimal(45)}
    px = liquidation_px(account, "BTC", {"BTC": Decimal(60_000)})
    assert px == Decimal("40506.329113")  # (60000 - 20000) / (1 - 1/80)
    assert liquidation(account, {"BTC": Decimal("40507")}, tenths) is None
    end = liquidation(account, {"BTC": Decimal("40506")}, tenths)
    assert end is not None
    # Left are 506, of which 18.2277 is the fee and the rest, below 506.325, the venue's.
    assert (end.fees, end.kept) == (18_227_700, 487_772_300)
    after_all = apply_entry(account, entries(end)[0])
    assert (after_all.cash, dict(after_all.holdings), after_all.liquidated_at) == (0, {}, NOW)
    deep = liquidation(account, {"BTC": Decimal(30_000)}, tenths)
    assert deep is not None
    assert deep.kept < 0
    assert apply_entry(account, entries(deep)[0]).cash == 0


@given(st.integers(1, 3), prices, prices, st.booleans())
def test_what_an_account_may_bind_is_never_more_than_it_is_worth(
    size: int, px: Decimal, mark: Decimal, is_buy: bool
) -> None:
    account = replay(10**11, entries(fill(str(size), str(px), is_buy=is_buy)))
    marks = {"BTC": mark}
    room, equity = free(account, marks), account.equity(marks)
    assert room is not None
    assert equity is not None
    assert room < equity


# -- proof


def a_book() -> tuple[PaperBook, list[Entry]]:
    opened_as = PaperBook(
        book="b_1", owner_id="u_1", agent_id=None, name="Paper", start_micros=10**12, model=MODEL, created_at=NOW,
    )  # fmt: skip
    met = meets(asked("3", "60050"))
    told = entries(*met.fills, marks={"BTC": "60000"})
    hour = NOW + timedelta(hours=1)
    paid = funding("BTC", Decimal("1.5"), hour, oracle=Decimal(60_000), rate=Decimal("0.00001"))
    return opened_as, [*told, replace(told[0], n=3, at=hour, payload=paid)]


def test_an_honest_book_proves() -> None:
    opened_as, told = a_book()
    assert list(check_book(opened_as, told, {SHOWN.hash: SHOWN})) == []


@pytest.mark.parametrize(
    ("n", "change", "words"),
    [
        (1, {"size": Decimal("0.6"), "fee": 16_202_700, "builder_fee": 36_006_000}, "more was filled than its share"),
        (1, {"px": Decimal("60000")}, "better than the level"),
        (1, {"fee": 1}, "fee is not that of its rate"),
        (1, {"builder_fee": 1}, "builder's fee"),
        (2, {"first": True}, "first"),
        (2, {"snapshot": "00"}, "not there"),
        (2, {"coin": "ETH"}, "another product"),
        (3, {"paid": 1}, "funding"),
        (3, {"size": Decimal(1)}, "funding"),
    ],
)  # fmt: skip
def test_a_changed_book_does_not(n: int, change: dict[str, Any], words: str) -> None:
    opened_as, told = a_book()
    what: Any = told[n - 1].payload
    told[n - 1] = replace(told[n - 1], payload=replace(what, **change))
    found = list(check_book(opened_as, told, {SHOWN.hash: SHOWN}))
    assert any(at == n and words in fault for at, fault in found), found
