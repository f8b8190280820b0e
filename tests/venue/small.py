"""A clock that moves when told, and a server whose next answers a test writes down."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def forward(self, **period: float) -> None:
        self.at += timedelta(**period)


def told(value: Any, status: int = 200) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(value, status=status)

    return answer


def raw(body: bytes, status: int = 200, **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers=headers)

    return answer


def cut() -> Answer:
    """The connection ends without an answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


def held(until: asyncio.Event, then: Answer) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        await until.wait()
        return await then(request)

    return answer


class Scripted:
    """Answers in the order they were written down; the last one stays."""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def say(self, *answers: Answer) -> None:
        self.script.extend(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.headers.append(dict(request.headers))
        answer = self.script.popleft() if len(self.script) > 1 else self.script[0]
        return await answer(request)


@asynccontextmanager
async def scripted() -> AsyncIterator[Scripted]:
    script = Scripted()
    app = web.Application()
    app.router.add_post("/info", script.handle)
    app.router.add_post("/exchange", script.handle)
    server = TestServer(app)
    await server.start_server()
    script.url = str(server.make_url("")).rstrip("/")
    try:
        yield script
    finally:
        await server.close()
