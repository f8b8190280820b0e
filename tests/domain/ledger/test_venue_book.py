"""The venue's book: what live orders filled, beside the two other books and in none of their sums."""

from __future__ import annotations

import json
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from domain.ledger.events.event import NewEvent
from domain.ledger.state.ledger_state import EMPTY
from domain.ledger.state.performance import NOTHING, PerformanceRecord, fold_days, full_days
from domain.reads.venue_windows import venue_results
from domain.rules.valuation import valued
from storage.repositories.state_codec import LEDGER, STATES
from tests.domain.material import (
    case,
    deposit,
    executed,
    ledger,
    mandate_read,
    marked,
    refold,
    row,
    totals,
    usdc,
    venue_fill,
)
from tests.domain.reads.test_hall import stored

RECORDS = STATES.of(PerformanceRecord)

ONE = 1_000_000
FILLS = st.lists(
    st.tuples(
        st.integers(1, 5_000),  # size in 1e-5
        st.integers(10_000, 99_999),  # price
        st.sampled_from(["buy", "sell"]),
        st.sampled_from(["BTC", "ETH"]),
        st.integers(-50_000, 90_000),  # fee in micros
    ),
    max_size=12,
)


def rows_of(fills: list[tuple[int, int, str, str, int]]) -> list[NewEvent]:
    return [
        venue_fill(
            format(Decimal(size).scaleb(-5), "f"),
            str(px),
            side=side,
            product=product,
            fee=format(Decimal(fee).scaleb(-6), "f"),
        )
        for size, px, side, product, fee in fills
    ]


@given(FILLS, st.integers(10_000, 99_999), st.integers(10_000, 99_999))
def test_the_result_is_what_came_back_less_what_went_out_and_what_is_left_at_its_mark(
    fills: list[tuple[int, int, str, str, int]], btc: int, eth: int
) -> None:
    account = ledger(*rows_of(fills)).state.venue.of("testnet")
    marks = {"BTC": Decimal(btc), "ETH": Decimal(eth)}
    flow, left = Decimal(0), {"BTC": Decimal(0), "ETH": Decimal(0)}
    for size, px, side, product, fee in fills:
        signed = Decimal(size).scaleb(-5) * (1 if side == "buy" else -1)
        flow -= signed * px + Decimal(fee).scaleb(-6)
        left[product] += signed
    exact = flow + sum(left[p] * marks[p] for p in left)
    assert account.result(marks) == exact * ONE
    assert {p: h.size for p, h in account.positions.items()} == {p: s for p, s in left.items() if s}
    assert account.fills == len(fills)


@given(FILLS)
def test_fills_at_the_venue_move_no_figure_of_the_other_books(
    fills: list[tuple[int, int, str, str, int]],
) -> None:
    house = [deposit(500), executed(100, tx="0xe1"), row("buy", 100, tx="0xe1"), marked(400, 120)]
    plain, both = ledger(*house), ledger(*house)
    for new in rows_of(fills):
        both.add(new)
    assert totals(both.state) == totals(plain.state)
    assert valued(both.state) == valued(plain.state)


@given(FILLS)
def test_the_fold_is_kept_exactly_and_told_again_alike(
    fills: list[tuple[int, int, str, str, int]],
) -> None:
    made = ledger(deposit(500), *rows_of(fills))
    kept = LEDGER.codec.load(json.loads(json.dumps(LEDGER.codec.dump(made.state))))
    assert kept == made.state == refold(made.events)


def test_a_state_from_before_there_were_such_fills_is_read_as_it_was() -> None:
    assert "venue" not in LEDGER.codec.dump(EMPTY)
    assert "venue" not in LEDGER.codec.dump(ledger(deposit(500)).state)
    assert LEDGER.codec.load(LEDGER.codec.dump(ledger(deposit(5)).state)).venue.accounts == {}


def test_an_agent_that_writes_such_a_row_moves_nothing() -> None:
    told = venue_fill("1", "64000").payload["venue"]
    made = ledger(deposit(500), row("buy", 64_000, venue=told), row("buy", 1, "chain", venue=told))
    assert made.state.venue.accounts == {}


