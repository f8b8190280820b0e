"""What the keeper decides, over random accounts, books and histories of orders."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from itertools import product
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from domain.trading.orders import DONE, Envelope, Order, OrderFill, Status
from domain.trading.pricing import LEAST, NoPrice, Quote
from domain.trading.stop_line import (
    LADDER_BPS,
    MAX_READING_GAP,
    Close,
    NothingOpen,
    OwnPosition,
    ReduceOrder,
    Residual,
    StopLineView,
    Wait,
    WorthReading,
    bytes_live,
    certain_size,
    cloid_of,
    closable,
    has_own_position,
    next_move,
    own_positions,
    reached,
    reduce_order,
    result_micros,
    rung_of,
    unsettled,
)
from domain.trading.venue_account import milliseconds
from domain.trading.venue_values import Perp
from tests.trading_examples import a_perp, an_order

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STATUSES = get_args(Status)
QUOTE = Quote(bid=Decimal(100), ask=Decimal("100.1"), at=NOW)
sizes = st.decimals(min_value=-5, max_value=5, places=3)
_n = iter(range(10**9))


def perp(coin: str = "BTC", **changes: Any) -> Perp:
    return a_perp(coin, **({"sz_decimals": 2, "mark_px": Decimal(100)} | changes))


def fill(size: str | Decimal, px: str = "100", fee: str = "0") -> OrderFill:
    return OrderFill(
        px=Decimal(px), size=Decimal(size), fee=Decimal(fee), builder_fee=Decimal(0), closed_pnl=Decimal(0), at=NOW, tid=next(_n)
    )  # fmt: skip


def order(size: str | Decimal = "1", **changes: Any) -> Order:
    plain: dict[str, Any] = {
        "order_id": f"o_{next(_n)}", "mandate_id": "m_1", "envelope": Envelope(nonce=1, expires_after=milliseconds(NOW)),
        "filled_size": abs(Decimal(size)), "avg_px": Decimal(100),
    }  # fmt: skip
    return an_order(size, f"0x{next(_n):032x}", NOW, **plain | changes)


@st.composite
def orders(draw: st.DrawFn) -> Order:
    """An order in any state, the keeper's own among them."""
    status = draw(st.sampled_from(STATUSES))
    asked = draw(st.sampled_from(({}, {"episode": 1}, {"episode": 2})))
    size = draw(sizes.filter(bool))
    filled = draw(st.sampled_from((None, Decimal(0), abs(size), abs(size) / 2)))
    return order(
        size, status=status, source="keeper" if asked else "terminal", asked=asked, product=draw(st.sampled_from(("BTC", "ETH"))),
        filled_size=filled, fills=draw(st.sampled_from(((), (fill(abs(size)),), (fill(abs(size) / 2),)))), next_check_at=draw(st.sampled_from((None, NOW))), expires_at=NOW + timedelta(seconds=draw(st.integers(-200, 200))),
        refusal=draw(st.sampled_from((None, {"error": "wallet_venue_unavailable"}, {"error": "wallet_no_position"}))),
    )  # fmt: skip


@st.composite
def views(draw: st.DrawFn) -> StopLineView:
    known = draw(st.lists(orders(), max_size=6))
    cloids = [o.action.cloid for o in known]
    low = Quote(bid=Decimal("3.33"), ask=Decimal("3.34"), at=NOW)
    quotes = st.sampled_from((QUOTE, NoPrice("its book is crossed"), low))
    return StopLineView(
        now=NOW, episode=draw(st.sampled_from((1, 2))), scope=draw(st.sampled_from(("listed", "all"))), coins=draw(st.sampled_from((("BTC",), ("BTC", "ETH")))),
        orders=known, open=draw(st.one_of(st.none(), st.lists(st.sampled_from(cloids), unique=True) if cloids else st.just([]))),
        positions=draw(st.one_of(st.none(), st.fixed_dictionaries({}, optional=dict.fromkeys(("BTC", "ETH", "SOL"), sizes)))),
        markets={c: perp(c, delisted=draw(st.booleans()), sz_decimals=draw(st.integers(0, 4))) for c in ("BTC", "ETH") if draw(st.booleans())},
        quotes={c: draw(quotes) for c in ("BTC", "ETH") if draw(st.booleans())},
    )  # fmt: skip


