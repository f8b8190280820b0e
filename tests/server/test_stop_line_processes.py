"""Real `wallet keeper` processes at the stop line: one is killed while its order is on its way, two run side by side."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devtools.devvenue import VenueFault
from domain.mandates.mandate import Mandate, Status
from tests.tools.trading import conftest
from tests.tools.trading.conftest import Person, a_desk
from tests.tools.trading.stop_line import Lines, lines_of
from tests.waiting import PATIENTLY

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
PATIENCE_S = 120


class RealClock:
    """The machine's clock: the processes have no other."""

    @property
    def at(self) -> datetime:
        return datetime.now(UTC)

    def now(self) -> datetime:
        return datetime.now(UTC)


@asynccontextmanager
async def keeping(lines: Lines, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`wallet keeper` as an operator runs it, looking every second."""
    urls = {n: lines.desk.networks.get(n).client.url for n in ("mainnet", "testnet")}  # type: ignore[arg-type]
    env = os.environ | PATIENTLY | {
        "WALLET_DATABASE_URL": lines.desk.store.url, "WALLET_VENUE_MAINNET_URL": urls["mainnet"], "WALLET_VENUE_TESTNET_URL": urls["testnet"],
        "WALLET_SIGNER_SOCKET": str(folder / "s.sock"), "WALLET_KEEPER_TICK_S": "1", "WALLET_STOP_LINE_DRY_RUN": "off",
    }  # fmt: skip
    with (folder / "log").open("ab") as log:
        run = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server", "keeper"),
            env=env,
            cwd=folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=log,
        )
    try:
        yield run
    finally:
        if run.returncode is None:
            run.kill()
        await run.wait()


@pytest.fixture
async def lines(
    processes_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Lines]:
    monkeypatch.setattr(conftest, "Clock", RealClock)
    async with a_desk(processes_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await what():
            await asyncio.sleep(0.05)


async def holding(lines: Lines) -> tuple[Person, Mandate]:
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    return p, m


async def done(lines: Lines, mandate: Mandate) -> bool:
    kept = await lines.keeping(mandate)
    return kept is not None and kept.state == "done"


async def test_a_process_killed_while_its_order_is_on_its_way_is_followed_by_one_that_finds_it_filled(
    lines: Lines, tmp_path: Path
) -> None:
    p, m = await holding(lines)
    lines.desk.test.faults.add(VenueFault(effect="executed_hang", kind="order", times=1))
    with lines.only_shrinks(p, "BTC"):
        async with keeping(lines, tmp_path) as first:

            async def on_its_way() -> bool:
                return lines.held(p) == 0

            await until(on_its_way)
            (close,) = await lines.closes(m)
            assert close.status == "executing", "it was on record before it was sent"
            first.send_signal(signal.SIGKILL)
            await first.wait()
        lines.desk.test.faults.clear()
        async with keeping(lines, tmp_path) as second:
            await until(lambda: done(lines, m))
            second.send_signal(signal.SIGTERM)
            assert await second.wait() == 0
    (close,) = await lines.closes(m)
    assert (close.status, close.attempt) == ("executed", 1)
    assert len(lines.log.closes()) == 2, "one order opened it, one closed it"
    # Found by its cloid, with its fills: the row of each follows the stop (trading.md 00.8).
    assert [kind for kind, _ in await lines.told(m)] == ["stop", "sell"]
    lease = [r for r in await lines.desk.rows("work_claims") if r["kind"] == "stop line"]
    assert lease == [], "a process that ends hands over"


async def test_two_processes_side_by_side_close_once(lines: Lines, tmp_path: Path) -> None:
    async with keeping(lines, tmp_path), keeping(lines, tmp_path):
        p, m = await holding(lines)
        with lines.only_shrinks(p, "BTC"):
            await until(lambda: done(lines, m))
    assert (await lines.stored(m)).status is Status.STOPPED
    assert lines.held(p) == 0
    assert len(lines.log.closes()) == 2
    assert len(await lines.closes(m)) == 1
