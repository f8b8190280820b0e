"""Rows that were folded into days are not folded again, and a row more is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from domain.ledger.record import EMPTY, Day, Record, roll

from domain.ledger.events import Event
from tests.domain.material import Ledger, deposit, executed, row
from tools.call import kept as kept_module
from tools.call.kept import Kept

MONDAY = datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.fixture
def folds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each fold was of."""
    made: list[int] = []

    def counted(at: Record, events: Sequence[Event], past: object) -> tuple[Record, list[Day]]:
        made.append(len(events))
        return roll(at, events, past)  # type: ignore[arg-type]

    monkeypatch.setattr(kept_module, "roll", counted)
    return made


def a_ledger() -> Ledger:
    led = Ledger(at=MONDAY).add(deposit(500, MONDAY), executed(40, tx="0x1", at=MONDAY))
    led.at = MONDAY + timedelta(days=1)
    return led.add(executed(30, tx="0x2", at=led.at))


def test_the_same_rows_are_folded_once_and_a_row_more_anew(folds: list[int]) -> None:
    kept, led = Kept(), a_ledger()
    first = kept.rolled(EMPTY, list(led.events), tuple)
    assert first == roll(EMPTY, led.events)
    assert kept.rolled(EMPTY, list(led.events), tuple) is first
    led.add(row("withdraw", 60, "chain", tx="0xd2", at=led.at))
    assert kept.rolled(EMPTY, list(led.events), tuple) == roll(EMPTY, led.events)
    assert folds == [3, 4]


def test_the_same_rows_behind_another_record_are_folded_anew(folds: list[int]) -> None:
    kept, led = Kept(), a_ledger()
    before, _ = roll(EMPTY, led.events[:2])
    last = led.events[2:]
    for at in (EMPTY, before, before):
        assert kept.rolled(at, last, tuple) == roll(at, last)
    assert folds == [1, 1]


def test_nothing_is_kept_of_what_looked_at_days_of_the_past(folds: list[int]) -> None:
    kept, led = Kept(), a_ledger()
    at, days = roll(EMPTY, led.events)
    led.at = MONDAY
    led.add(row("note", None, "agent", text="a clock set back"))
    for past in (days, days[:1]):
        told = kept.rolled(at, led.events[3:], lambda past=past: past)  # type: ignore[misc]
        assert told == roll(at, led.events[3:], lambda past=past: past)  # type: ignore[misc]
    assert folds == [1, 1]
