"""One HTTP session with a node: what a cancelled request, a flood and a detour leave behind."""

from __future__ import annotations

import asyncio
import random
import zlib
from typing import Any

import anyio
import pytest
from aiohttp import web

from chain.rpc import http_transport
from chain.rpc.client import RpcClient
from chain.rpc.errors import NodeError
from domain.refusals import Refused
from tests.chain.nodes import node, result
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio
BURSTS = 300
BOUND = 2**16


async def block_number(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
    return result(request, "0x7")


@pytest.mark.slow
async def test_requests_that_are_cancelled_leave_the_node_free_for_the_next() -> None:
    pauses = random.Random(1)  # noqa: S311 - nothing secret comes of it
    async with node(block_number) as url:
        rpc = RpcClient(url, 31337, STUCK_S)
        with anyio.fail_after(STUCK_S):
            for _ in range(BURSTS):
                burst = [asyncio.create_task(rpc.ask("eth_blockNumber")) for _ in range(8)]
                await asyncio.sleep(pauses.random() * 0.004)
                for task in burst:
                    task.cancel()
                await asyncio.gather(*burst, return_exceptions=True)
                assert await rpc.quantity("eth_blockNumber") == 7
        await rpc.close()


async def test_an_answer_without_end_is_read_up_to_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_transport, "ANSWER_BYTES", BOUND)
    sent = 0

    async def endless(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        nonlocal sent
        stream = web.StreamResponse()
        await stream.prepare(request)
        while True:
            await stream.write(b"0" * BOUND)
            sent += BOUND

    async with node(endless) as url:
        rpc = RpcClient(url, 31337, STUCK_S)
        with pytest.raises(NodeError) as caught, anyio.fail_after(STUCK_S):
            await rpc.ask("eth_getLogs", {})
        await rpc.close()
    assert caught.value.too_much, "a smaller question may be answered"
    assert sent < 2**27, "what the system's own buffers hold, and no more"


async def test_an_answer_as_large_as_the_bound_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "0x" + "00" * BOUND

    async def large(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        return result(request, told)

    async with node(large) as url:
        rpc = RpcClient(url, 31337, STUCK_S)
        assert await rpc.ask("eth_call") == told
        monkeypatch.setattr(http_transport, "ANSWER_BYTES", BOUND)
        with pytest.raises(Refused, match="chain_unavailable"):
            await rpc.fact("eth_call")
        await rpc.close()


async def test_a_compressed_answer_is_refused_and_none_is_asked_for() -> None:
    accepted = []

    async def compressed(request: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        accepted.append(request.headers.get("Accept-Encoding"))
        body = zlib.compress(b'{"jsonrpc": "2.0", "id": 0, "result": "0x7"}', wbits=31)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async with node(compressed) as url:
        rpc = RpcClient(url, 31337, STUCK_S)
        with pytest.raises(Refused) as caught:
            await rpc.quantity("eth_blockNumber")
        await rpc.close()
    assert "compressed" in caught.value.refusal.reason
    assert accepted == ["identity"]


async def test_a_node_sends_nobody_to_another_address() -> None:
    async with node(block_number) as other:

        async def elsewhere(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": other})

        async with node(elsewhere) as url:
            rpc = RpcClient(url, 31337, STUCK_S)
            with pytest.raises(Refused) as caught:
                await rpc.quantity("eth_blockNumber")
            await rpc.close()
    assert "HTTP 307" in caught.value.refusal.reason
