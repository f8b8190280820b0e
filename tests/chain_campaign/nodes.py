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

    def __call__(self, request: dict[str, Any], raw: Any) -> Any:
        if not self.on or not isinstance(raw, dict) or "result" not in raw:
            return raw
        return getattr(self, self.fault)(request["method"], request, raw)

    def disorder(self, method: str, request: Any, raw: Any) -> Any:
        """Logs backwards, and some of them twice."""
        if method != "eth_getLogs" or not raw["result"]:
            return raw
        return raw | {"result": [*reversed(raw["result"]), raw["result"][0]]}

    def behind(self, method: str, request: Any, raw: Any) -> Any:
        """A receipt as it was before the reorganisation, and the blocks of then by their hash."""
        key = json.dumps([method, request["params"]])
        old = self._before.get(key)
        if method == "eth_getTransactionReceipt" and old and self.chance.random() < 0.4:
            return raw | {"result": old}
        if method == "eth_getBlockByHash" and raw["result"] is None:
            return raw | {"result": self._before.get(key)}
        if raw["result"] is not None:
            self._before[key] = raw["result"]
        return raw

    def nonsense(self, method: str, request: Any, raw: Any) -> Any:
        """Logs of a block that nobody asked for."""
        if method != "eth_getLogs" or not raw["result"] or self.chance.random() < 0.6:
            return raw
        return raw | {"result": [g | {"blockHash": "0x" + "ab" * 32} for g in raw["result"]]}

    def stuck(self, method: str, request: Any, raw: Any) -> Any:
        """The newest block of now and then, for good."""
        if method == "eth_getBlockByNumber" and request["params"][0] == "latest":
            return raw | {"result": self._before.setdefault("latest", raw["result"])}
        return raw

    def times(self, method: str, request: Any, raw: Any) -> Any:
        """Another time than the block's own."""
        if not method.startswith("eth_getBlockBy") or not raw["result"]:
            return raw
        off = self.chance.choice([0, 0, 0, -86_400, 3_600])
        at = hex(int(raw["result"]["timestamp"], 16) + off)
        return raw | {"result": raw["result"] | {"timestamp": at}}

    def omits(self, method: str, request: Any, raw: Any) -> Any:
        """One log fewer than there are."""
        if method != "eth_getLogs" or not raw["result"] or self.chance.random() < 0.5:
            return raw
        left = list(raw["result"])
        gone = left.pop(self.chance.randrange(len(left)))
        place = f"block {int(gone['blockNumber'], 16)} index {int(gone['logIndex'], 16)}"
        wanted = {k: v for k, v in request["params"][0].items() if k != "topics"}
        self.left_out.append(f"{place} topic {gone['topics'][0]} of {json.dumps(wanted)}")
        return raw | {"result": left}


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
