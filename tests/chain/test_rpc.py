"""A node that misbehaves: a refusal, never a guessed figure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chain.evm import ChainFacts, EvmChain
from chain.rpc import Rpc
from domain.refusals import Refused

pytestmark = pytest.mark.anyio
Answer = Callable[[web.Request, dict[str, object]], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def node(answer: Answer) -> AsyncIterator[str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if asked["method"] == "eth_chainId" and not getattr(answer, "all", False):
            return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": "0x7a69"})
        return await answer(request, asked)

    app = web.Application()
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    yield str(server.make_url("/"))
    await server.close()


async def refused(answer: Answer, *, timeout_s: int = 2) -> Refused:
    async with node(answer) as url:
        rpc = Rpc(url, 31337, timeout_s)
        with pytest.raises(Refused) as caught:
            await rpc.ask("eth_blockNumber")
        await rpc.close()
    return caught.value


async def test_a_busy_node_is_tried_again_and_says_when(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    async def busy(_: web.Request, asked: dict[str, object]) -> web.StreamResponse:
        seen.append(asked["method"])
        return web.Response(status=429, headers={"Retry-After": "7"})

    told = await refused(busy)
    assert told.code == "chain_unavailable"
    assert told.refusal.detail["retry_after_s"] == 7
    assert len(seen) == 1, "a pause longer than our patience is not waited for"


@pytest.mark.parametrize("body", ["", "not json", "[]", "{}", '{"jsonrpc": "2.0", "id": 1, "error": "x"}'])
async def test_nonsense_is_unavailable(body: str) -> None:
    async def nonsense(_: web.Request, __: dict[str, object]) -> web.StreamResponse:
        return web.Response(text=body, content_type="application/json")

    assert (await refused(nonsense)).code == "chain_unavailable"


async def test_another_chain_is_unavailable() -> None:
    async def other(_: web.Request, asked: dict[str, object]) -> web.StreamResponse:
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": "0x1"})

    other.all = True  # type: ignore[attr-defined]
    told = await refused(other)
    assert "serves chain 1" in told.refusal.reason


async def test_a_passing_fault_is_survived() -> None:
    failures = iter([503, 503])

    async def shaky(_: web.Request, asked: dict[str, object]) -> web.StreamResponse:
        status = next(failures, None)
        if status:
            return web.Response(status=status)
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": "0x10"})

    async with node(shaky) as url:
        rpc = Rpc(url, 31337)
        assert await rpc.ask("eth_blockNumber") == "0x10"
        await rpc.close()


async def test_a_node_that_fell_behind_is_not_believed() -> None:
    heights = iter([1_000, 100])

    async def behind(_: web.Request, asked: dict[str, object]) -> web.StreamResponse:
        block = {"number": hex(next(heights)), "hash": "0x" + "11" * 32, "parentHash": "0x" + "22" * 32, "timestamp": "0x1"}
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": block})

    async with node(behind) as url:
        chain = EvmChain(ChainFacts(31337, url, confirmations=24))
        assert (await chain.latest()).number == 1_000
        with pytest.raises(Refused, match="chain_unavailable"):
            await chain.latest()
        await chain.close()