@given(views())
def test_every_close_can_only_shrink_what_is_held_and_is_near_the_touch(view: StopLineView) -> None:
    move = next_move(view)
    if not isinstance(move, Close):
        return
    assert view.positions is not None
    assert len({c.coin for c in move.orders}) == len(move.orders) > 0, "one a product"
    for one in move.orders:
        held, quote = view.positions[one.coin], view.quotes[one.coin]
        assert isinstance(quote, Quote)
        assert one.coin in view.coins
        assert one.is_buy == (held < 0)
        assert 0 < one.size <= abs(held)
        if view.scope == "listed":
            sure = certain_size(view.orders, one.coin)
            assert one.size <= abs(sure) <= abs(own_positions(view.orders)[one.coin].size)
            assert sure * held > 0
        touch = quote.touch("buy" if one.is_buy else "sell")
        worse = one.limit_px - touch if one.is_buy else touch - one.limit_px
        assert worse * 10_000 <= LADDER_BPS[one.rung] * touch
        whole = one.size >= abs(held).quantize(one.size, ROUND_FLOOR)
        assert whole or one.size * touch >= LEAST


@given(views())
def test_a_close_waits_for_no_order_on_record_where_the_whole_account_is_the_mandates(
    view: StopLineView,
) -> None:
    alone = next_move(replace(view, scope="all", open=()))
    for known in ((), view.open):
        move = next_move(replace(view, scope="all", open=known))
        if isinstance(alone, Close):
            assert move == alone
    if view.positions is None:
        assert isinstance(next_move(view), Wait)


@given(views())
def test_an_end_leaves_nothing_that_could_be_closed_and_nothing_that_could_open(
    view: StopLineView,
) -> None:
    move = next_move(view)
    if not isinstance(move, NothingOpen):
        return
    assert view.open is not None
    assert view.positions is not None
    assert not any(o.action.cloid in view.open for o in view.orders)
    assert not any(bytes_live(o, NOW) for o in view.orders if o.source != "keeper")
    own = own_positions(view.orders)
    for coin in view.coins:
        held, market = view.positions.get(coin, Decimal(0)), view.markets.get(coin)
        part = closable(held, own.get(coin, OwnPosition()).size, view.scope)
        if part:
            assert market is not None
            assert abs(part) < Decimal(1).scaleb(-market.sz_decimals)


@given(views())
def test_a_product_gets_at_most_three_tries_that_nobody_took_anything_of(
    view: StopLineView,
) -> None:
    move = next_move(view)
    for one in move.orders if isinstance(move, Close) else ():
        tries = [
            o for o in view.orders
            if o.source == "keeper" and o.product == one.coin and o.asked["episode"] == view.episode and o.status in DONE
            and (o.refusal or {}).get("error") != "wallet_venue_unavailable" and not o.fills and not o.filled_size
        ]  # fmt: skip
        assert one.rung == len(tries) < len(LADDER_BPS)


def test_a_close_that_nobody_knows_the_end_of_may_have_taken_the_mandates_part() -> None:
    opened = order("2", fills=(fill(2),))
    lost = order("-0.5", status="unknown", filled_size=None, source="keeper", asked={"episode": 1})
    assert certain_size([opened], "BTC") == 2
    assert certain_size([opened, lost], "BTC") == Decimal("1.5")
    assert certain_size([opened, replace(lost, status="rejected")], "BTC") == 2
    claimed = replace(lost, status="executed", filled_size=Decimal("0.5"))
    assert unsettled(claimed)
    assert not unsettled(replace(claimed, fills=(fill("0.5"),)))
    assert certain_size([opened, claimed], "BTC") == Decimal("1.5")
    in_part = replace(claimed, fills=(fill("0.2"),))
    assert certain_size([opened, in_part], "BTC") == Decimal("1.5"), "its fills once, and its rest"
    assert certain_size([opened, *[lost] * 9], "BTC") == 0


@given(held=sizes, own=sizes, scope=st.sampled_from(("listed", "all")))
def test_what_can_be_closed_is_a_part_of_what_is_held(
    held: Decimal, own: Decimal, scope: Any
) -> None:
    part = closable(held, own, scope)
    assert part * held >= 0
    assert abs(part) <= abs(held)
    if scope == "listed":
        assert part * own >= 0
        assert abs(part) <= abs(own)


