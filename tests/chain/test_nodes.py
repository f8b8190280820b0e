"""Several nodes behind one chain, questions put together, and nodes that are left alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chain.adapter import ChainConfig, EvmChain
from chain.rpc.circuit_breaker import FAILURES, FIRST_S, LONGEST_S, CircuitBreaker
from chain.rpc.client import CHAIN_CHECK_S, RpcClient
from chain.rpc.errors import NodeError
from domain.refusals import Refused
from server.cli import doctor
from tests.chain.nodes import CHAIN_ID, distorted, fault, node, result
from tests.world import Evm

pytestmark = pytest.mark.anyio
DEAD = "http://127.0.0.1:9"


class Hands:
    """A clock that goes when told."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


# -- the breaker


def test_a_breaker_opens_after_failures_in_a_row_and_lets_one_alone_try() -> None:
    clock = Hands()
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES):
        assert breaker.wait_s() == 0
        breaker.failed()
    assert breaker.wait_s() == FIRST_S
    clock.at = FIRST_S
    assert breaker.wait_s() == 0
    assert breaker.wait_s() > 0, "the others wait for the one that tries"
    breaker.succeeded()
    assert breaker.wait_s() == 0


def test_the_pause_doubles_up_to_a_minute() -> None:
    clock = Hands()
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES):
        breaker.failed()
    pauses = []
    for _ in range(8):
        clock.at += breaker.wait_s()
        assert breaker.wait_s() == 0
        breaker.failed()
        pauses.append(breaker.wait_s())
    assert pauses == [2, 4, 8, 16, 32, LONGEST_S, LONGEST_S, LONGEST_S]


