"""The two books: what the house measured, in the order of the chain, and what agents claim."""

from __future__ import annotations

import itertools
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.state.journal import MAX_RECENT
from domain.ledger.state.ledger_state import EMPTY, LedgerState, apply
from domain.money import Usdc
from domain.rules.valuation import realized_micros, valued
from storage.repositories.state_codec import LEDGER
from tests.domain.material import (
    MARKET,
    OTHER,
    START,
    Ledger,
    deposit,
    executed,
    gone,
    ledger,
    marked,
    refold,
    row,
    totals,
    usdc,
)

ONE = 1_000_000
P: dict[str, Any] = {"position": {"id": "p"}}
TX = "0x01"


def worth(books: LedgerState) -> float | None:
    at = valued(books).worth
    return None if at is None else at / ONE


def unwound(received: str, tx: str, **more: Any) -> NewEvent:
    told = {"target": MARKET, "selector": "0x01", "received": received}
    return row("move", received, "chain", tx=tx, unwound=told, **more)


def control(subject: str, place: tuple[int, int]) -> NewEvent:
    return row("note", by="chain", tx=f"0x{place[0]:x}", place=place, control={"what": subject})


# -- what the issue of one sum was


def test_cash_is_unknown_before_the_first_chain_row() -> None:
    assert EMPTY.measured.cash is None
    assert ledger(row("buy", 10)).state.measured.cash is None
    assert ledger(deposit(500)).state.measured.cash == 500 * ONE


def test_a_second_report_of_one_transaction_is_in_no_sum() -> None:
    again = row("buy", 300, tx=TX, violation={"codes": ["duplicate_tx"], "detail": {}}, **P)
    once = ledger(deposit(1_060), row("buy", 300, tx=TX, **P))
    twice = ledger(deposit(1_060), row("buy", 300, tx=TX, **P)).add(again)
    assert twice.state.claimed == once.state.claimed
    assert worth(twice.state) == 1_060
    assert twice.state.violations == {"duplicate_tx": 1}


def test_a_purchase_reported_without_its_hash_and_then_marked_counts_once() -> None:
    made = ledger(deposit(1_030), executed(300, tx=TX), row("buy", 300, **P), marked(730, 300))
    assert worth(made.state) == 1_030


def test_a_result_told_of_an_open_position_moves_no_measured_figure() -> None:
    made = ledger(deposit(1_000), row("buy", 300, tx=TX, **P), executed(300, tx=TX))
    before = made.state.measured
    made.add(marked(700, 330), row("resolve", 0, **P))
    assert worth(made.state) == 1_030
    assert made.state.measured.spent == before.spent
    assert realized_micros(made.state) == 0


def test_an_action_at_a_contract_without_a_transaction_counts_for_nothing() -> None:
    made = ledger(deposit(1_000), row("buy", 1, target={"address": MARKET}, mark="100000"))
    assert worth(made.state) == 1_000
    assert made.state.claimed == ledger(deposit(1_000)).state.claimed


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_pause_and_resume_act_by_their_place_whenever_they_are_read(order: tuple[int, ...]) -> None:
    rows = [control("paused", (5, 0)), control("resumed", (6, 0)), deposit(1)]
    assert ledger(*(rows[n] for n in order)).state.measured.paused is False
    rows = [control("paused", (7, 0)), control("resumed", (6, 0)), deposit(1)]
    assert ledger(*(rows[n] for n in order)).state.measured.paused is True


def test_a_withdrawal_read_before_the_call_before_it_comes_to_the_same() -> None:
    call = executed(0, 60, tx="0x02", place=(3, 0))
    out = row("withdraw", 1_060, "chain", tx="0x03", place=(4, 0))
    rows = [row("deposit", 1_000, "chain", place=(1, 0)), call, out]
    early = ledger(rows[0], rows[2], rows[1]).state
    assert early.measured == ledger(*rows).state.measured
    assert (early.measured.cash, early.measured.donated) == (0, 0)


