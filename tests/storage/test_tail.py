"""Whoever follows the ledgers gets every row once, in one order, and goes on after a break without a gap."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import anyio
import asyncpg
import pytest

from storage.feed import ledger_feed
from storage.feed.ledger_feed import SILENT_S, FeedEntry, LedgerFeed, UnknownCursor
from storage.repositories.event_row import COLUMNS, event_of
from storage.store import Store
from tests.storage import material as m
from tests.storage.cable import cable
from tests.waiting import STUCK_S, LoopClock, beating

pytestmark = pytest.mark.anyio
INSERT = (
    f"INSERT INTO ledger_events ({', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(f'${n}' for n, _ in enumerate(COLUMNS, start=1))}) RETURNING position"
)


@asynccontextmanager
async def _begun(url: str) -> AsyncIterator[LedgerFeed]:
    """A tail that has found its start; polled by hand from here on."""
    opened = LedgerFeed(url)
    try:
        for _ in range(2):
            await opened.poll()
        yield opened
    finally:
        await opened.close()


async def _next(stream: AsyncIterator[FeedEntry], count: int) -> list[FeedEntry]:
    with anyio.fail_after(STUCK_S):
        return [await anext(stream) for _ in range(count)]


async def _all(store: Store) -> list[tuple[str, int]]:
    place = "rowid" if store.url.startswith("sqlite") else "position"
    rows = await store.read(
        lambda uow: uow.sql.rows(f"SELECT public_id, seq FROM ledger_events ORDER BY {place}")
    )
    return [(r["public_id"], r["seq"]) for r in rows]


def _named(told: list[FeedEntry]) -> list[tuple[str, int]]:
    return [(t.public_id, event_of(t.row).seq) for t in told]


async def test_rows_of_all_mandates_come_as_one_stream(store: Store) -> None:
    await m.fill(store, 20)
    opened = LedgerFeed(store.url)
    async with anyio.create_task_group() as group, aclosing(opened.follow()) as stream:
        group.start_soon(opened.run, 1)
        async with anyio.create_task_group() as writers:
            for name in range(5):
                writers.start_soon(lambda n=name: m.fill(store, 30, public_id=f"m_{n}"))
        told = await _next(stream, 170)
        group.cancel_scope.cancel()
    assert _named(told) == await _all(store)
    for public_id in {t.public_id for t in told}:
        seqs = [event_of(t.row).seq for t in told if t.public_id == public_id]
        assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.parametrize("kept", [ledger_feed.KEPT, 10])
@pytest.mark.parametrize("page", [ledger_feed.PAGE, 7])
async def test_a_listener_resumes_behind_the_row_it_had_last(
    store: Store, monkeypatch: pytest.MonkeyPatch, kept: int, page: int
) -> None:
    monkeypatch.setattr(ledger_feed, "KEPT", kept)
    monkeypatch.setattr(ledger_feed, "PAGE", page)
    await m.fill(store, 15)
    async with _begun(store.url) as opened:
        for _ in range(3):
            await m.fill(store, 15)
            for _ in range(15):
                await opened.poll()
        async with aclosing(opened.follow()) as stream:
            whole = await _next(stream, 60)
        assert _named(whole) == await _all(store)
        for had in (0, 1, 14, 30, 58):
            async with aclosing(opened.follow(whole[had].cursor)) as stream:
                assert await _next(stream, 59 - had) == whole[had + 1 :]


async def test_the_newest_cursor_leads_to_what_comes_next(store: Store) -> None:
    async with _begun(store.url) as opened:
        assert await opened.newest() == ""
        await m.fill(store, 3)
        await opened.poll()
        newest = await opened.newest()
        assert newest.startswith("3.")
        await m.append(store, m.buy())
        await opened.poll()
        async with aclosing(opened.follow(newest)) as stream:
            assert _named(await _next(stream, 1)) == [("m_1", 4)]


@pytest.mark.parametrize("cursor", ["4.0000000000000000", "9.{}", "{}", "3", "x", "-1.{}"])
async def test_a_cursor_of_another_record_is_told_so(store: Store, cursor: str) -> None:
    await m.fill(store, 5)
    async with _begun(store.url) as opened:
        with pytest.raises(UnknownCursor):
            await anext(opened.follow(cursor.format("0" * 16)))


async def test_listeners_end_with_the_poll(store: Store) -> None:
    await m.fill(store, 2)
    opened, ended = LedgerFeed(store.url), anyio.Event()

    async def listens() -> None:
        async for _ in opened.follow():
            pass
        ended.set()

    with anyio.fail_after(STUCK_S):
        async with anyio.create_task_group() as listening:
            listening.start_soon(listens)
            async with anyio.create_task_group() as polling:
                polling.start_soon(opened.run, 1)
                await opened.newest()
                polling.cancel_scope.cancel()
            await ended.wait()


async def test_a_listener_that_leaves_in_the_middle_harms_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_feed, "KEPT", 1)
    await m.fill(store, 30)
    async with _begun(store.url) as opened:
        for _ in range(20):
            with anyio.CancelScope() as scope:
                async with aclosing(opened.follow()) as stream:
                    scope.cancel()
                    await anext(stream)
        async with aclosing(opened.follow()) as stream:
            assert len(await _next(stream, 30)) == 30


# -- PostgreSQL: numbers are given out before the commit ----------------------------------------------------------


def _row(public_id: str, seq: int) -> list[Any]:
    values = dict.fromkeys(COLUMNS) | {
        "public_id": public_id, "seq": seq, "event_id": f"{public_id}-{seq}", "kind": "note",
        "reported_by": "agent", "payload": "{}", "occurred_at": 0, "created_at": 0,
        "prev_hash": "", "row_hash": f"{seq:064x}",
    }  # fmt: skip
    return [values[name] for name in COLUMNS]


class _Writer:
    """One connection that inserts as the ledger does: it has a transaction id before a position."""

    def __init__(self, connection: Any, name: str):
        self.connection, self.name = connection, name
        self.seq, self.open = 0, None
        self.pending: list[int] = []

    async def begin(self) -> None:
        self.open = self.connection.transaction()
        await self.open.start()
        await self.connection.execute("SELECT pg_current_xact_id()")

    async def insert(self) -> None:
        self.seq += 1
        self.pending.append(await self.connection.fetchval(INSERT, *_row(self.name, self.seq)))

    async def end(self, *, commit: bool) -> list[int]:
        await (self.open.commit() if commit else self.open.rollback())
        self.open, done, self.pending = None, self.pending, []
        return done if commit else []


@asynccontextmanager
async def _writers(url: str, count: int) -> AsyncIterator[list[_Writer]]:
    async with AsyncExitStack() as stack:
        made = []
        for n in range(count):
            connection = await asyncpg.connect(url)
            stack.push_async_callback(connection.close)
            made.append(_Writer(connection, f"m_{n}"))
        yield made


@pytest.mark.pg
@pytest.mark.parametrize("commit", [True, False])
async def test_a_row_waits_for_the_one_before_it(pg_url: str, commit: bool) -> None:
    async with _writers(pg_url, 2) as (slow, quick), _begun(pg_url) as opened:
        for writer in (slow, quick):
            await writer.begin()
            await writer.insert()
        await quick.end(commit=True)
        for _ in range(3):
            await opened.poll()
        assert await opened._behind(0) == ()
        await slow.end(commit=commit)
        for _ in range(2):
            await opened.poll()
        told = [t.position for t in await opened._behind(0)]
        assert told == ([1, 2] if commit else [2])


@pytest.mark.pg
async def test_a_start_waits_for_what_is_being_written(pg_url: str) -> None:
    async with _writers(pg_url, 2) as (slow, quick):
        for writer in (slow, quick):
            await writer.begin()
            await writer.insert()
        await quick.end(commit=True)
        async with _begun(pg_url) as opened:
            assert await opened._behind(0) == ()
            await slow.end(commit=True)
            await opened.poll()
            assert [t.position for t in await opened._behind(0)] == [1, 2]


@pytest.mark.pg
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
async def test_no_order_of_commits_leaves_a_gap(
    pg_url: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(ledger_feed, "PAGE", 4)
    dice, committed, told = random.Random(seed), [], []  # noqa: S311  # the order of a test
    async with _writers(pg_url, 5) as writers, _begun(pg_url) as opened:
        for _ in range(250):
            writer = dice.choice(writers)
            if dice.random() < 0.3:
                await opened.poll()
                told += [t.position for t in await opened._behind(told[-1] if told else 0)]
            elif writer.open is None:
                await writer.begin()
                await writer.insert()
            elif dice.random() < 0.5:
                await writer.insert()
            else:
                committed += await writer.end(commit=dice.random() < 0.7)
        for writer in writers:
            if writer.open is not None:
                committed += await writer.end(commit=True)
        for _ in range(len(committed) + 5):
            await opened.poll()
            told += [t.position for t in await opened._behind(told[-1] if told else 0)]
    assert told == sorted(committed)


@pytest.mark.pg
async def test_a_connection_that_is_lost_is_opened_again(pg_url: str) -> None:
    async with _writers(pg_url, 1) as (writer,), _begun(pg_url) as opened:
        await writer.connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await writer.begin()
        await writer.insert()
        await writer.end(commit=True)
        with pytest.raises(
            (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
        ):
            await opened.poll()
        await opened.poll()
        assert [t.position for t in await opened._behind(0)] == [1]


@pytest.mark.pg
async def test_a_database_that_was_lost_without_a_word_is_asked_anew(pg_url: str) -> None:
    async with _writers(pg_url, 1) as (writer,), cable(pg_url) as line, _begun(line.url) as opened:
        await writer.begin()
        await writer.insert()
        await writer.end(commit=True)
        clock, held = LoopClock(), list[int]()

        def hold() -> None:
            if not held:
                clock.forward(SILENT_S + 1)
            held.append(1)

        line.holds = hold
        line.go_silent()
        with anyio.fail_after(STUCK_S), pytest.raises(TimeoutError):
            await opened.poll()
        line.speak()
        await opened.poll()
        assert [t.position for t in await opened._behind(0)] == [1]


@pytest.mark.pg
@pytest.mark.parametrize("when", ["asked", "between"])
async def test_a_silent_database_does_not_hold_the_end_of_the_tail(pg_url: str, when: str) -> None:
    async with cable(pg_url) as line:
        opened, asked = LedgerFeed(line.url), anyio.Event()
        await opened.poll()
        line.holds = asked.set
        line.go_silent()
        running = asyncio.create_task(opened.run() if when == "asked" else anyio.sleep_forever())
        if when == "asked":
            await asked.wait()
        running.cancel()
        async with beating() as waited:
            with anyio.fail_after(STUCK_S):
                await asyncio.gather(running, return_exceptions=True)
                await opened.close()
        assert waited.seconds < 1.5
