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
from tests.surfaces.small import ALICE, JSON, Served, modern, small
from tests.surfaces.test_raw import HOST, said
from tests.waiting import STUCK_S
from tools.catalogue import OPERATIONS

pytestmark = pytest.mark.anyio
WHO, NOTE = "/wallet/who", "/wallet/notes/n"
HOP = {"X-Forwarded-For": "203.0.113.66"}
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
    settings = Settings(database_url=sqlite_url, rate_anonymous=2, trusted_proxies="127.0.0.1")
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
    letters = ["/" + "a" * (PATH_MAX - 1), "/" + "a" * PATH_MAX]
    paths = [*letters, "/a" * SEGMENTS_MAX, "/a" * (SEGMENTS_MAX + 1)]
    async with small(sqlite_url) as s:
        assert [(await s.get(path)).status for path in paths] == [404, 414, 404, 414]


@pytest.mark.parametrize("path", [NOTE, "/mcp", "/messages/", "/app/session", "/nowhere"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip"])
async def test_a_body_under_an_encoding_is_refused_and_never_unpacked(
    sqlite_url: str, path: str, encoding: str
) -> None:
    bomb = gzip.compress(b"0" * 10_000_000)
    async with small(sqlite_url) as s:
        headers = JSON | {"Content-Encoding": encoding}
        reply = await s.post(path, ALICE, data=bomb, headers=headers)
        assert (reply.told, reply.headers["Connection"]) == ((415, "invalid_request"), "close")
        headers |= {"Content-Encoding": "identity"}
        assert (await s.post(NOTE, ALICE, data=b"{}", headers=headers)).status == 201


async def test_who_has_a_key_is_charged_for_what_is_no_operation_too(sqlite_url: str) -> None:
    async with small(sqlite_url, rate_reads=4) as s:
        paths = (WHO, "/nowhere", "/openapi.json", WHO, "/nowhere")
        told = [(await s.get(path, ALICE)).status for path in paths]
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert told == [200, 404, 200, 200, 429]
        assert (await s.post("/mcp", ALICE, json=ping)).status == 429


async def test_figures_are_not_told_on_the_public_port(sqlite_url: str) -> None:
    port = free_port()
    async with serving(Settings(database_url=sqlite_url, metrics_port=port)) as base:
        public, own = Served(), Served()
        public.base, own.base = base, f"http://127.0.0.1:{port}"
        assert (await public.get("/metrics")).status == 404
        assert "wallet_requests_total" in (await own.get("/metrics")).text
        assert (await own.get("/readyz")).status == 200
        assert (await own.get("/openapi.json")).status == 404


UNVOUCHED = (
    "127.0.0.1 sends X-Forwarded-For and is no trusted proxy: all that come through it count "
    "as one caller; if it is yours, set WALLET_TRUSTED_PROXIES=127.0.0.1"
)


@pytest.mark.parametrize(("trusted", "count"), [("", 3), ("127.0.0.1", 0)])
async def test_a_proxy_that_is_not_trusted_is_counted_said_once_and_found(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, trusted: str, count: int
) -> None:
    async with small(sqlite_url, trusted_proxies=trusted) as s:
        for path in (WHO, "/nowhere", "/openapi.json"):
            await s.get(path, headers=HOP)
        await s.get(WHO)
        assert s.app[FRONT].gauges() == {"wallet_forwarded_untrusted_total": count}
    said = [r.getMessage() for r in caplog.records if "WALLET_TRUSTED_PROXIES" in r.getMessage()]
    assert said == ([UNVOUCHED] if count else [])


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
    async with small(sqlite_url, rate_anonymous=1, rate_reads=1) as s:
        assert await s.statuses(1, WHO) == await s.statuses(1, WHO, ALICE) == [200]
        with pytest.raises(TimeoutError):
            await s.get(WHO, timeout=ClientTimeout(0.3))
        assert await s.statuses(1, WHO, ALICE) == [429]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "wallet.http"]


async def test_what_strangers_are_refused_fills_no_log(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url, rate_anonymous=20) as s:
        await s.statuses(100, "/nowhere")
        assert await s.statuses(1, "/nowhere", ALICE) == [404]
    refusals, mine = lines(caplog)
    assert "1 refusals of strangers" in refusals
    assert "GET other 404" in mine


async def test_probes_that_fail_fill_no_log(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url) as s:
        monkeypatch.setattr(s.deps.store, "write", _takes_no_write)
        monkeypatch.setattr(readiness, "KEPT_S", 0.0)
        assert set(await s.statuses(20, "/readyz")) == {503}
    fault, probes = lines(caplog)
    assert "takes no write" in fault
    assert "the last answered 503" in probes


async def _takes_no_write(*_: object) -> None:
    raise Unavailable("the disk is full")


async def test_one_call_too_many_that_a_tool_refuses_is_no_line_each_time(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    call = modern("tools/call", name="who_am_i", arguments={})
    async with small(sqlite_url, rate_anonymous=1) as s:
        told = [await s.post("/mcp", **call) for _ in range(20)]
    assert (told[-1].status, "rate_limited" in told[-1].text) == (200, True)
    assert len(lines(caplog)) <= 2


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}]
)
async def test_another_site_at_a_stream_is_refused_and_no_fault(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, headers: dict[str, str]
) -> None:
    caplog.set_level(logging.INFO)
    async with small(sqlite_url) as s:
        assert (await s.get("/sse", headers=headers)).status in (403, 421)
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
    async with small(sqlite_url, rate_reads=100) as s:
        told = [(await s.post(NOTE, ALICE, data=body, headers=JSON)).status for _ in range(8)]
    assert (told[0], told[-1]) == (400, 429)
    assert len(body) // BODY_UNIT > 10
    assert threading.main_thread().name not in threads
