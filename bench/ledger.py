"""The mandate read at 10, 1,000 and 100,000 ledger rows, by a process that has not read the mandate before."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.stage import NOW, Stage, median, note, staged
from storage.ledger import StateCache
from tools.catalogue import OPERATIONS
from tools.operation import run

SIZES = {"m_bench00001": 10, "m_bench00002": 1_000, "m_bench00003": 100_000}
READS = 60
GET = next(op for op in OPERATIONS if op.name == "mandate_get")


async def fill(stage: Stage) -> None:
    """Write the ledgers."""
    for public_id, rows in SIZES.items():
        for start in range(0, rows, 1_000):

            def batch(uow, public_id=public_id, start=start, rows=rows) -> None:  # type: ignore[no-untyped-def]
                for n in range(start, min(start + 1_000, rows)):
                    uow.ledger.append(public_id, note(n), event_id=f"ev_{public_id}_{n}", now=NOW)

            await stage.store.write(batch)


async def cold(stage: Stage, public_id: str) -> float:
    """Seconds of one read with the folded states forgotten."""
    stage.store._cache = StateCache()  # type: ignore[attr-defined]
    started = time.perf_counter()
    reply = await run(GET, stage.deps, stage.agent, {"public_id": public_id})
    assert reply.status == 200, reply.body
    return time.perf_counter() - started


async def measure() -> dict[str, tuple[float, str]]:
    """The three in turns."""
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage:
            await fill(stage)
            times: dict[str, list[float]] = {p: [] for p in SIZES}
            for _ in range(READS):
                for public_id in SIZES:
                    times[public_id].append(await cold(stage, public_id))
    ten, thousand, many = (median(times[p]) for p in SIZES)
    return {
        "mandate_read_100k_over_10": (many / ten, "ratio of time, at most 1.5"),
        "mandate_read_1k_over_10": (thousand / ten, "ratio of time"),
        "mandate_read_ms": (ten * 1_000, "ms at 10 rows"),
    }