@given(at=st.integers(-400, 400), low=st.booleans(), was=st.booleans())
def test_the_line_is_reached_by_two_different_answers_in_a_row(
    at: int, low: bool, was: bool
) -> None:
    before = WorthReading(at=NOW, worth=399 if was else 400, floor=400)
    now = WorthReading(at=NOW + timedelta(seconds=at), worth=399 if low else 400, floor=400)
    assert reached(now, before) == (low and was and 0 < at <= MAX_READING_GAP.total_seconds())
    assert not reached(now, None)
    assert not reached(None, before)


def test_the_result_counts_what_was_paid_fees_with_it_and_the_mark_of_what_is_left() -> None:
    bought = order("2", fills=(fill(2, fee="0.09"),))
    sold = order("-0.5", fills=(fill("0.5", "110"),))
    claimed = order("7", avg_px=Decimal(1))
    own = own_positions([bought, sold, claimed])
    assert own == {"BTC": OwnPosition(size=Decimal("1.5"), paid=Decimal("145.09"))}
    assert result_micros(own, {"BTC": Decimal(90)}) == -10_090_000
    assert result_micros(own, {}) is None
    tiny = OwnPosition(size=Decimal(0), paid=Decimal("0.0000001"))
    assert result_micros({"BTC": tiny}, {}) == -1, "rounded down"


def test_what_a_mandate_holds_comes_from_fills_alone() -> None:
    in_part = order("2", fills=(fill("0.5", fee="0.01"),), fills_whole=True)
    over = order("-0.5", fills=(fill("0.2"),), fills_whole=True)
    assert own_positions([in_part]) == {
        "BTC": OwnPosition(size=Decimal("0.5"), paid=Decimal("50.01"))
    }
    assert own_positions([in_part, over])["BTC"].size == Decimal("0.3")
    assert certain_size([in_part, over], "BTC") == Decimal("0.3")
    assert has_own_position([in_part, over])
    closed = order("-0.5", source="keeper", asked={"episode": 1}, fills=(fill("0.5"),))
    assert not has_own_position([in_part, closed]), (
        "what is only said to be filled is nothing that is left"
    )
    claimed = replace(closed, fills=())
    assert has_own_position([in_part, claimed]), "what is only said to be closed is left"


def test_a_market_that_is_gone_or_without_a_price_leaves_a_position() -> None:
    one, part = Decimal(1), Decimal(1)
    assert isinstance(reduce_order("BTC", one, part, None, QUOTE, 0), Residual)
    assert isinstance(reduce_order("BTC", one, part, perp(delisted=True), QUOTE, 0), Residual)
    assert isinstance(reduce_order("BTC", one, part, perp(), NoPrice("stale"), 0), Residual)
    assert isinstance(reduce_order("BTC", one, part, perp(), QUOTE, 3), Residual)
    assert reduce_order("BTC", one, Decimal(0), perp(), QUOTE, 0) is None
    assert isinstance(
        reduce_order("BTC", Decimal("0.09"), Decimal("0.09"), perp(), QUOTE, 0), ReduceOrder
    ), "whole, below 10 USDC"
    assert isinstance(reduce_order("BTC", one, Decimal("0.09"), perp(), QUOTE, 0), Residual)


def test_the_ladder_is_climbed_by_tries_that_arrived_in_this_episode_alone() -> None:
    keeper: dict[str, Any] = {"source": "keeper", "status": "rejected", "filled_size": Decimal(0)}
    known = [
        order("-1", asked={"episode": 1}, **keeper),
        order("-1", asked={"episode": 2}, **keeper),
        order("-1", asked={"episode": 2}, refusal={"error": "wallet_venue_unavailable"}, **keeper),
        order("-1", asked={"episode": 2}, **(keeper | {"product": "ETH"})),
        order("-1", asked={"episode": 2}, **(keeper | {"filled_size": Decimal("0.1")})),
    ]
    view = StopLineView(now=NOW, episode=2, scope="listed", coins=("BTC",), orders=known, open=())
    assert rung_of(view, "BTC") == 1
    assert rung_of(replace(view, episode=3), "BTC") == 0


def test_an_attempt_has_one_id_of_its_own() -> None:
    parts: Any = (("m_1", "m_2"), ("mainnet", "testnet"), ("BTC", "xyz:BTC"), (1, 2), (0, 1))
    names = {cloid_of(*one) for one in product(*parts)}
    assert len(names) == 32
    assert all(len(n) == 34 and int(n, 16) >= 0 for n in names)
    assert cloid_of("m_1", "testnet", "BTC", 1, 0) == cloid_of("m_1", "testnet", "BTC", 1, 0)
