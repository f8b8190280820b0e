"""Every request is charged, and held to its bounds, before its path is routed and its body read."""

from __future__ import annotations

import gzip
import logging
import re
import threading
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession, ClientTimeout

from app.screens import PAGES
from http_shim import application, readiness
from http_shim.admission import BODY_UNIT, FRONT, PATH_MAX, SEGMENTS_MAX
from http_shim.json_body import parsed
from server.cli.doctor import _proxies
from server.settings import Settings
from storage.errors import Unavailable
from tests.ports import free_port
from tests.server.test_operating import serving
from tests.surfaces.small import ALICE, small
from tests.surfaces.test_raw import HOST, said
from tests.waiting import STUCK_S
from tools.catalogue import OPERATIONS

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
MODERN = JSON | {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "who_am_i",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "stranger", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TWICE = b'{"a": 1, "a": 2}'
MALFORMED: tuple[dict[str, Any], ...] = (
    {"data": b"{", "headers": JSON},
    {"data": TWICE, "headers": JSON},
    {"data": b"[" * 40, "headers": JSON},
    {"data": b"x", "headers": {"Content-Type": "text/plain"}},
    {"params": [("a", "1"), ("a", "2")]},
    {"data": b"{}", "headers": JSON | {"X-Service-User-Key": "nonsense"}},
    {"headers": {"Cookie": "wallet=ws_nonsense"}},
)
ROUTES = [op.route for op in OPERATIONS if op.route] + [
    ("GET", "/openapi.json"), ("GET", "/nowhere"), ("POST", "/mcp"), ("GET", "/sse"), ("DELETE", "/mcp"), ("POST", "/messages/"),
    ("GET", "/app/static/x/y.css"), ("GET", "/app/nowhere"), *((page.method, page.path) for page in PAGES),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("sent", MALFORMED, ids=range(len(MALFORMED)))
async def test_whatever_a_stranger_asks_for_is_charged_before_it_is_looked_at(
    sqlite_url: str, sent: dict[str, Any]
) -> None:
    settings = Settings(database_url=sqlite_url, rate_anonymous=10, trusted_proxies="127.0.0.1")
    async with serving(settings) as base, ClientSession() as http:

        async def asked(n: int, method: str, path: str) -> list[int]:
            """The answers to one address, up to the first 429."""
            url, told = base + re.sub(r"{[^}]*}+", "x", path), list[int]()
            where = {"X-Forwarded-For": f"198.51.{n // 250}.{n % 250}"}
            given = sent | {"headers": sent.get("headers", {}) | where}
            while len(told) < 30 and 429 not in told:
                async with http.request(method, url, allow_redirects=False, **given) as r:
                    told.append(r.status)
            return told

        told = {route: await asked(n, *route) for n, route in enumerate(ROUTES)}
    assert {route: seen for route, seen in told.items() if seen[-1] != 429} == {}


@pytest.mark.parametrize("part", [b"/", b"a/", b"../", b"%2f", b";", b"&", b"=", b"a"])
@pytest.mark.parametrize("prefix", [b"/wallet/", b"/app/", b"/mcp/", b"/nowhere/"])
async def test_a_long_path_is_refused_before_it_is_routed(
    sqlite_url: str, prefix: bytes, part: bytes
) -> None:
    path = (prefix + part * 15_000)[:15_000]
    asked = b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    async with small(sqlite_url) as s:
        with anyio.fail_after(STUCK_S):
            told = await said(s, asked)
    assert told.startswith(b"HTTP/1.1 414 ")
    assert b'"error":"invalid_request"' in told


async def test_a_path_as_long_as_may_be_is_routed(sqlite_url: str) -> None:
    async with small(sqlite_url) as s, ClientSession() as http:
        told = []
        for path in (
            "/" + "a" * (PATH_MAX - 1),
            "/" + "a" * PATH_MAX,
            "/a" * SEGMENTS_MAX,
            "/a" * (SEGMENTS_MAX + 1),
        ):
            async with http.get(s.base + path) as r:
                told.append(r.status)
    assert told == [404, 414, 404, 414]


@pytest.mark.parametrize(
    "path", ["/wallet/notes/n", "/mcp", "/messages/", "/app/session", "/nowhere"]
)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip"])
async def test_a_body_under_an_encoding_is_refused_and_never_unpacked(
    sqlite_url: str, path: str, encoding: str
) -> None:
    bomb = gzip.compress(b"0" * 10_000_000)
    headers = JSON | {"Content-Encoding": encoding, "X-Service-User-Key": ALICE}
    async with small(sqlite_url) as s, ClientSession() as http:
        async with http.post(s.base + path, data=bomb, headers=headers) as r:
            told = await r.json()
            assert (r.status, told["error"]) == (415, "invalid_request")
            assert r.headers["Connection"] == "close"
        headers |= {"Content-Encoding": "identity"}
        async with http.post(s.base + "/wallet/notes/n", data=b"{}", headers=headers) as r:
            assert r.status == 201


async def test_who_has_a_key_is_charged_for_what_is_no_operation_too(sqlite_url: str) -> None:
    async with small(sqlite_url, rate_reads=4) as s, ClientSession() as http:
        told = []
        for path in ("/wallet/who", "/nowhere", "/openapi.json", "/wallet/who", "/nowhere"):
            async with http.get(s.base + path, headers={"X-Service-User-Key": ALICE}) as r:
                told.append(r.status)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        async with http.post(
            s.base + "/mcp", json=ping, headers={"X-Service-User-Key": ALICE}
        ) as r:
            told.append(r.status)
    assert told == [200, 404, 200, 200, 429, 429]


async def test_figures_are_not_told_on_the_public_port(sqlite_url: str) -> None:
    port = free_port()
    settings = Settings(database_url=sqlite_url, metrics_port=port)
    async with serving(settings) as base, ClientSession() as http:
        async with http.get(base + "/metrics") as r:
            assert r.status == 404
        async with http.get(f"http://127.0.0.1:{port}/metrics") as r:
            assert "wallet_requests_total" in await r.text()
        async with http.get(f"http://127.0.0.1:{port}/readyz") as r:
            assert r.status == 200
        async with http.get(f"http://127.0.0.1:{port}/openapi.json") as r:
            assert r.status == 404


async def test_a_proxy_that_is_not_trusted_is_counted_said_once_and_found(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    hop = {"X-Forwarded-For": "203.0.113.66"}
    async with small(sqlite_url) as s, ClientSession() as http:
        for path in ("/wallet/who", "/nowhere", "/openapi.json"):
            async with http.get(s.base + path, headers=hop) as r:
                await r.read()
        async with http.get(s.base + "/wallet/who") as r:
            await r.read()
        assert s.app[FRONT].gauges() == {"wallet_forwarded_untrusted_total": 3}
    said = [r.getMessage() for r in caplog.records if "WALLET_TRUSTED_PROXIES" in r.getMessage()]
    assert said == [
        "127.0.0.1 sends X-Forwarded-For and is no trusted proxy: all that come through it count "
        "as one caller; if it is yours, set WALLET_TRUSTED_PROXIES=127.0.0.1"
    ]


async def test_a_proxy_that_is_trusted_is_not_counted(sqlite_url: str) -> None:
    hop = {"X-Forwarded-For": "203.0.113.66"}
    async with small(sqlite_url, trusted_proxies="127.0.0.1") as s, ClientSession() as http:
        async with http.get(s.base + "/wallet/who", headers=hop) as r:
            await r.read()
        assert s.app[FRONT].gauges() == {"wallet_forwarded_untrusted_total": 0}


@pytest.mark.parametrize(
    ("base_url", "trusted", "works"),
    [("https://w.example", "", False), ("https://w.example", "10.0.0.1", True), (None, "", True)],
)
def test_doctor_finds_https_behind_a_proxy_that_is_not_trusted(
    base_url: str | None, trusted: str, works: bool
) -> None:
    found = _proxies(Settings(base_url=base_url, trusted_proxies=trusted))
    assert found.works == works
    assert ("WALLET_TRUSTED_PROXIES" in found.effect) != works


async def test_a_stranger_with_too_many_requests_waits_for_the_refusal_and_an_agent_does_not(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "STRANGER_PAUSE_S", 0.6)
    async with small(sqlite_url, rate_anonymous=1, rate_reads=1) as s, ClientSession() as http:
        for headers in ({}, {"X-Service-User-Key": ALICE}):
            async with http.get(s.base + "/wallet/who", headers=headers) as r:
                assert r.status == 200
        with pytest.raises(TimeoutError):
            await http.get(s.base + "/wallet/who", timeout=ClientTimeout(0.3))
        async with http.get(s.base + "/wallet/who", headers={"X-Service-User-Key": ALICE}) as r:
            assert r.status == 429


async def test_what_strangers_are_refused_fills_no_log(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url, rate_anonymous=20) as s, ClientSession() as http:
        for _ in range(100):
            async with http.get(s.base + "/nowhere") as r:
                await r.read()
        async with http.get(s.base + "/nowhere", headers={"X-Service-User-Key": ALICE}) as r:
            assert r.status == 404
    told = [r.getMessage() for r in caplog.records if r.name == "wallet.http"]
    assert len(told) == 2
    assert "1 refusals of strangers" in told[0]
    assert "GET other 404" in told[1]


async def test_probes_that_fail_fill_no_log(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url) as s, ClientSession() as http:
        monkeypatch.setattr(s.deps.store, "write", _takes_no_write)
        monkeypatch.setattr(readiness, "KEPT_S", 0.0)
        for _ in range(20):
            async with http.get(s.base + "/readyz") as r:
                assert r.status == 503
    told = [r.getMessage() for r in caplog.records if r.name == "wallet.http"]
    assert len(told) == 2
    assert "takes no write" in told[0]
    assert "the last answered 503" in told[1]


async def _takes_no_write(*_: object) -> None:
    raise Unavailable("the disk is full")


async def test_one_call_too_many_that_a_tool_refuses_is_no_line_each_time(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    params = {"name": "who_am_i", "arguments": {}, "_meta": META}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    sent: dict[str, Any] = {"json": call, "headers": MODERN}
    async with small(sqlite_url, rate_anonymous=1) as s, ClientSession() as http:
        told = []
        for _ in range(20):
            async with http.post(s.base + "/mcp", **sent) as r:
                told.append((r.status, "rate_limited" in await r.text()))
    assert told[-1] == (200, True)
    assert len([r for r in caplog.records if r.name == "wallet.http"]) <= 2


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}]
)
async def test_another_site_at_a_stream_is_refused_and_no_fault(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, headers: dict[str, str]
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url) as s, ClientSession() as http:
        r = await http.get(s.base + "/sse", headers=headers)
        assert r.status in (403, 421)
    # Nor is it a line each time: who can write one as often as he likes fills the log.
    assert [r for r in caplog.records if r.levelno >= logging.WARNING or r.exc_info] == []


async def test_a_long_body_is_charged_by_its_size_and_read_beside_the_loop(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set[str]()

    def noting(raw: bytes) -> dict[str, object]:
        threads.add(threading.current_thread().name)
        return parsed(raw)

    monkeypatch.setattr("http_shim.application.parsed", noting)
    body = b"{%s}" % b",".join(b'"n%d": 1' % n for n in range(12_000))
    mine = JSON | {"X-Service-User-Key": ALICE}
    async with small(sqlite_url, rate_reads=100) as s, ClientSession() as http:
        told = []
        for _ in range(8):
            async with http.post(s.base + "/wallet/notes/n", data=body, headers=mine) as r:
                told.append(r.status)
    assert told[0] == 400
    assert told[-1] == 429
    assert len(body) // BODY_UNIT > 10
    assert threading.main_thread().name not in threads
