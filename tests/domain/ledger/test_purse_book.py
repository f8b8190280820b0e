"""The purse in the measured book: spent, and no trade, no position and no volume."""

from __future__ import annotations

from dataclasses import replace

from domain.ledger.events.event import NewEvent
from tests.domain.material import deposit, executed, ledger


def into_purse(amount: int) -> NewEvent:
    new = executed(amount, tx="0x02")
    return replace(new, payload={"executed": {**new.payload["executed"], "purse": True}})  # type: ignore[dict-item]


def test_what_is_put_into_the_purse_is_spent_and_is_no_trade() -> None:
    book = ledger(deposit(500), into_purse(20)).state.measured
    (day,) = book.days.values()
    assert (book.spent, book.cash, day.spent) == (20_000_000, 480_000_000, 20_000_000)
    assert (book.trades, day.trades, book.positions) == (0, 0, {})
    assert book.purse.called == 20_000_000
    other = ledger(deposit(500), executed(20, tx="0x02")).state.measured
    assert (other.trades, len(other.positions)) == (1, 1)
