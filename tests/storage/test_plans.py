"""A plan that was made while the tables were empty or small is kept while they grow: it must ask by keys from the start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from storage.engine.connections import PLANS
from storage.prefetch.flush import FLUSH, VERSION, BufferedSql, flush_values, mandate_write
from storage.prefetch.prefetch_query import prefetch_query, queries_of, rows_by_query
from storage.prefetch.read_set import ROWS_SHOWN, ReadSet
from storage.repositories.ledger_queries import BY_TRANSACTIONS, CHECKPOINT_EVERY
from storage.repositories.state_cache import StateCache
from storage.sql import numbered
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m

pytestmark = [pytest.mark.anyio, pytest.mark.pg]

CREDENTIAL = ReadSet(now=m.NOW, credential="h")
READS = ReadSet(
    now=m.NOW, mandates=("m",), credential="h", key=("s", "k"), tx_hash="0x", shows_rows=True
)
STATEMENTS = {
    "a write": prefetch_query([(VERSION, "m"), *queries_of(READS, StateCache(), writes=True)])[1],
    "a read": prefetch_query(queries_of(READS, StateCache(), writes=False))[1],
    "a credential": prefetch_query(queries_of(CREDENTIAL, StateCache(), writes=False))[1],
    "the flush": FLUSH,
}
# What a scan of a ledger must be bound by beside the mandate: a part of one alone is all its rows.
BOUND_BY = ("seq ", "tx_hash ", "pairs_with ")
BY_KEY = ("ledger_events_pkey", "ledger_tx", "one_row_a_log", "one_partner_a_row")
ROWS = 20 * CHECKPOINT_EVERY + 10
WHOLE = {"switches"}  # it has a row a switch


def nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


async def planned(url: str, text: str) -> list[Any]:
    """The scans of tables, as they are planned once for any values."""
    connection = await asyncpg.connect(url, server_settings=dict(PLANS))
    try:
        count = len((await connection.prepare(text)).get_parameters())
        await connection.execute(f"PREPARE asked AS {text}")
        given = ", ".join(["NULL"] * count)
        told = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE asked({given})")
    finally:
        await connection.close()
    return [node for node in nodes(json.loads(told)[0]["Plan"]) if "Relation Name" in node]


@pytest.mark.parametrize("name", STATEMENTS)
async def test_the_hot_path_asks_by_keys_however_small_the_tables_were(
    pg_url: str, name: str
) -> None:
    found = await planned(pg_url, STATEMENTS[name])
    scans = [
        n for n in found if n["Node Type"].endswith("Scan") and n["Relation Name"] not in WHOLE
    ]
    assert scans
    assert [n["Relation Name"] for n in scans if n["Node Type"] == "Seq Scan"] == []
    for scan in scans:
        if scan["Relation Name"] == "ledger_events":
            assert any(name in scan["Index Cond"] for name in BOUND_BY), scan
            # The second part of the index is the one that is asked for.
            assert scan["Index Name"] in BY_KEY, scan
            assert ("ledger_events_pkey" in scan["Index Name"]) == ("(seq " in scan["Index Cond"])


def _literal(values: Any) -> str:
    if isinstance(values, str):
        return "'" + values.replace("'", "''") + "'"
    kind = "text" if isinstance(values[0], str) else "bigint"
    listed = ", ".join(_literal(v) if isinstance(v, str) else str(v) for v in values)
    return f"ARRAY[{listed}]::{kind}[]"


def _rows_read(plan: Any) -> int:
    """Rows of ledgers that a statement looked at."""
    return sum(
        node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        for node in nodes(plan)
        if node.get("Relation Name") == "ledger_events"
    )


@pytest.mark.parametrize("analyzed", [False, True])
async def test_a_plan_reads_few_rows_of_tables_that_grew_since_it_was_made(
    pg_url: str, analyzed: bool
) -> None:
    store, cache = await open_store(pg_url, PATIENT), StateCache()
    reads = replace(READS, mandates=("m_1",), tx_hash=m.tx(7))
    connection = await asyncpg.connect(pg_url, server_settings=dict(PLANS))
    write = prefetch_query([(VERSION, "m_1"), *queries_of(reads, cache, writes=True)])
    read = prefetch_query(queries_of(reads, cache, writes=False))
    try:
        for name, text in (("write", write[1]), ("read", read[1]), ("flush", FLUSH)):
            await connection.execute(f"PREPARE {name} AS {text}")

        async def rows_read(name: str, values: Sequence[Any]) -> int:
            given = ", ".join(_literal(v) for v in values)
            async with connection.transaction():
                plan = await connection.fetchval(
                    f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}({given})"
                )
                await connection.execute("ROLLBACK AND CHAIN")
            return _rows_read(json.loads(plan)[0]["Plan"])

        assert await rows_read("read", read[2]) == 0  # the plan is made here
        assert await rows_read("write", write[2]) == 0
        await store.write(lambda uow: uow.mandates.add(m.mandate()))
        await m.fill(store, ROWS)
        if analyzed:
            await connection.execute("ANALYZE")
        prefetched = rows_by_query(write[0], await connection.fetch(write[1], *write[2]))
        waiting = mandate_write(prefetched, "m_1")
        assert waiting is not None
        uow = UnitOfWork(BufferedSql(prefetched, waiting), cache)
        uow.ledger.append("m_1", m.buy(), event_id="ev_mine", now=m.later(ROWS))
        assert await rows_read("flush", flush_values([waiting])) <= 2
        # The rows above the newest checkpoint, twice; theirs; a transaction's; and a page.
        above = ROWS % CHECKPOINT_EVERY
        assert await rows_read("write", write[2]) <= 3 * above + ROWS_SHOWN + 20
        assert await rows_read("read", read[2]) <= 3 * above + ROWS_SHOWN + 20
    finally:
        await connection.close()
        await store.close()


@pytest.mark.parametrize("counted", [None, 3, 60, 300])
async def test_a_plan_made_of_few_rows_asks_the_grown_ledger_by_keys(
    pg_url: str, counted: int | None
) -> None:
    """The server counts a small table by itself, within a minute of its first rows; or it has not yet."""
    store = await open_store(pg_url, PATIENT)
    connection = await asyncpg.connect(pg_url, server_settings=dict(PLANS))
    reads = replace(READS, mandates=("m_1",), tx_hash=m.tx(7))
    _, read, keys = prefetch_query(queries_of(reads, StateCache(), writes=False))
    asked: dict[str, tuple[str, Sequence[Any]]] = {
        "read": (read, keys),
        "transactions": (
            numbered(BY_TRANSACTIONS["postgresql"])[0],
            (["m_1"] * 50, [m.tx(n) for n in range(50)]),
        ),
    }
    try:
        await store.write(lambda uow: uow.mandates.add(m.mandate()))
        if counted is not None:
            await m.fill(store, counted)
            await connection.execute("ANALYZE")
        for name, (text, _) in asked.items():
            await connection.execute(f"PREPARE {name} AS {text}")

        async def rows_read(name: str) -> int:
            given = ", ".join(_literal(v) for v in asked[name][1])
            told = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {name}({given})"
            return _rows_read(json.loads(await connection.fetchval(told))[0]["Plan"])

        for name in asked:
            await rows_read(name)  # the plans are made here
        await m.fill(store, ROWS)
        assert await rows_read("transactions") == 100  # two of each
        assert await rows_read("read") <= 3 * CHECKPOINT_EVERY + ROWS_SHOWN + 20
    finally:
        await connection.close()
        await store.close()
