"""Nodes between the service and a chain: honest ones, and such as answer badly."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

Fault = Literal["disorder", "behind", "nonsense", "omits", "stuck", "times"]
FAULTS: tuple[Fault, ...] = ("disorder", "behind", "nonsense")
"""What the reader bears by itself. `omits` leaves logs out of what it tells."""
AMONG_FAULTS: tuple[Fault, ...] = ("stuck", "omits", "times", "nonsense", "behind")
"""What it bears of one node beside two honest ones."""


class Faulty:
    """Answers as a node would that has this fault, now and then."""

    def __init__(self, fault: Fault, chance: random.Random):
        self.fault, self.chance, self.on = fault, chance, True
        self.left_out: list[str] = []
        self._before: dict[str, Any] = {}

    def __call__(self, asked: dict[str, Any], told: Any) -> Any:
        if not self.on or not isinstance(told, dict) or "result" not in told:
            return told
        return getattr(self, self.fault)(asked["method"], asked, told)

    def disorder(self, method: str, asked: Any, told: Any) -> Any:
        """Logs backwards, and some of them twice."""
        if method != "eth_getLogs" or not told["result"]:
            return told
        return told | {"result": [*reversed(told["result"]), told["result"][0]]}

    def behind(self, method: str, asked: Any, told: Any) -> Any:
        """A receipt as it was before the reorganisation, and the blocks of then by their hash."""
        key = json.dumps([method, asked["params"]])
        old = self._before.get(key)
        if method == "eth_getTransactionReceipt" and old and self.chance.random() < 0.4:
            return told | {"result": old}
        if method == "eth_getBlockByHash" and told["result"] is None:
            return told | {"result": self._before.get(key)}
        if told["result"] is not None:
            self._before[key] = told["result"]
        return told

    def nonsense(self, method: str, asked: Any, told: Any) -> Any:
        """Logs of a block that nobody asked for."""
        if method != "eth_getLogs" or not told["result"] or self.chance.random() < 0.6:
            return told
        return told | {"result": [g | {"blockHash": "0x" + "ab" * 32} for g in told["result"]]}

    def stuck(self, method: str, asked: Any, told: Any) -> Any:
        """The newest block of now and then, for good."""
        if method == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            return told | {"result": self._before.setdefault("latest", told["result"])}
        return told

    def times(self, method: str, asked: Any, told: Any) -> Any:
        """Another time than the block's own."""
        if not method.startswith("eth_getBlockBy") or not told["result"]:
            return told
        off = self.chance.choice([0, 0, 0, -86_400, 3_600])
        at = hex(int(told["result"]["timestamp"], 16) + off)
        return told | {"result": told["result"] | {"timestamp": at}}

    def omits(self, method: str, asked: Any, told: Any) -> Any:
        """One log fewer than there are."""
        if method != "eth_getLogs" or not told["result"] or self.chance.random() < 0.5:
            return told
        left = list(told["result"])
        gone = left.pop(self.chance.randrange(len(left)))
        place = f"block {int(gone['blockNumber'], 16)} index {int(gone['logIndex'], 16)}"
        wanted = {k: v for k, v in asked["params"][0].items() if k != "topics"}
        self.left_out.append(f"{place} topic {gone['topics'][0]} of {json.dumps(wanted)}")
        return told | {"result": left}


@asynccontextmanager
async def before(url: str, distort: Faulty) -> AsyncIterator[str]:
    """A node that asks the one at `url`, and tells what `distort` makes of its answers, each of a
    batch by itself.
    """
    async with aiohttp.ClientSession() as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            asked = json.loads(await request.read())
            async with session.post(url, json=asked) as answer:
                told = await answer.json()
            if not isinstance(asked, list):
                return web.json_response(distort(asked, told))
            by_id = {one["id"]: one for one in told}
            return web.json_response([distort(one, by_id[one["id"]]) for one in asked])

        app = web.Application(client_max_size=2**24)
        app.router.add_post("/", handle)
        server = TestServer(app)
        await server.start_server()
        try:
            yield str(server.make_url("/"))
        finally:
            await server.close()
