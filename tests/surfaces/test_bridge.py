"""The ASGI bridge under applications and clients that behave badly."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import Any

import anyio
import pytest
from aiohttp import ClientPayloadError, ClientSession, ClientTimeout, web

from http_shim.application import build
from http_shim.json_body import MAX_BODY
from tests.surfaces.small import small
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio
TEXT = [(b"content-type", b"text/plain")]
START: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": TEXT}


class App:
    """An ASGI application whose behaviour a test gives; its lifespan is in order unless `startup` says otherwise."""

    def __init__(self, behave: Any, startup: str = "lifespan.startup.complete"):
        self._behave, self._startup = behave, startup
        self.disconnected = asyncio.Event()
        self.sent = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._behave(self, receive, send)
            return
        await receive()
        await send({"type": self._startup, "message": "no room"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})


async def fails_at_once(app: App, receive: Any, send: Any) -> None:
    raise LookupError("a secret")


async def says_nothing(app: App, receive: Any, send: Any) -> None:
    await receive()


async def fails_in_the_middle(app: App, receive: Any, send: Any) -> None:
    await send(START)
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    raise LookupError("a secret")


async def stops_in_the_middle(app: App, receive: Any, send: Any) -> None:
    await send(START)
    await send({"type": "http.response.body", "body": b"half", "more_body": True})


async def listens(app: App, receive: Any, send: Any) -> None:
    await send(START)
    await send({"type": "http.response.body", "body": b"hello", "more_body": True})
    await receive()
    assert (await receive())["type"] == "http.disconnect"
    await send({"type": "http.response.body", "body": b"to nobody", "more_body": True})
    app.disconnected.set()


async def talks_a_lot(app: App, receive: Any, send: Any) -> None:
    await send(START)
    for n in range(64):
        await send({"type": "http.response.body", "body": b"x" * 2**20, "more_body": n < 63})
        app.sent += 1


async def repeats(app: App, receive: Any, send: Any) -> None:
    told = await receive()
    assert told["more_body"] is False
    await send(START)
    await send({"type": "http.response.body", "body": told["body"], "more_body": False})


@pytest.mark.parametrize("behave", [fails_at_once, says_nothing])
async def test_no_answer_is_a_refusal_block_without_internals(sqlite_url: str, behave: Any) -> None:
    async with small(sqlite_url, mcp=App(behave)) as s:
        reply = await s.post("/mcp")
        assert reply.told == (500, "internal")
        assert "secret" not in reply.text


@pytest.mark.parametrize("behave", [fails_in_the_middle, stops_in_the_middle])
async def test_half_an_answer_is_cut_not_ended(sqlite_url: str, behave: Any) -> None:
    async with (
        small(sqlite_url, mcp=App(behave)) as s,
        ClientSession() as http,
        http.post(s.base + "/mcp") as r,
    ):
        assert r.status == 200
        with pytest.raises(ClientPayloadError):
            await r.read()


async def test_the_application_hears_that_the_client_has_gone(sqlite_url: str) -> None:
    app = App(listens)
    async with small(sqlite_url, mcp=app) as s, ClientSession() as http:
        async with http.get(s.base + "/sse") as r:
            assert await r.content.readexactly(5) == b"hello"
        with anyio.fail_after(STUCK_S):
            await app.disconnected.wait()


async def test_a_slow_reader_slows_the_application_down(sqlite_url: str) -> None:
    app = App(talks_a_lot)
    limits = {"read_bufsize": 2**16, "timeout": ClientTimeout(total=STUCK_S)}
    async with (
        small(sqlite_url, mcp=app) as s,
        ClientSession(**limits) as http,
        http.get(s.base + "/sse") as r,
    ):  # type: ignore[arg-type]
        before = -1
        with anyio.fail_after(STUCK_S):
            while app.sent != before:
                before = app.sent
                await anyio.sleep(0.2)
        assert app.sent < 60
        assert len(await r.read()) == 64 * 2**20
        assert app.sent == 64


async def test_a_body_arrives_whole_and_too_large_a_one_is_refused(sqlite_url: str) -> None:
    async with small(sqlite_url, mcp=App(repeats)) as s:
        assert (await s.post("/mcp", data=b"y" * MAX_BODY)).text == "y" * MAX_BODY
        long = BytesIO(b"y" * (MAX_BODY + 1))
        assert (await s.post("/mcp", data=long)).told == (413, "body_too_large")


async def test_an_application_that_does_not_start_stops_the_service(sqlite_url: str) -> None:
    async def dies(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("broken")

    async with small(sqlite_url) as s:
        for app, told in ((App(repeats, "lifespan.startup.failed"), "no room"), (dies, "broken")):
            runner = web.AppRunner(build(s.deps, (), mcp=app))
            before = asyncio.all_tasks()
            with pytest.raises((RuntimeError, LookupError), match=told):
                await runner.setup()
            await runner.cleanup()
            assert asyncio.all_tasks() <= before


async def test_a_stream_has_the_headers_of_every_answer(sqlite_url: str) -> None:
    async with (
        small(sqlite_url, mcp=App(listens)) as s,
        ClientSession() as http,
        http.get(s.base + "/sse", headers={"X-Request-Id": "mine"}) as r,
    ):
        assert r.headers["X-Request-Id"] == "mine"
        assert r.headers["X-Content-Type-Options"] == "nosniff"
        assert "aiohttp" not in r.headers["Server"]
