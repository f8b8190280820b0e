"""The ledger: rows in order, paired, hashed, folded; cheap to read whatever its length."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.state.ledger_state import EMPTY, LedgerState, apply
from domain.money import Usdc
from storage.integrity.ledger_check import verify
from storage.repositories.ledger import LedgerRepository
from storage.repositories.ledger_queries import CHECKPOINT_EVERY
from storage.repositories.state_cache import StateCache
from storage.sql import SqliteSql, micros
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m

pytestmark = pytest.mark.anyio


async def _all(store: Store, public_id: str = "m_1") -> list[Event]:
    newest = await store.read(lambda uow: uow.ledger.page(public_id, before_seq=None, limit=10_000))
    return newest[::-1]


async def _refolded(store: Store, public_id: str = "m_1") -> LedgerState:
    state, by_seq = EMPTY, {}
    for event in await _all(store, public_id):
        by_seq[event.seq] = event
        state = apply(state, event, by_seq.get(event.pairs_with) if event.pairs_with else None)
    return state


async def _cold_state(store: Store, public_id: str = "m_1") -> LedgerState:
    other = await open_store(store.url, PATIENT)
    try:
        return await other.read(lambda uow: uow.ledger.state(public_id))
    finally:
        await other.close()


async def test_a_row_comes_back_as_it_went_in(store: Store) -> None:
    told = {
        "executed": {"market": "ausd", "spent": "1.5"},
        "why": "ünïcode “quotes” \u2028 \x00 \ud800",
        "n": [1, None, True],
        "big": 10**30,
    }
    new = NewEvent(
        kind=LedgerKind.MOVE,
        reported_by=Reporter.CHAIN,
        occurred_at=m.later(-9.000001),
        amount_usdc=Usdc(1_500_000),
        tx_hash=m.TX.upper().replace("X", "x"),
        chain_id=84532,
        log_index=3,
        block_number=77,
        payload=told,
    )
    event = await m.append(store, new)
    assert event is not None
    assert (event.seq, event.created_at, event.occurred_at, event.tx_hash) == (
        1,
        m.NOW,
        m.later(-9.000001),
        m.TX,
    )
    assert await _all(store) == [event]
    assert await store.read(lambda uow: m.event_at(uow, "m_1", event.event_id)) == event
    assert await store.read(lambda uow: m.event_at(uow, "m_2", event.event_id)) is None
    assert event.payload == told


async def test_an_agents_report_and_the_chains_row_pair_in_either_order(store: Store) -> None:
    agent_first = [
        await m.append(store, new, public_id="m_a") for new in (m.buy(tx_hash=m.TX), m.executed())
    ]
    chain_first = [
        await m.append(store, new, public_id="m_c") for new in (m.executed(), m.buy(tx_hash=m.TX))
    ]
    assert (
        [e and e.pairs_with for e in agent_first]
        == [e and e.pairs_with for e in chain_first]
        == [None, 1]
    )


async def test_a_row_has_one_partner_and_the_earliest_free_one(store: Store) -> None:
    news = [
        m.buy("1", tx_hash=m.TX),
        m.buy("2", tx_hash=m.TX),
        m.executed("1", log_index=0),
        m.executed("2", log_index=1),
        m.executed("3", log_index=2),
        m.buy("3", tx_hash=m.TX),
        m.buy("4", tx_hash=m.TX),
    ]
    told = [await m.append(store, new) for new in news]
    assert [e and e.pairs_with for e in told] == [None, None, 1, 2, None, 5, None]


async def test_what_is_no_action_pairs_with_nothing(store: Store) -> None:
    note = NewEvent(
        kind=LedgerKind.NOTE,
        reported_by=Reporter.AGENT,
        occurred_at=m.NOW,
        amount_usdc=None,
        tx_hash=m.TX,
        chain_id=84532,
    )
    told = [await m.append(store, new) for new in (m.deposit(), note, m.buy(tx_hash=m.TX))]
    assert [e and e.pairs_with for e in told] == [None, None, None]


async def test_rows_of_another_mandate_or_transaction_do_not_pair(store: Store) -> None:
    await m.append(store, m.buy(tx_hash=m.TX), public_id="m_other")
    await m.append(store, m.buy(tx_hash=m.tx(9)))
    event = await m.append(store, m.executed())
    assert event is not None
    assert event.pairs_with is None


async def test_a_log_enters_once_whoever_brings_it(store: Store) -> None:
    answers = await asyncio.gather(
        *(m.append(store, m.executed(log_index=n % 4)) for n in range(32))
    )
    assert sum(a is not None for a in answers) == 4
    assert await m.append(store, m.executed(tx_hash=m.TX.upper().replace("X", "x"))) is None
    assert await m.append(store, m.executed(), public_id="m_2") is not None
    assert [e.seq for e in await _all(store)] == [1, 2, 3, 4]


async def test_a_clock_that_ran_ahead_once_stamps_no_later_row(store: Store) -> None:
    ahead = await m.append(store, m.buy(), now=m.later(days=400))
    after_it = await m.append(store, m.buy(), now=m.NOW)
    assert ahead is not None
    assert after_it is not None
    assert (ahead.seq, ahead.created_at) == (1, m.later(days=400))
    assert (after_it.seq, after_it.created_at, after_it.occurred_at) == (2, m.NOW, m.NOW)
    assert (await verify(store)).ok


AHEAD = frozenset({5, 6, 70, 71})


@pytest.mark.parametrize("checkpoints", [True, False])
async def test_state_before_goes_by_each_rows_own_clock_where_some_ran_ahead(
    store: Store, checkpoints: bool
) -> None:
    for seq in range(1, 201):
        at = m.later(hours=2 * seq) + (timedelta(days=400) if seq in AHEAD else timedelta())
        await m.append(store, m.buy(tx_hash=m.tx(seq)), now=at)
    if not checkpoints:
        await m.run_sql(store, "DELETE FROM ledger_checkpoints")
    rows = await _all(store)
    for at in (m.later(hours=h) for h in (0, 9, 13, 139, 150, 300, 400.5, 24 * 401, 24 * 500)):
        told = EMPTY
        for event in rows:
            if event.occurred_at < at:
                told = apply(told, event)
        found = await store.read(lambda uow, at=at: uow.ledger.state_before("m_1", at))  # type: ignore[misc]  # the default binds the loop's value
        assert found == told, at
    week = await store.read(
        lambda uow: uow.ledger.before("m_1", micros(m.later(hours=30)), 0, limit=100)
    )
    assert [e.seq for e in week] == [14, 13, 12, 11, 10, 9, 8, 7, 4, 3, 2, 1]


async def test_parallel_appends_make_one_chain(store: Store) -> None:
    await asyncio.gather(*(m.append(store, m.buy(tx_hash=m.tx(n))) for n in range(64)))
    rows = await store.read(lambda uow: m.rows_of(uow, "m_1"))
    assert [r["seq"] for r in rows] == list(range(1, 65))
    assert [r["prev_hash"] for r in rows] == ["", *(r["row_hash"] for r in rows[:-1])]


async def test_a_rows_hash_is_that_of_its_canonical_json(store: Store) -> None:
    await m.append(store, m.buy(tx_hash=m.TX))
    (row,) = await store.read(lambda uow: m.rows_of(uow, "m_1"))
    told = {name: row[name] for name in row.keys() if name not in ("row_hash", "position")}  # noqa: SIM118 - a sqlite3.Row iterates over values
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    assert row["row_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert set(told) >= {"prev_hash", "payload", "created_at", "event_id", "amount_micros"}


async def test_the_state_is_the_fold_of_all_rows(store: Store) -> None:
    for rows in (1, CHECKPOINT_EVERY - 2, 1, 150):
        await m.fill(store, rows)
        whole = await _refolded(store)
        assert await store.read(lambda uow: uow.ledger.state("m_1")) == whole
        assert await _cold_state(store) == whole
    assert whole.seq == 214
    assert whole != EMPTY


async def test_checkpoints_are_only_a_shortcut(store: Store) -> None:
    await m.fill(store, 200, every=timedelta(hours=3))
    moments = [m.NOW + timedelta(hours=h) for h in (0, 1, 100, 299, 300, 598, 9_999)]

    def everything(uow: UnitOfWork) -> list[object]:
        return [uow.ledger.state("m_1"), *(uow.ledger.state_before("m_1", at) for at in moments)]

    with_them = await store.read(everything)
    stored = await store.read(lambda uow: m.checkpoints_of(uow, "m_1"))
    assert len(stored) >= 6  # every 64 rows, and one an ISO week
    await m.run_sql(store, "DELETE FROM ledger_checkpoints")
    other = await open_store(store.url, PATIENT)
    assert await other.read(everything) == with_them
    await other.close()


async def test_a_checkpoint_stands_before_the_first_row_of_an_iso_week(store: Store) -> None:
    sunday = datetime(2026, 11, 22, 23, 59, 59, tzinfo=UTC)
    for at in (sunday, sunday, sunday + timedelta(seconds=1), sunday + timedelta(days=1)):
        await m.append(store, m.buy(), now=at)
    assert set(await store.read(lambda uow: m.checkpoints_of(uow, "m_1"))) == {2}


async def test_rows_of_a_period_are_those_that_happened_in_it_with_the_fold_after_each(
    store: Store,
) -> None:
    for seconds in (0, 5, 1, 5, 9):
        await m.append(store, m.buy(tx_hash=m.tx(seconds)), now=m.later(seconds))
    await m.append(store, m.buy(tx_hash=m.tx(2)), now=m.later(5), public_id="m_2")

    def read(uow: UnitOfWork) -> tuple[list[int], list[int], list[LedgerState], LedgerState]:
        since, until = m.later(1), m.later(9)
        events = uow.ledger.happened("m_1", since, until, 50)
        before = uow.ledger.state_before("m_1", since)
        states = list(uow.ledger.states_after("m_1", before, events, until))
        few = uow.ledger.happened("m_1", since, until, 2)
        return [e.seq for e in events], [e.seq for e in few], states, before

    seqs, few, states, before = await store.read(read)
    assert (seqs, few) == ([3, 2, 4], [3, 2])
    assert [s.seq for s in states] == seqs
    whole = await store.read(lambda uow: uow.ledger.state_before("m_1", m.later(9)))
    assert states[-1].claimed.trades == whole.claimed.trades == before.claimed.trades + 3


async def test_state_before_leaves_out_the_moment_itself(store: Store) -> None:
    for seconds in (0, 0, 1, 2):
        await m.append(store, m.buy(), now=m.later(seconds))
    seqs = [
        (await store.read(lambda uow, at=at: uow.ledger.state_before("m_1", m.later(at)))).seq  # type: ignore[misc]  # the default binds the loop's value
        for at in (-1, 0, 1, 1.5, 2, 3)
    ]
    assert seqs == [0, 0, 2, 3, 3, 4]


async def test_pages_walk_the_whole_ledger(store: Store) -> None:
    await m.fill(store, 25)
    seen: list[int] = []
    before = None
    while page := await store.read(
        lambda uow, b=before: uow.ledger.page("m_1", before_seq=b, limit=10)
    ):  # type: ignore[misc]  # as above
        seen += [e.seq for e in page]
        before = page[-1].seq
    assert seen == list(range(25, 0, -1))
    assert [e.seq for e in await store.read(lambda uow: uow.ledger.newest("m_1", 3))] == [
        25,
        24,
        23,
    ]


@pytest.mark.parametrize("above", [1, 3, 4, 5, 9])
async def test_the_newest_page_that_grew_is_the_one_that_the_rows_give(
    store: Store, above: int
) -> None:
    def newest(uow: UnitOfWork) -> list[tuple[Event, ...]]:
        return [uow.ledger.newest("m_1", limit) for limit in (3, 50)]

    def asked(uow: UnitOfWork) -> list[tuple[Event, ...]]:
        return [tuple(uow.ledger.page("m_1", before_seq=None, limit=n)) for n in (3, 50)]

    for _ in range(3):
        await store.read(newest)
        await m.fill(store, above)
        assert await store.read(newest) == await store.read(asked)


async def test_a_read_touches_as_many_rows_at_row_100_as_at_row_1000(store: Store) -> None:
    touched: list[int] = []

    def counted(uow: UnitOfWork) -> None:
        rows = uow.sql.rows

        def count(text: str, /, **values: object) -> object:
            found = rows(text, **values)
            touched[-1] += len(found)
            return found

        uow.sql.rows = count  # type: ignore[method-assign, assignment]  # a counter in its place
        uow.ledger._cache = StateCache()  # what another process starts with
        uow.ledger.state("m_1")
        uow.ledger.state_before("m_1", m.later(30))

    for rows in (100, 900):
        await m.fill(store, rows)
        touched.append(0)
        await store.read(counted)
    assert touched[1] <= touched[0] + CHECKPOINT_EVERY


async def test_a_rolled_back_append_leaves_no_state(store: Store) -> None:
    await m.append(store, m.deposit())

    def fails(uow: UnitOfWork) -> None:
        uow.ledger.append("m_1", m.buy("9"), event_id="ev_lost", now=m.NOW)
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(fails)
    assert (await store.read(lambda uow: uow.ledger.state("m_1"))).seq == 1
    assert await m.append(store, m.buy("1")) == replace((await _all(store))[-1])
    assert await store.read(lambda uow: uow.ledger.state("m_1")) == await _refolded(store)


async def test_an_event_id_is_never_given_twice(store: Store) -> None:
    await store.write(lambda uow: uow.ledger.append("m_1", m.buy(), event_id="ev_1", now=m.NOW))
    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(
            lambda uow: uow.ledger.append("m_1", m.deposit(), event_id="ev_1", now=m.NOW)
        )
    assert len(await _all(store)) == 1


async def test_rows_above_a_block_are_found_for_a_reorganisation(store: Store) -> None:
    for block in (10, 11, 12):
        await m.append(store, m.executed(block=block, log_index=block), public_id=f"m_{block % 2}")
    await m.append(store, m.buy(tx_hash=m.TX))
    found = await store.read(lambda uow: uow.ledger.chain_rows_in(84532, 11, 20))
    assert [(p, e.block_number) for p, e in found] == [("m_0", 12), ("m_1", 11)]


async def test_rows_of_a_transaction_are_found_by_the_index(sqlite_url: str) -> None:
    store = await open_store(sqlite_url, PATIENT)
    try:
        asked: list[tuple[str, dict[str, Any]]] = []

        class Seen(SqliteSql):
            def rows(self, text: str, /, **values: Any) -> Any:
                asked.append((text, values))
                return super().rows(text, **values)

        def plan(uow: UnitOfWork) -> str:
            LedgerRepository(Seen(uow.sql._connection), StateCache()).by_tx("m_1", m.TX)  # type: ignore[attr-defined]
            text, values = asked[-1]
            return " ".join(
                r["detail"] for r in uow.sql.rows("EXPLAIN QUERY PLAN " + text, **values)
            )

        assert "USING INDEX ledger_tx (public_id=? AND tx_hash=?)" in await store.read(plan)
    finally:
        await store.close()


async def test_rows_added_together_are_those_added_one_by_one(store: Store) -> None:
    """Held, paired, told twice, and with a question between them."""

    def logs(n: int) -> list[NewEvent]:
        one = m.executed("2", tx_hash=m.tx(n), log_index=n, block=10 + n, at=m.NOW)
        return [one, m.buy("2", tx_hash=m.tx(n)), one]

    def work(uow: UnitOfWork) -> None:
        m_1 = [new for n in range(1, 80) for new in logs(n)]
        uow.ledger.append("m_1", logs(0)[0], event_id=m.event_id(), now=m.NOW)
        uow.ledger.append("m_2", logs(0)[0], event_id=m.event_id(), now=m.NOW)
        for new in (*logs(0)[1:], *m_1):
            uow.ledger.append("m_1", new, event_id=m.event_id(), now=m.NOW)
        with uow.together() as joined:
            joined.ledger.hold(
                {
                    "m_2": [m.tx(n).upper().replace("X", "x") for n in range(70)],
                    "m_3": [m.tx(0)],  # which has no row
                }
            )
            for n, new in enumerate((*logs(0)[1:], *m_1)):
                joined.ledger.append("m_2", new, event_id=m.event_id(), now=m.NOW)
                if n == 100:
                    assert joined.ledger.page("m_2", before_seq=None, limit=1)[0].seq == 68
            assert len(joined.ledger.by_tx("m_2", m.tx(3))) == 2
        uow.ledger.append("m_2", m.buy("1"), event_id=m.event_id(), now=m.NOW)
        uow.ledger.append("m_1", m.buy("1"), event_id=m.event_id(), now=m.NOW)

    await store.write(work)
    apart, together = [
        [(e.seq, e.kind, e.tx_hash, e.log_index, e.pairs_with) for e in await _all(store, of)]
        for of in ("m_1", "m_2")
    ]
    assert len(apart) == 161
    assert sum(pair is not None for *_, pair in apart) == 80
    assert together == apart
    assert (await _cold_state(store, "m_2")) == (await _refolded(store, "m_2"))
    assert (await verify(store)).ok


async def test_what_is_added_together_is_gone_where_it_fails(store: Store) -> None:
    await m.append(store, m.buy("1"))

    def work(uow: UnitOfWork) -> None:
        with uow.together() as joined:
            for _ in range(3):
                joined.ledger.append("m_1", m.buy("1"), event_id=m.event_id(), now=m.NOW)
            raise LookupError

    with pytest.raises(LookupError):
        await store.write(work)
    assert len(await _all(store)) == 1
    await m.append(store, m.buy("1"))
    assert (await verify(store)).ok
