"""A mandate day by day: what each point says, worked by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain.ledger.state.day_totals import RolledDay
from domain.ledger.state.performance import full_days
from domain.mandates.mandate import Status
from domain.reads.series import DAYS_SHOWN, series
from domain.times import format_minute
from tests.domain.material import Ledger, deposit, executed, gone, mandate, marked, row
from tests.domain.reads.test_hall import stored

MONDAY = datetime(2026, 11, 2, 9, tzinfo=UTC)
LATE = MONDAY.replace(hour=23, minute=59, second=50)


def days_of(led: Ledger) -> list[RolledDay]:
    return list(full_days(stored(led.events)))


def told(led: Ledger, *, at: datetime, status: Status = Status.WORKING) -> list[tuple[str, ...]]:
    """(day, worth, put in, floor, deposits, withdrawals, spent) in whole USDC."""
    case = led.case(mandate(status=status), now=at)
    return [
        (p.day[8:], *(None if v is None else f"{v.micros // 10**6}" for v in
         (p.worth, p.put_in, p.floor, p.deposits, p.withdrawals, p.spent)))
        for p in series(case, days_of(led), is_complete=True)
    ]  # fmt: skip


def test_days_worked_by_hand() -> None:
    led = Ledger(at=MONDAY).add(deposit(100, MONDAY), executed(40, tx="0x1", at=MONDAY))
    led.at = MONDAY + timedelta(days=2)
    led.add(
        row("deposit", 400, "chain", tx="0xd1", at=led.at),
        marked(460, 35, by="chain", place=(9, 0), at=led.at),
    )
    led.add(row("withdraw", 60, "chain", tx="0xd2", at=led.at, place=(10, 0)))
    assert told(led, at=led.at + timedelta(days=1)) == [
        ("02", None, "100", "80", "100", "0", "40"),
        ("04", "435", "440", "400", "400", "60", "0"),
        ("05", "435", "440", "400", "0", "0", "0"),
    ]
    later, over = led.at + timedelta(days=9), Status.SETTLED
    assert [p[0] for p in told(led, at=later, status=over)] == ["02", "04", "13"]
    led.add(executed(0, 35, tx="0x2", at=led.at, place=(11, 0)))
    assert [p[0] for p in told(led, at=later, status=over)] == ["02", "04"], "nothing is open"


def test_spend_counts_on_the_day_of_its_block_and_not_of_its_row() -> None:
    led = Ledger(at=MONDAY).add(deposit(500, MONDAY))
    led.at = MONDAY + timedelta(days=3)
    led.add(executed(50, tx="0x1", at=LATE), executed(30, tx="0x2", at=LATE + timedelta(days=1)))
    led.add(executed(20, tx="0x3", at=led.at))
    spent = {p[0]: p[6] for p in told(led, at=led.at + timedelta(hours=1))}
    assert spent == {"02": "50", "03": "30", "05": "20"}


def test_what_a_reorganisation_took_away_is_taken_back() -> None:
    led = Ledger(at=MONDAY).add(deposit(500, MONDAY), executed(50, tx="0x1", at=MONDAY))
    led.at = MONDAY + timedelta(days=1)
    led.add(gone(led.events[1]))
    (monday, tuesday) = told(led, at=led.at)
    assert (monday[6], tuesday[1:4]) == ("0", ("500", "500", "400"))
    led.add(gone(led.events[0]))
    assert days_of(led) == []


def test_nothing_is_known_before_the_first_deposit_and_no_more_than_400_days_are_shown() -> None:
    led = Ledger(at=MONDAY).add(row("note", None, "agent", text="hello"))
    (point,) = series(led.case(now=led.at), days_of(led), is_complete=True)
    assert (point.worth, str(point.put_in)) == (None, "0.000000")
    many = [
        RolledDay(day=(MONDAY - timedelta(days=n)).date().isoformat()) for n in range(500, 0, -1)
    ]
    points = series(led.case(now=led.at), many, is_complete=True)
    assert (len(points), points[-1].day) == (DAYS_SHOWN, "2026-11-02")


def test_a_sentence_says_a_time_in_words() -> None:
    assert format_minute(datetime(2026, 12, 21, 18, 3, 27, tzinfo=UTC)) == "21 Dec 2026, 18:03 UTC"
