"""`python -m bench.beside_commit PATH`: CPU of a report and of a read beside another checkout's, in process and over HTTP.

PATH is a checkout of another commit with an environment of its own in `.venv`. Each of the two
serves the same calls in a process of its own, a slice in turn. The heap is frozen first, as a
service's is.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

ROUNDS: Final = 30
CALLS: Final = 100
KINDS: Final = ("buy", "sell", "note", "fee")
WHATS: Final = ("report", "read", "both", "report-http", "read-http")


def body(n: int) -> Mapping[str, Any]:
    """The arguments of a report: the kinds in turn, over sixteen mandates and seven positions."""
    raw = {
        "public_id": f"m_bench{n % 16:05d}",
        "kind": KINDS[n % 4],
        "payload": {"position": {"id": f"p{n % 7}"}, "text": "bench"},
    }
    return raw if raw["kind"] == "note" else raw | {"amount_usdc": f"{1 + n % 5}.000001"}


async def serve() -> None:
    """Answer lines of `WHAT CALLS` with the seconds of CPU that they took; of the checkout that the
    process stands in, whose modules may have other names.
    """
    stage, tools = (
        importlib.import_module("bench.stage"),
        importlib.import_module("tools.catalogue"),
    )
    known = {op.name: op for op in tools.OPERATIONS}
    try:
        run = importlib.import_module("tools.dispatch.run").run
    except ImportError:
        run = importlib.import_module("tools.operation").run
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            staged = await stack.enter_async_context(stage.staged(Path(folder)))

            async def call(name: str, arguments: Mapping[str, Any], key: str | None = None) -> None:
                reply = await run(known[name], staged.deps, staged.agent, arguments, key=key)
                assert reply.status < 300, reply.body

            application = importlib.import_module("http_shim.application")
            service = TestServer(application.build(staged.deps, tools.OPERATIONS))
            await service.start_server()
            client = await stack.enter_async_context(ClientSession())

            async def over_http(
                name: str, arguments: Mapping[str, Any], key: str | None = None
            ) -> None:
                path = f"/wallet/mandates/{arguments['public_id']}"
                sent = {n: v for n, v in arguments.items() if n != "public_id"}
                headers = {"X-Service-User-Key": stage.KEY}
                if key is None:
                    request = client.get(service.make_url(path), headers=headers)
                else:
                    headers["Idempotency-Key"] = key
                    url = service.make_url(f"{path}/events")
                    request = client.post(url, json=sent, headers=headers)
                async with request as reply:
                    assert reply.status < 300, await reply.text()
                    await reply.read()

            for line in iter(sys.stdin.readline, ""):
                raw, calls = line.split()
                what, _, way = raw.partition("-")
                go = over_http if way else call
                gc.collect()
                gc.freeze()
                started = time.process_time()
                for _ in range(int(calls)):
                    done += 1
                    if what != "read":
                        await go("mandate_report_event", body(done), f"k{done}")
                    if what != "report":
                        await go("mandate_get", {"public_id": body(done)["public_id"]})
                print(time.process_time() - started, flush=True)


def started(checkout: Path) -> subprocess.Popen[str]:
    """A process that serves one checkout."""
    return subprocess.Popen(
        [checkout / ".venv/bin/python", "-P", __file__, "serve"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def took(process: subprocess.Popen[str], subject: str) -> float:
    """Seconds of CPU that a slice took."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{subject} {CALLS}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


async def compare(other: Path) -> None:
    """Print the ratios, here over there."""
    # Of this checkout: the other one, where this file serves, may have none.
    from bench.paired import paired

    sides = {"here": started(Path(__file__).parents[1]), "there": started(other)}
    for what in WHATS:
        turns = {name: partial(took, process, what) for name, process in sides.items()}
        costs = await paired(turns, rounds=ROUNDS)
        here, there = (1e6 * costs.middle(name) / CALLS for name in sides)
        ratio = costs.ratio("here", "there")
        print(f"{what:12} {ratio:.3f} ratio of CPU, here {here:.0f} us, there {there:.0f} us")
    for process in sides.values():
        process.communicate()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve())
    else:
        asyncio.run(compare(Path(sys.argv[1]).resolve()))
