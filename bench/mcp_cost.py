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

from aiohttp import ClientSession
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from bench.stage import KEY, cpu_s, median
from tools.model.toolsets import HEADER

ROUNDS, CALLS = 7, 150
COUNTED = 600  # calls between two looks at the CPU, which is told in hundredths of a second
MANDATE = "m_bench00000"


async def started(kind: str, transport: str, folder: str) -> tuple[Any, int]:
    """A server process; (process, port)."""
    env = {"PATH": os.defpath, "PYTHONPATH": os.getcwd(), "HOME": folder}
    command = [sys.executable, "-m", "bench.noop_server", kind, transport]
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    return process, int(json.loads(await process.stdout.readline())["port"])


async def timed(
    client: Client, tool: str = "noop", arguments: dict[str, Any] | None = None
) -> float:
    """Seconds a call, one after the other."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        told = await client.call_tool(tool, arguments or {})
        assert not told.is_error, told.structured_content
    return (time.perf_counter() - begin) / CALLS


async def read_bytes(client: Client) -> int:
    """Bytes of a mandate read as a model gets it unasked."""
    told = await client.call_tool("mandate_get", {"public_id": MANDATE})
    return len(json.dumps(told.structured_content, separators=(",", ":")).encode())


async def compare(transport: str) -> dict[str, float]:
    """Medians over the rounds, in turns: our no-op over the bare one, and a read and a report over it, with all they do."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            clients: dict[str, Client] = {}
            processes = []
            for kind in ("bare", "ours", "whole"):
                where: Any
                if transport == "stdio":
                    env = {"PATH": os.defpath, "PYTHONPATH": os.getcwd(), "HOME": folder}
                    where = StdioServerParameters(
                        command=sys.executable,
                        args=["-m", "bench.noop_server", kind, "stdio"],
                        env=env,
                    )
                else:
                    process, port = await started(kind, transport, folder)
                    processes.append(process)
                    base = f"http://127.0.0.1:{port}"
                    # The client lists again before each call of a tool that no list showed it.
                    headers = {HEADER: "all"}
                    headers |= {"X-Service-User-Key": KEY} if kind == "whole" else {}
                    if transport == "sse":
                        where = sse_client(base + "/sse", headers=headers)
                    else:
                        inner = await stack.enter_async_context(
                            create_mcp_http_client(headers=headers)
                        )
                        where = streamable_http_client(base + "/mcp", http_client=inner)
                clients[kind] = await stack.enter_async_context(Client(where))
                await timed(clients[kind])
            ratios: dict[str, list[float]] = {"noop": [], "read": [], "report": []}
            for n in range(ROUNDS):
                order = ("bare", "ours") if n % 2 else ("ours", "bare")
                raw = {kind: await timed(clients[kind]) for kind in order}
                ratios["noop"].append(raw["ours"] / raw["bare"])
                ratios["read"].append(
                    await timed(clients["whole"], "mandate_get", {"public_id": MANDATE})
                    / raw["bare"]
                )
                note = {"public_id": MANDATE, "kind": "note", "payload": {"text": "bench"}}
                ratios["report"].append(
                    await timed(clients["whole"], "mandate_report_event", note) / raw["bare"]
                )
            size = await read_bytes(clients["whole"])
        for process in processes:
            process.terminate()
            await process.wait()
    return {name: median(values) for name, values in ratios.items()} | {"read_bytes": size}


def called(arguments: dict[str, Any]) -> dict[str, Any]:
    """A whole tool call in one request, as the protocol of 2026 has it."""
    era = "io.modelcontextprotocol/"
    meta = {f"{era}protocolVersion": "2026-07-28", f"{era}clientCapabilities": {}}
    params = {"name": "mandate_get", "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def beside_http() -> float:
    """CPU of the server for a mandate read over MCP, over the same read over HTTP; the same client."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "mandate_get",
        "X-Service-User-Key": KEY,
    }
    with tempfile.TemporaryDirectory() as folder:
        process, port = await started("whole", "http", folder)
        base = f"http://127.0.0.1:{port}"
        async with ClientSession(headers=headers) as http:

            async def over_mcp() -> None:
                async with http.post(base + "/mcp", json=called({"public_id": MANDATE})) as r:
                    raw = json.loads(await r.read())
                    assert not raw["result"].get("isError"), raw

            async def over_http() -> None:
                async with http.get(f"{base}/wallet/mandates/{MANDATE}") as r:
                    assert r.status == 200
                    await r.read()

            ratios = []
            for n in range(ROUNDS + 1):
                spent = []
                for call in (over_mcp, over_http):
                    before = cpu_s(process.pid)
                    for _ in range(COUNTED):
                        await call()
                    spent.append(cpu_s(process.pid) - before)
                ratios += [spent[0] / spent[1]] if n else []
        process.terminate()
        await process.wait()
    return median(ratios)


async def measure() -> dict[str, tuple[float, str]]:
    """Ratios of time a call, per transport."""
    found = {
        "mcp_mandate_get_over_http": (await beside_http(), "ratio of the server's CPU, at most 2")
    }
    for transport in ("stdio", "sse", "http"):
        raw = await compare(transport)
        found[f"mcp_noop_{transport}_over_bare"] = (raw["noop"], "ratio of time, at most 1.15")
        found[f"mcp_read_{transport}_over_bare_noop"] = (
            raw["read"],
            "ratio of time, a mandate read",
        )
        found[f"mcp_report_{transport}_over_bare_noop"] = (
            raw["report"],
            "ratio of time, an event report",
        )
        found["mandate_get_mcp_bytes"] = (raw["read_bytes"], "bytes, at most 8192")
    return found
