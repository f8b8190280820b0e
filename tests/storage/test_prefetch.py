"""What is brought by one statement is what the handler's own statements would have found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from domain.agents.policy import Policy
from domain.mandates.approvals import Approval
from domain.money import Usdc
from domain.times import day_of
from storage.engine.postgres import PostgresStore
from storage.integrity.ledger_check import verify
from storage.prefetch.flush import FLUSH, VERSION, BufferedSql, flush_values, mandate_write
from storage.prefetch.prefetch_query import (
    PrefetchedSql,
    Query,
    prefetch_query,
    queries_of,
    rows_by_query,
)
from storage.prefetch.read_set import ReadSet
from storage.repositories import approvals, identities, ledger_queries, mandates, orders
from storage.repositories.chain_index import Staged
from storage.repositories.state_cache import StateCache
from storage.schema.metadata import metadata
from storage.sql import PrefetchMiss, micros, numbered
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m
from tests.storage.statements import logging

pytestmark = [pytest.mark.anyio, pytest.mark.pg]

ROWS, VAULT = 130, "0x" + "bb" * 20
NEEDS = ReadSet(now=m.NOW, mandates=("m_1", "m_2", "m_none"), shows_rows=True, credential="h_agent")
DAY = day_of(m.NOW)


def _item(n: int, status: str, **changes: Any) -> Approval:
    target = {"market": None, "address": "0xt", "selector": "0x00"}
    made = Approval(
        f"ap_{n}", "m_1", "pending", target, "0x", f"hash{n}", Usdc(n), None, m.later(n), m.later(900)
    )  # fmt: skip
    return replace(made, status=status, **changes)


def _order(uow: UnitOfWork, n: int, **changes: Any) -> None:
    given: dict[str, Any] = {
        c.name: "0" if c.type.python_type is str else 0 for c in metadata.tables["orders"].columns if not c.nullable
    }  # fmt: skip
    given |= {
        "order_id": f"o_{n}",
        "cloid": f"c_{n}",
        "mandate_id": "m_1",
        "counted_day": DAY,
    } | changes
    names = ", ".join(given)
    uow.sql.run(
        f"INSERT INTO orders ({names}) VALUES ({', '.join(':' + c for c in given)})", **given
    )


def _fill(uow: UnitOfWork) -> None:
    uow.mandates.add(m.mandate(agent_id="u_agent", chain_id=84532, vault_address=VAULT))
    uow.mandates.add(m.mandate("m_2"))
    uow.mandates.add(m.mandate("m_other", agent_id="u_other"))
    for n, status in enumerate(("pending", "pending", "approved", "declined", "used")):
        uow.approvals.add(_item(n, status))
    uow.approvals.add(_item(9, "pending", expires_at=m.NOW))
    for n in range(3):
        uow.reservations.put(m.reservation(n))
    uow.reservations.put(m.reservation(7, expires_at=m.NOW))
    uow.reservations.put(m.reservation(8))
    uow.reservations.end("m_1", "hash8", "landed", m.TX)
    uow.policies.put("u_agent", Policy(), m.NOW)
    logs = [(block, m.tx(block // 3), block - 10) for block in (14, 12, 9_999)]
    uow.chainlog.stage(84532, [Staged(n, f"h{n}", tx, at, VAULT, {}) for n, tx, at in logs])
    uow.switches.set("door", "on", m.NOW, "test")
    for n, mode in enumerate(("live", "paper", "live")):
        _order(uow, n, mode=mode, counted_micros=10 + n)
    _order(uow, 5, mode="live", counted_micros=7, counted_day="1999-01-01")
    uow.identities.person(m.OWNER, new_id="u_owner", now=m.NOW)
    uow.identities.add_agent(m.agent())
    uow.identities.add_key("k_1", "u_agent", "h_agent", m.NOW)
    uow.identities.add_house_key("k_2", "keeper", "h_house", m.NOW)
    uow.identities.add_session("h_session", "u_owner", m.NOW, m.later(60), m.later(600))


@pytest.fixture
async def pg(pg_url: str) -> AsyncIterator[PostgresStore]:
    store = await open_store(pg_url, PATIENT)
    assert isinstance(store, PostgresStore)
    try:
        await store.write(_fill)
        await m.fill(store, ROWS)
        yield store
    finally:
        await store.close()


OTHERS = [
    replace(NEEDS, credential=c, tx_hash=m.TX, key=("s", "k")) for c in ("h_house", "h_session", "h_none")
]  # fmt: skip


async def _prefetched(pg: PostgresStore, *read_sets: ReadSet) -> PrefetchedSql:
    queries, text, values = prefetch_query(
        query for read_set in read_sets for query in queries_of(read_set, pg._cache, writes=False)
    )
    connection = await asyncpg.connect(pg.url)
    try:
        return PrefetchedSql(rows_by_query(queries, await connection.fetch(text, *values)))
    finally:
        await connection.close()


def _values(query: Query) -> dict[str, Any]:
    return dict(zip(numbered(query[0])[1], query[1:], strict=True))


async def test_each_query_is_answered_as_the_database_answers_it(pg: PostgresStore) -> None:
    for cache in (pg._cache, StateCache()):  # what another process begins with: checkpoint and tail
        pg._cache = cache
        sql = await _prefetched(pg, NEEDS, *OTHERS)

        def compare(uow: UnitOfWork, sql: PrefetchedSql = sql) -> int:
            rows = 0
            for query in sql.prefetched:
                told = [dict(row) for row in uow.sql.rows(query[0], **_values(query))]
                assert [*sql.rows(query[0], **_values(query))] == told, query
                rows += len(told)
            return rows

        assert await pg.read(compare) > 20


async def test_what_was_not_asked_for_is_not_guessed(pg: PostgresStore) -> None:
    sql = await _prefetched(pg, NEEDS)
    for text, given in (
        (mandates.BY_ID, {"id": "m_other"}),
        (ledger_queries.TAIL, {"public_id": "m_1", "after": 1, "last": ROWS}),
        (approvals.PENDING, {"mandate": "m_1", "now": micros(m.NOW) - 1}),
        (orders.COUNTED, {"mandate": "m_1", "day": "1999-01-01"}),
        (identities.AGENT_BY_KEY, {"hash": "h_house"}),
        ("SELECT 1", {}),
    ):
        with pytest.raises(PrefetchMiss):
            sql.rows(text, **given)
    with pytest.raises(PrefetchMiss):
        sql.run("DELETE FROM switches")


async def test_a_handler_that_looks_further_runs_on_the_database(pg: PostgresStore) -> None:
    store: Store = await pg.prefetch(NEEDS)
    both = await store.read(lambda uow: [uow.mandates.get(of) for of in ("m_1", "m_other")])
    assert [one.public_id for one in both if one] == ["m_1", "m_other"]
    assert await store.write(lambda uow: uow.switches.set("x", "1", m.NOW, "t")) is None


async def test_the_fold_goes_on_from_what_the_process_knows(pg: PostgresStore) -> None:
    def both(uow: UnitOfWork) -> tuple[Any, ...]:
        return uow.ledger.state("m_1"), uow.ledger.newest("m_1")

    other = await open_store(pg.url, PATIENT)
    try:
        for rows in (0, 1, 7, 60):
            await m.fill(other, rows)
            seen = await (await pg.prefetch(NEEDS)).read(both)
            assert seen[0].seq == ROWS + sum(r for r in (0, 1, 7, 60) if r <= rows)
            assert seen == await other.read(both)
    finally:
        await other.close()


async def test_calls_that_wait_together_are_brought_for_by_few_statements(
    pg: PostgresStore,
) -> None:
    log = await logging(pg.url)
    other = await open_store(pg.url, PATIENT)
    try:
        stores = await asyncio.gather(*(other.prefetch(NEEDS) for _ in range(40)))
        for store in stores:
            m_1 = await store.read(lambda uow: uow.mandates.get("m_1"))
            assert m_1 is not None
        assert 1 <= len(log.statements()) <= 3
        assert await other.read(lambda uow: uow.switches.all(), single=True)
        assert len(log.statements()) == 1
        await other.read(lambda uow: (uow.switches.all(), uow.switches.all()), single=True)
        assert len(log.statements()) == 5  # one too few, then a transaction
    finally:
        await other.close()


def _ordered(uow: UnitOfWork, n: int | str, **changes: Any) -> None:
    """A live order that counts against the day of m_1."""
    uow.orders.add(m.order(str(n), **{"mandate_id": "m_1", "counted_day": DAY} | changes))


def _ordered_before(uow: UnitOfWork) -> None:
    """One that waits for its owner, and one of each day."""
    _ordered(uow, "waits", status="awaiting_owner", counted=Usdc(0), counted_day=None)
    _ordered(uow, "yesterday", counted_day="1999-01-01")
    _ordered(uow, "today")


def _counts(uow: UnitOfWork, order_id: str, n: int) -> None:
    """An order that is there counts so much today."""
    was = uow.orders.get(order_id)
    assert was is not None
    uow.orders.save(replace(was, counted=Usdc(n), counted_day=DAY), was)


def _append(uow: UnitOfWork, event_id: str) -> None:
    assert uow.mandates.get("m_1", lock=True) is not None
    uow.ledger.append("m_1", m.buy(), event_id=event_id, now=m.later(ROWS))


MOVES: dict[str, Callable[[UnitOfWork], object]] = {
    "nothing": lambda uow: None,
    "elsewhere": lambda uow: uow.ledger.append("m_2", m.buy(), event_id="ev_x", now=m.later(ROWS)),
    "a row": lambda uow: _append(uow, "ev_other"),
    "the mandate": lambda uow: uow.mandates.save(uow.mandates.get("m_1")),  # type: ignore[arg-type]  # it is there
    "calldata": lambda uow: uow.reservations.put(m.reservation(20)),
    "an outcome": lambda uow: uow.reservations.end("m_1", "hash1", "reverted", m.TX),
    "an approval": lambda uow: uow.approvals.add(_item(20, "pending")),
    "a decision": lambda uow: uow.approvals.save(_item(0, "declined")),
    "an order": lambda uow: _ordered(uow, 20),
    "an order elsewhere": lambda uow: _ordered(uow, 20, mandate_id="m_2"),
    "an order that counts now": lambda uow: _counts(uow, "o_waits", 20),
    "an order that counts today": lambda uow: _counts(uow, "o_yesterday", 20),
    "an order that counts less": lambda uow: _counts(uow, "o_today", 10),
}


@pytest.mark.parametrize("moved", MOVES)
async def test_a_flush_loses_to_whatever_moved_the_mandate(pg: PostgresStore, moved: str) -> None:
    await pg.write(_ordered_before)
    reads = ReadSet(now=m.NOW, mandates=("m_1",))
    queries, text, values = prefetch_query(
        [(VERSION, "m_1"), *queries_of(reads, pg._cache, writes=True)]
    )
    connection = await asyncpg.connect(pg.url)
    prefetched = rows_by_query(queries, await connection.fetch(text, *values))
    await connection.close()
    write = mandate_write(prefetched, "m_1")
    assert write is not None
    _append(UnitOfWork(BufferedSql(prefetched, write), pg._cache), "ev_mine")
    await pg.write(MOVES[moved])
    connection = await asyncpg.connect(pg.url)
    try:
        won = await connection.fetch(FLUSH, *flush_values([write]))
    finally:
        await connection.close()
    wins = moved in ("nothing", "elsewhere", "an order elsewhere", "an order that counts less")
    assert [row["public_id"] for row in won] == ["m_1"] * wins
    there = await pg.read(lambda uow: m.event_at(uow, "m_1", "ev_mine"))
    assert (there is not None) == wins
    assert (await verify(pg)).ok
