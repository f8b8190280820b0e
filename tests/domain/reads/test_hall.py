"""The measured record: hand-worked returns, an independent implementation, and what nobody can move."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.ledger.events.event import Event, LedgerKind, Reporter
from domain.ledger.events.payloads import LogReversed
from domain.ledger.state.day_totals import SCALE, DayTotals, RolledDay
from domain.ledger.state.performance import (
    NOTHING,
    DayParts,
    PerformanceRecord,
    days_of,
    fold_days,
    full_days,
)
from domain.money import Usdc
from domain.reads.performance_windows import (
    Total,
    average_capital,
    chart,
    combine_days,
    days_live,
    joint,
    since_of,
    window,
)
from storage.repositories.state_codec import STATES
from tests.domain.material import on_the_wire

MIDNIGHT = datetime(2026, 11, 2, tzinfo=UTC)
M = 1_000_000


@dataclass
class Story:
    """Rows of one mandate; amounts in USDC."""

    rows: list[Event] = field(default_factory=list)
    at: datetime = MIDNIGHT + timedelta(hours=9)
    cash: int = 0

    def row(
        self, kind: LedgerKind, by: Reporter, amount: float | None = None, **payload: Any
    ) -> Story:
        self.at += timedelta(seconds=1)
        n = len(self.rows) + 1
        money = None if amount is None else Usdc(round(amount * M))
        at = {"created_at": self.at, "occurred_at": self.at, "amount_usdc": money}
        self.rows.append(
            Event(event_id=f"ev_{n}", seq=n, kind=kind, reported_by=by, payload=payload, **at)  # type: ignore[arg-type]
        )
        return self

    def deposit(self, amount: float) -> Story:
        self.cash += round(amount * M)
        return self.row(LedgerKind.DEPOSIT, Reporter.CHAIN, amount)

    def withdraw(self, amount: float) -> Story:
        self.cash -= round(amount * M)
        return self.row(LedgerKind.WITHDRAW, Reporter.CHAIN, amount)

    def trade(self, spent: float = 0, received: float = 0) -> Story:
        self.cash += round(received * M) - round(spent * M)
        told = {"spent": str(Usdc(round(spent * M))), "received": str(Usdc(round(received * M)))}
        return self.row(LedgerKind.MOVE, Reporter.CHAIN, spent or received, executed=told)

    def mark(
        self, positions: float, cash: float | None = None, by: Reporter = Reporter.KEEPER
    ) -> Story:
        of = self.cash if cash is None else round(cash * M)
        told = {"cash": str(Usdc(of)), "positions": str(Usdc(round(positions * M)))}
        return self.row(LedgerKind.NOTE, by, marked=told)

    def settle(self, fee: float = 0) -> Story:
        told = {"spent": "0", "returned": "0", "gain": "0", "agent_fee": str(Usdc(round(fee * M)))}
        return self.row(LedgerKind.RESOLVE, Reporter.CHAIN, 0, settled=told)

    def claim(self, kind: LedgerKind, amount: float, **payload: Any) -> Story:
        return self.row(kind, Reporter.AGENT, amount, **payload)

    def gone(self) -> Story:
        """A reorganisation takes the newest row away, once."""
        last = self.rows[-1]
        if isinstance(last.content.body, LogReversed):
            return self
        told = {"event_id": last.event_id, "kind": last.kind.value, "payload": dict(last.payload)}
        amount = {"amount_usdc": str(last.amount_usdc)} if last.amount_usdc else {}
        return self.row(LedgerKind.NOTE, Reporter.CHAIN, reverses=told | amount)

    def next_day(self, days: int = 1) -> Story:
        self.at = (self.at + timedelta(days=days)).replace(hour=9, minute=0, second=0)
        return self

    def days(self) -> list[RolledDay]:
        return list(full_days(stored(self.rows)))

    def worth(self) -> int:
        return self.days()[-1].worth

    def since(self) -> dict[str, Any]:
        return on_the_wire(window(combine_days([self.days()]), None))

    def figures(self) -> tuple[str | None, int | None, int | None, int]:
        """(net, return, drawdown, trades), all of it."""
        told = self.since()
        return told["net_usdc"], told["twr_bps"], told["max_drawdown_bps"], told["trades"]


def stored(rows: Sequence[Event]) -> list[DayParts]:
    """The days of some rows, as they are stored."""
    _, added, _ = fold_days(NOTHING, rows)
    measured = days_of(rows)
    parts = {d: DayParts(day=d, measured=figures) for d, figures in measured.items()}
    for day, beside in added.items():
        parts[day] = replace(parts.get(day) or DayParts(day=day), beside=beside)
    return [parts[d] for d in sorted(parts)]


def factor(days: Iterable[DayTotals]) -> float:
    out = 1.0
    for d in days:
        out *= d.factor / SCALE
    return out


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_a_deposit_between_two_results_is_chained_out() -> None:
    story = Story().deposit(100).trade(spent=100).mark(110).deposit(110).mark(110)
    # +10% on 100; then -11 on the 110 in positions is -10%, whatever lies beside: 1.10 x 0.90.
    assert story.next_day().mark(99).figures() == ("-1.000000", -100, 1000, 1)


def test_a_day_holds_its_worth_its_flows_and_its_result() -> None:
    story = Story().deposit(100).trade(spent=60).mark(66).next_day(2).mark(60).withdraw(10)
    first, second = story.days()
    assert first == RolledDay(
        day="2026-11-02",
        start=0,
        worth=106 * M,
        inflow=100 * M,
        result=6 * M,
        factor=SCALE * 66 // 60,
        capital=60 * M,
        stood=0,
        held=66 * M,
        trades=1,
        calls=1,
        spent=60 * M,
        largest=60 * M,
        put_in=100 * M,
        deposited=100 * M,
    )
    assert (second.put_in, second.deposited, second.spent) == (90 * M, 100 * M, 0)
    assert (second.day, second.start, second.worth) == ("2026-11-04", 106 * M, 90 * M)
    assert (second.net, second.outflow) == (-6 * M, 10 * M)
    assert (second.stood, second.held, second.factor) == (66 * M, 60 * M, SCALE * 60 // 66)
    for part in stored(Story().deposit(100).claim(LedgerKind.BUY, 3).rows):
        assert (
            STATES.of(DayParts).load(json.loads(json.dumps(STATES.of(DayParts).dump(part)))) == part
        )


def test_a_fall_and_a_rise_show_as_drawdown() -> None:
    story = Story().deposit(100).trade(spent=100)
    for worth in (120, 90, 108, 81, 150):
        story.mark(worth).next_day()
    assert story.figures() == ("50.000000", 5000, 3250, 1)


def test_the_agents_fee_is_a_cost_when_it_is_paid_and_whenever_that_is() -> None:
    """100 becomes 120, then 2 go to the agent: 18 are left, 1.2 x (1 - 2/120) = 1.18."""
    story = Story().deposit(100).trade(spent=100).mark(120).trade(received=120).settle(fee=2)
    assert story.since()["twr_bps"] == 2000
    other = replace(story, rows=[*story.rows])
    before = other.row(LedgerKind.PAYOUT, Reporter.CHAIN, 2).withdraw(118)
    behind = story.withdraw(118).row(LedgerKind.PAYOUT, Reporter.CHAIN, 2)
    for paid in (before, behind):
        assert paid.figures() == ("18.000000", 1800, 0, 2)
        assert paid.worth() == 0


def test_positions_count_at_cost_until_they_are_marked() -> None:
    story = Story().deposit(100).trade(spent=40)
    assert (story.worth(), story.since()["twr_bps"]) == (100 * M, 0)
    assert not story.days()[-1].measured
    assert story.mark(30).worth() == 90 * M
    assert story.trade(spent=10).worth() == 90 * M
    assert story.trade(received=60).worth() == 110 * M


def test_a_mark_of_a_block_that_the_ledger_has_not_reached_waits() -> None:
    story = Story().deposit(100).trade(spent=100)
    story.mark(0, cash=100)  # sold on chain; the row comes some blocks later
    assert (story.worth(), story.since()["twr_bps"]) == (100 * M, 0)
    story.trade(received=100)
    assert (story.worth(), *story.figures()[1:3]) == (100 * M, 0, 0)
    early = Story().deposit(100).mark(60, cash=40)
    assert early.worth() == 100 * M
    assert early.trade(spent=60).days()[-1].held == 60 * M


def test_what_a_reorganisation_takes_back_is_no_result() -> None:
    story = Story().deposit(100).trade(spent=60)
    story.gone()
    assert (story.worth(), story.days()[-1].held) == (100 * M, 0)
    assert story.figures() == ("0.000000", 0, 0, 0)
    first = {"event_id": "ev_1", "seq": 1, "kind": "deposit", "amount_usdc": "100", "payload": {}}
    story.row(LedgerKind.NOTE, Reporter.CHAIN, reverses=first)
    assert story.days()[-1:] == []
    assert story.since()["net_usdc"] is None


def test_a_mandate_without_a_chain_row_has_no_figures() -> None:
    assert Story().claim(LedgerKind.BUY, 5).figures() == (None, None, None, 0)


# -- what nobody can move ----------------------------------------------------------------------------------------------


def test_an_agent_cannot_move_its_measured_record_by_reporting() -> None:
    plain = Story().deposit(100).trade(spent=50).mark(55).next_day().mark(52)
    hostile = {"marked": {"cash": "0", "positions": "9"}, "executed": {"received": "9"}}
    talked = Story().deposit(100).claim(LedgerKind.BUY, 900).claim(LedgerKind.RESOLVE, 1e6)
    talked.trade(spent=50).claim(LedgerKind.FEE, 3)
    talked.claim(LedgerKind.NOTE, 0, mark="99999", **hostile).mark(55).claim(LedgerKind.SELL, 500)
    talked.next_day().mark(52).claim(LedgerKind.MOVE, 7, settled={"agent_fee": "9"})
    measured = [replace(d, claimed_trades=0, claimed_net=0, claimed_fees=0) for d in talked.days()]
    assert measured == plain.days()
    assert sum(d.claimed_trades for d in talked.days()) == 4
    assert sum(d.claimed_net for d in talked.days()) == (1_000_000 - 3) * M
    assert sum(d.claimed_fees for d in talked.days()) == 3 * M


@given(
    st.lists(st.tuples(st.sampled_from(["in", "out"]), st.integers(1, 10**9)), max_size=30),
    st.booleans(),
)
def test_an_owner_funding_back_and_forth_cannot_raise_twr(
    flows: list[tuple[str, int]], invested: bool
) -> None:
    story = Story().deposit(100)
    if invested:
        story.trade(spent=50)
    for n, (way, micros) in enumerate(flows):
        amount = micros / M
        if way == "in":
            story.deposit(amount)
        elif story.cash >= micros:
            story.withdraw(amount)
        if n % 3 == 0:
            story.mark(50 if invested else 0).next_day()
    story.mark(50 if invested else 0)
    assert story.figures()[:3] == ("0.000000", 0, 0)


def test_money_that_comes_after_a_loss_does_not_thin_it_out() -> None:
    story = Story().deposit(10).trade(spent=10).deposit(1000).mark(5)
    assert story.since()["twr_bps"] == -5000


def test_idle_money_neither_hides_a_loss_nor_is_part_of_a_gain() -> None:
    assert Story().deposit(1000).trade(spent=10).mark(4).figures()[1:3] == (-6000, 6000)
    left = Story().deposit(1020).trade(spent=20).withdraw(900).mark(30).since()
    assert left["twr_bps"] == 5000


def test_what_is_sold_and_bought_again_weighs_once() -> None:
    story = Story().deposit(1000).trade(spent=100).mark(100)
    for _ in range(10):
        story.trade(received=90).trade(spent=90)
    assert story.mark(40).since()["twr_bps"] == -6000


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["in", "out"]), st.integers(0, 300), st.booleans(), st.integers(50, 200)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_no_flow_beside_a_position_moves_its_return(
    steps: list[tuple[str, int, bool, int]],
) -> None:
    """Each step has a flow before or after a result that nobody measures in between."""
    story, held, true = Story().deposit(200).trade(spent=100), 100.0, 1.0
    for way, amount, first, percent in steps:
        flow = amount if way == "in" else -min(amount, story.cash // M)
        held = round(held * percent / 100, 4)
        if first:
            (story.deposit if flow >= 0 else story.withdraw)(abs(flow))
        story.mark(held, by=Reporter.CHAIN)
        if not first:
            (story.deposit if flow >= 0 else story.withdraw)(abs(flow))
        true *= percent / 100
        if held < 20:  # what is a hundredth of the money beside is dust
            return
    # Twelve steps on 20 USDC or more, each rounded to 0.0001.
    assert factor(story.days()) == pytest.approx(true, rel=1e-4)


def test_a_recovery_of_what_was_marked_at_nothing_is_over_the_money_beside() -> None:
    story = Story().deposit(200).trade(spent=100).mark(0, by=Reporter.CHAIN).withdraw(1)
    assert story.since()["twr_bps"] == -10_000
    assert story.mark(1, by=Reporter.CHAIN).since()["twr_bps"] == -10_000


def test_a_gain_on_dust_is_not_chained() -> None:
    story = Story().deposit(0.000001).trade(spent=0.000001).mark(900)
    assert story.figures()[:2] == ("899.999999", 0)
    assert Story().deposit(1000).trade(spent=9).mark(18).figures()[:2] == ("9.000000", 0)


# -- against numpy -----------------------------------------------------------------------------------------------------

steps = st.lists(st.tuples(st.floats(0.9, 1.1), st.floats(0, 100)), min_size=1, max_size=25)


@given(steps)
@settings(max_examples=60)
def test_twr_drawdown_and_net_agree_with_numpy(told: list[tuple[float, float]]) -> None:
    """Each day the positions move by a factor and are marked; then something is paid in beside
    them, and they are marked again."""
    story = Story().deposit(1000).trade(spent=1000)
    held, cash, worths = 1000.0, 0.0, [1000.0]
    for move, paid in told:
        story.next_day()
        held, paid = round(held * move, 6), round(paid, 6)
        story.mark(held)
        worths.append(held)
        cash += paid
        if paid:
            story.deposit(paid)
        story.mark(held)
    index = np.array(worths) / 1000
    fall = np.max(1 - index / np.maximum.accumulate(index))
    net = held + cash - 1000 - sum(round(p, 6) for _, p in told)
    shown = story.since()
    assert abs(shown["twr_bps"] - (index[-1] - 1) * 10_000) <= 0.51
    assert abs(shown["max_drawdown_bps"] - fall * 10_000) <= 0.51
    assert abs(float(shown["net_usdc"]) - net) < 1e-4


def test_the_first_day_of_an_agent_shows_what_its_money_did() -> None:
    assert joint([day(100, -50)], 0) == SCALE // 2
    assert joint([RolledDay(day="2026-11-02")], 0) == SCALE


def test_a_mandate_that_lies_idle_hides_no_loss_of_another() -> None:
    idle, loser = Story().deposit(1000), Story().deposit(10).trade(spent=10).mark(4)
    told = window(combine_days([idle.days(), loser.days()]), None)
    assert (told.twr_bps, told.max_drawdown_bps) == (-6000, 6000)
    kept = window(combine_days([loser.days(), Story().deposit(1000).trade(spent=30).days()]), None)
    assert kept.twr_bps == -6000  # 30 put into something on the day of the loss are no part of it


def day(capital: int, result: int, *, stood: int = 0) -> RolledDay:
    """A day of one interval: a result over some capital."""
    factor, used = SCALE + SCALE * result // capital, capital if result else 0
    return RolledDay(day="2026-11-02", result=result, factor=factor, capital=used, stood=stood)


def test_two_mandates_that_were_empty_in_the_morning_weigh_by_what_they_traded() -> None:
    assert joint([day(100, -10), day(1000, 100)], 0) == SCALE + SCALE * 90 // 1100


def test_a_mandate_that_stands_alone_has_its_chained_return() -> None:
    """-5 on 10, then +5 on 100: nothing in the end, and 0.5 x 1.05 of the money at work."""
    story = Story().deposit(1000).trade(spent=10).mark(5).trade(received=5)
    story.trade(spent=100).mark(105)
    (told,) = story.days()
    assert (told.result, told.factor) == (0, SCALE // 2 * 105 // 100)
    assert joint([told], 0) == told.factor
    assert joint([told, day(10**7, 0, stood=10**7)], 0) == SCALE


RESULTS = st.lists(
    st.tuples(st.integers(10**6, 10**9), st.integers(-(10**6), 2 * 10**6)), min_size=1, max_size=6
)


@given(RESULTS, st.integers(0, 10**9))
@example([(1_000_000, -333_334), (1_000_001, -1_000_000)], 0)
def test_several_mandates_return_their_results_over_their_capital(
    rows: list[tuple[int, int]], others: int
) -> None:
    days = [day(capital, result) for capital, result in rows]
    result = sum(r for _, r in rows)
    whole = sum(c for c, r in rows if r) + others
    expected = 1 + result / whole if whole else 1.0
    # The capital of each is known to the last micro-USDC.
    least = whole - len(rows)
    off = abs(result) * len(rows) / (whole * least) if whole else 0
    assert joint(days, others) / SCALE == pytest.approx(expected, rel=1e-9, abs=off + 1e-9)


@given(RESULTS, st.data())
def test_which_of_two_equal_mandates_won_changes_nothing(
    rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    capital = 10**7
    results = [r for _, r in rows]
    swapped = data.draw(st.permutations(results))
    one, other = ([day(capital, r) for r in order] for order in (results, swapped))
    assert joint(one, 0) == joint(other, 0)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=5))
def test_results_that_add_up_to_nothing_return_nothing_and_only_they(results: list[int]) -> None:
    days = [day(10**7, r) for r in [*results, -sum(results)]]
    assert joint(days, 0) == SCALE
    assert joint([*days, day(10**7, 1)], 0) > SCALE > joint([*days, day(10**7, -1)], 0)


@given(st.lists(st.tuples(st.sampled_from([1, -1]), st.integers(5, 60)), min_size=1, max_size=6))
def test_even_bets_on_two_mandates_make_no_profit(bets: list[tuple[int, int]]) -> None:
    """The same share is won on one mandate and lost on the other, each day, swapped at will."""
    one, other = Story().deposit(1000), Story().deposit(1000)
    for sign, percent in bets:
        for story, won in ((one, sign), (other, -sign)):
            story.trade(spent=100).mark(100 + won * percent).trade(received=100 + won * percent)
            story.next_day()
    told = window(combine_days([one.days(), other.days()]), None)
    assert (str(told.net_usdc), told.twr_bps, told.max_drawdown_bps) == ("0.000000", 0, 0)


@given(
    st.lists(st.tuples(st.integers(10**6, 10**9), st.integers(-(10**6), 10**6)), min_size=1),
    st.integers(0, 10**12),
)
def test_money_put_to_work_beside_a_result_on_the_same_day_never_thins_it_out(
    rows: list[tuple[int, int]], more: int
) -> None:
    days = [day(capital, result) for capital, result in rows]
    assert joint([*days, RolledDay(day="2026-11-02", held=more)], 0) == joint(days, 0)


# -- the days ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 12), st.integers(0, 12))
def test_what_is_beside_the_measured_figures_adds_up_in_parts(a: int, b: int) -> None:
    story = Story().deposit(100).claim(LedgerKind.BUY, 3).next_day().claim(LedgerKind.RESOLVE, 5)
    story.claim(LedgerKind.FEE, 1).next_day(3).trade(spent=7).claim(LedgerKind.SELL, 2).withdraw(20)
    cuts = sorted((min(a, len(story.rows)), min(b, len(story.rows))))
    record, parts = NOTHING, dict[str, DayParts]()
    for rows in (story.rows[: cuts[0]], story.rows[cuts[0] : cuts[1]], story.rows[cuts[1] :]):
        record, added, _ = fold_days(record, rows)
        record = STATES.of(PerformanceRecord).load(
            json.loads(json.dumps(STATES.of(PerformanceRecord).dump(record)))
        )
        for name, beside in added.items():
            before = parts.get(name) or DayParts(day=name)
            parts[name] = replace(before, beside=before.beside.plus(beside))
    whole, added, _ = fold_days(NOTHING, story.rows)
    assert ({d: p.beside for d, p in parts.items()}, record) == (added, whole)


def test_days_go_by_block_time_whenever_a_row_is_read() -> None:
    """Two calls of Sunday night are read on Monday, the later one first."""
    story = Story(at=MIDNIGHT + timedelta(days=6, hours=23, minutes=50)).deposit(500)
    sunday, monday = story.at, story.at + timedelta(hours=9)
    for n, spent in ((2, 40), (1, 30)):
        told = {"spent": str(Usdc(spent * M)), "received": "0"}
        event = replace(
            story.row(LedgerKind.MOVE, Reporter.CHAIN, spent, executed=told).rows.pop(),
            occurred_at=sunday + timedelta(minutes=n),
            created_at=monday,
            block_number=n,
            log_index=0,
        )
        story.rows.append(event)
    assert [(d.day, d.spent, d.calls) for d in story.days()] == [("2026-11-08", 70 * M, 2)]


def test_a_day_on_which_only_the_agent_spoke_stands_as_the_one_before() -> None:
    story = Story().deposit(100).trade(spent=60).mark(66).next_day().claim(LedgerKind.BUY, 3)
    first, second = story.days()
    assert (second.start, second.worth, second.stood, second.held) == (106 * M,) * 2 + (66 * M,) * 2
    assert (second.claimed_trades, second.factor, second.result) == (1, SCALE, 0)
    assert first.claimed_trades == 0


def test_worth_is_carried_over_days_without_rows() -> None:
    totals = combine_days([Story().deposit(100).next_day(5).deposit(50).days()])
    assert [t.worth for t in totals] == [100 * M, 150 * M]
    assert days_live(totals, "2026-11-10") == 9
    assert days_live(totals, "2026-11-04") == 3
    assert [average_capital(totals, "2026-11-08", n) for n in (7, 1, 0)] == [114, 150, 0]
    shown = on_the_wire(chart(totals, "2026-11-08"))["series"]
    assert [s["key"] for s in shown] == ["worth", "net"]
    assert [p[0] for p in shown[0]["points"]] == [f"2026-11-0{d}" for d in range(2, 9)]
    assert [p[1] for p in shown[0]["points"]] == ["100.000000"] * 5 + ["150.000000"] * 2


def test_a_chart_has_400_points_at_the_most() -> None:
    totals = [
        Total("2024-01-01", 5 * M, 0, 5 * M, SCALE, 0, 0, 0, 0),
        Total("2024-06-01", 7 * M, 2 * M, 0, SCALE, 0, 0, 0, 0),
    ]
    worth, net = (s["points"] for s in on_the_wire(chart(totals, "2026-11-20"))["series"])
    assert len(worth) == len(net) == 400
    assert worth[0] == ["2025-10-17", "7.000000"]
    assert net[-1] == ["2026-11-20", "2.000000"]


def test_days_live_ends_with_the_money() -> None:
    totals = combine_days([Story().deposit(100).next_day(2).withdraw(100).days()])
    assert days_live(totals, "2026-11-20") == 2


def test_a_window_takes_its_days_and_no_other() -> None:
    story = Story().deposit(100).trade(spent=100).mark(50).next_day().mark(60)
    totals = combine_days([story.days()])
    told = window(totals, "2026-11-03")
    assert (str(told.net_usdc), told.twr_bps, told.max_drawdown_bps) == ("10.000000", 2000, 0)
    assert (told.trades, window(totals, "2026-11-04").twr_bps) == (0, 0)
    assert since_of("2026-11-20", 7) == "2026-11-14"
    assert since_of("2026-11-20", None) is None


def test_an_owners_row_is_no_day() -> None:
    story = Story().deposit(100)
    assert story.days() == story.next_day().row(LedgerKind.SIGNED, Reporter.OWNER).days()
