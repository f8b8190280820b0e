"""What befalls the service in a play. Each act leaves it able to go on; the audit says whether it did nothing wrong meanwhile."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
from aiohttp import ClientError, ClientSession

from tests.campaign.audit import prefix, read_record
from tests.campaign.callers import ANSWER_S, Callers
from tests.campaign.cluster import Cluster, program
from tests.campaign.house import KEY, MANDATES, House, Server
from tests.storage.cable import Cable
from tests.waiting import STUCK_S

END_S = 2.0  # what an end on SIGTERM may take, by the operating page


@dataclass
class Play:
    """What an act may touch."""

    house: House
    callers: Callers
    dice: random.Random
    cluster: Cluster | None = None
    cable: Cable | None = None
    node: Cable | None = None
    ballast: Path | None = None
    copies: list[str] = field(default_factory=list)

    def one(self) -> Server:
        return self.dice.choice(self.house.servers)

    def span(self, low: float, high: float) -> float:
        return self.dice.uniform(low, high)


Act = Callable[[Play], Awaitable[None]]


# -- processes


async def a_server_is_killed(play: Play) -> None:
    server = play.one()
    server.kill()
    await server.start()


async def every_server_is_killed(play: Play) -> None:
    for server in play.house.servers:
        server.kill()
    await asyncio.gather(*(server.start() for server in play.house.servers))


async def a_server_stands_still(play: Play) -> None:
    """As where its machine swaps: what it had begun goes on afterwards."""
    process = play.one().process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(play.span(0.5, 3))
    process.send_signal(signal.SIGCONT)


async def a_server_is_asked_to_end(play: Play) -> None:
    """With streams open on it, and callers at work."""
    server = play.one()
    async with listening(server, 20):
        code, took = await server.terminate()
    assert code == 0, play.house.last_lines()
    assert took < END_S, f"it took {took:.1f} s to end"
    await server.start()


async def a_server_is_asked_to_end_behind_a_foreign_lock(play: Play) -> None:
    server = play.one()
    async with foreign_lock(play):
        await asyncio.sleep(0.3)
        code, took = await server.terminate()
    assert code == 0, play.house.last_lines()
    assert took < END_S, f"it took {took:.1f} s to end behind a lock"
    await server.start()


@asynccontextmanager
async def listening(server: Server, count: int) -> AsyncIterator[None]:
    """Streams that are open and idle."""
    async with ClientSession() as http:
        for n in range(count):
            path = f"/wallet/mandates/{MANDATES[n % len(MANDATES)]}/stream"
            with suppress(ClientError, OSError):
                await http.get(server.base + path, headers={"X-Service-User-Key": KEY})
        yield


# -- the clock


async def the_clock_jumps(play: Play) -> None:
    """Ahead and back again, or behind: rows are in the order of their numbers, and stamped by the clock as it is."""
    play.house.push_clock(play.dice.choice((3_600.0, 86_400.0, -600.0)))
    await play.callers.more(15)
    play.house.push_clock(0)


# -- the database, whichever it is


@asynccontextmanager
async def foreign_lock(play: Play) -> AsyncIterator[None]:
    """Somebody else holds what every write needs."""
    if play.cluster is None:
        path = play.house.own_url.removeprefix("sqlite:///")
        held = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
        await asyncio.to_thread(held.execute, "BEGIN IMMEDIATE")
        try:
            yield
        finally:
            held.close()
        return
    connection = await asyncpg.connect(play.house.own_url, timeout=30)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE ledger_heads IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await connection.close()


async def somebody_holds_a_lock(play: Play) -> None:
    async with foreign_lock(play):
        await asyncio.sleep(play.span(0.3, 3.5))


async def until_not_ready(server: Server) -> None:
    """Wait for /readyz to say it; it asks the database at most once a second, and answers in time."""
    async with asyncio.timeout(STUCK_S), ClientSession() as http:
        while True:
            async with asyncio.timeout(ANSWER_S), http.get(server.base + "/readyz") as r:
                if r.status == 503:
                    return
            await asyncio.sleep(0.1)


async def until_refused(play: Play, count: int = 3) -> None:
    """Wait until callers were told that the database is not there."""
    wanted = play.callers.refused + count
    async with asyncio.timeout(STUCK_S):
        while play.callers.refused < wanted:
            await asyncio.sleep(0.05)


# -- SQLite


async def the_disk_is_full(play: Play) -> None:
    """No file of a server may grow: what SQLite meets is a write that fails half way."""
    most, limits = play.dice.randint(0, 4_096), {}
    for server in play.house.servers:
        assert server.process is not None
        limits[server.process.pid] = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        hard = limits[server.process.pid][1]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, hard))
    try:
        await until_refused(play)
        await until_not_ready(play.one())
    finally:
        for pid, limit in limits.items():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)


async def a_backup_is_made(play: Play) -> None:
    """While callers write: the copy is whole, and a beginning of the record."""
    if play.cluster is None:
        target = play.house.folder / f"copy-{play.dice.getrandbits(32):x}.sqlite"
        done = await asyncio.to_thread(play.house.wallet, "db", "backup", str(target))
        assert done.returncode == 0, done.stderr
        play.copies.append(f"sqlite:///{target}")
        return
    if program("pg_dump") is None:
        return
    name, cluster = f"copy_{play.dice.getrandbits(32):x}", play.cluster
    dump = cluster.data.parent / f"{name}.dump"
    await asyncio.to_thread(cluster.run, "pg_dump", "-Fc", "-f", dump, play.house.own_url)
    await asyncio.to_thread(
        cluster.run, "createdb", "--maintenance-db", cluster.url + "/postgres", name
    )
    await asyncio.to_thread(cluster.run, "pg_restore", "-d", f"{cluster.url}/{name}", dump)
    play.copies.append(f"{cluster.url}/{name}")


async def copies_are_beginnings(play: Play) -> None:
    """Hold every copy against the record."""
    whole = await read_record(play.house.own_url)
    for copy in play.copies:
        wrong = prefix(await read_record(copy), whole)
        assert not wrong, wrong[:5]


# -- PostgreSQL


def _cluster(play: Play) -> Cluster:
    assert play.cluster is not None
    return play.cluster


async def postgres_is_killed(play: Play) -> None:
    """All of it at once; it recovers from its log."""
    await asyncio.to_thread(_cluster(play).kill)
    await until_refused(play)
    await asyncio.to_thread(_cluster(play).start)


async def postgres_restarts(play: Play) -> None:
    await asyncio.to_thread(_cluster(play).stop)
    await asyncio.to_thread(_cluster(play).start)


async def postgres_stands_still(play: Play) -> None:
    """Connections stay, and nobody answers: callers are told in time all the same."""
    cluster = _cluster(play)
    await asyncio.to_thread(cluster.freeze)
    try:
        await until_refused(play)
        await until_not_ready(play.one())
    finally:
        cluster.thaw()


async def connections_are_ended(play: Play) -> None:
    """By PostgreSQL, in the middle of whatever they do."""
    connection = await asyncpg.connect(play.house.own_url, timeout=30)
    for _ in range(play.dice.randint(1, 4)):
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        await asyncio.sleep(play.span(0, 0.3))
    await connection.close()


async def the_cable_is_cut(play: Play) -> None:
    """Between a commit and its answer, too."""
    assert play.cable is not None
    for _ in range(play.dice.randint(1, 6)):
        play.cable.cut()
        await asyncio.sleep(play.span(0, 0.2))


async def the_cable_goes_silent(play: Play) -> None:
    assert play.cable is not None
    play.cable.go_silent()
    try:
        await until_refused(play)
    finally:
        play.cable.speak()


async def postgres_has_no_room(play: Play) -> None:
    """Its file system is filled to the last page; it may fall, and is started again once there is room."""
    cluster, ballast = _cluster(play), play.ballast
    assert ballast is not None
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"\0" * size)
    await until_refused(play)
    ballast.unlink()
    process = cluster.process
    assert process is not None
    # It recovers by itself where its children fell; where it fell itself, it is started.
    with suppress(TimeoutError):
        await play.callers.more(1, limit_s=10)
    if process.poll() is not None:
        await asyncio.to_thread(cluster.start)


# -- the node of a chain


async def the_node_goes_silent(play: Play) -> None:
    """Reads say what was last known, reports go on."""
    assert play.node is not None
    play.node.go_silent()
    try:
        await play.callers.more(30)
        await asyncio.sleep(play.span(0.5, 4))
        await play.callers.more(10)
    finally:
        play.node.speak()


async def the_node_is_cut(play: Play) -> None:
    assert play.node is not None
    for _ in range(play.dice.randint(2, 10)):
        play.node.cut()
        await asyncio.sleep(play.span(0, 0.4))


ANYWHERE: tuple[Act, ...] = (
    a_server_is_killed,
    every_server_is_killed,
    a_server_stands_still,
    a_server_is_asked_to_end,
    a_server_is_asked_to_end_behind_a_foreign_lock,
    the_clock_jumps,
    somebody_holds_a_lock,
    a_backup_is_made,
)
ON_SQLITE: tuple[Act, ...] = (*ANYWHERE, the_disk_is_full)
ON_POSTGRES: tuple[Act, ...] = (
    *ANYWHERE,
    postgres_is_killed,
    postgres_restarts,
    postgres_stands_still,
    connections_are_ended,
    the_cable_is_cut,
    the_cable_goes_silent,
)
BESIDE_A_NODE: tuple[Act, ...] = (the_node_goes_silent, the_node_is_cut, a_server_is_killed)


def can_fill() -> bool:
    """Whether a small file system can be had: Linux, and root."""
    return os.geteuid() == 0 and shutil.which("mount") is not None
