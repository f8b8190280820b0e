"""Mandates meet orders: an agent prepares over HTTP and MCP, the owner's order key signs, the venue
fills, and every read of the mandate tells of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from aiohttp import ClientSession
from eth_account import Account

from domain.settings import Config
from http_shim.application import build
from http_shim.http_server import listen
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from storage.integrity.ledger_check import verify
from storage.store import open_store
from tests.databases import PATIENT
from tests.surfaces.conftest import KEY, Door, Service, opened
from tests.tools.trading.conftest import Desk, Person, a_desk
from tests.tools.trading.orders import Trader, trading
from tests.world import CHAIN_ID, Evm, Mandated, a_world, market_targets, working
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TOKEN = "ws_" + "s" * 43
VENUE = {"kind": "venue", "venue": "hyperliquid", "symbols": ["BTC"]}
BUY = {"product": "BTC", "side": "buy", "type": "market", "size": "0.0005", "mode_seen": "live"}


@dataclass
class Stage:
    """A working mandate with a venue entry, its owner's account at the venue, and the service."""

    service: Service
    desk: Desk
    mandate: Mandated
    trader: Trader
    http: ClientSession

    async def owner(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = self.service.base + path
        async with self.http.request(
            method, url, json=body, params=query, headers=headers
        ) as answer:
            told = await answer.json()
            assert answer.status < 400, told
            return told

    async def signed_by_owner(self, order_id: str) -> Any:
        """What a browser does with an order that an agent prepared."""
        told = await self.owner("POST", f"/wallet/order/{order_id}/open", {})
        body = {
            "order_id": order_id,
            "confirm_id": told["confirm_id"],
            "signature": self.trader.sign(told["to_sign"]),
        }
        return await self.owner("POST", "/wallet/order/execute", body)


@asynccontextmanager
async def staged(url: str, evm: Evm) -> AsyncIterator[Stage]:
    async with (
        a_desk(url) as desk,
        a_world(url, evm, config=Config(default_chain_id=CHAIN_ID)) as world,
        ClientSession() as http,
    ):
        config = replace(world.deps.config, trading=desk.deps.config.trading)
        world.deps = replace(world.deps, config=config, venues=desk.networks, paper=desk.deps.paper)
        desk.deps = replace(desk.deps, chains=world.chains, config=config, clock=world.clock)
        targets = [*market_targets(world), VENUE]
        m = await working(world, allowed_targets=targets, daily_cap_usdc="120")
        policy = {"accepts_mandates": True, "venues": ["hyperliquid"], "slippage_bps": 80}
        put = {"agent_id": m.agent.user_id, **policy}
        await world.ok("owner_agent_policy_put", m.owner, **put)
        person = Person(m.owner, Account.from_key(evm.key(2)))
        assert person.wallet.address == m.owner_wallet.address
        for network in (desk.main, desk.test):
            network.deposit(person.wallet.address, "1000")
        await desk.link(person)
        trader = await trading(desk, person)
        world.deps = replace(world.deps, defaults=desk.deps.defaults)
        now, user = world.clock.now(), str(m.owner.user_id)
        until, agent_id = now + timedelta(days=1), str(m.agent.user_id)
        await world.store.write(
            lambda uow: uow.identities.add_session(hashed(TOKEN), user, now, until, until)
        )
        await world.store.write(
            lambda uow: uow.identities.add_key("k_t", agent_id, hashed(KEY), now)
        )
        server, _ = build_server(world.deps, OPERATIONS)
        app = build(world.deps, OPERATIONS, mcp=mcp_app(server, world.deps.config.base_url))
        runner = await listen(app, "127.0.0.1", 0)
        try:
            base = f"http://127.0.0.1:{runner.addresses[0][1]}"
            yield Stage(Service(base, world, m, KEY), desk, m, trader, http)
        finally:
            await drain(server)
            await runner.cleanup()


async def _prepared(door: Door, mandate_id: str, **more: Any) -> str:
    """An agent's live order: it waits for the owner, and nothing to sign is given out."""
    status, told = await door.call("order_prepare", mandate_id=mandate_id, **{**BUY, **more})
    assert (status, told["order"]["status"]) == (201, "awaiting_owner"), told
    assert (told["confirm_id"], told["to_sign"]) == (None, None)
    return str(told["order"]["order_id"])


async def _refused(door: Door, mandate_id: str, **more: Any) -> str:
    status, told = await door.call("order_prepare", mandate_id=mandate_id, **{**BUY, **more})
    assert status >= 400, told
    return str(told["error"])


async def test_a_mandates_live_orders_are_told_by_fills_in_every_read_of_it(
    database_url: str, evm: Evm
) -> None:
    async with staged(database_url, evm) as s:
        m = s.mandate
        clauses = (await s.owner("GET", f"/wallet/mandates/{m.id}"))["clauses"]
        assert clauses[4]["enforced_by"] == "Service guard"
        async with opened("http", s.service) as over_http:
            first = await _prepared(over_http, m.id)
            assert (
                await _refused(over_http, m.id, product="ETH", size="0.01") == "target_not_allowed"
            )
            assert await _refused(over_http, m.id, slippage_bps=90) == "wallet_invalid_order"
        async with opened("streamable-2026", s.service) as over_mcp:
            second = await _prepared(over_mcp, m.id, side="sell", size="0.0002")
            status, told = await over_mcp.call(
                "order_execute", order_id=first, confirm_id="c_x", signature={}
            )
            assert status >= 400, told
            for order_id in (first, second):
                done = await s.signed_by_owner(order_id)
                assert (done["status"], done["mode"]) == ("executed", "live"), done
            await _every_read(s, over_mcp)
        await _day(s)
        report = await verify(s.service.world.store)
        assert report.ok, report.as_json()
        async with open_again(database_url, m.id) as state:
            kept = await s.service.world.store.read(lambda uow: uow.ledger.state(m.id))
            assert state == kept


async def _every_read(s: Stage, agent: Door) -> None:
    m, venue = s.mandate, s.desk.test.account(s.trader.person.wallet.address)
    fills = venue.fills
    fees = sum(Decimal(str(f.fee)) for f in fills)
    status, read = await agent.call("mandate_get", public_id=m.id, parts="progress,limits,fees")
    assert status == 200
    told, used = read["progress"]["venue"], read["limits"]["used"]
    assert (told["network"], told["orders"], told["fills"]) == ("testnet", 2, len(fills))
    assert Decimal(told["fees_usdc"]) == fees
    assert [p["size"] for p in told["positions"]] == [str(venue.position("BTC"))]
    assert told["result_est"] is not None
    assert read["progress"]["cash"] == read["progress"]["worth_est"] == "500.000000"
    assert read["fees"]["venue"] == "0.000000"
    assert Decimal(used["orders_per_day"]["live"]) > 0
    assert used["per_day"]["value"] == "0.000000"
    status, small = await agent.call("mandate_limits", public_id=m.id)
    assert small["limits"]["used"]["orders_per_day"] == used["orders_per_day"]
    status, record = await agent.call("mandate_steps", public_id=m.id)
    actions = [x for x in record["items"] if x["kind"] == "action"]
    assert {x["reported_by"] for x in actions} == {"keeper"}
    assert sorted({x["code"] for x in actions}) == ["buy", "sell"]
    year, week, _ = s.service.world.clock.now().isocalendar()
    path = f"/wallet/mandates/{m.id}/statement"
    statement = await s.owner("GET", path, week=f"{year}-W{week:02d}")
    assert statement["venue"][0]["fees"] == told["fees_usdc"]
    assert statement["result"] == {"realized": "0.000000", "estimated": "0.000000"}
    hall = await s.owner("GET", f"/wallet/hall/{m.agent.user_id}")
    (mine,) = hall["venue_self"]
    assert (mine["network"], mine["since"]["orders"]) == ("testnet", 2)
    assert mine["since"]["volume_usdc"] == told["volume_usdc"]
    assert "venue" not in hall, "an owner's own mandate is apart from other owners'"
    assert hall["self_reported"]["trades_total"] == 0


async def _day(s: Stage) -> None:
    """A call of the vault has the day less what live orders use of it."""
    m = s.mandate
    told = (await m.as_owner("mandate_limits")).body
    live = Decimal(told["limits"]["used"]["orders_per_day"]["live"])
    assert 40 < live < 50
    reply = await m.execute("80")
    assert (reply.status, reply.body["error"]) == (409, "over_daily_cap"), reply.body
    assert (await m.execute("70")).status == 200


@asynccontextmanager
async def open_again(url: str, public_id: str) -> AsyncIterator[Any]:
    """The state of a ledger, folded anew by another process' store."""
    store = await open_store(url, PATIENT)
    try:
        yield await store.read(lambda uow: uow.ledger.state(public_id))
    finally:
        await store.close()
