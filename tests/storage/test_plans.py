"""A plan that was made while the tables were empty is kept while they grow: it must ask by keys from the start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from storage.engine.write_batches import _LOCK
from storage.prefetch.flush import FLUSH
from storage.prefetch.prefetched_rows import statement

pytestmark = [pytest.mark.anyio, pytest.mark.pg]

STATEMENTS = {
    "a write": statement(mandates=True, credentials=True, writes=True)[0],
    "a read": statement(mandates=True, credentials=True, writes=False)[0],
    "a credential": statement(mandates=False, credentials=True, writes=False)[0],
    "the flush": FLUSH,
    "the turn": _LOCK,
}
# What a scan of a ledger must be bound by beside the mandate: a part of one alone is all its rows.
BOUND_BY = ("seq ", "tx_hash ")
WHOLE = {"switches"}  # it has a row a switch


def nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


async def planned(url: str, text: str) -> list[Any]:
    """The scans of tables, as they are planned once for any values."""
    connection = await asyncpg.connect(
        url, server_settings={"plan_cache_mode": "force_generic_plan"}
    )
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
            assert scan["Index Name"] in ("ledger_events_pkey", "ledger_tx", "one_row_a_log"), scan
            assert ("ledger_events_pkey" in scan["Index Name"]) == ("seq " in scan["Index Cond"])
