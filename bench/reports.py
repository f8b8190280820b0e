"""An event report end to end, over a bare aiohttp route that does one durable insert on the same database.

The route waits for the disk once an insert, reports wait in groups: what the disk takes for a sync
is told beside the ratio, and decides as much of it as the service does."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from aiohttp import ClientSession, TCPConnector, web
from aiohttp.test_utils import TestServer

from bench.paired import paired
from bench.stage import KEY, median, seconds, settled, staged
from http_shim.application import build
from storage.sqlite_files import connect_sqlite, sqlite_path
from tools.catalogue import OPERATIONS

ROUNDS, CALLS, WORKERS = 13, 300, 32
Call = Callable[[int], Awaitable[object]]


def bare(path: str) -> tuple[web.Application, sqlite3.Connection]:
    """One route, one insert, one commit with the same durability."""
    connection = connect_sqlite(path)
    connection.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, body TEXT)")

    async def insert(request: web.Request) -> web.Response:
        body = await request.text()
        connection.execute("INSERT INTO bare (body) VALUES (?)", (body,))
        return web.json_response({"ok": True}, status=201)

    app = web.Application()
    app.router.add_post("/bare", insert)
    return app, connection


def sync_us(folder: Path) -> float:
    """The disk's time to store 4 KiB durably, in microseconds: the median of 200 writes."""
    took = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(200):
            file.seek(0)
            file.write(bytes(4096))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - started) * 1e6)
    return median(took)


async def measure() -> dict[str, tuple[float, str]]:
    """Both in turns."""
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage:
            app, connection = bare(sqlite_path(stage.store.url))
            limit, ours = TestServer(app), TestServer(build(stage.deps, OPERATIONS))
            await limit.start_server()
            await ours.start_server()
            with settled():
                async with ClientSession(connector=TCPConnector(limit=WORKERS)) as http:

                    async def insert(n: int) -> None:
                        async with http.post(
                            limit.make_url("/bare"),
                            json={"kind": "buy", "amount_usdc": "1", "n": n},
                        ) as r:
                            assert r.status == 201

                    done = 0

                    async def report(n: int) -> None:
                        nonlocal done
                        done += 1
                        headers = {"X-Service-User-Key": KEY, "Idempotency-Key": f"k{done}"}
                        body = {"kind": "note", "payload": {"text": "bench"}}
                        url = ours.make_url(f"/wallet/mandates/m_bench{done % 16:05d}/events")
                        async with http.post(url, json=body, headers=headers) as r:
                            assert r.status == 201, await r.text()

                    turns = {
                        "insert": partial(seconds, insert, workers=WORKERS, calls=CALLS),
                        "report": partial(seconds, report, workers=WORKERS, calls=CALLS),
                    }
                    costs = await paired(turns, rounds=ROUNDS)
            await limit.close()
            await ours.close()
            connection.close()
            waits = sync_us(Path(folder))
    return {
        "event_report_over_bare_insert": (
            costs.ratio("insert", "report"),
            "ratio of throughput, at least 0.7",
        ),
        "event_report_per_second": (1 / costs.middle("report"), "1/s"),
        "bare_insert_per_second": (1 / costs.middle("insert"), "1/s"),
        "disk_sync_us": (waits, "us a sync of 4 KiB, which the route waits for each time"),
    }