def test_a_donation_that_leaves_with_the_withdrawal_is_booked_with_it() -> None:
    made = ledger(deposit(1_000), row("withdraw", 1_050, "chain"))
    assert made.state.measured.cash == 0
    made.add(unwound("30", "0x02"))
    assert made.state.measured.cash == 30 * ONE


def test_a_call_counts_on_the_day_on_which_it_happened() -> None:
    sunday = START.replace(day=8, hour=23, minute=55)
    made = Ledger(at=sunday + timedelta(hours=5)).add(deposit(500), executed(40, tx=TX, at=sunday))
    spent = {d: v.spent for d, v in made.state.measured.days.items() if v.spent}
    assert spent == {"2026-11-08": 40 * ONE}


def test_cash_and_positions_are_worth_in_the_seconds_after_a_report() -> None:
    made = ledger(deposit(500), row("buy", 40, tx=TX, mark="90", target={"address": MARKET}))
    at = valued(made.state)
    assert (at.worth, at.cash, at.positions_est) == (500 * ONE, 500 * ONE, 0)


# -- claims


def test_a_claim_waits_for_its_chain_row_and_ends_with_it() -> None:
    made = ledger(deposit(500), row("buy", 40, tx=TX, target={"address": MARKET}))
    (claim,) = made.state.claimed.pending.values()
    assert (claim.out, claim.into, claim.tx_hash) == (40 * ONE, 0, TX)
    made.add(executed(39, tx=TX))
    assert not made.state.claimed.pending
    assert made.state.measured.days["2026-11-02"].spent == 39 * ONE


def test_a_report_of_what_the_chain_told_of_before_never_waits() -> None:
    made = ledger(deposit(500), executed(39, tx=TX), row("buy", 40, tx=TX, **P))
    assert not made.state.claimed.pending


@pytest.mark.parametrize("outcome", ["reverted", "elsewhere", "not_found"])
def test_a_keeper_s_note_ends_a_claim(outcome: str) -> None:
    made = ledger(deposit(500), row("buy", 40, tx=TX))
    told = {"event_id": made.events[-1].event_id, "outcome": outcome}
    made.add(row("note", by="keeper", claim=told))
    assert not made.state.claimed.pending
    assert not made.state.bad


def test_parts_are_named_in_the_agent_s_own_figures_and_move_nothing_measured() -> None:
    """Bought 100 and marked 120; 60 sold is half: cost 50. The chain says 100 out and 61 back."""
    made = ledger(deposit(500), row("buy", 100, tx=TX, mark="120", **P), executed(100, tx=TX))
    made.add(row("sell", 60, tx="0x02", **P), executed(0, 61, tx="0x02"))
    part = made.state.claimed.parts["p"]
    assert (part.of, part.cost, part.value) == (MARKET, 50 * ONE, 60 * ONE)
    assert made.state.measured.positions[MARKET].cost == 39 * ONE
    assert not made.add(row("resolve", 3, **P)).state.claimed.parts["p"].opened
    assert MARKET in made.state.measured.opened


# -- marks


def test_a_whole_mark_and_the_flows_after_it_are_the_worth() -> None:
    made = ledger(deposit(500), executed(40, tx=TX), marked(460, 43))
    assert (worth(made.state), valued(made.state).source) == (503, "chain_mark")
    made.add(executed(10, tx="0x02"), row("note", None, mark="900", target={"address": MARKET}))
    assert worth(made.state) == 503
    assert worth(made.add(deposit(100)).state) == 603


def test_a_mark_that_is_ahead_of_the_ledger_counts_what_it_saw_once() -> None:
    rows = [row("deposit", 500, "chain", place=(1, 0)), executed(40, tx=TX, place=(9, 0))]
    later = row("deposit", 100, "chain", place=(10, 0))
    made = ledger(rows[0], marked(560, 41, place=(12, 0)))
    at = valued(made.state)
    assert (at.worth, at.cash) == (500 * ONE, 500 * ONE)
    made.add(rows[1], later)
    at = valued(made.state)
    assert (at.worth, at.cash, at.positions_est) == (601 * ONE, 560 * ONE, 41 * ONE)


