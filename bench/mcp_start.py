"""Starting `wallet mcp` over starting the SDK's bare server: time to the first answer, and memory then."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from bench.stage import median

ROUNDS = 7
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
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


async def started(command: list[str], folder: str) -> tuple[float, int]:
    """(seconds to the answer of tools/list, resident KiB then) of one process."""
    env = {
        "PATH": os.defpath,
        "PYTHONPATH": os.getcwd(),
        "HOME": folder,
        "WALLET_DATABASE_URL": f"sqlite:///{folder}/w.sqlite",
    }
    begin = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=folder, limit=2**22,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (HELLO, READY, LIST):
        process.stdin.write(json.dumps(message).encode() + b"\n")
    for wanted in (1, 2):
        assert json.loads(await process.stdout.readline())["id"] == wanted
    spent = time.perf_counter() - begin
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.stdin.close()
    await process.wait()
    return spent, int(status.partition("VmRSS:")[2].split()[0])


async def measure() -> dict[str, tuple[float, str]]:
    """Medians over the rounds, in turns; the first start, which makes the database, is not counted."""
    commands = {
        "bare": [sys.executable, "-c", BARE],
        "ours": [sys.executable, "-m", "server", "mcp"],
    }
    told: dict[str, list[tuple[float, int]]] = {"bare": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands.values():
            await started(command, folder)
        for _ in range(ROUNDS):
            for name, command in commands.items():
                told[name].append(await started(command, folder))
    spent = {name: median([s for s, _ in runs]) for name, runs in told.items()}
    kept = {name: median([float(k) for _, k in runs]) for name, runs in told.items()}
    return {
        "mcp_start_over_bare": (spent["ours"] / spent["bare"], "at most 1.5"),
        "mcp_rss_over_bare": (kept["ours"] / kept["bare"], "at most 1.5"),
        "mcp_start_s": (spent["ours"], "s"),
        "mcp_rss_mb": (kept["ours"] / 1024, "MB"),
    }
