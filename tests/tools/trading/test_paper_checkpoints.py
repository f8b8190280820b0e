"""Checkpoints of paper books: shortcuts to a replay, proven, and never shown when they are none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from domain.trading.paper.entries import Entry, Filled, Gap, PaperBook
from domain.trading.paper.replay import replay
from storage.integrity.ledger_check import verify
from storage.repositories import paper_checkpoints
from storage.repositories.paper_checkpoints import EVERY
from storage.repositories.state_codec import PAPER
from storage.unit_of_work import UnitOfWork
from tests.tools.trading.conftest import Desk, Person
from tests.tools.trading.test_paper import BUY, entries_of, whole

pytestmark = pytest.mark.anyio
COUNT = 3 * EVERY + 5


def _fill(n: int) -> Filled:
    return Filled(
        order_id=f"o_{n}", first=True, coin="BTC" if n % 3 else "ETH", is_buy=n % 5 < 3,
        px=Decimal(60_000 + n), size=Decimal("0.001"), level=Decimal(60_000 + n), snapshot="00",
        tenths_bps=Decimal(45), builder_tenths_bps=0, fee=27_000 + n, builder_fee=0, leverage=3,
        maintenance_x=80,
    )  # fmt: skip


async def _filled(ingest_context: Desk) -> tuple[Person, PaperBook, list[Entry]]:
    """A book with fills and gaps, some of which are told late."""
    p = await ingest_context.person()
    told = await ingest_context.ok("own_paper_book_open", p.caller, name="Long")
    start = ingest_context.clock.now()
    marks = {"BTC": Decimal(60_500), "ETH": Decimal(60_500)}

    def work(uow: UnitOfWork) -> None:
        for n in range(1, COUNT + 1):
            at = start + timedelta(seconds=n if n % 7 else n - 9)
            what = Gap(since=at, until=at + timedelta(1)) if n % 11 == 0 else _fill(n)
            uow.paper.append(told["book"], str(n), at, marks, what)

    await ingest_context.store.write(work)

    book = await ingest_context.store.read(lambda uow: uow.paper.get(told["book"]))
    assert book is not None
    return p, book, await entries_of(ingest_context, told["book"])


async def test_an_account_from_a_checkpoint_is_the_replay(both: Desk) -> None:
    _, book, entries = await _filled(both)
    kept = await both.rows("paper_checkpoints")
    assert [r["n"] for r in kept] == [EVERY, 2 * EVERY, 3 * EVERY]
    now = await both.store.read(lambda uow: uow.paper.account(book))
    assert now == replay(book.start_micros, entries)
    assert now.gap_count == len([e for e in entries if isinstance(e.payload, Gap)]) > 10
    for seconds in (0, 1, EVERY - 3, EVERY, EVERY + 7, 2 * EVERY, COUNT):
        at = book.created_at + timedelta(seconds=seconds)
        then = await both.store.read(lambda uow, at=at: uow.paper.account_at(book, at))
        assert then == replay(book.start_micros, [e for e in entries if e.at <= at])
    begin, tail = await both.store.read(lambda uow: uow.paper.recent(book, 70))
    assert begin == replay(book.start_micros, entries[: -len(tail)])
    assert 70 <= len(tail) < 70 + EVERY


async def test_a_read_looks_at_no_more_entries_than_lie_behind_a_checkpoint(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, book, _ = await _filled(desk)
    read: list[Any] = []
    plain = paper_checkpoints.entry_of
    monkeypatch.setattr(paper_checkpoints, "entry_of", lambda row: read.append(row) or plain(row))
    await desk.ok("own_paper_books", p.caller)
    assert len(read) <= COUNT % EVERY
    read.clear()
    await desk.ok("order_prepare", p.caller, **BUY, book=book.book, size="0.0005")
    assert len(read) <= EVERY


async def test_a_changed_checkpoint_is_not_shown_and_is_told_of(both: Desk) -> None:
    p, book, _ = await _filled(both)
    before = await whole(both, p, book.book)

    def tamper(uow: UnitOfWork) -> None:
        uow.sql.run(
            "UPDATE paper_checkpoints SET state = REPLACE(state, '\"start\":', '\"start\":9') "
            "WHERE n = :n",
            n=3 * EVERY,
        )

    await both.store.write(tamper)
    assert await whole(both, p, book.book) == before
    report = await verify(both.store)
    told = [f.what for f in report.findings if f.seq == 3 * EVERY]
    assert "the checkpoint is not what the entries come to" in told


async def test_a_forged_checkpoint_with_a_fitting_digest_is_told_of(desk: Desk) -> None:
    _, book, entries = await _filled(desk)
    rows = await desk.rows("paper_entries")
    rich = replace(replay(book.start_micros, entries[:EVERY]), realized=10**12)
    text = PAPER.text(rich, rows[EVERY - 1]["row_hash"])
    await desk.store.write(
        lambda uow: uow.sql.run(
            "UPDATE paper_checkpoints SET state = :state WHERE n = :n", state=text, n=EVERY
        )
    )
    report = await verify(desk.store)
    assert any("checkpoint" in f.what for f in report.findings if f.seq == EVERY)