async def test_a_node_that_fails_again_and_again_is_not_asked_for_a_while() -> None:
    seen, clock, up = [], Hands(), []

    async def down(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        seen.append(request["method"])
        return result(request, "0x5") if up else web.Response(status=401)

    async with node(down) as url:
        rpc = RpcClient(url, 31337, clock=clock)
        for _ in range(FAILURES + 5):
            with pytest.raises(Refused, match="chain_unavailable"):
                await rpc.quantity("eth_blockNumber")
        assert len(seen) == FAILURES
        up.append(True)
        clock.at += FIRST_S
        assert await rpc.quantity("eth_blockNumber") == 5
        await rpc.close()


@pytest.mark.slow
async def test_a_block_that_a_node_has_not_seen_is_no_failure_of_the_node() -> None:
    async def behind(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        return fault(request, -32000, "header not found")

    async with node(behind) as url:
        rpc = RpcClient(url, 31337)
        for _ in range(FAILURES + 1):
            with pytest.raises(Refused) as caught:
                await rpc.ask("eth_call")
            assert "does not have the block" in caught.value.refusal.reason
        await rpc.close()


# -- which chain


async def test_the_chain_id_is_asked_again_every_few_minutes() -> None:
    serves, clock = ["0x7a69"], Hands()

    async def answers(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        return result(request, serves[0] if request["method"] == "eth_chainId" else "0x5")

    async with node(answers, chain_id=None) as url:
        rpc = RpcClient(url, 31337, clock=clock)
        assert await rpc.quantity("eth_blockNumber") == 5
        serves[0] = "0x1"
        assert await rpc.quantity("eth_blockNumber") == 5
        clock.at = CHAIN_CHECK_S
        for _ in range(2):
            with pytest.raises(Refused) as caught:
                await rpc.quantity("eth_blockNumber")
            assert "serves chain 1" in caught.value.refusal.reason
        serves[0] = "0x7a69"
        assert await rpc.quantity("eth_blockNumber") == 5
        await rpc.close()


@asynccontextmanager
async def two_processes_behind_one_address() -> AsyncIterator[tuple[str, list[str]]]:
    """A node that closes every connection after one answer and is another chain's from then on."""
    methods: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        methods.append(asked["method"])
        if asked["method"] == "eth_chainId":
            return result(asked, CHAIN_ID if methods.count("eth_chainId") == 1 else "0x1")
        answer = result(asked, "0x5")
        answer.force_close()
        return answer

    app = web.Application()
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/")), methods
    finally:
        await server.close()


async def test_an_answer_over_a_new_connection_is_held_back_until_the_chain_is_known() -> None:
    async with two_processes_behind_one_address() as (url, methods):
        rpc = RpcClient(url, 31337)
        assert await rpc.quantity("eth_blockNumber") == 5
        with pytest.raises(Refused) as caught:
            await rpc.quantity("eth_blockNumber")
        assert "serves chain 1" in caught.value.refusal.reason
        assert methods == ["eth_chainId", "eth_blockNumber", "eth_blockNumber", "eth_chainId"]
        await rpc.close()


# -- many questions in one request


async def test_many_questions_are_one_request(evm: Evm) -> None:
    sizes: list[int] = []

    async with distorted(evm.chain, lambda _, told: told, sizes) as url:
        chain = EvmChain(ChainConfig(31337, url, confirmations=0))
        found = await chain.headers([3, 1, 2])
        await chain.close()
    assert [told.block.number for told in found.values()] == [1, 2, 3]
    assert found[2].parent == found[1].block.hash
    assert sizes == [1, 3]  # the chain's id, then the blocks


@pytest.mark.parametrize("how", ["status", "error", "first only", "other ids"])
async def test_a_node_that_takes_no_batches_is_asked_one_by_one(how: str) -> None:
    batches = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked = json.loads(await request.read())
        if isinstance(asked, dict):
            number = CHAIN_ID if asked["method"] == "eth_chainId" else asked["params"][0]
            return result(asked, number)
        batches.append(len(asked))
        if how == "status":
            return web.Response(status=400)
        if how == "error":
            return fault({"id": None}, -32600, "batches are not supported")
        told = [{"jsonrpc": "2.0", "id": a["id"], "result": a["params"][0]} for a in asked]
        return web.json_response(told[:1] if how == "first only" else [told[0]] * len(told))

    app = web.Application()
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    rpc = RpcClient(str(server.make_url("/")), 31337)
    wanted = [hex(n) for n in range(40)]
    for _ in range(3):
        assert await rpc.ask_all([("eth_echo", [n]) for n in wanted]) == wanted
    await rpc.close()
    await server.close()
    assert batches == [40, 10, 2]


async def test_an_error_inside_a_batch_is_told(evm: Evm) -> None:
    chain = EvmChain(ChainConfig(31337, evm.url, confirmations=0))
    questions: list[Any] = [("eth_blockNumber", []), ("eth_nothing", [])]
    with pytest.raises(NodeError, match="does not exist"):
        await chain.node().ask_all(questions)
    with pytest.raises(Refused, match="chain_unavailable"):
        await chain.headers([1, 10**6])
    await chain.close()


# -- several nodes


async def test_a_node_that_is_down_is_passed_over(evm: Evm) -> None:
    chain = EvmChain(ChainConfig(31337, DEAD, confirmations=0, rpc_urls=(evm.url,)))
    assert (await chain.latest()).number == evm.chain.head.number
    await chain.close()


@pytest.mark.slow
async def test_a_hanging_node_delays_a_few_questions_and_no_more(evm: Evm) -> None:
    asked_times = []

    async def silent(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        asked_times.append(request["method"])
        await anyio.sleep_forever()
        raise AssertionError

    async with node(silent) as url:
        chain = EvmChain(ChainConfig(31337, url, confirmations=0, rpc_urls=(evm.url,)))
        first = chain.node().clients[0]
        first._timeout_s = 1
        first._breaker = CircuitBreaker(lambda: 0.0)  # no pause of it is over
        first._transport._timeout_s = 0.05
        for _ in range(FAILURES + 10):
            assert (await chain.latest()).number == evm.chain.head.number
        await chain.close()
    assert len(asked_times) <= 4 * FAILURES


@pytest.mark.slow
async def test_all_nodes_down_is_unavailable(evm: Evm) -> None:
    chain = EvmChain(ChainConfig(31337, DEAD, rpc_urls=(DEAD + "/b",)))
    with pytest.raises(Refused, match="chain_unavailable"):
        await chain.latest()
    with pytest.raises(Refused, match="chain_unavailable"):
        await chain.node().prove()
    await chain.close()


async def test_the_doctor_shows_each_node_and_a_quorum_that_is_missing(evm: Evm) -> None:
    chain = EvmChain(ChainConfig(31337, evm.url, confirmations=0, rpc_urls=(DEAD,)))
    found = {f.what: f for f in await doctor._chain(chain)}
    await chain.close()
    assert found["chain 31337 node 1"].works
    assert not found["chain 31337 node 2"].works
    assert found["chain 31337"].works
    assert found["chain 31337 quorum"].effect == "nothing is marked or settled"
