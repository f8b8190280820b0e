"""The mandate read at 10, 1,000 and 100,000 ledger rows; a page holds 50 rows at the most."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from bench.paired import paired
from bench.stage import KEY, NOW, Stage, median, note, settled, staged
from http_shim.application import build
from storage.integrity.ledger_check import verify
from storage.repositories.state_cache import StateCache
from tools.catalogue import OPERATIONS

SIZES = {"m_bench00001": 10, "m_bench00002": 1_000, "m_bench00003": 100_000}
ROUNDS = 100
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

                async def read(public_id: str, *, forgets: bool) -> float:
                    if forgets:
                        stage.store._cache = StateCache()  # type: ignore[attr-defined]
                    started = time.perf_counter()
                    async with http.get(server.make_url(f"/wallet/mandates/{public_id}")) as r:
                        assert r.status == 200
                        await r.read()
                    return time.perf_counter() - started

                # The second time a process that has forgotten every folded state.
                warm, cold = [
                    await paired(
                        {
                            public_id: partial(read, public_id, forgets=forgets)
                            for public_id in SIZES
                        },
                        rounds=ROUNDS,
                    )
                    for forgets in (False, True)
                ]
            await server.close()
            checked = median([await _verified(stage.store.url) for _ in range(VERIFIES)])
    ten, thousand, many = SIZES
    return {
        "mandate_read_100k_over_10": (warm.ratio(many, ten), "ratio of time, at most 1.5"),
        "mandate_read_100k_over_1k": (warm.ratio(many, thousand), "ratio of time"),
        "mandate_read_cold_100k_over_10": (
            cold.ratio(many, ten),
            "ratio of time, folded states forgotten",
        ),
        "verify_rows_per_second": (
            checked,
            "rows a second of CPU, hashes and folds, at least 20000",
        ),
        "mandate_read_ms": (warm.middle(ten) * 1_000, "ms at 10 rows, over HTTP"),
    }