def test_a_mark_of_a_branch_that_is_gone_does_not_outlive_the_next_reading() -> None:
    call = executed(40, tx=TX, place=(2, 0))
    made = ledger(row("deposit", 500, "chain", place=(1, 0)), call, marked(460, 93, place=(9, 0)))
    assert worth(made.state) == 553
    assert worth(made.add(marked(460, 40, place=(7, 0))).state) == 500


def test_before_the_first_mark_worth_rests_on_the_agent_s_word_else_on_cost() -> None:
    made = ledger(deposit(500), executed(40, tx=TX))
    assert (worth(made.state), valued(made.state).source) == (500, "cost")
    made.add(row("note", None, mark="45", target={"address": MARKET}))
    assert (worth(made.state), valued(made.state).source) == (505, "agent_mark")


def test_the_settlement_s_measured_result_replaces_the_reported_one() -> None:
    told = {"spent": "100", "returned": "120", "gain": "20", "agent_fee": "2"}
    made = ledger(deposit(500), row("resolve", 33))
    made.add(row("resolve", None, "chain", settled=told), row("payout", 2, "chain"))
    assert realized_micros(made.state) == (20 - 2) * ONE


# -- reorganisations


def test_a_reorganisation_takes_money_and_state_back() -> None:
    rows = [deposit(500), control("paused", (2, 0)), row("stop", None, "chain", reason="owner")]
    made = ledger(*rows, executed(40, tx=TX))
    before = refold(made.events[:1]).measured
    for event in made.events[1:]:
        made.add(gone(event))
    assert made.state.measured == before
    assert made.state.measured.paused is None
    assert made.state.measured.stopped is None


def test_a_log_that_came_back_stands_at_its_new_place() -> None:
    made = ledger(deposit(500), control("paused", (2, 0)), control("resumed", (3, 0)))
    paused = made.events[1]
    made.add(gone(paused))
    assert made.state.measured.paused is False
    again = row(
        "note", by="chain", control={"what": "paused"}, place=(5, 0),
        restates={"event_id": paused.event_id, "log_index": 0},
    )  # fmt: skip
    assert made.add(again).state.measured.paused is True


def test_a_log_that_only_moved_is_the_same_log() -> None:
    made = ledger(deposit(500), executed(40, tx=TX, place=(4, 1)))
    told = {"target": MARKET, "spent": "40", "received": "0"}
    again = {"event_id": made.events[1].event_id, "log_index": 0}
    at = START + timedelta(days=1)
    moved = row("move", 40, "chain", tx=TX, at=at, place=(6, 0), executed=told, restates=again)
    made.add(moved)
    assert made.state.measured.cash == 460 * ONE
    spent = {d: v.spent for d, v in made.state.measured.days.items()}
    assert spent == {"2026-11-02": 0, "2026-11-03": 40 * ONE}


def test_a_row_from_far_back_is_still_taken_out_of_every_sum() -> None:
    made = ledger(deposit(500), executed(7, tx="0xff"))
    for n in range(2 * MAX_RECENT):
        made.add(executed(1, tx=f"0x{n:x}"))
    cash = made.state.measured.cash or 0
    made.add(gone(made.events[1]))
    assert made.state.measured.cash == cash + 7 * ONE
    assert made.state.measured.days["2026-11-02"].spent == 2 * MAX_RECENT * ONE


