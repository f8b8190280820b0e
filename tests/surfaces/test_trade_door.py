"""The trade door over HTTP: an owner's session alone, and the steps of an order on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import ClientSession

from http_shim.application import build
from http_shim.http_server import listen
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.orders import BTC, Trader, trader
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed

pytestmark = pytest.mark.anyio
TOKEN, KEY = "ws_" + "s" * 43, "ak_" + "k" * 43
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def served(sqlite_url: str) -> AsyncIterator[tuple[Desk, Trader, str]]:
    async with a_desk(sqlite_url) as desk:
        t = await trader(desk)
        now = desk.clock.now()
        until = now + timedelta(days=1)
        user = str(t.caller.user_id)
        await desk.store.write(
            lambda uow: uow.identities.add_session(hashed(TOKEN), user, now, until, until)
        )
        told = await desk.ok("owner_agent_register", t.caller, name="Scout")
        await desk.store.write(
            lambda uow: uow.identities.add_key("k_t", told["agent_id"], hashed(KEY), now)
        )
        runner = await listen(build(desk.deps, OPERATIONS), "127.0.0.1", 0)
        try:
            port = runner.addresses[0][1]
            yield desk, t, f"http://127.0.0.1:{port}"
        finally:
            await runner.cleanup()


async def test_abuse_28_an_agent_key_is_refused_at_the_door_even_beside_a_session(
    served: tuple[Desk, Trader, str],
) -> None:
    _, _, base = served
    routes = [
        ("GET", "me"),
        ("GET", "positions"),
        ("PUT", "limits"),
        ("POST", "order"),
        ("POST", "close"),
    ]
    async with ClientSession() as http:
        for method, name in routes:
            for headers in ({"X-Service-User-Key": KEY}, BEARER | {"X-Service-User-Key": KEY}):
                async with http.request(
                    method, f"{base}/app/trade/{name}", headers=headers, json={}
                ) as r:
                    assert (r.status, (await r.json())["error"]) == (403, "forbidden"), name
            async with http.request(method, f"{base}/app/trade/{name}", json={}) as r:
                assert (r.status, (await r.json())["error"]) == (401, "unauthenticated")
        async with http.get(f"{base}/app/trade/products") as r:
            assert r.status == 200
            assert r.headers["Cache-Control"] == "public, max-age=20"


async def test_every_read_is_whole_on_the_wire(served: tuple[Desk, Trader, str]) -> None:
    _, _, base = served
    async with ClientSession(headers=BEARER) as http:
        for path in ("/app/trade/me", "/app/trade/positions", "/wallet/order/cap", "/wallet/order/pending", "/wallet/agent/status"):  # fmt: skip
            async with http.get(base + path) as r:
                assert r.status == 200, await r.text()


async def test_an_order_is_prepared_and_executed_over_http(
    served: tuple[Desk, Trader, str],
) -> None:
    _, t, base = served
    async with ClientSession(headers=BEARER) as http:
        async with http.post(f"{base}/wallet/order", json=BTC | {"mode_seen": "live"}) as r:
            made = await r.json()
            assert r.status == 201, made
        body = {
            "order_id": made["order"]["order_id"],
            "confirm_id": made["confirm_id"],
            "signature": t.sign(made["to_sign"]),
        }
        async with http.post(f"{base}/wallet/order/execute", json=body) as r:
            told = await r.json()
            assert (r.status, told["status"]) == (200, "executed")
        async with http.get(f"{base}/wallet/order/{body['order_id']}") as r:
            assert await r.json() == told


@pytest.mark.parametrize(
    ("raw", "status", "error"),
    [
        (b'{"product": "BTC", "product": "ETH"}', 400, "invalid_request"),
        (b'{"nobody": 1}', 400, "invalid_request"),
        (b"{", 400, "invalid_request"),
        (b'{"product": 5}', 422, "wallet_invalid_order"),
        (b'{"product": {"a": [1]}, "mode_seen": true}', 422, "wallet_invalid_order"),
        (b"", 422, "wallet_invalid_order"),
    ],
)
async def test_abuse_33_what_is_no_order_is_refused_by_what_it_is(
    raw: bytes, status: int, error: str, served: tuple[Desk, Trader, str]
) -> None:
    _, _, base = served
    async with ClientSession(headers=BEARER | {"Content-Type": "application/json"}) as http:
        for path in ("/wallet/order", "/app/trade/order", "/app/trade/close"):
            async with http.post(base + path, data=raw) as r:
                assert (r.status, (await r.json())["error"]) == (status, error), path
