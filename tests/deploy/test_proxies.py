"""Two processes behind the shipped nginx and Caddy files: everything travels as it does without them."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from aiohttp import ClientSession, TCPConnector
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from sse_starlette.sse import EventSourceResponse

from http_shim.event_stream import CHECK_S
from http_shim.http_server import KEPT_S
from http_shim.json_body import MAX_BODY
from tests.deploy.proxies import CADDY, NGINX, Front, behind, program
from tests.house.sources import ROOT
from tests.surfaces.small import WAYS
from tests.waiting import STUCK_S
from tests.world import Evm, Mandated, working

SITE = (NGINX / "wallet.conf").read_text()
CALLS = 8


def directive(name: str, text: str = SITE) -> list[str]:
    return re.findall(rf"(?m)^\s*{name} ([^;]+);", text)


def test_the_bounds_of_the_proxies_are_above_those_of_the_service() -> None:
    """So that the service answers with its refusals, and no stream ends because it is quiet."""
    (body,) = directive("client_max_body_size")
    assert int(body.removesuffix("k")) * 1024 > MAX_BODY
    quiet = max(CHECK_S, EventSourceResponse.DEFAULT_PING_INTERVAL)
    (read,) = directive("proxy_read_timeout")
    assert int(read.removesuffix("s")) > 3 * quiet
    (kept,) = directive("keepalive_timeout", (NGINX / "processes.conf").read_text())
    caddy = CADDY.read_text()
    told = re.search(r"keepalive (\d+)s", caddy)
    size = re.search(r"max_size (\d+)KB", caddy)
    assert told
    assert size
    assert max(int(kept.removesuffix("s")), int(told[1])) < KEPT_S
    assert int(size[1]) * 1000 > MAX_BODY
    # What may have been done is sent once.
    assert "non_idempotent" not in SITE


async def _mcp(front: Front, way: str, key: dict[str, str], public_id: str) -> None:
    """The official client, of either era, over either transport; its calls go to both processes."""
    kind, _, era = way.partition("-")

    def http(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(headers=key, timeout=STUCK_S, verify=front.tls)

    async with http() as inner:
        transport: Any = (
            sse_client(front.base + "/sse", headers=key, timeout=STUCK_S, httpx_client_factory=http)
            if kind == "sse"
            else streamable_http_client(front.base + "/mcp", http_client=inner)
        )
        async with Client(transport, mode="auto" if era == "2026" else "legacy") as client:
            assert "mandate_get" in {tool.name for tool in (await client.list_tools()).tools}
            for turn in range(CALLS):
                told = {"kind": "note", "payload": {"text": way}, "public_id": public_id, "idempotency_key": f"{way}-{turn % 2}"}  # fmt: skip
                answer = await client.call_tool("mandate_report_event", told)
                assert not answer.is_error, answer


async def _streams(front: Front, key: dict[str, str], public_id: str) -> None:
    """A row is on the stream as soon as it is written, through whichever process."""
    path = f"{front.base}/wallet/mandates/{public_id}"
    for turn in range(4):
        async with front.two.http.get(path + "/stream", headers=key, ssl=front.tls) as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            body = {"kind": "note", "payload": {"text": f"live {turn}"}}
            async with front.two.http.post(path + "/events", headers=key, json=body, ssl=front.tls) as r:  # fmt: skip
                assert r.status == 201, await r.text()
            lines = (line async for line in stream.content)
            assert [line async for line in _until(lines, f"live {turn}")]


async def _until(lines: Any, text: str) -> Any:
    async for line in lines:
        yield line
        if text in line.decode():
            return


async def _routes(front: Front) -> None:
    """Every route of the document answers a stranger as it does without the proxy."""
    told = json.loads((ROOT / "docs" / "openapi.json").read_text())
    assert len(told["paths"]) > 50
    wrong: list[Any] = []

    async def compared(method: str, path: str) -> None:
        at = re.sub(r"\{\w+\}", "m_aaaaaaaaaa", path)
        body = {"json": {}} if method in ("post", "put", "patch") else {}
        seen = []
        for base in (front.base, front.two.bases[0]):
            how: dict[str, Any] = {"ssl": front.tls} if base == front.base else {}
            async with front.two.http.request(method, base + at, allow_redirects=False, **body, **how) as r:  # fmt: skip
                seen.append((r.status, r.headers.get("Content-Type")))
        if len(set(seen)) != 1:
            wrong.append((method, path, seen))

    async with anyio.create_task_group() as group:
        for path, methods in told["paths"].items():
            for method in methods.keys() & {"get", "post", "put", "delete", "patch"}:
                group.start_soon(compared, method, path)
    assert wrong == []


async def _bounds(front: Front, name: str) -> None:
    """What the service refuses comes from the service, in its form."""
    http, tls = front.two.http, front.tls
    # Just below its bound a body arrives whole, and is judged by the service.
    most = {"address": "x" * (MAX_BODY - 1024), "chain_id": 84532}
    async with http.post(front.base + "/wallet/auth/challenge", json=most, ssl=tls) as r:
        assert (r.status, (await r.json())["error"]) == (400, "invalid_request")
    long = {"kind": "note", "payload": {"text": "x" * (MAX_BODY + 1024)}}
    async with http.post(front.base + "/wallet/auth/challenge", json=long, ssl=tls) as r:
        assert (r.status, (await r.json())["error"]) == (413, "body_too_large")
    async with http.get(front.base + "/wallet/" + "x" * 2_000, ssl=tls) as r:
        assert (r.status, r.content_type) == (414, "application/json")
    async with http.get(front.base + "/wallet/hall?x=" + "x" * 17_000, ssl=tls) as r:
        assert r.status == 400
    async with http.post(front.base + "/wallet/auth/challenge", data=b"{}", headers={"Content-Encoding": "gzip"}, ssl=tls) as r:  # fmt: skip
        assert r.status == 415
    async with http.get(front.base + "/metrics", ssl=tls) as r:
        assert r.status == 404
    # The client's Host goes through: MCP refuses another than the service's own.
    called = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with http.post(front.base + "/mcp", json=called, headers=accept | {"Host": "evil.example"}, ssl=tls) as r:  # fmt: skip
        # Caddy has no site of that name, and answers by itself.
        assert r.status == 421 or (name == "caddy" and not await r.text())


async def _addresses(front: Front) -> None:
    """Each caller counts by its own address, and by no other that it names."""

    async def challenged(address: str, **headers: str) -> int:
        body = {"address": "0x" + f"{next(numbers):040x}", "chain_id": 84532}
        connector = TCPConnector(local_addr=(address, 0))
        async with (
            ClientSession(connector=connector) as http,
            http.post(front.base + "/wallet/auth/challenge", json=body, headers=headers, ssl=front.tls) as r,
        ):  # fmt: skip
            return r.status

    numbers = iter(range(1, 1_000))
    answers: list[int] = []
    while answers[-4:] != [429] * 4:  # at both processes
        answers.append(await challenged("127.0.0.2"))
        assert len(answers) < 100
    assert set(answers) == {200, 429}
    assert await challenged("127.0.0.2", **{"X-Forwarded-For": "203.0.113.9"}) == 429
    assert await challenged("127.0.0.3") == 200


async def _one_is_gone(front: Front, key: dict[str, str], m: Mandated) -> None:
    """While a process ends, reads go on at the other, and so do writes: the proxy sends none a second time, the caller repeats
    it with its key, and it is done once.
    """
    path = f"{front.base}/wallet/mandates/{m.id}"

    async def calls(worker: int) -> None:
        for turn in range(12):
            body = {"kind": "note", "payload": {"text": f"gone {worker}-{turn}"}}
            once = key | {"Idempotency-Key": f"gone-{worker}-{turn}"}
            status = 502
            while status in (502, 503):  # nobody took it, or nobody knows
                async with front.two.http.post(path + "/events", headers=once, json=body, ssl=front.tls) as r:  # fmt: skip
                    status = r.status
            assert status == 201
            async with front.two.http.get(path, headers=key, ssl=front.tls) as r:
                assert r.status == 200

    with anyio.fail_after(STUCK_S):
        async with anyio.create_task_group() as group:
            for worker in range(4):
                group.start_soon(calls, worker)
            await anyio.sleep(0.2)
            front.two.processes[0].terminate()
    async with front.two.http.get(path + "/events?limit=200", headers=key, ssl=front.tls) as r:
        texts = Counter(re.findall(r"gone \d+-\d+", await r.text()))
    assert texts == {f"gone {worker}-{turn}": 1 for worker in range(4) for turn in range(12)}


@pytest.mark.slow
@pytest.mark.pg
@pytest.mark.anyio
@pytest.mark.parametrize(
    "name",
    # `make deploy-check`; a balancer of our own in tests/server/test_balancer.py.
    [
        pytest.param("nginx", marks=pytest.mark.play),
        pytest.param("caddy", marks=pytest.mark.campaign),
    ],
)
async def test_two_processes_behind_it_are_one_service(
    name: str, pg_url: str, evm: Evm, tmp_path: Path
) -> None:
    if program(name) is None or program("openssl") is None:
        pytest.skip(f"{name}, openssl: Debian's packages of these names")
    more = {"WALLET_RATE_ANONYMOUS": "0", "WALLET_RATE_CHALLENGES": "2", "WALLET_STATE_KEYS": "0f" * 32}  # fmt: skip
    async with behind(name, pg_url, evm, tmp_path, **more) as front:
        m = await working(front.two.world)
        key = await front.two.key_of(m.agent)
        for way in WAYS:
            await _mcp(front, way, key, m.id)
        await _streams(front, key, m.id)
        await _routes(front)
        await _bounds(front, name)
        await _addresses(front)
        if name == "nginx":
            await _of_nginx(front)
        await _one_is_gone(front, key, m)
        # No key and no session is in what the proxy writes down.
        written = [f for f in tmp_path.iterdir() if f.name in ("said", "access.log", "error.log")]
        assert written
        assert not [f for f in written if key["X-Service-User-Key"] in f.read_text()]


async def _of_nginx(front: Front) -> None:
    """Requests went to both; HTTP/2 is spoken; plain HTTP leads to TLS."""
    lines = (front.folder / "access.log").read_text().splitlines()
    seen = Counter(line.split()[0] for line in lines)
    assert {base.rpartition("/")[2] for base in front.two.bases} <= seen.keys()
    async with front.two.http.get(front.plain + "/wallet/door?a=1", allow_redirects=False) as r:
        assert (r.status, r.headers["Location"]) == (308, "https://127.0.0.1/wallet/door?a=1")
    words = ["curl", "-s", "--http2", "--cacert", "wallet.crt", "-o", "out", "-w", "%{http_version} %{http_code}", front.base + "/wallet/skill.md"]  # fmt: skip
    done = await anyio.to_thread.run_sync(lambda: subprocess.run(words, cwd=front.folder, capture_output=True, text=True, check=False))  # fmt: skip
    assert done.stdout == "2 200", done
