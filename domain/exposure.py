"""The most that a hostile agent could still take out."""

from __future__ import annotations

from typing import Any

from domain.book import Book, daily_cap, day_of, midnight, moment
from domain.book import today as today_of
from domain.mandate import Mandate, Status
from domain.money import ZERO, Usdc
from domain.refusals import timestamp


def _terms_only(m: Mandate) -> tuple[Usdc, Usdc, Usdc]:
    """Before there is a vault: as if it were fully funded."""
    at_risk = m.budget_usdc - m.floor
    fair_loss = m.floor.share_up(200)
    ever = at_risk + fair_loss
    today = min(m.daily_cap, ever)
    return min(m.per_tx_cap, today), today, ever


def exposure(book: Book) -> dict[str, Any]:
    """Shape `{before_pause, today, ever, until, formula}`.

    Units: USDC. `before_pause` is one action that lands before a pause, `today` all actions until 00:00 UTC, `ever`
    the mandate's life: never more than what lies above the floor, and the 2% that a fair exit below it may cost.
    The vault counts an action as taken even where its value only moved into a listed market, so that what is really
    lost is at most this. Source: contract 5; chain.md constants.
    """
    m, chain = book.mandate, book.chain
    closed = m.status in (Status.STOPPED, Status.SETTLED, Status.CANCELLED) or m.ended(moment(book))
    if closed or (chain is not None and (chain.stopped or chain.settled)):
        once = today = ever = ZERO
    elif chain is None or not chain.exists:
        once, today, ever = _terms_only(m)
    else:
        above = max(ZERO, chain.cash + chain.positions - chain.floor)
        room = m.budget_usdc - chain.total_deposited
        more = max(ZERO, room) - max(ZERO, room).share_down(10_000 - m.stop_floor_bps)
        # What sits in positions can be traded away too, down to the floor; below it only fair exits, at 2% at the most.
        floor_at_end = chain.floor + (max(ZERO, room) - more)
        ever = above + more + floor_at_end.share_up(200)
        # Measured outflow is bounded by the day cap; positions already open are not, so they count whole.
        spent = chain.spent_today if day_of(chain.block.at) == today_of(book) else ZERO
        left_today = max(ZERO, daily_cap(book) - spent)
        today = min(ever, left_today + chain.positions)
        # The agent's policy binds only those who ask the service; the vault knows the terms alone.
        once = min(today, m.per_tx_cap + chain.positions)
        if chain.paused:
            once = today = ZERO
    return {
        "before_pause": str(once),
        "today": str(today),
        "ever": str(ever),
        "until": timestamp(midnight(moment(book))),
        "formula": "ever = above the floor + what may still be deposited above it + 2% of the floor; "
        "today = min(ever, day cap left + open positions); before_pause = min(today, cap per action + open positions); "
        "nothing while paused or closed",
    }
