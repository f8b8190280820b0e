"""The trade door over HTTP: an owner's session alone, and the steps of an order on the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from http_shim.application import build
from http_shim.http_server import listen
from storage.unit_of_work import UnitOfWork
from tests.surfaces.small import JSON, Served
from tests.tools.trading.conftest import a_desk
from tests.tools.trading.orders import BTC, Trader, trader
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed

pytestmark = pytest.mark.anyio
TOKEN, KEY = "ws_" + "s" * 43, "ak_" + "k" * 43
ORDERS = [("POST", "order"), ("POST", "close")]
READS = ["/app/trade/me", "/app/trade/positions", "/wallet/order/cap", "/wallet/order/pending"]
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Trading(Served):
    """The trade door of a person with an agent, on a port."""

    base: str
    trader: Trader


@pytest.fixture
async def door(sqlite_url: str) -> AsyncIterator[Trading]:
    async with a_desk(sqlite_url) as desk:
        t = await trader(desk)
        now, user = desk.clock.now(), str(t.caller.user_id)
        until = now + timedelta(days=1)
        told = await desk.ok("owner_agent_register", t.caller, name="Scout")

        def add(uow: UnitOfWork) -> None:
            uow.identities.add_session(hashed(TOKEN), user, now, until, until)
            uow.identities.add_key("k_t", told["agent_id"], hashed(KEY), now)

        await desk.store.write(add)
        runner = await listen(build(desk.deps, OPERATIONS), "127.0.0.1", 0)
        try:
            yield Trading(f"http://127.0.0.1:{runner.addresses[0][1]}", t)
        finally:
            await runner.cleanup()


async def test_abuse_28_an_agent_key_is_refused_at_the_door_even_beside_a_session(
    door: Trading,
) -> None:
    for method, name in [("GET", "me"), ("GET", "positions"), ("PUT", "limits"), *ORDERS]:
        path = f"/app/trade/{name}"
        for headers in ({}, BEARER):
            told = await door.ask(method, path, KEY, headers=headers, json={})
            assert told.told == (403, "forbidden"), name
        assert (await door.ask(method, path, json={})).told == (401, "unauthenticated"), name
    products = await door.get("/app/trade/products")
    assert (products.status, products.headers["Cache-Control"]) == (200, "public, max-age=20")


@pytest.mark.parametrize("path", [*READS, "/wallet/agent/status"])
async def test_every_read_is_whole_on_the_wire(door: Trading, path: str) -> None:
    told = await door.get(path, headers=BEARER)
    assert told.status == 200, told.text


async def test_an_order_is_prepared_and_executed_over_http(door: Trading) -> None:
    reply = await door.post("/wallet/order", json=BTC | {"mode_seen": "live"}, headers=BEARER)
    made = reply.body
    assert reply.status == 201, made
    order_id, signature = made["order"]["order_id"], door.trader.sign(made["to_sign"])
    body = {"order_id": order_id, "confirm_id": made["confirm_id"], "signature": signature}
    told = await door.post("/wallet/order/execute", json=body, headers=BEARER)
    assert (told.status, told.body["status"]) == (200, "executed")
    assert (await door.get(f"/wallet/order/{order_id}", headers=BEARER)).body == told.body


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
    raw: bytes, status: int, error: str, door: Trading
) -> None:
    for path in ("/wallet/order", "/app/trade/order", "/app/trade/close"):
        told = await door.post(path, data=raw, headers=BEARER | JSON)
        assert told.told == (status, error), path
