"""The fold: totals, pairs, marks, positions, and what it does with rows that make no sense."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.ledger.fold import fold, reversal_payload
from domain.ledger.state import EMPTY, from_json, to_json
from domain.money import Usdc
from tests.domain.material import (
    MARKET,
    OTHER,
    START,
    Ledger,
    deposit,
    executed,
    ledger,
    refold,
    row,
    totals,
    usdc,
)

ONE = 1_000_000


def test_cash_is_unknown_before_the_first_chain_row() -> None:
    assert EMPTY.cash is None
    assert ledger(row("buy", 10)).state.cash is None
    assert ledger(deposit(500)).state.cash == 500 * ONE


def test_a_matched_pair_counts_once_with_the_chain_s_amount_and_the_agent_s_position() -> None:
    state = ledger(
        deposit(500), row("buy", 41, tx="0x01", position={"id": "p"}), executed(40, tx="0x01")
    ).state
    assert state.cash == 460 * ONE
    assert state.cash_est_delta == 0
    assert {k: r.value for k, r in state.open_positions.items()} == {"p": 40 * ONE}
    assert state.days["2026-11-02"].spent == 40 * ONE


def test_a_report_that_no_chain_row_matches_moves_only_the_estimate() -> None:
    state = ledger(
        deposit(500), row("buy", 40, position={"id": "p"}), row("sell", 10, position={"id": "p"})
    ).state
    assert (state.cash, state.cash_est_delta, state.positions_est) == (
        500 * ONE,
        -30 * ONE,
        30 * ONE,
    )


def test_a_sale_takes_the_same_fraction_of_cost_as_of_mark() -> None:
    """Bought for 100, marked 120; 60 sold is half: cost 50, value 60. A result of +10 then returns 50 + 10."""
    made = ledger(
        deposit(500),
        row("buy", 100, position={"id": "p"}, mark="120"),
        row("sell", 60, position={"id": "p"}),
    )
    reading = made.state.open_positions["p"]
    assert (reading.value, reading.cost, reading.source) == (60 * ONE, 50 * ONE, "agent_mark")
    closed = made.add(row("resolve", 10, position={"id": "p"})).state
    assert not closed.open_positions
    assert closed.cash_est_delta == (-100 + 60 + 60) * ONE
    assert closed.resolved == 10 * ONE


def test_a_resolve_on_a_closed_position_only_records_the_result() -> None:
    buy, sell = (
        row("buy", 100, tx="0x01", position={"id": "p"}),
        row("sell", 105, tx="0x02", position={"id": "p"}),
    )
    made = ledger(
        deposit(500),
        buy,
        executed(100, tx="0x01"),
        sell,
        executed(0, 105, tx="0x02"),
        row("resolve", 5, position={"id": "p"}),
    )
    assert (made.state.cash, made.state.cash_est_delta, made.state.positions_est) == (
        505 * ONE,
        0,
        0,
    )
    assert made.state.realized == 5 * ONE


def test_a_position_sold_at_a_profit_starts_anew_when_it_is_bought_again() -> None:
    made = ledger(deposit(500))
    for n in range(5):
        made.add(row("buy", 100, tx=f"0xa{n}"), executed(100, tx=f"0xa{n}"))
        made.add(row("sell", 105, tx=f"0xb{n}"), executed(0, 105, tx=f"0xb{n}"))
    made.add(executed(50, tx="0xcc"))
    assert made.state.cash == (500 + 25 - 50) * ONE
    assert made.state.positions_est == 50 * ONE


def test_an_exit_that_only_the_chain_tells_of_closes_the_open_position_at_its_address() -> None:
    """An unwind after the stop comes from nobody's report; the agent's position must not count on beside the cash."""
    buy = row("buy", 40, tx="0x01", position={"id": "p"})
    unwound = row(
        "move",
        42,
        "chain",
        tx="0x02",
        unwound={"target": MARKET, "selector": "0x01", "received": "42"},
    )
    made = ledger(deposit(500), buy, executed(40, tx="0x01"), unwound)
    assert (made.state.cash, made.state.positions_est, made.state.cash_est_delta) == (
        502 * ONE,
        0,
        0,
    )
    made.add(row("resolve", 2, position={"id": "p"}))
    assert (made.state.cash_est_delta, made.state.realized) == (0, 2 * ONE)


def test_an_exit_after_the_agent_told_of_the_end_does_not_count_twice() -> None:
    """Bought 50; the agent tells a loss of 9 without a transaction (estimate +41), then the chain brings 41 back."""
    made = ledger(
        deposit(500), row("buy", 50, tx="0x01", position={"id": "p"}), executed(50, tx="0x01")
    )
    made.add(row("resolve", -9, position={"id": "p"}))
    assert (made.state.cash, made.state.cash_est_delta) == (450 * ONE, 41 * ONE)
    made.add(
        row(
            "move",
            41,
            "chain",
            tx="0x02",
            unwound={"target": MARKET, "selector": "0x01", "received": "41"},
        )
    )
    assert (made.state.cash, made.state.cash_est_delta, made.state.positions_est) == (
        491 * ONE,
        0,
        0,
    )


def test_a_house_mark_beats_the_agent_s_until_the_position_changes() -> None:
    buy = row("buy", 40, tx="0x01", position={"id": "p"})
    made = ledger(
        deposit(500), buy, executed(40, tx="0x01"), row("note", by="keeper", marks={"p": "41"})
    )
    made.add(row("note", position={"id": "p"}, mark="99"))
    assert made.state.open_positions["p"].value == 41 * ONE
    assert made.state.worth_source == "chain_mark"
    made.add(row("buy", 10, position={"id": "p"}), row("note", position={"id": "p"}, mark="60"))
    assert made.state.open_positions["p"].value == 60 * ONE
    assert made.state.worth_source == "agent_mark"


def test_a_mark_of_the_whole_vault_stands_until_something_it_saw_changes() -> None:
    told = {"cash": "460", "positions": "43", "floor": "400"}
    made = ledger(
        deposit(500),
        row("buy", 40, tx="0x01", mark="50"),
        executed(40, tx="0x01"),
        row("note", by="chain", marked=told),
    )
    assert (made.state.positions_est, made.state.worth_source) == (43 * ONE, "chain_mark")
    made.add(row("buy", 7, position={"id": "paper"}))
    assert (made.state.positions_est, made.state.worth_source) == (50 * ONE, "cost")
    made.add(executed(10, tx="0x02"))
    assert not made.state.whole_mark_stands


def test_a_mark_that_is_ahead_of_the_ledger_counts_when_the_rows_have_caught_up() -> None:
    """The keeper reads the newest block: 40 are spent there already, the ledger's row still waits for confirmations."""
    ahead = row("note", by="keeper", marked={"cash": "460", "positions": "41", "floor": "400"})
    made = ledger(deposit(500), row("buy", 40, tx="0x01", position={"id": "p"}), ahead)
    assert (made.state.positions_est, made.state.cash_est_delta, made.state.worth_source) == (
        40 * ONE,
        -40 * ONE,
        "cost",
    )
    made.add(executed(40, tx="0x01"))
    assert (made.state.positions_est, made.state.cash_est_delta, made.state.worth_source) == (
        41 * ONE,
        0,
        "chain_mark",
    )
    made.add(executed(10, tx="0x02"))
    assert (made.state.positions_est, made.state.worth_source) == (50 * ONE, "cost")


