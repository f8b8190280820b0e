"""A standby that is promoted in the middle of load: with synchronous replication nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from storage.schema import migrate
from tests.campaign.audit import audit
from tests.campaign.callers import Callers
from tests.campaign.cluster import Cluster, clusters, program
from tests.campaign.house import House, housed, seeded
from tests.databases import _run, _sql
from tests.storage.cable import cable
from tests.waiting import STUCK_S

pytestmark = [
    # A standby that is read, and one that is not: tests/storage/test_read_replica.py.
    pytest.mark.play,
    pytest.mark.pg,
    pytest.mark.slow,
    pytest.mark.skipif(
        program("pg_basebackup") is None, reason="pg_basebackup: Debian's postgresql-client"
    ),
]
# docs/scaling.md: the primary answers a commit once the standby has it on its disk.
SYNCHRONOUS = ("synchronous_standby_names=*",)


@pytest.fixture
def pair() -> Iterator[tuple[Cluster, Cluster]]:
    """A primary with the schema, and its standby, which follows synchronously."""
    with clusters(2) as (primary, standby):
        _run(_sql(primary.url + "/postgres", "CREATE DATABASE wallet"))
        migrate.upgrade(primary.url + "/wallet")
        primary.run(
            "pg_basebackup",
            "-d",
            primary.url,
            "-D",
            standby.data,
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
        )
        standby.start()
        primary.stop()
        primary.options = SYNCHRONOUS
        primary.start()
        asyncio.run(following(primary))
        yield primary, standby


async def following(primary: Cluster) -> None:
    """Wait until the standby is the synchronous one."""
    connection = await asyncpg.connect(primary.url + "/postgres")
    async with asyncio.timeout(STUCK_S):
        while await connection.fetchval("SELECT sync_state FROM pg_stat_replication") != "sync":
            await asyncio.sleep(0.05)
    await connection.close()


@pytest.mark.anyio
async def test_a_standby_promoted_under_load_has_everything_that_was_acknowledged(
    tmp_path: Path, pair: tuple[Cluster, Cluster]
) -> None:
    primary, standby = pair
    async with cable(primary.url + "/wallet") as laid:
        house = House(tmp_path, laid.url, primary.url + "/wallet")
        async with housed(house, servers=1), Callers(house, 7) as callers:
            await callers.more(60)
            before = len(callers.acknowledged())
            await asyncio.to_thread(primary.kill)
            laid.refuses = True
            laid.cut()
            await asyncio.to_thread(standby.run, "pg_ctl", "promote", "-D", standby.data, "-w")
            # A promotion may be over before any caller met the loss: the address stays dead until one was told so.
            await callers.refused_at_least(1, STUCK_S)
            # What a virtual address, a proxy or pgbouncer does: the same address, another server.
            laid.port, house.own_url = standby.port, standby.url + "/wallet"
            laid.refuses = False
            await callers.more(60)
            await callers.settled(STUCK_S)
            record = await audit(callers, seeded(7), replays=before)
    assert before >= 60
    assert sum(map(len, record.events.values())) > before / 2
