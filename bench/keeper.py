"""The keeper's tick at the venue: twenty mandates looked at, and twenty closed, with the weight that they take."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench.stage import median
from devtools.devvenue.limits import info_weight
from storage.schema import migrate
from tests.tools.trading.conftest import Person, a_desk
from tests.tools.trading.stop_line import Lines, lines_of

MANDATES, ROUNDS = 20, 5


async def measure() -> dict[str, tuple[float, str]]:
    """A round in which nothing is due, and the one in which all twenty stand at their line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wallet.sqlite"
        # The migration tools run a loop of their own.
        await asyncio.to_thread(migrate.upgrade, f"sqlite:///{path}")
        async with (
            a_desk(f"sqlite:///{path}") as ingest_context,
            lines_of(ingest_context, Path(folder)) as lines,
        ):
            held = await _holding(lines)
            looked = [await _round(lines) for _ in range(ROUNDS)]
            ingest_context.test.move("BTC", "58000", "9")
            await lines.tick()
            closed = await _round(lines)
            assert all(lines.held(p) == 0 for p in held)
    return {
        "keeper_tick_of_20_weight": (looked[-1][1], "of the venue's weight, at most 200"),
        "keeper_tick_of_20_ms": (median([ms for ms, _ in looked]), "ms"),
        "keeper_tick_that_closes_20_weight": (closed[1], "the signer's with it, at most 200"),
        "keeper_tick_that_closes_20_ms": (closed[0], "ms"),
    }


async def _holding(lines: Lines) -> list[Person]:
    held: list[Person] = []
    for _ in range(MANDATES):
        lines.desk.clock.forward(seconds=10)  # linking reads much
        p = await lines.person(deposit="2000")
        await lines.bought(p, await lines.mandate(p))
        held.append(p)
    return held


async def _round(lines: Lines) -> tuple[float, float]:
    """Milliseconds and weight of a round, as the venue counts it."""
    request, sent = len(lines.log.info), len(lines.log.exchange)
    started = time.perf_counter()
    told = await lines.tick()
    took = (time.perf_counter() - started) * 1_000
    assert told.looked == MANDATES, told
    weight = sum(info_weight(a["type"]) for a in lines.log.info[request:])
    return took, weight + len(lines.log.exchange) - sent


if __name__ == "__main__":
    print(asyncio.run(measure()))
