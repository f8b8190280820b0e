"""Documents that apps publish of themselves: fetched by the guarded door, in bounds, and kept in bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest
from aiohttp import web

from server import outbound
from server.outbound import OutboundClient
from tests.waiting import STUCK_S
from tests.world import START
from tools.model.client_documents import (
    AT_ONCE,
    DOCUMENT_MAX,
    KEPT,
    OF_ONE,
    ClientDocument,
    ClientDocuments,
)

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def publishing(answer: Any) -> AsyncIterator[tuple[str, list[web.Request]]]:
    """A server of a stranger, and what was asked of it."""
    got: list[web.Request] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        got.append(request)
        response: web.StreamResponse = await answer(request)
        return response

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/client.json", got
    finally:
        await runner.cleanup()


async def test_a_short_json_document_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"a": 1}, headers={"Cache-Control": "max-age=900"})

    async with publishing(answer) as (url, got), OutboundClient(private=True) as out:
        assert await out.document(url) == ClientDocument(b'{"a": 1}', "max-age=900")
        assert (got[0].method, got[0].headers["Accept"]) == ("GET", "application/json")
        assert "Cookie" not in got[0].headers


async def test_what_is_no_short_json_document_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "DOCUMENT_S", 0.3)
    never = anyio.Event()

    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async def page(request: web.Request) -> web.Response:
        return web.Response(text="{}", content_type="text/html")

    async def missing(request: web.Request) -> web.Response:
        return web.json_response({}, status=404)

    async def long(request: web.Request) -> web.Response:
        return web.json_response({"a": "x" * DOCUMENT_MAX})

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        with anyio.move_on_after(STUCK_S):
            while True:
                await response.write(b" " * 1_000)
        return response

    async def silent(request: web.Request) -> web.Response:
        with anyio.move_on_after(STUCK_S):
            await never.wait()
        return web.Response()

    for answer in (redirect, page, missing, long, endless, silent):
        async with publishing(answer) as (url, got), OutboundClient(private=True) as out:
            with anyio.fail_after(STUCK_S):
                assert await out.document(url) is None, answer.__name__
            never.set()
            assert len(got) == 1
            never = anyio.Event()


async def test_an_address_that_is_not_public_is_not_asked() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({})

    async with publishing(answer) as (url, got):
        named = url.replace("127.0.0.1", "publisher.example")
        for addresses in (["127.0.0.1"], ["93.184.216.34", "10.0.0.8"], ["169.254.169.254"]):
            async with OutboundClient(private=False, lookup=lambda *_, a=addresses: a) as out:
                assert await out.document(named) is None
        async with OutboundClient(private=False) as out:
            assert await out.document(url) is None
        assert got == []


async def test_answers_are_kept_for_a_while_and_that_there_is_none_for_half_a_minute() -> None:
    asked: list[str] = []
    said = {"none": None, "short": "max-age=1", "long": "public, max-age=999999", "unsaid": ""}

    async def fetch(url: str) -> ClientDocument | None:
        asked.append(url)
        control = said[url]
        return None if control is None else ClientDocument(b"{}", control)

    documents, hour = ClientDocuments(fetch), timedelta(hours=1)
    for url, kept in (("none", hour / 120), ("short", hour / 12), ("long", hour * 24), ("unsaid", hour)):  # fmt: skip
        asked.clear()
        for at in (START, START + kept - timedelta(seconds=1)):
            await documents.read(url, at, "1")
        assert asked == [url]
        await documents.read(url, START + kept, "1")
        assert asked == [url, url]


async def test_what_is_kept_and_what_is_asked_at_once_is_bounded() -> None:
    opened, asked = anyio.Event(), list[str]()

    async def fetch(url: str) -> ClientDocument | None:
        asked.append(url)
        await opened.wait()
        return ClientDocument(b"{}")

    documents, answers = ClientDocuments(fetch), dict[str, list[bytes | None]]()

    async def read(url: str, asker: str) -> None:
        body = await documents.read(url, START, asker)
        answers.setdefault(url, []).append(body)

    async with anyio.create_task_group() as group:
        for n in range(AT_ONCE):
            for _ in range(3):
                group.start_soon(read, f"u{n}", f"a{n // OF_ONE}")
        await anyio.wait_all_tasks_blocked()
        group.start_soon(read, "one too many", "another")
        await anyio.wait_all_tasks_blocked()
        assert answers == {"one too many": [None]}
        opened.set()
    assert len(asked) == AT_ONCE
    assert all(answers[f"u{n}"] == [b"{}"] * 3 for n in range(AT_ONCE))
    for n in range(KEPT + 5):
        await documents.read(f"k{n}", START, "a0")
    before = len(asked)
    await documents.read(f"k{KEPT + 4}", START, "a0")
    assert len(asked) == before
    await documents.read("u0", START, "a0")
    assert len(asked) == before + 1


async def test_slow_documents_of_one_asker_leave_places_to_others() -> None:
    opened, slow = anyio.Event(), "https://slow.example/"

    async def fetch(url: str) -> ClientDocument | None:
        if url.startswith(slow):
            await opened.wait()
        return ClientDocument(b"{}")

    documents, answers = ClientDocuments(fetch), list[bytes | None]()

    async def read(n: int) -> None:
        answers.append(await documents.read(f"{slow}{n}", START, "203.0.113.7"))

    async with anyio.create_task_group() as group:
        for n in range(AT_ONCE):
            group.start_soon(read, n)
        await anyio.wait_all_tasks_blocked()
        assert answers == [None] * (AT_ONCE - OF_ONE)
        assert await documents.read("https://quick.example/", START, "198.51.100.1") == b"{}"
        opened.set()
    assert answers[AT_ONCE - OF_ONE :] == [b"{}"] * OF_ONE
    for n in range(AT_ONCE):
        assert await documents.read(f"{slow}later/{n}", START, "203.0.113.7") == b"{}"


async def test_what_is_asked_for_afresh_is_fetched_though_it_is_kept() -> None:
    published: list[bytes | None] = [b"1"]

    async def fetch(url: str) -> ClientDocument | None:
        return None if published[0] is None else ClientDocument(published[0], "max-age=86400")

    documents = ClientDocuments(fetch)
    assert await documents.read("u", START, "a") == b"1"
    published[0] = b"2"
    assert await documents.read("u", START, "a") == b"1"
    assert await documents.read("u", START, "a", fresh=True) == b"2"
    published[0] = None
    assert await documents.read("u", START, "a", fresh=True) is None
    assert await documents.read("u", START, "a") is None
