"""Verification finds what was changed behind the ledger's back; backups and exports hold what the database held."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import sqlite3
from pathlib import Path

import anyio
import orjson
import pytest

from domain.ledger.events.event import Event, LedgerKind, Reporter
from storage.errors import NoBackup
from storage.integrity.backup import backup, export
from storage.integrity.ledger_check import verify, verify_export
from storage.repositories.event_row import COLUMNS, IN_ORDER, has_its_hash, row_hash, row_values
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio


async def _drop_triggers(store: Store) -> None:
    for table in ("ledger_events", "balance_events"):
        if store.url.startswith("sqlite"):
            for verb in ("update", "delete"):
                await m.run_sql(store, f"DROP TRIGGER {table}_no_{verb}")
        else:
            await m.run_sql(store, f"ALTER TABLE {table} DISABLE TRIGGER ALL")


async def _filled(store: Store) -> None:
    def money(uow: UnitOfWork) -> None:
        uow.identities.add_agent(m.agent())
        uow.transfers.move("u_agent", [m.delta(5, "t1", chain_id=8453)], m.NOW)

    await m.fill(store, 150)
    await m.fill(store, 7, public_id="m_2")
    await store.write(money)


async def test_an_honest_database_verifies(store: Store) -> None:
    await _filled(store)
    report = await verify(store)
    assert report.as_json() == {
        "ok": True, "ledgers": 2, "rows": 157, "checkpoints": 2, "balances": 1, "paper_books": 0,
        "paper_entries": 0, "anchors": 0, "findings": [],
    }  # fmt: skip
    assert (await verify(store.url)).ok


async def test_a_database_from_before_clocks_were_believed_verifies(store: Store) -> None:
    await m.append(store, m.buy(), now=m.later(days=400))
    for _ in range(70):  # each with the time of the first, as they were stored then
        await m.append(store, m.buy(), now=m.later(days=400))
    assert (await verify(store)).ok
    await m.append(store, m.buy(), now=m.NOW)
    assert (await verify(store)).ok


@pytest.mark.parametrize(
    "tampering",
    ["DELETE FROM ledger_back_steps", "UPDATE ledger_back_steps SET from_at = from_at + 1"],
)
async def test_where_a_clock_was_set_back_is_proven(store: Store, tampering: str) -> None:
    for at in (m.NOW, m.later(days=400), m.later(30)):
        await m.append(store, m.buy(), now=at)
    assert await m.run_sql(store, tampering) == 1
    (finding,) = (await verify(store)).findings
    assert (finding.of, finding.seq) == ("m_1", 3)
    assert "its clock was set back" in finding.what


OF_A_ROW = [
    ("UPDATE ledger_events SET amount_micros = 1", 40, "does not have its hash"),
    ("UPDATE ledger_events SET payload = '{}'", 40, "does not have its hash"),
    ("UPDATE ledger_events SET kind = 'gift'", 40, "cannot be read"),
    ("UPDATE ledger_events SET prev_hash = 'x'", 40, "not that of the row before"),
    ("UPDATE ledger_events SET pairs_with = NULL", 3, "does not name the partner"),
    ("DELETE FROM ledger_events", 40, "is missing"),
    ("DELETE FROM ledger_events", 150, "the last row is 149"),
    ("UPDATE ledger_checkpoints SET state = '{}'", 64, "not the fold"),
    ("UPDATE ledger_checkpoints SET state = 'x'", 64, "not the fold"),
]
EVERY_TAMPERING = [
    ("UPDATE ledger_heads SET seq = 151 WHERE public_id = 'm_1'", 151, "the head names row 151"),
    ("DELETE FROM ledger_heads WHERE public_id = 'm_1'", None, "no head"),
    ("UPDATE ledger_checkpoints SET seq = 999 WHERE seq = 64", 999, "where no row is"),
    *((f"{text} WHERE public_id = 'm_1' AND seq = {seq}", seq, told) for text, seq, told in OF_A_ROW),
]  # fmt: skip


@pytest.mark.parametrize(("tampering", "seq", "told"), EVERY_TAMPERING)
async def test_tampering_is_found(store: Store, tampering: str, seq: int | None, told: str) -> None:
    await _filled(store)
    await _drop_triggers(store)
    assert await m.run_sql(store, tampering) == 1
    report = await verify(store)
    assert not report.ok
    assert any(f.of == "m_1" and f.seq == seq and told in f.what for f in report.findings)
    assert {f.of for f in report.findings} == {"m_1"}


@pytest.mark.parametrize(
    "tampering",
    ["UPDATE balances SET amount = 6", "DELETE FROM balances", "DELETE FROM balance_events"],
)
async def test_a_balance_that_is_not_its_deltas_is_found(store: Store, tampering: str) -> None:
    await _filled(store)
    await _drop_triggers(store)
    await m.run_sql(store, tampering)
    assert [f.of for f in (await verify(store)).findings] == ["u_agent"]


async def test_an_export_proves_itself(store: Store, tmp_path: Path) -> None:
    await _filled(store)
    target = tmp_path / "ledgers.jsonl"
    assert await export(store, target) == {"ledgers": 2, "rows": 157}
    lines = target.read_text().splitlines()
    assert verify_export(lines).as_json() | {"checkpoints": 0} == {
        "ok": True, "ledgers": 2, "rows": 157, "checkpoints": 0, "balances": 0, "paper_books": 0,
        "paper_entries": 0, "anchors": 0, "findings": [],
    }  # fmt: skip
    with pytest.raises(NoBackup, match="never replaces a file"):
        await export(store, target)


async def test_a_cut_or_changed_export_does_not(store: Store, tmp_path: Path) -> None:
    await _filled(store)
    target = tmp_path / "ledgers.jsonl"
    await export(store, target)
    lines = target.read_text().splitlines()
    changed = json.loads(lines[9])
    changed["amount_micros"] = 7
    for tampered in (
        lines[:20] + lines[21:],
        lines[:149] + lines[150:],
        lines[:-1],
        lines[:150] + lines[151:],
        [*lines[:9], json.dumps(changed), *lines[10:]],
        [*lines[:9], "{", *lines[10:]],
        [*lines[:9], '{"public_id": "m_1"}', *lines[10:]],
    ):
        assert not verify_export(tampered).ok


async def test_a_backup_of_a_database_in_use_is_whole(sqlite_url: str, tmp_path: Path) -> None:
    store = await open_store(sqlite_url, PATIENT)
    target = tmp_path / "copies" / "wallet.bak"
    try:
        await _filled(store)
        more = [asyncio.create_task(m.append(store, m.buy())) for _ in range(100)]
        await backup(sqlite_url, target)
        await asyncio.gather(*more)
    finally:
        await store.close()
    assert [p.name for p in target.parent.iterdir()] == ["wallet.bak"]
    report = await verify(f"sqlite:///{target}")
    assert report.ok
    assert 157 <= report.rows <= 257


@pytest.mark.slow
async def test_a_backup_ends_while_sixteen_go_on_writing(sqlite_url: str, tmp_path: Path) -> None:
    store = await open_store(sqlite_url, PATIENT)
    target, done = tmp_path / "wallet.bak", anyio.Event()
    written = 0

    async def writes(name: int) -> None:
        nonlocal written
        while not done.is_set():
            await m.append(store, m.buy(why="w" * 500), public_id=f"m_{name}")
            written += 1

    try:
        await _filled(store)
        await m.run_sql(
            store, "INSERT INTO switches VALUES ('ballast', hex(zeroblob(32000000)), 0, 'a test')"
        )
        async with anyio.create_task_group() as group:
            for name in range(16):
                group.start_soon(writes, name)
            try:
                with anyio.fail_after(STUCK_S):
                    await backup(sqlite_url, target)
            finally:
                done.set()
    finally:
        await store.close()
    assert target.stat().st_size > 64_000_000
    assert written > 16
    report = await verify(f"sqlite:///{target}")
    assert report.ok
    assert 157 <= report.rows <= 157 + written
    restored = await open_store(f"sqlite:///{target}", PATIENT)
    try:
        assert await m.append(restored, m.buy()) is not None
    finally:
        await restored.close()


async def test_only_the_operator_can_read_a_backup(sqlite_url: str, tmp_path: Path) -> None:
    target = tmp_path / "wallet.bak"
    await backup(sqlite_url, target)
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("answer", [errno.EPERM, errno.EOPNOTSUPP])
async def test_a_backup_replaces_nothing_where_files_have_one_name_each(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    """As on FAT, exFAT and some shares."""

    def link(_: Path, target: Path) -> None:
        if made:
            target.write_text("another's")
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(os, "link", link)
    target, made = tmp_path / "wallet.bak", False
    await backup(sqlite_url, target)
    assert target.stat().st_mode & 0o077 == 0
    assert (await verify(f"sqlite:///{target}")).ok
    made = True
    with pytest.raises(NoBackup, match="is there already; a backup never replaces a file"):
        await backup(sqlite_url, tmp_path / "second.bak")
    assert (tmp_path / "second.bak").read_text() == "another's"
    assert not list(tmp_path.glob("*.part*"))


async def test_a_backup_replaces_nothing_and_leaves_nothing(
    sqlite_url: str, tmp_path: Path
) -> None:
    target = tmp_path / "kept.bak"
    target.write_text("mine")
    with pytest.raises(NoBackup, match="is there already"):
        await backup(sqlite_url, target)
    assert target.read_text() == "mine"
    with pytest.raises(NoBackup, match="no database"):
        await backup(f"sqlite:///{tmp_path / 'nowhere.sqlite'}", tmp_path / "x.bak")
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is not a database, but long enough to be looked at as one" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        await backup(f"sqlite:///{broken}", tmp_path / "x.bak")
    assert not list(tmp_path.glob("x.bak*"))


async def test_postgresql_is_backed_up_by_pg_dump(tmp_path: Path) -> None:
    with pytest.raises(NoBackup, match="pg_dump"):
        await backup("postgresql://localhost/wallet", tmp_path / "x.bak")


@pytest.mark.parametrize(
    "text",
    ["plain", "\x00\x1f\b\t\n\f\r", 'a "quoted" \\ one /', "\x7f", "café", "\u2028", "\ud800"],
)
@pytest.mark.parametrize("number", [0, -(2**63), 2**63, 2**64, 10**37, None])
def test_a_row_has_the_hash_of_its_canonical_text_whatever_stands_in_it(
    text: str, number: int | None
) -> None:
    row: dict[str, object] = dict.fromkeys(COLUMNS, text) | {"amount_micros": number, "seq": 1}
    told = json.dumps(
        {n: v for n, v in row.items() if n != "row_hash"}, sort_keys=True, separators=(",", ":")
    )
    assert row_hash(row) == hashlib.sha256(told.encode()).hexdigest()


@pytest.mark.parametrize("text", ["plain", "ünïcode", "\x7f", 'q"uo\\te', "\ud800"])
def test_a_row_has_its_hash_in_any_order_of_its_columns(text: str) -> None:
    event = Event(
        event_id="ev_1", seq=1, kind=LedgerKind.NOTE, reported_by=Reporter.AGENT, created_at=m.NOW, occurred_at=m.NOW,
        payload={"text": text},
    )  # fmt: skip
    row = row_values("m_1", event, "")
    ordered = {name: row[name] for name in IN_ORDER}
    reverse = {name: row[name] for name in reversed(IN_ORDER)}
    assert has_its_hash(ordered)
    assert has_its_hash(reverse)
    for name in IN_ORDER:
        changed = "0" * 64 if name == "row_hash" else "7"
        assert not has_its_hash(ordered | {name: changed})
        assert not has_its_hash(reverse | {name: changed})


def test_a_hash_of_other_bytes_than_the_canonical_ones_is_none() -> None:
    """What orjson writes of a text that is not ASCII is no canonical form."""
    event = Event(
        event_id="ev_ü", seq=1, kind=LedgerKind.NOTE, reported_by=Reporter.AGENT, created_at=m.NOW, occurred_at=m.NOW,
    )  # fmt: skip
    row = row_values("m_1", event, "")
    ordered = {name: row[name] for name in IN_ORDER if name != "row_hash"}
    other = hashlib.sha256(orjson.dumps(ordered)).hexdigest()
    assert not has_its_hash(ordered | {"row_hash": other})