def test_what_a_reorganisation_takes_away_is_subtracted_and_finds_its_place_again() -> None:
    made = ledger(
        deposit(500), row("buy", 40, tx="0x01", position={"id": "p"}), executed(40, tx="0x01")
    )
    before = totals(made.state)
    gone = made.events[-1]
    made.add(
        NewEvent(
            kind=Kind.NOTE,
            reported_by=Reporter.CHAIN,
            occurred_at=START,
            payload=reversal_payload(gone),
        )
    )
    assert (made.state.cash, made.state.positions_est, made.state.days["2026-11-02"].measured) == (
        500 * ONE,
        0,
        0,
    )
    made.add(executed(40, tx="0x01"))
    assert totals(made.state) == before


def test_a_deposit_taken_away_leaves_cash_unknown() -> None:
    made = ledger(deposit(500))
    made.add(
        NewEvent(
            kind=Kind.NOTE,
            reported_by=Reporter.CHAIN,
            occurred_at=START,
            payload=reversal_payload(made.events[0]),
        )
    )
    assert made.state.cash is None


def test_fees_are_classed_and_the_unclassified_ones_stay_apart() -> None:
    kinds: list[Any] = [
        "x402",
        "tools",
        "paid_read",
        "venue",
        "gas",
        "network",
        None,
        "odd",
        ["list"],
    ]
    made = Ledger()
    for kind in kinds:
        made.add(row("fee", "0.011", fee_kind=kind) if kind is not None else row("fee", "0.011"))
    s = made.state
    assert (s.fee_tools, s.fee_venue, s.fee_network) == (33_000, 11_000, 22_000)
    assert (s.fee_unclassified, s.fee_unclassified_count) == (33_000, 3)
    assert s.days["2026-11-02"].credits == 4  # two paid reads of 1.1 credits, each rounded up


def test_the_settlement_s_measured_result_replaces_the_reported_one() -> None:
    told = {"spent": "100", "returned": "120", "gain": "20", "agent_fee": "2"}
    made = ledger(
        deposit(500),
        row("resolve", 33),
        row("note", by="chain", settled=told),
        row("payout", 2, "chain"),
    )
    assert made.state.realized == (20 - 2) * ONE


