"""Behind pgbouncer, pooling by transaction: two processes on fewer connections than they have talks."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from storage.errors import DatabaseTimeouts
from storage.feed.ledger_feed import LedgerFeed
from storage.integrity.ledger_check import verify
from storage.prefetch.read_set import ReadSet
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.campaign.house import MANDATES, fill
from tests.ports import free_port
from tests.storage import material as m
from tests.waiting import STUCK_S

BOUNCER = shutil.which("pgbouncer", path=os.defpath + ":/usr/sbin")
pytestmark = [
    pytest.mark.pg,
    pytest.mark.slow,
    pytest.mark.skipif(BOUNCER is None, reason="pgbouncer: Debian's package of that name"),
]
PROCESSES, WRITES = 2, 40
# What pgbouncer does not keep for a client is set where PostgreSQL finds it: docs/scaling.md.
IGNORED = "statement_timeout,lock_timeout,idle_in_transaction_session_timeout,plan_cache_mode,enable_seqscan,jit"


@pytest.fixture
def pooled(pg_url: str, tmp_path: Path) -> Iterator[str]:
    """The database behind a pgbouncer with two connections to it."""
    at, port, name = urlsplit(pg_url), free_port(), pg_url.rpartition("/")[2]
    config = tmp_path / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n{name} = host={at.hostname} port={at.port} dbname={name} user=postgres\n"
        f"[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\nauth_type=any\npool_mode=transaction\n"
        f"default_pool_size=2\nmax_client_conn=200\nunix_socket_dir=\nignore_startup_parameters={IGNORED}\n"
    )
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    if user:
        tmp_path.chmod(0o755)
        config.chmod(0o644)
    with config.open() as file, (tmp_path / "log").open("wb") as log:
        # It reads its settings from the descriptor: the folder may be closed to its user.
        process = subprocess.Popen(
            [str(BOUNCER), f"/dev/fd/{file.fileno()}"], pass_fds=(file.fileno(),), stdout=log, stderr=log, **user
        )  # fmt: skip
        url = f"postgresql://postgres@127.0.0.1:{port}/{name}"
        try:
            until = time.monotonic() + STUCK_S
            while True:
                try:
                    asyncio.run(_asked(url))
                    break
                except (OSError, asyncpg.PostgresError):
                    assert process.poll() is None, (tmp_path / "log").read_text()
                    assert time.monotonic() < until, (tmp_path / "log").read_text()
                    time.sleep(0.05)
            yield url
        finally:
            process.kill()
            process.wait()


async def _asked(url: str) -> None:
    connection = await asyncpg.connect(url, statement_cache_size=0, timeout=10)
    await connection.fetchval("SELECT 1")
    await connection.close()


def work(url: str, name: str) -> None:
    """Write, read and follow the rows, many at once."""

    async def everything() -> None:
        store = await open_store(url, DatabaseTimeouts(statement_cache=0, pool=8))
        tail, seen = LedgerFeed(url), []

        def one(uow: UnitOfWork, n: int) -> None:
            uow.ledger.append(MANDATES[n % 3], m.buy(), event_id=f"ev_{name}_{n}", now=m.NOW)

        def needs(n: int) -> ReadSet:  # so that it is run in a batch
            return ReadSet(now=m.NOW, mandates=(MANDATES[n % 3],))

        async def follow() -> None:
            async for told in tail.follow(""):
                seen.append(told)
                if len(seen) >= 2 * WRITES:
                    return

        running = asyncio.create_task(tail.run())
        async with asyncio.timeout(STUCK_S):
            await asyncio.gather(
                follow(),
                *(store.write(lambda uow, n=n: one(uow, n)) for n in range(WRITES)),
                *(
                    store.write(lambda uow, n=n: one(uow, n), needs(n))
                    for n in range(WRITES, 2 * WRITES)
                ),
                *(
                    store.read(lambda uow, n=n: uow.ledger.state(MANDATES[n % 3]))
                    for n in range(WRITES)
                ),
            )
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await store.close()

    asyncio.run(everything())


def test_two_processes_write_read_and_follow_through_it(pooled: str, pg_url: str) -> None:
    asyncio.run(fill(pg_url))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(pooled, f"p{n}")) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(STUCK_S)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    report = asyncio.run(verify(pooled)).as_json()
    assert report["ok"] is True, report

    async def counted() -> int:
        connection = await asyncpg.connect(pg_url)
        found = await connection.fetchval("SELECT count(*) FROM ledger_events")
        await connection.close()
        return int(found)

    assert asyncio.run(counted()) == PROCESSES * 2 * WRITES
