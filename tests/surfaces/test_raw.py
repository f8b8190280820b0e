"""Bytes that are no good HTTP: a refusal or a closed connection, never a traceback, never a place held for good."""

from __future__ import annotations

import json
import logging
import re

import anyio
import pytest

from http_shim import asgi_bridge, connections, http_server
from http_shim.json_body import MAX_BODY
from http_shim.service_routes import METRICS
from tests.surfaces.small import ALICE, Small, small
from tests.surfaces.test_bridge import App, repeats
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio
HOST = b"Host: localhost\r\n"


async def said(s: Small, *parts: bytes, pause: float = 0) -> bytes:
    """Send bytes and read until the server closes."""
    host, _, port = s.base.removeprefix("http://").partition(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        for part in parts:
            await stream.send(part)
            await anyio.sleep(pause)
        told = b""
        try:
            while True:
                told += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return told


def head(line: bytes, *more: bytes) -> bytes:
    """The head of a request to this host."""
    return line + b" HTTP/1.1\r\n" + HOST + b"".join(one + b"\r\n" for one in more) + b"\r\n"


NO_HTTP = {
    "long line": head(b"GET /" + b"a" * (http_server.MAX_LINE + 10)),
    "no http": b"NOT HTTP AT ALL\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "bad chunk": head(b"POST /wallet/auth/challenge", b"Transfer-Encoding: chunked") + b"ZZ\r\n",
    "two lengths": head(b"POST /x", b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    "negative length": head(b"GET /healthz", b"Content-Length: -1"),
    "bad header": head(b"GET /healthz", b"Bad Header: x"),
}


@pytest.mark.parametrize("request_", NO_HTTP.values(), ids=list(NO_HTTP))
async def test_malformed_http_is_refused_in_the_one_shape(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, request_: bytes
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            told = await said(s, request_)
    top, _, body = told.partition(b"\r\n\r\n")
    assert b" 400 " in top.partition(b"\r\n")[0]
    assert b"nosniff" in top
    assert b"aiohttp" not in top
    assert json.loads(body)["error"] == "invalid_request"
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ((b"FOO /\x00 HTTP/1.1\r\n" + HOST + b"x-request-id:  mine-1 \r\n\r\n",), b"mine-1"),
        ((b"GET / HTTP/1.1\r\nX-Request-Id: mi", b"ne\r\n" + HOST + b"Bad Header: x\r\n\r\n"), b"mine"),
        ((b"GET / HTTP/1.1\r\nX-Request-Id: a b\r\n" + HOST + b"Bad Header: x\r\n\r\n",), None),
        ((b"NOT HTTP AT ALL\r\n\r\n",), None),
        # Of two requests in one packet, the answer comes where that of the first is awaited.
        ((b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-Request-Id: first\r\n\r\nNOT HTTP\r\nX-Request-Id: second\r\n\r\n",), b"first"),
        ((b"GET / HTTP/1.1\r\nX-Request-Id: a\r\nX-Request-Id: b\r\nBad Header: x\r\n\r\n",), None),
    ],
)  # fmt: skip
async def test_malformed_http_is_answered_with_the_id_of_its_request(
    sqlite_url: str, parts: tuple[bytes, ...], told: bytes | None
) -> None:
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            heads = await said(s, *parts, pause=0.05)
    found = re.findall(rb"(?i)^x-request-id: (.*?)\r$", heads.rpartition(b"HTTP/1.1 400")[2], re.M)
    assert len(found) == 1
    assert found[0] == told if told else re.fullmatch(rb"r_[a-z2-7]{10}", found[0])


MALFORMED = (
    NO_HTTP["no http"],
    head(b"GET /", b"X: " + b"a" * 20_000),
    head(b"POST /wallet/wait", b"Transfer-Encoding: chunked") + b"ZZ\r\n",
)


async def test_what_is_no_http_behind_a_proxy_is_answered_and_refused_to_nobody_else(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    good = head(b"GET /wallet/who", b"X-Forwarded-For: 203.0.113.66", b"Connection: close")
    async with small(sqlite_url, trusted_proxies="127.0.0.1", rate_anonymous=10) as s:
        with anyio.fail_after(STUCK_S):
            told = [(await said(s, one)).split()[1] for one in MALFORMED * 30]
            assert (await said(s, good)).split()[1] == b"200"
        counted = s.app[METRICS].render({})
    # An answer each time: a proxy takes a server that hangs up for dead.
    assert set(told) == {b"400"}
    assert f"wallet_malformed_total {len(told)}.0" in counted
    assert sum("no HTTP" in r.getMessage() for r in caplog.records) == 1
    assert len(caplog.text) < 2_000


async def test_what_is_no_http_is_paid_for_by_its_address(sqlite_url: str) -> None:
    async with small(sqlite_url, rate_anonymous=5) as s:
        with anyio.fail_after(STUCK_S):
            told = [await said(s, MALFORMED[0]) for _ in range(7)]
        counted = s.app[METRICS].render({})
    assert [one.split()[1:2] for one in told] == [[b"400"]] * 5 + [[]] * 2
    # Each once: one too many is no fault of ours besides.
    assert "wallet_malformed_total 7.0" in counted


@pytest.mark.parametrize("header", [b"X-Service-User-Key: ak_\xff", b"Authorization: Bearer \xff"])
async def test_a_credential_that_is_no_text_is_a_wrong_one_and_costs_as_much(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, header: bytes
) -> None:
    asked = head(b"GET /wallet/who", header, b"Connection: close")
    async with small(sqlite_url, rate_anonymous=10) as s:
        told = [(await said(s, asked)).split()[1] for _ in range(3)]
    assert told == [b"401", b"401", b"429"]
    assert "Traceback" not in caplog.text


@pytest.mark.slow
async def test_a_body_that_dribbles_is_given_up(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("http_shim.application.BODY_S", 0.2)
    monkeypatch.setattr(asgi_bridge, "BODY_S", 0.2)
    async with small(sqlite_url) as s:
        for path in (b"POST /wallet/notes/n", b"POST /mcp"):
            key = b"X-Service-User-Key: " + ALICE.encode()
            asked = head(path, key, b"Content-Type: application/json", b"Content-Length: 100")
            with anyio.fail_after(STUCK_S):
                told = await said(s, asked + b"{")
            assert b" 400 " in told.partition(b"\r\n")[0]
            assert b"does not arrive" in told


async def test_a_head_that_never_ends_is_cut(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            assert await said(s, b"GET /healthz HT") == b""


@pytest.mark.parametrize("path", [b"/wallet/slow/n", b"/mcp", b"/mcp/x/core", b"/messages/"])
async def test_a_body_that_is_refused_for_its_length_is_not_asked_for(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, path: bytes
) -> None:
    monkeypatch.setattr(http_server, "LINGER_S", 0.1)
    expects = b"Expect: 100-continue", b"Content-Type: application/json", b"Connection: close"
    length = b"Content-Length: %d" % (MAX_BODY + 1)
    async with small(sqlite_url, mcp=App(repeats)) as s:
        got = await said(s, head(b"POST " + path, *expects, length))
    assert got.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in got
