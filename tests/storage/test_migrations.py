"""The schema: made whole or not at all, append-only where it must be."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from storage.schema import migrate
from storage.schema.revision import latest, revision
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m
from tests.waiting import STUCK_S

APPEND_ONLY = {
    "ledger_events": "payload",
    "policy_changes": "changes",
    "balance_events": "ref_id",
    "venue_intents": "body",
    "order_fills": "body",
    "limit_log": "why",
    "paper_books": "name",
    "paper_entries": "body",
    "paper_snapshots": "body",
}


def _at(url: str) -> str | None:
    return asyncio.run(revision(url))


def test_an_empty_database_becomes_the_newest_revision(empty_url: str) -> None:
    assert _at(empty_url) is None
    migrate.upgrade(empty_url)
    assert _at(empty_url) == latest()
    migrate.upgrade(empty_url)
    assert _at(empty_url) == latest()


def test_two_that_upgrade_at_once_do_it_once(empty_url: str) -> None:
    problems: list[BaseException] = []

    def upgrade() -> None:
        try:
            migrate.upgrade(empty_url)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(STUCK_S)
    assert problems == []
    assert _at(empty_url) == latest()


@pytest.mark.slow
def test_the_revisions_are_found_from_any_folder(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); from storage.schema import migrate; migrate.upgrade('sqlite:///x.sqlite')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert _at(f"sqlite:///{tmp_path / 'x.sqlite'}") == latest()


def test_an_upgrade_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "half.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE work_claims (x INTEGER)")
    connection.close()
    with pytest.raises(Exception, match="work_claims already exists"):
        migrate.upgrade(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    names = {
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    connection.close()
    assert names == {"work_claims"}


async def _one_row_each(store: Store) -> None:
    def work(uow: UnitOfWork) -> None:
        uow.ledger.append("m_1", m.buy(), event_id="ev_1", now=m.NOW)
        uow.identities.add_agent(m.agent())
        uow.policies.log("u_agent", {"assets": {"from": None, "to": ["USDC"]}}, m.NOW)
        uow.transfers.move("u_agent", [m.delta(5, "t")], m.NOW)
        uow.venue.add_intent("in_1", "u_1", "note", {"text": "x"}, m.NOW, None)
        uow.orders.add_fills("o_1", [m.an_order_fill()])
        m.write_paper(uow)
        uow.allowlist.put("u_abcdefgh23", allowed=True, now=m.NOW, by="operator", reason="known")

    await store.write(work)


@pytest.mark.anyio
@pytest.mark.parametrize("table", APPEND_ONLY)
async def test_rows_of_a_record_cannot_be_changed(store: Store, table: str) -> None:
    await _one_row_each(store)
    column = APPEND_ONLY[table]
    statements = [f"UPDATE {table} SET {column} = 'x'", f"DELETE FROM {table}"]
    if store.url.startswith("postgresql"):
        statements.append(f"TRUNCATE {table}")
    for statement in statements:
        with pytest.raises(Exception, match=f"{table} is append-only"):
            await m.run_sql(store, statement)
    left = await store.read(lambda uow: uow.sql.rows(f"SELECT {column} AS it FROM {table}"))
    assert [r["it"] for r in left] != ["x"]
    assert len(left) == 1


@pytest.mark.anyio
async def test_replace_does_not_get_around_the_trigger(sqlite_url: str) -> None:
    store = await open_store(sqlite_url, PATIENT)
    try:
        await _one_row_each(store)
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            await m.run_sql(
                store, "INSERT OR REPLACE INTO ledger_events SELECT * FROM ledger_events"
            )
    finally:
        await store.close()


@pytest.mark.anyio
@pytest.mark.parametrize("column", ["used_micros", "reserved_micros"])
async def test_no_statement_brings_a_days_counter_below_zero(
    column: str, database_url: str
) -> None:
    store = await open_store(database_url, PATIENT)
    insert = "INSERT INTO order_counters (scope, day, used_micros, reserved_micros) VALUES"
    try:
        await m.run_sql(store, f"{insert} ('o', '2026-11-20', 5, 5)")
        with pytest.raises(Exception, match="order_counters"):
            await m.run_sql(store, f"UPDATE order_counters SET {column} = {column} - 6")
        rows = await store.read(lambda uow: list(uow.sql.rows("SELECT * FROM order_counters")))
        assert [(r["used_micros"], r["reserved_micros"]) for r in rows] == [(5, 5)]
    finally:
        await store.close()
