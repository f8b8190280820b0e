"""A no-op tool over stdio, SSE and HTTP: our server over the SDK's bare low-level one, in one run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

from aiohttp import ClientSession
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from bench.lines import Found
from bench.paired import Costs, merged, paired
from bench.stage import KEY, cpu_s, settled
from tools.model.toolsets import HEADER

# How fast a process is depends on where its memory came to lie, by some hundredths: the servers are
# started so many times, each as often before another as behind it.
STARTS, ROUNDS, CALLS, WARM = 4, 30, 10, 150
MANDATE = "m_bench00000"
KINDS: Final = ("bare", "ours", "whole")


async def started(kind: str, transport: str, folder: str) -> tuple[Any, int]:
    """A server process; (process, port)."""
    env = {"PATH": os.defpath, "PYTHONPATH": os.getcwd(), "HOME": folder}
    command = [sys.executable, "-m", "bench.noop_server", kind, transport]
    process = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    return process, int(json.loads(await process.stdout.readline())["port"])


async def timed(client: Client, tool: str, arguments: dict[str, Any], calls: int = CALLS) -> float:
    """Seconds a call, one after the other, as the client sees them; after one that finds the
    processor's caches full of another server.
    """
    begin = 0.0
    for n in range(-1, calls):
        begin = time.perf_counter() if n == 0 else begin
        told = await client.call_tool(tool, arguments)
        assert not told.is_error, told.structured_content
    return (time.perf_counter() - begin) / calls


async def read_bytes(client: Client) -> int:
    """Bytes of a mandate read as a model gets it unasked."""
    told = await client.call_tool("mandate_get", {"public_id": MANDATE})
    return len(json.dumps(told.structured_content, separators=(",", ":")).encode())


async def compare(transport: str) -> tuple[Costs, int]:
    """Seconds a call: of the bare no-op, of ours, of a read and of a report, with all they do; and
    the bytes of the read.
    """
    found, size = [], 0
    for n in range(STARTS):
        kinds = KINDS if n % 2 else KINDS[::-1]
        costs, size = await _compare(transport, kinds)
        found.append(costs)
    return merged(found), size


async def _compare(transport: str, kinds: Sequence[str]) -> tuple[Costs, int]:
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            clients: dict[str, Client] = {}
            processes = []
            for kind in kinds:
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
                await timed(clients[kind], "noop", {}, WARM)
            read = {"public_id": MANDATE}
            note = read | {"kind": "note", "payload": {"text": "bench"}}
            whole = clients["whole"]
            turns = {
                "bare": partial(timed, clients["bare"], "noop", {}),
                "ours": partial(timed, clients["ours"], "noop", {}),
                "read": partial(timed, whole, "mandate_get", read),
                "report": partial(timed, whole, "mandate_report_event", note),
            }
            # What this process has loaded is no garbage of a client's call.
            with settled():
                costs = await paired(turns, rounds=ROUNDS, unread=3)
            size = await read_bytes(whole)
        for process in processes:
            process.terminate()
            await process.wait()
    return costs, size


def called(arguments: dict[str, Any]) -> dict[str, Any]:
    """A whole tool call in one request, as the protocol of 2026 has it."""
    era = "io.modelcontextprotocol/"
    meta = {f"{era}protocolVersion": "2026-07-28", f"{era}clientCapabilities": {}}
    params = {"name": "mandate_get", "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def beside_http() -> float:
    """CPU of the server for a mandate read over MCP, over the same read over HTTP; the same client."""
    return merged([await _beside_http() for _ in range(STARTS)]).ratio("mcp", "http")


async def _beside_http() -> Costs:
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

            async def spent(call: Callable[[], Awaitable[None]]) -> float:
                before = cpu_s(process.pid)
                for _ in range(2 * CALLS):
                    await call()
                return cpu_s(process.pid) - before

            turns = {"mcp": partial(spent, over_mcp), "http": partial(spent, over_http)}
            costs = await paired(turns, rounds=ROUNDS, unread=5)
        process.terminate()
        await process.wait()
    return costs


async def measure() -> AsyncIterator[Found]:
    """The server's CPU of a read, then ratios of time a call, transport by transport."""
    over_http = await beside_http()
    yield {"mcp_mandate_get_over_http": (over_http, "ratio of the server's CPU, at most 2")}
    for transport in ("stdio", "sse", "http"):
        costs, size = await compare(transport)
        noop, read, report = (costs.ratio(name, "bare") for name in ("ours", "read", "report"))
        yield {
            f"mcp_noop_{transport}_over_bare": (noop, "ratio of time, at most 1.15"),
            f"mcp_read_{transport}_over_bare_noop": (read, "ratio of time, a mandate read"),
            f"mcp_report_{transport}_over_bare_noop": (report, "ratio of time, an event report"),
            "mandate_get_mcp_bytes": (size, "bytes, at most 8192"),
        }