# -- order of arrival


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[NewEvent], list[NewEvent]]:
    """What the house tells, each row at its place, and what the agent tells, in its own order."""
    house = [row("deposit", 1_000, "chain", tx="0xd0", place=(1, 0))]
    agent: list[NewEvent] = []
    cents = st.integers(0, 5_000).map(lambda n: f"{n // 100}.{n % 100:02d}")
    for n in range(2, 2 + draw(st.integers(1, 12))):
        tx, at, place = f"0x{n:x}", START + timedelta(minutes=n), (n, 0)
        about: dict[str, Any] = draw(
            st.sampled_from([P, {"target": {"address": MARKET}}, {"position": {"id": "q"}}])
        )
        if draw(st.booleans()):
            about = about | {"mark": draw(cents)}
        what = draw(
            st.sampled_from(["both", "both", "chain", "agent", "mark", "control", "note", "out"])
        )
        kind = draw(st.sampled_from(["buy", "sell", "resolve", "move"]))
        out = draw(cents) if kind in ("buy", "move") else "0"
        back = "0" if kind in ("buy", "move") else draw(cents)
        if what in ("both", "chain"):
            target = MARKET if what == "both" else OTHER
            house.append(executed(out, back, tx=tx, at=at, place=place, target=target))
        if what in ("both", "agent"):
            agent.append(row(kind, draw(cents), tx=tx, at=at, **about))
        if what == "mark":
            house.append(marked(draw(cents), draw(cents), place=place, by=draw(st.sampled_from(["keeper", "chain"]))))  # fmt: skip
        if what == "control":
            house.append(control(draw(st.sampled_from(["paused", "resumed"])), place))
        if what == "note":
            agent.append(row(draw(st.sampled_from(["note", "fee"])), draw(cents), at=at, **about))
        if what == "out":
            house.append(row("withdraw", draw(cents), "chain", tx=tx, place=place))
    return house, agent


def interleaved(house: list[NewEvent], agent: list[NewEvent], choose: list[bool]) -> list[NewEvent]:
    left, right, out = list(house), list(agent), []
    for take_house in choose:
        side = left if (take_house and left) or not right else right
        if side:
            out.append(side.pop(0))
    return out + left + right


CHOICES = st.lists(st.booleans(), max_size=24)
Story = tuple[list[NewEvent], list[NewEvent]]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(stories(), CHOICES)
def test_the_measured_book_of_all_rows_is_that_of_the_house_s_rows_alone(
    story: Story, choose: list[bool]
) -> None:
    assert ledger(*interleaved(*story, choose)).state.measured == ledger(*story[0]).state.measured


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(stories(), CHOICES, st.randoms(use_true_random=False))
def test_the_order_in_which_rows_arrive_does_not_change_a_total(
    story: Story, choose: list[bool], chance: Any
) -> None:
    house, agent = story
    one = totals(ledger(*house, *agent).state)
    shuffled = list(house)
    chance.shuffle(shuffled)
    marks = iter([n for n in house if n.reported_by is Reporter.KEEPER])  # in the keeper's order
    shuffled = [next(marks) if n.reported_by is Reporter.KEEPER else n for n in shuffled]
    assert totals(ledger(*agent, *house).state) == one
    assert totals(ledger(*interleaved(shuffled, agent, choose)).state) == one


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(stories(), CHOICES, st.integers(0, 24))
def test_a_checkpoint_changes_no_answer(story: Story, choose: list[bool], cut: int) -> None:
    made = ledger(*interleaved(*story, choose))
    part = refold(made.events[:cut], all_events=made.events)
    kept = LEDGER.codec.load(json.loads(json.dumps(LEDGER.codec.dump(part))))
    assert kept == part
    assert LEDGER.codec.dump(kept) == LEDGER.codec.dump(part)
    assert refold(made.events[cut:], kept, made.events) == made.state


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(stories(), st.data())
def test_what_is_taken_back_and_told_again_leaves_everything_as_it_was(
    story: Story, data: st.DataObject
) -> None:
    made = ledger(*story[0])
    before = made.state.measured
    event = data.draw(st.sampled_from(made.events))
    index = 2**31 if event.reported_by is Reporter.KEEPER else event.log_index
    if event.reported_by is Reporter.KEEPER:
        return
    made.add(gone(event))
    told = dict(event.payload) | {"restates": {"event_id": event.event_id, "log_index": index}}
    made.add(
        NewEvent(
            kind=event.kind, reported_by=event.reported_by, occurred_at=event.occurred_at, amount_usdc=event.amount_usdc,
            tx_hash=event.tx_hash, block_number=event.block_number, payload=told,
        )
    )  # fmt: skip
    assert made.state.measured == before