def test_days_are_utc_and_both_sides_of_midnight_count_apart() -> None:
    late, early = (
        START.replace(hour=23, minute=59, second=59),
        START.replace(hour=0) + timedelta(days=1),
    )
    made = ledger(deposit(500), executed(50, tx="0x01", at=late), executed(50, tx="0x02", at=early))
    assert {d: v.spent for d, v in made.state.days.items()} == {
        "2026-11-02": 50 * ONE,
        "2026-11-03": 50 * ONE,
    }
    assert sum(made.state.minutes.values()) == 100 * ONE


def test_the_state_stays_small_however_many_rows_there_are() -> None:
    made = Ledger().add(deposit(500))
    for n in range(1, 2_000):
        made.add(
            row(
                "buy",
                1,
                tx=f"0x{n:x}",
                position={"id": f"p{n}"},
                at=START + timedelta(minutes=n),
                mark="2",
            )
        )
    assert len(made.state.positions) <= 257
    assert len(made.state.claims) <= 64
    assert len(made.state.days) <= 16
    assert len(json.dumps(to_json(made.state))) < 200_000
    assert made.state.cash_est_delta == -1_999 * ONE
    assert made.state.positions_est == 2 * 1_999 * ONE


# -- order of arrival ----------------------------------------------------------------------------------------------


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[NewEvent], list[NewEvent]]:
    """What the chain and the keeper tell, and what the agent tells, each in its own order.

    Nothing orders a report without a transaction against a row of the chain but its arrival. So `free` has such
    reports and no marks of the house, `seen` has those marks, and what only the chain tells of is elsewhere.
    """
    chain: list[NewEvent] = [deposit(1_000)]
    agent: list[NewEvent] = []
    cents = st.integers(0, 5_000).map(lambda n: f"{n // 100}.{n % 100:02d}")
    for n in range(draw(st.integers(1, 10))):
        tx, at, key = (
            f"0x{n:x}",
            START + timedelta(minutes=n),
            draw(st.sampled_from(["free", "seen", None])),
        )
        about: dict[str, Any] = (
            {"position": {"id": key}} if key else {"target": {"address": MARKET}}
        )
        if draw(st.booleans()):
            about["mark"] = draw(cents)
        kind = draw(st.sampled_from(["buy", "sell", "resolve", "move"]))
        out = draw(cents) if kind in ("buy", "move") else "0"
        back = draw(cents) if kind in ("sell", "resolve") else "0"
        what = draw(st.sampled_from(["both", "both", "both", "agent", "chain", "house", "note"]))
        if what == "house":
            chain.append(row("note", by="keeper", marks={"seen": draw(cents)}))
        elif what == "chain":
            chain.append(executed(out, back, tx=tx, at=at, target=OTHER))
        elif what == "both":
            chain.append(executed(out, back, tx=tx, at=at))
            agent.append(row(kind, draw(cents), tx=tx, at=at, **about))
        elif what == "note":
            agent.append(row(draw(st.sampled_from(["note", "fee"])), draw(cents), at=at, **about))
        elif key == "free":
            agent.append(row(kind, draw(cents), at=at, **about))
    return chain, agent


def interleaved(chain: list[NewEvent], agent: list[NewEvent], choose: list[bool]) -> list[NewEvent]:
    left, right, out = list(chain), list(agent), []
    for take_chain in choose:
        side = left if (take_chain and left) or not right else right
        if side:
            out.append(side.pop(0))
    return out + left + right


@settings(max_examples=200, deadline=None)
@given(stories(), st.lists(st.booleans(), max_size=20))
def test_the_order_in_which_the_two_sides_arrive_does_not_change_a_total(
    story: tuple[list[NewEvent], list[NewEvent]], choose: list[bool]
) -> None:
    chain, agent = story
    one = ledger(*chain, *agent).state
    assert totals(ledger(*agent, *chain).state) == totals(one)
    assert totals(ledger(*interleaved(chain, agent, choose)).state) == totals(one)


@settings(max_examples=100, deadline=None)
@given(stories(), st.lists(st.booleans(), max_size=20), st.integers(0, 20))
def test_a_checkpoint_changes_no_answer(
    story: tuple[list[NewEvent], list[NewEvent]], choose: list[bool], cut: int
) -> None:
    made = ledger(*interleaved(*story, choose))
    part = refold(made.events[:cut], all_events=made.events)
    kept = from_json(json.loads(json.dumps(to_json(part))))
    assert kept == part
    assert to_json(kept) == to_json(part)
    assert refold(made.events[cut:], kept, made.events) == made.state


