"""`wallet serve` from its start to the first answer, over a bare aiohttp and SQLAlchemy process."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial

from aiohttp import ClientSession

from bench.beside_twin import process
from bench.paired import paired
from bench.stage import cpu_s, median

ROUNDS = 4
BARE = """
import os, sys
from aiohttp import web
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
engine = create_async_engine(os.environ["BARE_DATABASE_URL"])
async def answer(request):
    async with engine.connect() as connection:
        return web.json_response({"one": await connection.scalar(text("SELECT 1"))})
async def main():
    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"serving on http://127.0.0.1:{runner.addresses[0][1]}", file=sys.stderr, flush=True)
    await asyncio.Event().wait()
import asyncio
asyncio.run(main())
"""


async def started(command: list[str], folder: str, path: str) -> tuple[float, float]:
    """(seconds, CPU seconds) of a process up to its first answer."""
    env = {
        "PATH": os.defpath,
        "PYTHONPATH": os.getcwd(),
        "HOME": folder,
        "WALLET_DATABASE_URL": f"sqlite:///{folder}/w.sqlite",
        "BARE_DATABASE_URL": f"sqlite+aiosqlite:///{folder}/bare.sqlite",
    }
    begin = time.perf_counter()
    async with process(command, env, r"serving on (\S+)") as (base, pid), ClientSession() as http:
        async with http.get(base + path) as told:
            assert told.status == 200, await told.text()
            await told.read()
        return time.perf_counter() - begin, cpu_s(pid)


async def measure() -> dict[str, tuple[float, str]]:
    """In turns; the first round, which makes the database, is not counted."""
    commands = {
        "/": [sys.executable, "-c", BARE],
        "/wallet/markets": [sys.executable, "-m", "server", "serve", "--port", "0"],
    }
    spent: dict[str, list[float]] = {path: [] for path in commands}
    with tempfile.TemporaryDirectory() as folder:

        async def start(path: str) -> float:
            took_s, used_s = await started(commands[path], folder, path)
            spent[path].append(took_s)
            return used_s

        costs = await paired({path: partial(start, path) for path in commands}, rounds=ROUNDS)
    bare, ours = commands
    return {
        "serve_start_over_bare": (costs.ratio(ours, bare), "ratio of CPU time, at most 2"),
        "serve_start_s": (median(spent[ours]), "s to the first answer"),
        "bare_serve_start_s": (median(spent[bare]), "s to the first answer"),
    }