def test_networks_are_never_summed() -> None:
    made = ledger(
        venue_fill("0.001", "60000"),
        venue_fill("0.002", "60000", network="mainnet", side="sell", fee="0.027"),
    )
    book = made.state.venue
    assert book.of("testnet").positions["BTC"].size == Decimal("0.001")
    assert book.of("mainnet").positions["BTC"].size == Decimal("-0.002")
    told = mandate_read(made.case())["progress"]["venue"]
    assert (told["network"], told["volume_usdc"]) == ("testnet", "60.000000")


def test_a_close_and_a_turn_in_one_fill_realize_at_average_cost() -> None:
    made = ledger(
        venue_fill("0.001", "60000"),
        venue_fill("0.001", "62000"),
        venue_fill("0.003", "63000", side="sell", fee="0.08505"),
    )
    account = made.state.venue.of("testnet")
    assert account.realized == 4 * ONE
    assert account.fees == 85_050
    held = account.positions["BTC"]
    assert (held.size, held.entry_px) == (Decimal("-0.001"), Decimal(63_000))


def test_progress_tells_the_venues_side_apart_and_an_unknown_mark_as_unknown() -> None:
    made = ledger(deposit(500), venue_fill("0.001", "60000", fee="0.027"))
    told = mandate_read(made.case())["progress"]
    assert (told["cash"], told["worth_est"], told["fees"]) == (
        "500.000000",
        "500.000000",
        "0.000000",
    )
    assert told["venue"] == {
        "network": "testnet", "result_est": None, "realized_usdc": "0.000000",
        "fees_usdc": "0.027000", "volume_usdc": "60.000000", "orders": 1, "fills": 1,
        "positions": [{
            "product": "BTC", "side": "long", "size": "0.001", "entry_px": "60000",
            "mark_px": None, "unrealized_usdc": None, "est": True,
        }],
        "source": "venue",
    }  # fmt: skip
    marks = {"testnet": {"BTC": Decimal(61_000)}}
    now = mandate_read(made.case(marks=marks))["progress"]["venue"]
    assert now["result_est"] == "0.973000"
    assert now["positions"][0]["unrealized_usdc"] == "1.000000"
    assert "venue" not in mandate_read(case())["progress"]


def test_a_step_of_a_fill_names_its_order_its_market_and_who_told() -> None:
    made = ledger(deposit(500), venue_fill("0.001", "60000"))
    step = next(s for s in mandate_read(made.case())["steps"] if s["kind"] == "action")
    assert (step["group"], step["code"], step["reported_by"]) == ("o_aaaaaaaaaa", "buy", "keeper")
    assert step["target"]["market"] == "hyperliquid:BTC"
    assert (step["amount_usdc"], step["est"], step["confirmed_on_chain"]) == (
        "60.000000",
        False,
        False,
    )
    assert step["params"]["venue"]["px"] == "60000"


def test_the_halls_days_hold_the_venues_side_apart_and_go_on_from_where_they_stood() -> None:
    made = ledger(
        deposit(500),
        venue_fill("0.001", "60000", fee="0.03"),
        venue_fill("0.001", "61000", side="sell", first=False, fee="0.03"),
    )
    whole, added, _ = fold_days(NOTHING, made.events)
    first, before, _ = fold_days(NOTHING, made.events[:2])
    again = RECORDS.load(json.loads(json.dumps(RECORDS.dump(first))))
    record, later, _ = fold_days(again, made.events[2:])
    assert record == whole
    assert {d: before[d].plus(b) for d, b in later.items()} == added
    (day,) = full_days(stored(made.events))
    assert (day.net, day.trades) == (0, 0), "the vault's results are the vault's"
    assert day.venue == {"testnet": [940_000, 1, 121 * ONE]}
    told = venue_results([[day]], day.day)
    assert told is not None
    assert (told[0].since.net_usdc, told[0].since.orders) == (usdc("0.94"), 1)
    assert venue_results([full_days(stored(made.events[:1]))], day.day) is None