# -- fees, size, speed


def test_fees_are_classed_and_the_unclassified_ones_stay_apart() -> None:
    kinds: list[Any] = ["x402", "tools", "paid_read", "venue", "gas", "network", None, "odd"]
    made = Ledger()
    for kind in kinds:
        made.add(row("fee", "0.011", fee_kind=kind) if kind is not None else row("fee", "0.011"))
    c = made.state.claimed
    assert (c.fee_tools, c.fee_venue, c.fee_network) == (33_000, 11_000, 22_000)
    assert (c.fee_unclassified, c.fee_unclassified_count) == (22_000, 2)
    assert c.credits["2026-11-02"] == 6  # three paid reads of 1.1 credits, each rounded up


@pytest.mark.slow
def test_the_state_stays_small_however_many_rows_there_are() -> None:
    made = Ledger().add(deposit(5_000))
    for n in range(1, 1_500):
        at = START + timedelta(minutes=n)
        made.add(row("buy", 1, tx=f"0x{n:x}", position={"id": f"p{n}"}, at=at, mark="2"))
        made.add(executed(1, tx=f"0x{n + 10_000:x}", at=at))
    state = made.state
    assert len(state.claimed.parts) <= 256
    assert len(state.claimed.pending) <= 256
    assert len(state.measured.days) <= 16
    assert len(state.journal.recent) <= MAX_RECENT
    assert len(json.dumps(LEDGER.codec.dump(state))) < 200_000
    assert state.measured.cash == (5_000 - 1_499) * ONE


def test_a_row_is_folded_in_microseconds() -> None:
    made = ledger(deposit(500))
    for n in range(60):
        made.add(executed(1, tx=f"0x{n:x}", at=START + timedelta(minutes=n)))
    event = Event(
        event_id="ev_x", seq=99, kind=LedgerKind.BUY, reported_by=Reporter.AGENT, created_at=START, occurred_at=START,
        amount_usdc=usdc(1), tx_hash="0xab", payload={"position": {"id": "p1"}},
    )  # fmt: skip
    best = min(_timed(lambda: apply(made.state, event)) for _ in range(5))
    assert best < 200e-6, f"{best * 1e6:.0f} µs"


def _timed(call: Any) -> float:
    since = time.thread_time()
    for _ in range(100):
        call()
    return (time.thread_time() - since) / 100


# -- rows that make no sense

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
     "reverses", "restates", "claim", "notice", "violation", "refusal", "direction", "approval", "preview", "resource", "reason", "why"]
)  # fmt: skip
GARBAGE = st.builds(
    lambda kind, by, amount, tx, payload: NewEvent(kind=LedgerKind(kind), reported_by=Reporter(by), occurred_at=START, amount_usdc=amount, tx_hash=tx, payload=payload),
    st.sampled_from(list(LedgerKind)), st.sampled_from(list(Reporter)), st.none() | st.integers(-(10**18), 10**18).map(Usdc),
    st.sampled_from([None, "0x01", "0x02"]), st.dictionaries(KEYS, JUNK, max_size=4),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(GARBAGE, max_size=8))
def test_no_stored_garbage_makes_the_fold_or_a_total_fail(rows: list[NewEvent]) -> None:
    state = ledger(*rows).state
    totals(state)
    assert LEDGER.codec.load(json.loads(json.dumps(LEDGER.codec.dump(state)))) == state


@pytest.mark.parametrize(
    "payload", [{"mark": "abc"}, {"mark": "-5"}, {"executed": "x"}, {"executed": {"spent": "NaN"}}]
)
def test_an_unusable_stored_value_reads_as_nothing_and_says_so(payload: dict[str, Any]) -> None:
    state = ledger(deposit(500), row("move", None, "chain", tx="0x01", **payload)).state
    assert state.bad
    assert state.measured.cash == 500 * ONE
