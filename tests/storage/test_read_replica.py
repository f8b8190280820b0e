"""Reads that may be a moment old, by a real standby: near, stopped in its replay, gone, and back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import anyio
import asyncpg
import pytest

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.settings import Config
from server.cli.doctor import examine
from server.cli.maintenance import export_ledgers
from server.settings import Settings
from server.system import SystemClock, SystemIds
from storage import read_replica
from storage.read_replica import ReadReplica
from storage.schema import migrate
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.campaign.cluster import Cluster, clusters, program
from tests.databases import PATIENT, _run, _sql
from tests.ports import free_port
from tests.storage import material as m
from tests.waiting import STUCK_S
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS, Deps

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.pg,
    pytest.mark.slow,
    pytest.mark.skipif(
        program("pg_basebackup") is None, reason="pg_basebackup: Debian's postgresql-client"
    ),
]
MOST_MS = 2_000
NAMED = "SELECT agent_id FROM agents ORDER BY agent_id"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """A primary with the schema, and a standby that follows it."""
    with clusters(2) as (primary, standby):
        _run(_sql(primary.url + "/postgres", "CREATE DATABASE wallet"))
        migrate.upgrade(primary.url + "/wallet")
        copied = ("-d", primary.url, "-D", standby.data, "-R", "-X", "stream", "-c", "fast")
        primary.run("pg_basebackup", *copied)
        standby.start()
        yield primary, standby


@pytest.fixture(scope="module")
def starter() -> Iterator[ThreadPoolExecutor]:
    """A thread that lasts: a server ends with the one that started it."""
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
async def both(
    pair: tuple[Cluster, Cluster], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Store, ReadReplica, Cluster]]:
    monkeypatch.setattr(read_replica, "LOOK_MS", 20)
    monkeypatch.setattr(read_replica, "AWAY_MS", 100)
    monkeypatch.setattr(read_replica, "ANSWER_MS", int(STUCK_S * 1_000))
    primary, standby = pair
    store = await open_store(primary.url + "/wallet", PATIENT)
    other = await open_store(standby.url + "/wallet", replace(PATIENT, wait_ms=1_000))
    replica = ReadReplica(store, other, MOST_MS)
    yield store, replica, standby
    await replica.close()
    await store.close()


def by(replica: ReadReplica) -> tuple[int, int]:
    """Reads by the replica, and by the primary."""
    told = replica.gauges()
    return tuple(
        told[f'wallet_replica_reads_total{{server="{s}"}}'] for s in ("replica", "primary")
    )  # type: ignore[return-value]


def agents(uow: UnitOfWork) -> list[str]:
    return [row["agent_id"] for row in uow.sql.rows(NAMED)]


async def until_by(replica: ReadReplica, server: int) -> list[str]:
    """Read until a read is by that server (0: the replica, 1: the primary)."""
    with anyio.fail_after(STUCK_S):
        while True:
            before = by(replica)[server]
            found = await replica.read(agents)
            if by(replica)[server] > before:
                return found
            await asyncio.sleep(0.02)


async def test_a_near_replica_reads_one_that_stands_still_or_is_gone_does_not(
    both: tuple[Store, ReadReplica, Cluster], starter: ThreadPoolExecutor
) -> None:
    store, replica, standby = both
    await store.write(lambda uow: uow.identities.add_agent(m.agent()))
    with anyio.fail_after(STUCK_S):
        while "u_agent" not in await until_by(replica, 0):
            await asyncio.sleep(0.02)
    assert 0 <= replica.gauges()["wallet_replica_behind_milliseconds"] <= MOST_MS

    # It answers, and what it answers grows old: no read is older than the bound.
    beside = await asyncpg.connect(standby.url + "/wallet")
    await beside.execute("SELECT pg_wal_replay_pause()")
    later = replace(m.agent(), agent_id="u_later", name="later")
    await store.write(lambda uow: uow.identities.add_agent(later))
    assert await until_by(replica, 1) == ["u_agent", "u_later"]
    assert replica.gauges()["wallet_replica_behind_milliseconds"] > MOST_MS
    await beside.execute("SELECT pg_wal_replay_resume()")
    await beside.close()
    assert await until_by(replica, 0) == ["u_agent", "u_later"]

    # Gone, in the middle of its use: the same read is answered by the primary.
    await asyncio.to_thread(standby.kill)
    assert await replica.read(agents) == ["u_agent", "u_later"]
    assert replica.gauges()["wallet_replica_behind_milliseconds"] == -1
    await asyncio.get_running_loop().run_in_executor(starter, standby.start)
    assert await until_by(replica, 0) == ["u_agent", "u_later"]


async def test_the_hall_is_read_by_the_replica(
    both: tuple[Store, ReadReplica, Cluster],
) -> None:
    store, replica, _ = both
    deps = Deps(
        store, EvmChains([]), SystemClock(), SystemIds(), Config(), SiweSignIn(), replica=replica
    )
    await until_by(replica, 0)
    before = by(replica)
    hall = next(op for op in OPERATIONS if op.name == "hall_list")
    reply = await run(hall, deps, ANONYMOUS, {})
    assert not reply.refused, reply.body
    assert sum(by(replica)) == sum(before) + 1


async def _row(settings: Settings) -> tuple[str, str, str]:
    """What `wallet doctor` says of the replica."""
    (found,) = [f for f in await examine(settings) if f.what == "read replica"]
    return found.status, found.state.partition(": ")[2], found.effect


async def test_doctor_and_export_know_whether_it_can_be_read(
    both: tuple[Store, ReadReplica, Cluster], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, _, standby = both
    at, to_primary = standby.url + "/wallet", "the primary reads everything"

    def named(read_url: str, most_ms: int = 600_000) -> Settings:
        return Settings(
            database_url=store.url, database_read_url=read_url, database_read_lag_ms=most_ms, database_wait_ms=60_000,
        )  # fmt: skip

    async def rows(settings: Settings, name: str) -> int:
        return (await export_ledgers(settings, tmp_path / name))["rows"]

    await m.append(store, m.buy())
    status, state, effect = await _row(named(at))
    assert (status, effect) == ("ok", "")
    assert re.fullmatch(r"read-only, \d+ ms behind", state)
    assert await rows(named(at), "near") == 1
    assert caplog.messages == []

    # The primary itself, another database of the same servers, and nobody.
    assert await _row(named(store.url)) == ("fault", "it takes writes, and follows nothing", to_primary)  # fmt: skip
    other = store.url.replace("/wallet", "/template1")
    assert await _row(named(other)) == ("fault", "it is another database", to_primary)
    gone = f"postgresql://postgres@127.0.0.1:{free_port()}/wallet"
    assert await _row(named(gone)) == ("fault", "it cannot be reached", to_primary)

    # Far behind: the export is the primary's, whole, and says so.
    beside = await asyncpg.connect(at)
    await beside.execute("SELECT pg_wal_replay_pause()")
    await m.append(store, m.buy())
    far = named(at, 100)
    assert await _row(far) == ("warning", "more than 100 ms behind", f"{to_primary} meanwhile")
    assert await rows(far, "far") == 2
    assert await rows(named(gone), "gone") == 2
    assert [line.rpartition("; ")[2] for line in caplog.messages] == ["the primary is read"] * 2
    assert await beside.fetchval("SELECT count(*) FROM ledger_events") == 1
    await beside.execute("SELECT pg_wal_replay_resume()")
    await beside.close()


async def test_an_address_of_another_database_is_never_read(
    both: tuple[Store, ReadReplica, Cluster], caplog: pytest.LogCaptureFixture
) -> None:
    store, _, standby = both
    wrong = ReadReplica(store, await open_store(standby.url + "/template1", PATIENT), MOST_MS)
    for _ in range(3):
        await wrong.read(agents)
    assert by(wrong) == (0, 3)
    assert "it is another database" in caplog.text
    await wrong.close()


@pytest.mark.parametrize(
    ("own", "read"),
    [("sqlite:///w.sqlite", "postgresql://h/w"), ("postgresql://h/w", "sqlite:///w.sqlite")],
)
def test_a_standby_follows_a_postgresql(own: str, read: str) -> None:
    with pytest.raises(ValueError, match="both start with postgresql://"):
        Settings(database_url=own, database_read_url=read)


def test_what_may_be_a_moment_old_is_the_hall_and_statements() -> None:
    late = {op.name for op in OPERATIONS if op.may_lag}
    statements = {"owner_statement", "owner_statement_all", "owner_statement_rows"}
    assert late == {"hall_list", "hall_proof", "hall_agent"} | statements
    # Neither is a write, nor asks a chain what the rows are held against.
    assert not any(op.writes or op.gather for op in OPERATIONS if op.may_lag)
