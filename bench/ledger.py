"""The mandate read at 10, 1,000 and 100,000 ledger rows; a page holds 50 rows at the most."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from bench.stage import KEY, NOW, Stage, median, note, settled, staged
from http_shim.application import build
from storage.integrity.ledger_check import verify
from storage.repositories.state_cache import StateCache
from tools.catalogue import OPERATIONS

SIZES = {"m_bench00001": 10, "m_bench00002": 1_000, "m_bench00003": 100_000}
READS = 200
# The same work takes up to half as long again on a processor that others use at the same time.
VERIFIES = 5


async def fill(stage: Stage) -> None:
    """Write the ledgers."""
    for public_id, rows in SIZES.items():
        for start in range(0, rows, 1_000):

            def batch(uow, public_id=public_id, start=start, rows=rows) -> None:  # type: ignore[no-untyped-def]
                for n in range(start, min(start + 1_000, rows)):
                    uow.ledger.append(public_id, note(n), event_id=f"ev_{public_id}_{n}", now=NOW)

            await stage.store.write(batch)


async def _verified(url: str) -> float:
    """Rows a second of CPU, by a connection that has read nothing yet."""
    started = time.process_time()
    report = await verify(url)
    used = time.process_time() - started
    assert report.ok, report
    assert report.rows == sum(SIZES.values())
    return report.rows / used


async def measure() -> dict[str, tuple[float, str]]:
    """The three in turns, over HTTP, as a caller meets them."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            staged(Path(folder)) as stage,
            ClientSession(headers={"X-Service-User-Key": KEY}) as http,
        ):
            await fill(stage)
            server = TestServer(build(stage.deps, OPERATIONS))
            await server.start_server()
            with settled():
                times: dict[str, list[float]] = {p: [] for p in SIZES}
                cold: dict[str, list[float]] = {p: [] for p in SIZES}
                for n in range(2 * READS):
                    for public_id in SIZES:
                        # The second half meets a process that has forgotten every folded state.
                        forgotten = n >= READS
                        if forgotten:
                            stage.store._cache = StateCache()  # type: ignore[attr-defined]
                        started = time.perf_counter()
                        async with http.get(server.make_url(f"/wallet/mandates/{public_id}")) as r:
                            assert r.status == 200
                            await r.read()
                        (cold if forgotten else times)[public_id].append(
                            time.perf_counter() - started
                        )
            await server.close()
            checked = median([await _verified(stage.store.url) for _ in range(VERIFIES)])
    ten, thousand, many = (median(times[p]) for p in SIZES)
    cold_ten, _, cold_many = (median(cold[p]) for p in SIZES)
    return {
        "mandate_read_100k_over_10": (many / ten, "ratio of time, at most 1.5"),
        "mandate_read_100k_over_1k": (many / thousand, "ratio of time"),
        "mandate_read_cold_100k_over_10": (
            cold_many / cold_ten,
            "ratio of time, folded states forgotten",
        ),
        "verify_rows_per_second": (
            checked,
            "rows a second of CPU, hashes and folds, at least 20000",
        ),
        "mandate_read_ms": (ten * 1_000, "ms at 10 rows, over HTTP"),
    }
