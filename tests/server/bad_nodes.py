"""Nodes of one chain of which one is bad, and stays so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chain.contracts import abi_codec
from chain.rpc.client import RpcClient
from chain.rpc.http_transport import HttpTransport
from devtools.devchain import DevChain
from devtools.devchain import answer as truth
from devtools.local_wallet import LocalWallet
from tests.world import CHAIN_ID, World

Scenario = Literal[
    "stands still",
    "falls behind",
    "minority fork",
    "lies about logs",
    "omits logs",
    "malformed JSON",
    "429",
    "errors",
    "no such method",
    "another chain",
    "another hash",
    "another parent",
    "another time",
    "hangs",
    "dies mid-step",
]
SCENARIOS: Final[tuple[Scenario, ...]] = Scenario.__args__  # type: ignore[attr-defined]
# What is wrong with these is no answer of theirs, but how it comes, or over which connection.
ON_THE_WIRE: Final = ("malformed JSON", "429", "another chain", "hangs", "dies mid-step")
LAG: Final = 4  # more than the confirmations: it is judged to be behind
# Where the bad node stands among three, and how deep a block is believed. What is believed at once
# is read the same way wherever the node stands: those places are played in make plays. So are the
# other two: who is asked first is where a node does most, and its answer counts as much as theirs.
PLACES: Final = pytest.mark.parametrize(
    ("place", "confirmations"),
    [
        (0, 0), (0, 3),
        *(pytest.param(*at, marks=pytest.mark.play) for at in ((1, 3), (2, 3), (1, 0), (2, 0))),
    ],
)  # fmt: skip
EXECUTED: Final = abi_codec.event_topics("MandateVault")


def twin(of: DevChain) -> DevChain:
    """Another chain with the same blocks, which goes its own way from here."""
    made = DevChain(lambda: of.blocks[0].timestamp, of.chain_id)
    follow(made, of, of.head.number)
    return made


def follow(created: DevChain, of: DevChain, number: int) -> None:
    """Let a twin have the blocks of the chain up to one."""
    for block in of.blocks[created.head.number + 1 : number + 1]:
        created._salt = block.salt
        if block.txs:
            created.send_raw(block.txs[0].raw, block.timestamp)
        else:
            created.mine(block.timestamp)
        assert created.head.hash == block.hash


class Node:
    """A node in front of a development chain, which is bad once it is told to be."""

    def __init__(self, world: World, scenario: Scenario | None = None):
        self.chain, self.scenario = world.evm.chain, scenario
        self.own: DevChain | None = None
        self.since = 0
        self._ended = asyncio.Event()

    @property
    def bad(self) -> bool:
        return self.since > 0

    @property
    def on_the_wire(self) -> bool:
        """Whether it has to be asked over HTTP."""
        return self.scenario in ON_THE_WIRE

    def turn(self) -> None:
        """Be bad from now on."""
        self.since = self.chain.head.number
        if self.scenario in ("stands still", "falls behind", "minority fork"):
            self.own = twin(self.chain)

    def goes_on(self) -> None:
        """After the chain's next block."""
        if self.own is not None and self.scenario == "falls behind":
            follow(self.own, self.chain, self.chain.head.number - LAG)
        while (
            self.own is not None
            and self.scenario == "minority fork"
            and self.own.head.number < self.chain.head.number
        ):
            self.own.mine(self.chain.head.timestamp)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        asked = json.loads(await request.read())
        if self.bad:
            spoiled = await self._spoiled(request, asked)
            if spoiled is not None:
                return spoiled
        return web.json_response(self.answer(asked))

    def answer(self, asked: Any) -> Any:
        """One question, or many, answered as JSON-RPC wants it."""
        return [self._told(one) for one in asked] if isinstance(asked, list) else self._told(asked)

    async def _spoiled(self, request: web.Request, asked: Any) -> web.StreamResponse | None:
        logs = "eth_getLogs" in json.dumps(asked)
        if self.scenario == "hangs":
            await self._ended.wait()
        if self.scenario == "dies mid-step" and logs and request.transport is not None:
            request.transport.close()
        if self.scenario == "malformed JSON":
            return web.Response(text='{"jsonrpc": "2.0", "id"', content_type="application/json")
        return web.Response(status=429) if self.scenario == "429" else None

    def _told(self, one: dict[str, Any]) -> Any:
        told = truth(self.own or self.chain, one)
        return told if not self.bad or "result" not in told else self._bent(one, told)

    def _bent(self, one: dict[str, Any], raw: Any) -> Any:
        method, found = one["method"], raw["result"]
        if self.scenario == "errors" and method != "eth_chainId":
            return self._error(one, -32603, "internal error")
        if method == "eth_getLogs":
            if self.scenario == "no such method":
                return self._error(one, -32601, "the method eth_getLogs does not exist")
            if self.scenario == "omits logs":
                return raw | {"result": [g for g in found if not self._new(g)]}
            if self.scenario == "lies about logs":
                return raw | {"result": [self._raised(g) if self._new(g) else g for g in found]}
        if method == "eth_chainId" and self.scenario == "another chain":
            return raw | {"result": "0x1"}
        if (
            method.startswith("eth_getBlockBy")
            and found
            and int(found["number"], 16) == self.since + 1
        ):
            return raw | {"result": self._header(found)}
        return raw

    def _header(self, found: dict[str, Any]) -> dict[str, Any]:
        match self.scenario:
            case "another hash":
                return found | {"hash": "0x" + "ab" * 32}
            case "another parent":
                return found | {"parentHash": "0x" + "ab" * 32}
            case "another time":
                return found | {"timestamp": hex(int(found["timestamp"], 16) - 86_400)}
        return found

    def _new(self, log: dict[str, Any]) -> bool:
        return int(log["blockNumber"], 16) > self.since

    @staticmethod
    def _raised(log: dict[str, Any]) -> dict[str, Any]:
        """An amount of 40 USDC told as 41."""
        return log | {"data": log["data"].replace(f"{40_000_000:064x}", f"{41_000_000:064x}")}

    @staticmethod
    def _error(one: dict[str, Any], code: int, message: str) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": one["id"], "error": {"code": code, "message": message}}

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/", self.handle)
        server = TestServer(app)
        await server.start_server()
        try:
            yield str(server.make_url("/"))
        finally:
            self._ended.set()
            await server.close()


class _Straight(HttpTransport):
    """Asks a node of this process: JSON both ways, and no socket between."""

    def __init__(self, node: Node):
        super().__init__("http://127.0.0.1", 0)
        self._node = node

    async def _post(self, request: object) -> object:
        return json.loads(json.dumps(self._node.answer(json.loads(json.dumps(request)))))


def ask_straight(rpc: RpcClient, node: Node) -> None:
    """Let a client ask its node without HTTP, where that is not what the node is bad at."""
    if not node.on_the_wire:
        rpc._transport = _Straight(node)


def stopped_on(own: DevChain, wallet: LocalWallet, vault: str) -> None:
    """The owner's stop, on a twin alone."""
    data = abi_codec.calldata("MandateVault", "stop", ())
    sent = {"from": wallet.address, "to": vault, "data": data, "gas": hex(500_000)}
    told = truth(own, {"id": 1, "method": "eth_sendTransaction", "params": [sent]})
    assert "result" in told, told


__all__ = [
    "CHAIN_ID",
    "PLACES",
    "SCENARIOS",
    "Node",
    "Scenario",
    "ask_straight",
    "stopped_on",
    "twin",
]
