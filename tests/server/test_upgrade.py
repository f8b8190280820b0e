"""An upgrade without a gap: what the first release left is taken on by this version, and by one that only adds, beside the
processes of then, under callers who read and write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import pytest
from aiohttp import ClientError, ClientSession
from click.testing import CliRunner, Result

from server.cli.main import main
from storage.integrity.ledger_check import verify
from storage.schema.revision import latest, revision
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.balancer import Balancer, balancing
from tests.databases import PATIENT
from tests.house.sources import PACKAGES, ROOT
from tests.ports import free_port
from tests.releases import REVISION as RELEASED
from tests.releases import restored, unpacked
from tests.releases.life import KEY, REPORTS
from tests.server.test_sigterm import fill, key
from tests.waiting import PATIENTLY, STUCK_S, Heard

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
MANDATES = tuple(f"m_aaaaaaaaa{letter}" for letter in "abcd")
NEXT = f"{int(latest()[:4]) + 1:04d}"
# A revision that only adds leaves the number of the oldest version that works on it.
LATER = f"{NEXT}_{latest().partition('_')[2] or latest()}"
# What a version may add beside the one before it: a column to every table, a table, an index.
EXPAND = f'''"""Adds, and takes nothing away."""

from alembic import op
from sqlalchemy import inspect

revision = "{{id}}"
down_revision = "{latest()}"


def upgrade() -> None:
    bind = op.get_bind()
    for table in inspect(bind).get_table_names():
        if table != "alembic_version":
            bind.exec_driver_sql(f"ALTER TABLE {{{{table}}}} ADD COLUMN later TEXT DEFAULT 'x'")
    bind.exec_driver_sql("CREATE TABLE of_later (id INTEGER PRIMARY KEY)")
    bind.exec_driver_sql("CREATE INDEX ledger_later ON ledger_events (public_id, later)")
'''


def version(folder: Path, revision_id: str) -> Path:
    """This tree's packages as the next version: with one revision more. What was compiled of them
    goes along (a copy keeps its source's time), so that no process compiles all of it anew.
    """
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package,
            folder / package,
            ignore=shutil.ignore_patterns("node_modules"),
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    versions = folder / "storage" / "migrations" / "versions"
    (versions / f"r{revision_id}_later.py").write_text(EXPAND.format(id=revision_id))
    return folder


def environment(tree: Path, url: str, **more: str) -> dict[str, str]:
    return PATIENTLY | {
        "PATH": os.defpath, "PYTHONPATH": str(tree), "WALLET_DATABASE_URL": url, "WALLET_STATE_KEYS": "k" * 32,
        "WALLET_LOG_LEVEL": "WARNING", "WALLET_RATE_READS": "0", "WALLET_RATE_WRITES": "0",
    } | more  # fmt: skip


def command(
    tree: Path, url: str, *arguments: str, how: Sequence[str] = ("-m", "server")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", *how, *arguments], cwd=tree, env=environment(tree, url),
        capture_output=True, text=True, timeout=STUCK_S, check=False,
    )  # fmt: skip


def told_here(url: str, *arguments: str) -> Result:
    """What a command of this version answers, in this process."""
    return CliRunner().invoke(main, arguments, env=environment(ROOT, url))


@dataclass
class Rolling:
    """Processes of two versions on one database, behind one balancer."""

    url: str
    balancer: Balancer
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    async def start(self, tree: Path) -> int:
        port = free_port()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "server", "serve", "--no-keeper", "--port", str(port)],
            env=environment(tree, self.url, WALLET_BASE_URL=self.balancer.base), cwd=tree, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.running[port] = process
        await anyio.to_thread.run_sync(Heard(process).until, "serving on")
        self.balancer.backends.append(port)
        return port

    async def stop(self, port: int) -> None:
        self.balancer.backends.remove(port)
        process = self.running.pop(port)
        process.terminate()
        assert await anyio.to_thread.run_sync(process.wait, STUCK_S) == 0


@asynccontextmanager
async def rolling(url: str) -> AsyncIterator[Rolling]:
    async with balancing([]) as balancer:
        both = Rolling(url, balancer)
        try:
            yield both
        finally:
            for process in both.running.values():
                process.kill()
                process.wait()


@dataclass
class Callers:
    """An agent a mandate, who reports and reads in turn, and repeats what it may repeat."""

    base: str
    reports: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    answered: Counter[int] = field(default_factory=Counter)

    async def call(self, n: int) -> None:
        name = MANDATES[n]
        async with ClientSession(self.base, headers=key(n)) as http:
            while True:
                number = self.reports[name] + 1
                body = {"kind": "note", "payload": {"text": f"report {number}"}}
                once = {"Idempotency-Key": f"r{number}"}
                await self.asked(
                    http, "POST", f"/wallet/mandates/{name}/events", json=body, headers=once
                )
                self.reports[name] = number
                await self.asked(http, "GET", f"/wallet/mandates/{name}")
                await self.asked(http, "GET", f"/wallet/mandates/{name}/events?limit=5")

    async def asked(self, http: ClientSession, method: str, path: str, **sent: Any) -> None:
        """Until it is done; what is neither done nor safe to repeat is kept as wrong."""
        while True:
            try:
                async with http.request(method, path, **sent) as r:
                    answer = await r.json()
            except ClientError:  # cut by a process that ended: repeated under the same key
                continue
            self.answered[r.status] += 1
            if r.status < 300:
                return
            if r.status != 503 or answer.get("retry_safe") is not True:
                self.wrong.append((r.status, answer))
                return

    async def further(self, reports: int = 5) -> None:
        """Until each has got on by so many reports."""
        before = Counter(self.reports)
        with anyio.fail_after(STUCK_S):
            while any(self.reports[m] < before[m] + reports for m in MANDATES) and not self.wrong:
                await anyio.sleep(0.02)


async def told(rolling: Rolling, public_id: str) -> list[tuple[Any, ...]]:
    """The newest rows of the mandate that lived before, as its agent is told of them."""
    path = f"{rolling.balancer.base}/wallet/mandates/{public_id}/events?limit=200"
    async with ClientSession() as http, http.get(path, headers={"X-Service-User-Key": KEY}) as r:
        assert r.status == 200, await r.text()
        rows = (await r.json())["items"]
    return [(e["event_id"], e["kind"], e["occurred_at"], e["payload"]) for e in rows]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The version that left the database; where the clone does not reach back to it, this one."""
    folder = tmp_path_factory.mktemp("earlier")
    yield unpacked(folder) or ROOT
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The version that only adds to this one."""
    folder = tmp_path_factory.mktemp("later")
    yield version(folder, LATER)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def taking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The version on whose tables this one cannot work."""
    folder = tmp_path_factory.mktemp("taking")
    yield version(folder, NEXT)
    shutil.rmtree(folder)


@pytest.mark.play  # six processes of two versions, beside callers who never rest
@pytest.mark.pg
async def test_old_and_new_serve_side_by_side_through_an_upgrade_and_back(
    empty_pg_url: str, earlier: Path, later: Path
) -> None:
    url = empty_pg_url
    await restored(url)
    lived = await _value(url, "SELECT public_id FROM mandates WHERE vault_lower IS NOT NULL")
    async with rolling(url) as both, anyio.create_task_group() as group:
        old = [await both.start(earlier), await both.start(earlier)]
        before = await told(both, lived)
        assert len(before) == 200
        callers = Callers(both.balancer.base)
        for n in range(len(MANDATES)):
            group.start_soon(callers.call, n)
        await callers.further()

        due = await anyio.to_thread.run_sync(command, later, url, "db", "upgrade", "--check")
        assert (due.returncode, f"{LATER} is needed" in due.stdout) == (1, True), due.stdout
        await upgraded_under_way(later, url)
        await callers.further()  # the old ones alone, on the new tables

        new = [await both.start(later)]
        await callers.further()
        # A process of the old version that ends in the middle comes back.
        await both.stop(old.pop())
        old.append(await both.start(earlier))
        await callers.further()
        new.append(await both.start(later))
        for port in old:
            await both.stop(port)
        await callers.further()
        assert await told(both, lived) == before

        # And back: the version before serves on the tables as they are.
        await both.start(earlier)
        for port in new:
            await both.stop(port)
        await callers.further()
        assert await told(both, lived) == before
        checked = await anyio.to_thread.run_sync(command, ROOT, url, "db", "upgrade", "--check")
        assert (checked.returncode, "a later one that this version knows" in checked.stdout) == (
            0,
            True,
        )
        group.cancel_scope.cancel()

    assert callers.wrong == []
    assert (await verify(url)).as_json()["ok"] is True
    connection = await asyncpg.connect(url)
    kept = await connection.fetch("SELECT public_id, count(*) AS n FROM ledger_events GROUP BY 1")
    await connection.close()
    # Each report once; the last of each may have been stored when its caller was told to stop.
    stored = {row["public_id"]: row["n"] for row in kept}
    assert stored[lived] > REPORTS
    assert all(0 <= stored[m] - callers.reports[m] <= 1 for m in MANDATES), (
        stored,
        callers.reports,
    )


async def _value(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def upgraded_under_way(tree: Path, url: str) -> None:
    """Upgrade while others use the tables: a command that finds them held says so, changes nothing, and is run again."""
    with anyio.fail_after(STUCK_S):
        while True:
            done = await anyio.to_thread.run_sync(command, tree, url, "db", "upgrade")
            if done.returncode == 0:
                return
            assert "others hold its tables. It is as it was; run it again." in done.stderr


async def test_a_version_works_on_what_a_later_one_only_added_to_what_the_release_left(
    empty_url: str, later: Path
) -> None:
    await restored(empty_url)
    assert await revision(empty_url) == RELEASED
    done = await anyio.to_thread.run_sync(command, later, empty_url, "db", "upgrade")
    assert done.returncode == 0, done.stderr
    assert await revision(empty_url) == LATER
    for arguments in (
        ("counts",),
        ("db", "verify"),
        ("db", "upgrade"),
        ("db", "upgrade", "--check"),
    ):
        done = await anyio.to_thread.run_sync(told_here, empty_url, *arguments)
        assert done.exit_code == 0, (arguments, done.output)
    assert await revision(empty_url) == LATER


def test_a_version_is_refused_where_a_later_one_took_something_away(
    database_url: str, taking: Path
) -> None:
    done = command(taking, database_url, "db", "upgrade")
    assert done.returncode == 0, done.stderr
    for arguments in (
        ("serve", "--port", str(free_port())),
        ("keeper", "--once"),
        ("db", "upgrade"),
    ):
        done = told_here(database_url, *arguments)
        said = f"is at revision {NEXT}, and this version knows none behind {latest()}"
        assert (done.exit_code, said in done.stderr) == (2, True), (arguments, done.stderr)
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.pg
async def test_an_upgrade_waits_a_moment_for_a_table_and_lets_the_others_work(
    pg_url: str, later: Path
) -> None:
    beside = await asyncpg.connect(pg_url)
    try:
        transaction = beside.transaction()
        await transaction.start()
        await beside.execute("LOCK TABLE ledger_events IN ACCESS SHARE MODE")
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "server", "db", "upgrade"], cwd=later, env=environment(later, pg_url),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        # It gives up its place while somebody holds the table: who comes later gets through.
        other = await asyncpg.connect(pg_url)
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        with anyio.fail_after(STUCK_S):
            while not await other.fetchval(waiting):
                await anyio.sleep(0.02)
            await other.fetchval("SELECT count(*) FROM ledger_events")
        await other.close()
        await transaction.rollback()
        out, error = await anyio.to_thread.run_sync(process.communicate)
    finally:
        await beside.close()
    assert process.returncode == 0, error
    assert "up to date" in out
    assert await revision(pg_url) == LATER


@pytest.mark.pg
async def test_an_upgrade_that_finds_its_tables_held_is_one_sentence(
    pg_url: str, later: Path
) -> None:
    # As many tries as ever, each a twentieth as long.
    code = "from storage.schema import migrate as m; m._LOCK_MS, m._PAUSE_S = 50, 0.05; from server.__main__ import main; main()"
    how = ("-c", code)
    beside = await asyncpg.connect(pg_url)
    try:
        async with beside.transaction():
            await beside.execute("LOCK TABLE ledger_events IN ACCESS SHARE MODE")
            upgrade = partial(command, later, pg_url, "db", "upgrade", how=how)
            done = await anyio.to_thread.run_sync(upgrade)
    finally:
        await beside.close()
    assert (done.returncode, "was not upgraded: others hold its tables" in done.stderr) == (
        2,
        True,
    ), done.stderr
    assert await revision(pg_url) == latest()


@pytest.mark.pg
async def test_a_transaction_whose_table_changed_under_its_connection_is_run_again(
    pg_url: str,
) -> None:
    """The server refuses a statement that was prepared before, in the middle of a transaction."""
    store = await open_store(pg_url, PATIENT)
    await store.write(fill)

    def whole(uow: UnitOfWork) -> int:
        return len(uow.sql.rows("SELECT * FROM agents"))

    before = await store.read(whole), await store.write(whole)
    connection = await asyncpg.connect(pg_url)
    await connection.execute("ALTER TABLE agents ADD COLUMN later TEXT DEFAULT 'x'")
    await connection.close()
    assert (await store.read(whole), await store.write(whole)) == before
    await store.close()