@settings(max_examples=100, deadline=None)
@given(stories(), st.lists(st.booleans(), max_size=20))
def test_money_is_conserved(
    story: tuple[list[NewEvent], list[NewEvent]], choose: list[bool]
) -> None:
    """Cash is what went in less what the chain saw leave; nothing that only an agent says moves it."""
    chain, _ = story
    state = ledger(*interleaved(*story, choose)).state
    moved = [e.payload["executed"] for e in chain if "executed" in e.payload]
    assert state.cash == 1_000 * ONE + sum(
        usdc(m["received"]).micros - usdc(m["spent"]).micros for m in moved
    )
    assert sum(d.measured for d in state.days.values()) == sum(
        usdc(m["spent"]).micros for m in moved
    )


# -- rows that make no sense ---------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["id", "spent", "received", "codes", "kind", "seq", "what", "positions", "p"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats() | st.just("1e999") | st.just("-5"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
KEYS = st.sampled_from(
    ["position", "mark", "marks", "target", "next_at", "text", "fee_kind", "executed", "unwound", "settled", "control", "marked",
     "reverses", "violation", "refusal", "direction", "approval", "preview", "resource", "reason", "why"]
)  # fmt: skip
GARBAGE = st.builds(
    lambda kind, by, amount, tx, payload: NewEvent(kind=Kind(kind), reported_by=Reporter(by), occurred_at=START, amount_usdc=amount, tx_hash=tx, payload=payload),
    st.sampled_from(list(Kind)), st.sampled_from(list(Reporter)), st.none() | st.integers(-(10**18), 10**18).map(Usdc),
    st.sampled_from([None, "0x01", "0x02"]), st.dictionaries(KEYS, JUNK, max_size=4),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(GARBAGE, max_size=8))
def test_no_stored_garbage_makes_the_fold_or_a_total_fail(rows: list[NewEvent]) -> None:
    state = ledger(*rows).state
    totals(state)
    assert from_json(json.loads(json.dumps(to_json(state)))) == state


@pytest.mark.parametrize(
    "payload", [{"mark": "abc"}, {"mark": "-5"}, {"executed": "x"}, {"executed": {"spent": "NaN"}}]
)
def test_an_unusable_stored_value_reads_as_nothing_and_says_so(payload: dict[str, Any]) -> None:
    state = ledger(deposit(500), row("move", None, "chain", tx="0x01", **payload)).state
    assert state.bad
    assert state.cash == 500 * ONE


def test_a_row_is_folded_in_microseconds() -> None:
    made = ledger(deposit(500))
    for n in range(60):
        made.add(
            row(
                "buy",
                1,
                tx=f"0x{n:x}",
                position={"id": f"p{n % 7}"},
                at=START + timedelta(minutes=n),
            )
        )
    event = Event(
        event_id="ev_x",
        seq=99,
        kind=Kind.BUY,
        reported_by=Reporter.AGENT,
        created_at=START,
        occurred_at=START,
        amount_usdc=usdc(1),
        tx_hash=None,
        payload={"position": {"id": "p1"}},
    )
    best = min(_timed(lambda: fold(made.state, event)) for _ in range(5))
    assert best < 200e-6, (
        f"{best * 1e6:.0f} µs"
    )  # measured 20 to 30; the bound leaves room for a busy machine


def _timed(call: Any) -> float:
    since = time.perf_counter()
    for _ in range(100):
        call()
    return (time.perf_counter() - since) / 100


@st.composite
def unreported(draw: st.DrawFn) -> tuple[list[NewEvent], list[NewEvent]]:
    """Actions in one market, some of which the agent never reports."""
    chain: list[NewEvent] = [deposit(1_000)]
    agent: list[NewEvent] = []
    whole = st.integers(0, 60).map(str)
    for n in range(draw(st.integers(1, 8))):
        tx, kind = f"0x{n:x}", draw(st.sampled_from(["buy", "sell", "resolve"]))
        out, back = (draw(whole), "0") if kind == "buy" else ("0", draw(whole))
        chain.append(executed(out, back, tx=tx))
        if draw(st.booleans()):
            agent.append(
                row(kind, draw(whole), tx=tx, position={"id": draw(st.sampled_from(["p", "q"]))})
            )
    return chain, agent


@settings(max_examples=200, deadline=None)
@given(unreported(), st.lists(st.booleans(), max_size=16))
def test_unreported_actions_come_to_the_same_in_any_order(
    story: tuple[list[NewEvent], list[NewEvent]], choose: list[bool]
) -> None:
    chain, agent = story
    one = totals(ledger(*chain, *agent).state)
    assert totals(ledger(*agent, *chain).state) == one
    assert totals(ledger(*interleaved(chain, agent, choose)).state) == one
