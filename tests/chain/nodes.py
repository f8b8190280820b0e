"""Nodes that misbehave, for tests: an HTTP node scripted by the test, and a faulty one in front of a development chain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from devtools.devchain import DevChain
from devtools.devchain import answer as truth

Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
CHAIN_ID = "0x7a69"


def result(request: dict[str, Any], raw: Any) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": request["id"], "result": raw})


def fault(request: dict[str, Any], code: int, message: str, data: Any = None) -> web.Response:
    return web.json_response(
        {
            "jsonrpc": "2.0",
            "id": request["id"],
            "error": {"code": code, "message": message, "data": data},
        }
    )


@asynccontextmanager
async def node(answer: Answer, *, chain_id: str | None = CHAIN_ID) -> AsyncIterator[str]:
    """Serve `answer`; the chain id is answered here unless None is given for it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if asked["method"] == "eth_chainId" and chain_id is not None:
            return result(asked, chain_id)
        return await answer(request, asked)

    app = web.Application()
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/"))
    finally:
        await server.close()


Distortion = Callable[[dict[str, Any], Any], Any]


@asynccontextmanager
async def distorted(
    chain: DevChain, distort: Distortion, requests: list[int] | None = None
) -> AsyncIterator[str]:
    """A development chain whose answers `distort(request, answer)` may change, each of a batch by itself; it may give a
    web.Response too. `requests` is told how many questions each HTTP request holds.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        asked = json.loads(await request.read())
        questions = asked if isinstance(asked, list) else [asked]
        if requests is not None:
            requests.append(len(questions))
        told = [distort(one, truth(chain, one)) for one in questions]
        for one in told:
            if isinstance(one, web.StreamResponse):
                return one
        return web.json_response(told if isinstance(asked, list) else told[0])

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/"))
    finally:
        await server.close()


class Stalling:
    """A node in front of a development chain that can be told to hang, and to serve another chain."""

    def __init__(self, chain: DevChain):
        self._chain = chain
        self.hangs, self.asked = False, 0
        self.serves: str | None = None
        self.holds: Callable[[], object] | None = None
        self._stopped = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        asked = json.loads(await request.read())
        if self.hangs:
            if self.holds is not None:
                self.holds()
            await self._stopped.wait()
            return web.Response(status=503)
        questions = asked if isinstance(asked, list) else [asked]
        told = [self._told(one) for one in questions]
        return web.json_response(told if isinstance(asked, list) else told[0])

    def _told(self, one: dict[str, Any]) -> Any:
        told = truth(self._chain, one)
        if one["method"] == "eth_chainId" and self.serves is not None:
            return {**told, "result": self.serves}
        return told

    def end(self) -> None:
        self._stopped.set()


@asynccontextmanager
async def stalling(chain: DevChain) -> AsyncIterator[tuple[Stalling, str]]:
    """Serve such a node."""
    made = Stalling(chain)
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", made.handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield made, str(server.make_url("/"))
    finally:
        made.end()
        await server.close()
