"""What was refused goes with its answer: its body does not stay in memory until the collector comes."""

from __future__ import annotations

import gc

import pytest
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tests.surfaces.small import ACCEPT, JSON, Small, small
from tests.surfaces.test_connections import until
from tests.surfaces.test_raw import HOST, said

pytestmark = pytest.mark.anyio
BODY = b'{"note": "' + b"x" * 100_000 + b'"}'
ASKED = {
    "one too many": ("/wallet/notes/n", JSON),
    "one too many on MCP": ("/mcp", JSON | ACCEPT),
    "a path too long": ("/wallet/" + "a/" * 100, JSON),
    "a body that is packed": ("/wallet/notes/n", JSON | {"Content-Encoding": "gzip"}),
    "a wrong key": ("/wallet/notes/n", JSON | {"X-Service-User-Key": "ak_none"}),
}


def living(kind: type) -> list[object]:
    return [one for one in gc.get_objects() if isinstance(one, kind)]


async def refused(s: Small, path: str, headers: dict[str, str]) -> None:
    for _ in range(5):
        assert (await s.post(path, data=BODY, headers=headers)).status >= 400


@pytest.mark.parametrize("why", ASKED)
async def test_a_refused_request_goes_with_its_answer(sqlite_url: str, why: str) -> None:
    async with small(sqlite_url, rate_anonymous=1 if "many" in why else 0) as s:
        await refused(s, *ASKED[why])  # what the first of a kind loads stays
        gc.collect()
        gc.disable()
        try:
            await refused(s, *ASKED[why])
            await until(lambda: not living(web.Request))
        finally:
            gc.enable()


async def test_what_is_no_http_goes_with_its_answer(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        gc.collect()
        gc.disable()
        try:
            for head in (b"GET /\x00" + b"x" * 10_000, b"GET / HTTP/1.1\r\nBad Header: x"):
                assert b" 400 " in await said(s, head + b"\r\n" + HOST + b"\r\n")
            await until(lambda: not living(HttpProcessingError))
        finally:
            gc.enable()
