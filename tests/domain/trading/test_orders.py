"""The life of an order: one table, every pair; ticks, lots and limits; how often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.money import Usdc
from domain.refusals import Refused
from domain.trading.order_gate import FieldProblem
from domain.trading.order_input import CloseRequest, amount_of
from domain.trading.orders import (
    BECOMES,
    DONE,
    OrderTransition,
    Status,
    next_poll_at,
    next_status,
)
from domain.trading.precision import bounded_px, lots, nearest_px, notional, on_tick
from domain.trading.pricing import closing_size
from domain.trading.throttle import Throttle
from domain.trading.venue_values import Perp, Position

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STATUSES: tuple[Status, ...] = get_args(Status)
HAPPENINGS: tuple[OrderTransition, ...] = get_args(OrderTransition)
PAIRS = [(s, h) for s in STATUSES for h in HAPPENINGS]


@pytest.mark.parametrize(("status", "happening"), PAIRS)
def test_every_pair_of_status_and_happening(status: Status, happening: OrderTransition) -> None:
    wanted_after = BECOMES.get((status, happening))
    if wanted_after is None:
        with pytest.raises(Refused, match="conflict"):
            next_status(status, happening)
    else:
        assert next_status(status, happening) == wanted_after


@pytest.mark.parametrize("status", sorted(DONE))
def test_nothing_leaves_an_end_but_what_the_venue_has_after_all(status: Status) -> None:
    left = [] if status == "executed" else ["find"]
    assert [h for h in HAPPENINGS if (status, h) in BECOMES] == left


def test_what_was_sent_is_never_sent_again_and_never_expires() -> None:
    for status in ("executing", "unknown", "recorded", "resting"):
        for happening in ("execute", "open", "expire", "record"):
            assert (status, happening) not in BECOMES


def test_every_status_is_reached_from_a_beginning() -> None:
    reached: set[Status] = {"prepared", "awaiting_owner", "awaiting_signature"}
    while more := {after for (s, _), after in BECOMES.items() if s in reached} - reached:
        reached |= more
    assert reached == set(STATUSES)


def test_the_venue_is_asked_after_1_3_10_and_30_seconds_then_every_minute() -> None:
    pauses = [(next_poll_at(n, NOW) - NOW).total_seconds() for n in range(7)]
    assert pauses == [1, 3, 10, 30, 60, 60, 60]


# -- ticks and lots


@pytest.mark.parametrize(
    ("px", "decimals", "good"),
    [
        ("1234.5", 1, True), ("1234.56", 1, False), ("0.001234", 0, True), ("0.0012345", 0, False),
        ("0.01234", 1, True), ("0.012345", 1, False), ("123456", 1, True), ("12345.6", 1, False),
        ("0.000001", 0, True), ("0.0000001", 0, False), ("64000.5", 5, False), ("64001", 5, True),
    ],
)  # fmt: skip
def test_ticks_as_the_venues_page_gives_them(px: str, decimals: int, good: bool) -> None:
    assert on_tick(Decimal(px), decimals) is good


figures = st.decimals(min_value="0.000001", max_value="900000", places=6)


@given(figures, st.integers(0, 5), st.integers(0, 500), st.booleans())
def test_a_bounded_price_is_on_the_tick_and_never_worse_than_its_bound(
    touch: Decimal, decimals: int, bps: int, is_buy: bool
) -> None:
    px = bounded_px(touch, bps, decimals, is_buy=is_buy)
    assert on_tick(px, decimals)
    bound = touch * (10_000 + bps if is_buy else 10_000 - bps) / 10_000
    step = Decimal(1).scaleb(-(6 - decimals))
    assert px <= max(bound, step) if is_buy else px >= bound


@given(figures, st.integers(0, 5))
def test_the_nearest_price_can_be_asked_for(px: Decimal, decimals: int) -> None:
    assert on_tick(nearest_px(px, decimals), decimals)


@given(figures, st.integers(0, 5), figures)
def test_a_size_in_lots_is_never_larger_and_a_notional_never_smaller(
    size: Decimal, decimals: int, px: Decimal
) -> None:
    whole = lots(size, decimals)
    assert whole <= size
    assert Decimal(notional(size, px).micros).scaleb(-6) >= size * px


# -- limits


@pytest.mark.parametrize(
    "text", ["1e2", "50.0000001", "-0", "-1", "NaN", "", " 5", "05", 5, True, {}]
)
def test_a_limit_is_a_plain_amount(text: object) -> None:
    assert amount_of(text) is None


def test_zero_is_a_limit() -> None:
    assert amount_of("0") == Usdc(0)


# -- closes


def a_perp(decimals: int = 5) -> Perp:
    px = Decimal(64000)
    return Perp(
        coin="BTC", dex="", asset_id=0, sz_decimals=decimals, max_leverage=40, margin_mode="cross", growth_mode=False,
        collateral_token=0, delisted=False, has_book=True, mark_px=px, oracle_px=px, mid_px=px, prev_day_px=px, funding=None,
        open_interest=None, day_volume=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("held", "asked", "size"),
    [
        ("0.00005", {}, "0.00005"),  # 3.20 USDC: a whole position may be below 10
        ("0.001", {"fraction": "0.5"}, "0.00050"),
        ("0.001", {"fraction": "0.95"}, "0.001"),  # would leave 3.20 USDC: the whole
        ("-0.001", {"fraction": "0.5"}, "0.00050"),
        ("0.001", {"size": "0.0005"}, "0.0005"),
        ("0.001", {"size": "0.002"}, None),
        ("0.001", {"fraction": "0.1"}, "fraction"),  # 6.40 USDC
        ("0.001", {"size": "0.0000001"}, "size"),
    ],
)  # fmt: skip
def test_how_much_a_close_takes_off(held: str, asked: dict[str, str], size: str | None) -> None:
    want = CloseRequest(
        product="BTC", mode_seen="live", book=None, fraction=Decimal(asked.get("fraction", "1")),
        size=Decimal(asked["size"]) if "size" in asked else None, slippage_bps=300,
    )  # fmt: skip
    position = Position(
        coin="BTC", size=Decimal(held), entry_px=None, value=None, unrealized=None, liquidation_px=None, leverage=3, cross=True
    )  # fmt: skip
    told = closing_size(want, position, a_perp(), Decimal(64000))
    if isinstance(told, FieldProblem):
        assert told.field == size
    else:
        assert told == (None if size is None else Decimal(size))


# -- the throttle


def test_two_closes_a_minute_pass_whatever_orders_did() -> None:
    throttle = Throttle()
    for n in range(12):
        assert (throttle.take("w", NOW, reserve=2) is None) is (n < 10)
    closes = [throttle.take("w", NOW, closing=True, reserve=2) for _ in range(3)]
    assert [full is None for full in closes] == [True, True, False]
    for minute in range(1, 7):
        for _ in range(10):
            throttle.take("w", NOW + timedelta(minutes=minute), reserve=2)
    late = NOW + timedelta(minutes=20)
    assert throttle.take("w", late, reserve=2) is not None, "the hour is full"
    closes = [throttle.take("w", late, closing=True, reserve=2) for _ in range(3)]
    assert [full is None for full in closes] == [True, True, False]


def test_closes_alone_are_ten_a_minute() -> None:
    throttle = Throttle()
    taken = [throttle.take("w", NOW, closing=True, reserve=2) for _ in range(12)]
    assert [full is None for full in taken] == [True] * 10 + [False] * 2


def test_one_wallet_does_not_slow_another() -> None:
    throttle = Throttle()
    for _ in range(11):
        throttle.take("a", NOW)
    assert throttle.take("b", NOW) is None


def test_a_million_wallets_are_not_remembered() -> None:
    throttle = Throttle(wallets=1_000)
    for n in range(20_000):
        throttle.take(f"w{n}", NOW)
    assert len(throttle) <= 1_000
    throttle.take("late", NOW + timedelta(hours=2))
    assert len(throttle) == 1
