"""Starting `wallet mcp` over starting the SDK's bare server: CPU time to the list of tools, and memory then."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from bench.paired import paired
from bench.stage import cpu_s, median, resident_kib

ROUNDS = 4
BARE = """
import anyio, mcp.types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server
async def listed(ctx, params): return t.ListToolsResult(tools=[])
async def main():
    server = Server("bare", version="1", on_list_tools=listed)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
anyio.run(main)
"""
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}  # fmt: skip


class Start(NamedTuple):
    """Seconds to the list of tools, CPU seconds and resident KiB then; seconds of a first call, KiB after it."""

    spent: float
    cpu: float
    kept: float
    called: float
    after: float


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


CALL = {
    "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "markets_list", "arguments": {}},
}  # fmt: skip


async def started(command: list[str], folder: str, *, calls: bool) -> Start:
    """One process up to the answer of tools/list, and of a first call where `calls`."""
    env = {
        "PATH": os.defpath,
        "PYTHONPATH": os.getcwd(),
        "HOME": folder,
        "WALLET_DATABASE_URL": f"sqlite:///{folder}/w.sqlite",
        "WALLET_DOOR": "on",
    }
    begin = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=folder, limit=2**22,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip

    async def ask(*messages: Mapping[str, object]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        for message in messages:
            if "id" in message:
                assert json.loads(await process.stdout.readline())["id"] == message["id"]

    await ask(HELLO, READY, LIST)
    spent, cpu, kept = time.perf_counter() - begin, cpu_s(process.pid), resident_kib(process.pid)
    begin = time.perf_counter()
    if calls:
        await ask(CALL)
    called, after = time.perf_counter() - begin, resident_kib(process.pid)
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()
    return Start(spent, cpu, kept, called, after)


async def measure() -> dict[str, tuple[float, str]]:
    """In turns; the first round, which makes the database, is not counted in the ratio of CPU."""
    commands = {
        "bare": [sys.executable, "-c", BARE],
        "ours": [sys.executable, "-m", "server", "mcp"],
    }
    raw: dict[str, list[Start]] = {"bare": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder:

        async def start(name: str) -> float:
            raw[name].append(await started(commands[name], folder, calls=name == "ours"))
            return raw[name][-1].cpu

        costs = await paired({name: partial(start, name) for name in commands}, rounds=ROUNDS)
    bare, ours = (Start(*map(median, map(list, zip(*raw[name], strict=True)))) for name in commands)
    return {
        "mcp_start_over_bare": (
            costs.ratio("ours", "bare"),
            "ratio of CPU time to the list, at most 1.5",
        ),
        "mcp_rss_over_bare": (ours.kept / bare.kept, "ratio with the list told, at most 1.5"),
        "mcp_rss_called_over_bare": (ours.after / bare.kept, "ratio after a call, at most 1.5"),
        "mcp_start_s": (ours.spent, "s"),
        "mcp_first_call_s": (ours.called, "s, the catalogue is loaded by it"),
        "mcp_rss_mb": (ours.kept / 1024, "MB"),
    }
