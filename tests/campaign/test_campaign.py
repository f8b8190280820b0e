"""Faults under load, each followed by an audit from outside: what was acknowledged is there once, and nothing else.

`make campaign` plays for CAMPAIGN_S seconds (900), a play after the other, each with a seed of its own; the short form is in `make plays`.
A play that fails prints its seed: `CAMPAIGN_SEED=n make campaign` plays that one first.

A play is a database (SQLite with two servers on one file; PostgreSQL behind a cable that can be cut; SQLite beside a chain whose node can
be cut), callers that repeat every write with its key until it is answered, and acts (`acts.py`). After each act the callers finish, and
the audit (`audit.py`) reads the database by the driver alone, computes every hash by docs/canonical-encodings.md, and holds it against
what the callers were told.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from storage.integrity.ledger_check import verify
from storage.schema import migrate
from tests.campaign import acts
from tests.campaign.acts import Act, Play
from tests.campaign.audit import audit
from tests.campaign.callers import Callers
from tests.campaign.cluster import Cluster, clusters
from tests.campaign.house import House, housed, seeded
from tests.databases import _run, _sql
from tests.storage.cable import Cable, cable
from tests.world import CHAIN_ID, Evm, running_evm

pytestmark = pytest.mark.slow
SEED = int(os.environ.get("CAMPAIGN_SEED", "1"))
LAST_S = float(os.environ.get("CAMPAIGN_S", "900"))
SETTLED_S = 60
WRITES = 25


async def played(play: Play, seed: int, chosen: Sequence[Act]) -> None:
    """Every act under load, an audit after each; at its end the product's own proof."""
    for n, act in enumerate(chosen):
        began = time.monotonic()
        async with Callers(play.house, seed * 1_000 + n) as play.callers:
            await play.callers.more(WRITES)
            await act(play)
            await play.callers.more(WRITES)
            await play.callers.settled(SETTLED_S)
            await audit(play.callers, play.dice)
            told = f"{len(play.callers.writes)} writes, {play.callers.refused} refused and repeated"
        print(f"  {act.__name__}: {told}, {time.monotonic() - began:.1f} s", flush=True)
    await acts.copies_are_beginnings(play)
    proof = (await verify(play.house.own_url)).as_json()
    assert proof["ok"] is True, proof


async def migrated(folder: Path) -> str:
    """A fresh file."""
    url = f"sqlite:///{folder / 'w.sqlite'}"
    await asyncio.to_thread(migrate.upgrade, url)
    return url


@asynccontextmanager
async def on_sqlite(folder: Path, seed: int, url: str | None = None) -> AsyncIterator[Play]:
    url = url or await migrated(folder)
    async with housed(House(folder, url, url), servers=2) as house:
        yield Play(house, Callers(house, 0), seeded(seed))


@asynccontextmanager
async def on_postgres(
    folder: Path, seed: int, cluster: Cluster, *, servers: int = 2, ballast: Path | None = None
) -> AsyncIterator[Play]:
    await asyncio.to_thread(_run, _sql(cluster.url + "/postgres", "CREATE DATABASE wallet"))
    own = cluster.url + "/wallet"
    await asyncio.to_thread(migrate.upgrade, own)
    async with cable(own) as laid, housed(House(folder, laid.url, own), servers) as house:
        yield Play(house, Callers(house, 0), seeded(seed), cluster, laid, ballast=ballast)


@asynccontextmanager
async def beside_a_node(
    folder: Path, seed: int, evm: Evm, url: str | None = None
) -> AsyncIterator[Play]:
    url = url or await migrated(folder)
    at = urlsplit(evm.url)
    laid = Cable("", at.hostname or "", at.port or 0)
    server = await asyncio.start_server(laid.serve, "127.0.0.1", 0)
    prefix = f"WALLET_CHAINS__{CHAIN_ID}__"
    more = {
        f"{prefix}RPC_URL": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", f"{prefix}USDC": evm.usdc,
        f"{prefix}FACTORY": evm.factory, f"{prefix}LENS": evm.lens, f"{prefix}POLL_S": "1", "WALLET_KEEPER_TICK_S": "1",
    }  # fmt: skip
    house = House(folder, url, url, more, arguments=("--keeper",))
    try:
        async with housed(house, servers=1):
            yield Play(house, Callers(house, 0), seeded(seed), node=laid)
    finally:
        server.close()
        await laid.take_up()


