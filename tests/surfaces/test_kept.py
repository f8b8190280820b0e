"""Relayed answers are written once and given again while they are fresh: same bytes, same limits, same refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer, make_mocked_request

from devtools.devvenue import VenueFault
from http_shim.application import build
from http_shim.response_cache import LONGEST_KEY, ResponseCache
from tests.tools.trading.conftest import Desk, a_desk
from tests.world import Clock
from tools.catalogue import OPERATIONS

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_backoff")]
Got = tuple[int, bytes, str | None]


@asynccontextmanager
async def over_http(url: str, **trading: Any) -> AsyncIterator[tuple[Desk, Any]]:
    async with a_desk(url, **trading) as desk:
        service = TestServer(build(desk.deps, OPERATIONS))
        await service.start_server()
        try:
            async with ClientSession() as http:

                async def get(path: str, **headers: str) -> Got:
                    async with http.get(service.make_url(path), headers=headers) as r:
                        assert r.headers["X-Request-Id"]
                        assert r.headers["X-Content-Type-Options"] == "nosniff"
                        return r.status, await r.read(), r.headers.get("Cache-Control")

                yield desk, get
        finally:
            await service.close()


async def test_a_fresh_answer_is_given_again_in_the_same_bytes_with_what_is_left_of_its_time(
    sqlite_url: str,
) -> None:
    async with over_http(sqlite_url) as (desk, get):
        first = await get("/wallet/info/meta?dex=xyz")
        assert first[2] == "public, max-age=60"
        desk.clock.forward(seconds=25)
        again = await get("/wallet/info/meta?dex=xyz")
        assert again == (200, first[1], "public, max-age=35")
        other = await get("/wallet/info/meta")
        assert other[1] != first[1]
        desk.clock.forward(seconds=35)
        later = await get("/wallet/info/meta?dex=xyz")
        assert (later[0], later[2]) == (200, "public, max-age=60")
        assert later[1] != first[1]  # its as_of is newer


async def test_a_stale_answer_and_a_refusal_are_never_held(sqlite_url: str) -> None:
    async with over_http(sqlite_url) as (desk, get):
        await get("/wallet/info/meta")
        desk.clock.forward(minutes=2)
        fault = desk.main.faults.add(VenueFault(effect="status", status=500))
        status, body, caching = await get("/wallet/info/meta")
        assert (status, caching) == (200, "public, max-age=0")
        assert b'"stale":true' in body
        assert (await get("/wallet/info/spot-meta"))[0] == 503
        desk.main.faults.rows.remove(fault)
        desk.clock.forward(seconds=5)
        assert b'"stale":false' in (await get("/wallet/info/meta"))[1]
        assert (await get("/wallet/info/spot-meta"))[0] == 200


async def test_a_held_answer_counts_against_the_limits_like_another(sqlite_url: str) -> None:
    async with over_http(sqlite_url, relays_per_minute=3) as (_, get):
        assert [(await get("/wallet/info/meta"))[0] for _ in range(5)] == [200, 200, 200, 429, 429]


async def test_who_brings_a_credential_or_a_bad_header_is_looked_at(sqlite_url: str) -> None:
    async with over_http(sqlite_url) as (_, get):
        assert (await get("/wallet/info/meta"))[0] == 200
        assert (await get("/wallet/info/meta", Authorization="Bearer nobody"))[0] == 401
        assert (await get("/wallet/info/meta", **{"X-Service-User-Key": "sk_none"}))[0] == 401
        assert (await get("/wallet/info/meta", **{"Idempotency-Key": "no good"}))[0] == 400
        assert (await get("/wallet/info/meta?dex=xyz&dex=xyz"))[0] == 400
        assert (await get("/wallet/info/meta?more=1"))[0] == 400


async def test_one_persons_rights_reach_nobody_else(sqlite_url: str) -> None:
    """Only relays are held: an answer that depends on who asks has no route through this."""
    async with over_http(sqlite_url) as (_, get):
        assert all(op.auth == "open" for op in OPERATIONS if op.is_relay)
        assert (await get("/wallet/own/status"))[0] == 401
        for path in ("/wallet/own/terms", "/wallet/indices", "/wallet/hall"):
            assert "max-age" not in ((await get(path))[2] or "")


def answer(size: int, caching: str = "public, max-age=60") -> web.Response:
    return web.Response(body=b"x" * size, headers={"Cache-Control": caching})


async def test_it_is_bounded_by_answers_by_bytes_and_by_the_length_of_a_query() -> None:
    clock, kept = Clock(), ResponseCache(limit=3, size=100)
    asked = [make_mocked_request("GET", f"/a?n={n}") for n in range(6)]
    for n in range(5):
        kept.put(asked[n], answer(10), clock.now())
    assert (len(kept), kept.bytes_held) == (3, 30)
    assert [kept.get(a, clock.now()) is not None for a in asked[:5]] == [False] * 2 + [True] * 3
    kept.put(asked[5], answer(95), clock.now())
    assert (len(kept), kept.bytes_held) == (1, 95)
    kept.put(asked[5], answer(10), clock.now())
    assert (len(kept), kept.bytes_held) == (1, 10)
    kept.put(asked[0], answer(101), clock.now())
    assert (len(kept), kept.bytes_held) == (0, 0)
    kept.put(make_mocked_request("GET", "/a?n=" + "1" * LONGEST_KEY), answer(1), clock.now())
    for caching in ("no-store", "private, max-age=60", "public, max-age=0", "max-age=60"):
        kept.put(asked[1], answer(1, caching), clock.now())
    assert len(kept) == 0


async def test_what_is_over_is_dropped() -> None:
    clock, kept = Clock(), ResponseCache()
    asked = make_mocked_request("GET", "/a")
    kept.put(asked, answer(5), clock.now())
    assert kept.get(asked, clock.now() + timedelta(seconds=59.9)) is None  # less than a second left
    assert (len(kept), kept.bytes_held) == (0, 0)
