"""People who order: linked, with an order key, on the list; and what their browser signs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from eth_account import Account

from domain.trading.orders import Order
from tests.tools.trading.conftest import Desk, Person, order_key
from tests.world import free_name
from tools.model.operation import Caller, OperationResult
from tools.trading.orders.status_sync import sync_due_orders

BTC = {"product": "BTC", "side": "buy", "type": "market", "notional_usdc": "20"}

LIVE = {**BTC, "mode_seen": "live"}


def code(reply: OperationResult) -> tuple[int, str]:
    return reply.status, str(reply.body.get("error"))


async def ordered(desk: Desk, who: Caller, **request: Any) -> OperationResult:
    """What the preparation of an order for 20 USDC of BTC comes to."""
    return await desk.do("order_prepare", who, **{**BTC, **request})


async def later(desk: Desk, *seconds: float) -> None:
    """Time passes, with a round over the orders after each part of it."""
    for span in seconds:
        desk.clock.forward(seconds=span)
        await sync_due_orders(desk.deps)


@dataclass
class Trader:
    """Somebody with an order key in his browser."""

    desk: Desk
    person: Person
    key: int

    @property
    def caller(self) -> Caller:
        return self.person.caller

    def sign(
        self, told: dict[str, Any], *, key: int | None = None, high: bool = False
    ) -> dict[str, Any]:
        """What a browser's order key makes of `to_sign`, from its typed data alone."""
        secret = (0xC000 + (self.key if key is None else key)).to_bytes(32, "big")
        made = Account.from_key(secret).sign_typed_data(full_message=told["typed_data"])
        s, v = made.s, made.v
        if high:
            n = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
            s, v = n - s, 55 - v
        return {"r": f"0x{made.r:064x}", "s": f"0x{s:064x}", "v": v}

    async def prepare(self, **request: Any) -> dict[str, Any]:
        return await self.desk.ok(
            "order_prepare", self.caller, **{**BTC, "mode_seen": "live", **request}
        )

    async def execute(self, created: dict[str, Any], **changes: Any) -> OperationResult:
        body = {
            "order_id": created["order"]["order_id"],
            "confirm_id": created["confirm_id"],
            "signature": self.sign(created["to_sign"]),
        }
        return await self.desk.do("order_execute", self.caller, **(body | changes))

    async def door(self, **request: Any) -> dict[str, Any]:
        return await self.desk.ok(
            "trade_order", self.caller, **{**BTC, "mode_seen": "live", **request}
        )

    async def bring(
        self, created: dict[str, Any], name: str = "trade_order", **more: Any
    ) -> OperationResult:
        """The second step at the door."""
        body = {"confirm_id": created["confirm_id"], "signature": self.sign(created["to_sign"])}
        return await self.desk.do(name, self.caller, **(body | more))

    async def close(self, **request: Any) -> OperationResult:
        body = {"product": "BTC", "mode_seen": "live"}
        return await self.desk.do("trade_close", self.caller, **(body | request))

    async def limit(self, px: str, size: str, **request: Any) -> dict[str, Any]:
        asked = {"type": "limit", "limit_px": px, "size": size, "notional_usdc": None}
        return await self.prepare(**{**asked, "tif": "gtc", **request})

    async def cancel(self, order_id: str) -> OperationResult:
        """The cancellation of an order that rests, with its signature."""
        asked = await self.desk.ok("order_cancel", self.caller, order_id=order_id)
        body = {"confirm_id": asked["confirm_id"], "signature": self.sign(asked["to_sign"])}
        return await self.desk.do("order_cancel", self.caller, order_id=order_id, **body)

    def posts(self, created: dict[str, Any]) -> dict[str, Any]:
        """The browser sends the bytes by itself, and tells nobody."""
        told = created["to_sign"]
        body = {
            "action": json.loads(told["action"]),
            "nonce": told["nonce"],
            "expiresAfter": told["expires_after"],
            "signature": self.sign(told),
        }
        return dict(self.desk.test.exchange(body))

    async def bought(self, size: str = "0.001", network: str = "testnet") -> None:
        """A position at the venue, from before."""
        venue = self.desk.test if network == "testnet" else self.desk.main
        venue.account(self.person.wallet.address)
        reply = await self.execute(await self.prepare(size=size, notional_usdc=None))
        assert reply.body["status"] == "executed", reply.body

    def size(self, coin: str = "BTC", network: str = "testnet") -> str:
        venue = self.desk.test if network == "testnet" else self.desk.main
        return str(venue.account(self.person.wallet.address).position(coin))

    def posted(self, network: str = "testnet") -> int:
        """How many orders the venue got of this wallet."""
        venue = self.desk.test if network == "testnet" else self.desk.main
        return len(venue.account(self.person.wallet.address).history)

    async def stored(self, order_id: str) -> Order:
        found = await self.desk.store.read(lambda uow: uow.orders.get(order_id))
        assert found is not None
        return found


def micros(amount: str) -> int:
    return int(amount.replace(".", ""))


async def allow(ingest_context: Desk, *items: str) -> None:
    await ingest_context.store.write(
        lambda uow: uow.allowlist.seed(tuple(i.lower() for i in items), ingest_context.clock.now())
    )


async def trader(ingest_context: Desk, *, listed: bool = True, **more: Any) -> Trader:
    """A person who may trade live on the terminal."""
    return await trading(ingest_context, await ingest_context.linked(**more), listed=listed)


async def trading(ingest_context: Desk, p: Person, *, listed: bool = True) -> Trader:
    """The same of somebody who has linked a wallet."""
    key = ingest_context.next_nonce()
    await ingest_context.enabled(p, order_key(key))
    if listed:
        await allow(ingest_context, p.wallet.address)
    for venue in (ingest_context.main, ingest_context.test):
        account = venue.state.account(p.wallet.address)
        for coin in ("BTC", "ETH", "kPEPE", "xyz:XYZ100") if account else ():
            account.leverage[coin] = (coin[:4] != "xyz:", 3)
    ingest_context.switched(live_terminal=True)
    return Trader(ingest_context, p, key)


async def agent(ingest_context: Desk, t: Trader, **policy: Any) -> Caller:
    """An agent of a trader, with a policy that names the venue."""
    name = await free_name(ingest_context.store, t.caller)
    told = await ingest_context.ok("owner_agent_register", t.caller, name=name)
    fields = {"accepts_mandates": True, "venues": ["hyperliquid"]} | policy
    await ingest_context.ok("owner_agent_policy_put", t.caller, agent_id=told["agent_id"], **fields)
    return Caller("agent", told["agent_id"], t.caller.user_id, None, name, "k")


async def day_use(ingest_context: Desk) -> dict[str, tuple[int, int]]:
    """Every counter: what is used and what is reserved."""
    rows = await ingest_context.rows("order_counters")
    return {r["scope"]: (int(r["used_micros"]), int(r["reserved_micros"])) for r in rows}


async def use(desk: Desk) -> tuple[int, int]:
    """What is used and what is reserved of every counter, which agree."""
    (found,) = set((await day_use(desk)).values())
    return found