# -- the short form: each fault by itself is in tests/storage/test_faults.py (a full disk, locks, ended
# connections), tests/server/test_act_killed.py and test_unreachable.py (kills, silent nodes) and
# tests/storage/test_tail.py (clocks)


@pytest.fixture(scope="module")
def evm() -> Iterator[Evm]:
    with running_evm() as running:
        yield running


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with clusters(1) as (made,):
        yield made


@pytest.mark.play
@pytest.mark.anyio
async def test_sqlite_short(tmp_path: Path, sqlite_url: str) -> None:
    chosen = (
        acts.a_server_is_killed,
        acts.the_disk_is_full,
        acts.somebody_holds_a_lock,
        acts.the_clock_jumps,
        acts.a_backup_is_made,
    )
    async with on_sqlite(tmp_path, SEED, sqlite_url) as play:
        await played(play, SEED, chosen)


@pytest.mark.play
@pytest.mark.anyio
@pytest.mark.pg
async def test_postgres_short(tmp_path: Path, cluster: Cluster) -> None:
    chosen = (
        acts.postgres_is_killed,
        acts.the_cable_is_cut,
        acts.postgres_stands_still,
        acts.connections_are_ended,
    )
    async with on_postgres(tmp_path, SEED, cluster, servers=1) as play:
        await played(play, SEED, chosen)


@pytest.mark.play
@pytest.mark.anyio
async def test_node_short(tmp_path: Path, evm: Evm, sqlite_url: str) -> None:
    async with beside_a_node(tmp_path, SEED, evm, sqlite_url) as play:
        await played(play, SEED, (acts.the_node_goes_silent, acts.the_node_is_cut))


# -- the long one


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of its own that can be filled, where the user that PostgreSQL runs as finds it."""
    folder = Path(tempfile.mkdtemp(prefix="wallet-small-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", folder]
    subprocess.run(mount, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def play_one(folder: Path, seed: int, evm: Evm) -> None:
    """A play whose kind and acts follow from its seed."""
    dice = seeded(f"play {seed}")
    kind = dice.choice(("sqlite", "sqlite", "postgres", "postgres", "node", "small disk"))
    if kind == "small disk" and not acts.can_fill():
        kind = "postgres"
    print(f"CAMPAIGN_SEED={seed}: {kind}", flush=True)

    async def run(opened: AbstractAsyncContextManager[Play], chosen: Sequence[Act]) -> None:
        async with opened as play:
            await played(play, seed, chosen)

    if kind == "sqlite":
        asyncio.run(run(on_sqlite(folder, seed), dice.sample(acts.ON_SQLITE, 6)))
    elif kind == "node":
        asyncio.run(run(beside_a_node(folder, seed, evm), dice.choices(acts.BESIDE_A_NODE, k=4)))
    else:
        chosen = dice.sample(acts.ON_POSTGRES, 6)
        with ExitStack() as stack:
            small = None
            if kind == "small disk":
                small = stack.enter_context(small_disk())
                chosen = [acts.postgres_has_no_room, *chosen[:2]]
            (made,) = stack.enter_context(clusters(1, folder=small))
            ballast = small / "ballast" if small else None
            asyncio.run(run(on_postgres(folder, seed, made, ballast=ballast), chosen))


@pytest.mark.campaign
@pytest.mark.pg
def test_long_campaign(tmp_path: Path, evm: Evm) -> None:
    began, seed = time.monotonic(), SEED
    while time.monotonic() - began < LAST_S:
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            play_one(folder, seed, evm)
        except BaseException:
            print(f"\nfailed; again with CAMPAIGN_SEED={seed}", flush=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        seed += 1
    print(f"{seed - SEED} plays held")
