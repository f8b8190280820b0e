"""The keeper of the stop line at the venue, against the local one and a real signer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from domain.mandates.mandate import Status
from tests.tools.trading.conftest import a_desk
from tests.tools.trading.stop_line import Lines, lines_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def lines(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Lines]:
    async with a_desk(sqlite_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


async def test_two_looks_below_the_line_stop_the_mandate_and_close_its_position(
    lines: Lines,
) -> None:
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    assert (await lines.tick()).looked == 1
    lines.desk.test.move("BTC", "58000")  # 60 USDC lost, 50 allowed
    await lines.tick()
    assert (await lines.stored(m)).status is Status.WORKING, "one look closes nothing"
    with lines.only_shrinks(p, "BTC"):
        await lines.tick()
    assert (await lines.stored(m)).status is Status.STOPPED
    assert lines.held(p) == 0
    (close,) = await lines.closes(m)
    assert (close.status, close.side, close.slippage_bps, close.filled_size) == (
        "executed",
        "sell",
        100,
        Decimal("0.01"),
    )
    (sent,) = lines.log.sent("order")[1:]
    assert (sent["orders"][0]["r"], sent["orders"][0]["t"]) == (True, {"limit": {"tif": "Ioc"}})
    await lines.tick()
    kept = await lines.keeping(m)
    assert kept is not None
    assert (kept.state, kept.episode) == ("done", 1)
    assert await lines.told(m) == [("stop", "floor")]
    assert (await lines.tick()).looked == 0
