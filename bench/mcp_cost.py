"""A no-op tool over stdio, SSE and HTTP: our server over the SDK's bare low-level one, in one run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from bench.stage import median

ROUNDS, CALLS = 7, 150


async def started(kind: str, transport: str, folder: str) -> tuple[Any, int]:
    """A server process; (process, port)."""
    env = {"PATH": os.defpath, "PYTHONPATH": os.getcwd(), "HOME": folder}
    command = [sys.executable, "-m", "bench.noop_server", kind, transport]
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    return process, int(json.loads(await process.stdout.readline())["port"])


async def timed(client: Client) -> float:
    """Seconds a call, one after the other."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        await client.call_tool("noop", {})
    return (time.perf_counter() - begin) / CALLS


async def compare(transport: str) -> float:
    """Median over rounds of ours / bare, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            clients: dict[str, Client] = {}
            processes = []
            for kind in ("bare", "ours"):
                where: Any
                if transport == "stdio":
                    env = {"PATH": os.defpath, "PYTHONPATH": os.getcwd(), "HOME": folder}
                    where = StdioServerParameters(
                        command=sys.executable, args=["-m", "bench.noop_server", kind, "stdio"], env=env
                    )
                else:
                    process, port = await started(kind, transport, folder)
                    processes.append(process)
                    base = f"http://127.0.0.1:{port}"
                    where = sse_client(base + "/sse") if transport == "sse" else streamable_http_client(base + "/mcp")
                clients[kind] = await stack.enter_async_context(Client(where))
                await timed(clients[kind])
            ratios = []
            for n in range(ROUNDS):
                order = ("bare", "ours") if n % 2 else ("ours", "bare")
                told = {kind: await timed(clients[kind]) for kind in order}
                ratios.append(told["ours"] / told["bare"])
        for process in processes:
            process.terminate()
            await process.wait()
    return median(ratios)


async def measure() -> dict[str, tuple[float, str]]:
    """Ratio of time a call, per transport."""
    return {
        f"mcp_noop_{name}_over_bare": (await compare(transport), "ratio of time, at most 1.15")
        for name, transport in (("stdio", "stdio"), ("sse", "sse"), ("http", "http"))
    }
