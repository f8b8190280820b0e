"""A service as it ships, on a port: people and agents who know its HTTP alone, a chain whose prices and clock a test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from aiohttp import ClientSession

from chain.contracts import abi_codec
from chain.tx_sender import deploy
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.money import Usdc
from domain.settings import Config
from http_shim.application import build
from http_shim.http_server import listen
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.world import CHAIN_ID, PLENTY, START, Evm, World, a_world, config_of
from tools.catalogue import OPERATIONS
from venue.venues import Networks

EXECUTE_GAS = 2_000_000  # the vault wants 600k and more for each probe
Body = dict[str, Any]


@dataclass
class Owner:
    """A person; its session is opened anew when hours have gone by."""

    wallet: LocalWallet
    token: str = ""
    until: datetime = START


@dataclass(frozen=True)
class Agent:
    id: str
    wallet: LocalWallet
    key: str


class Desk:
    """What a test acts with; `rounds` is the house's whole round: reader, keeper, Hall."""

    def __init__(
        self, world: World, base: str, http: ClientSession, ticks: KeeperScheduler, other: str
    ):
        self.world, self.base, self.http, self.ticks = world, base, http, ticks
        self.evm, self.clock = world.evm, world.clock
        self.markets = {"test-market": world.evm.market, "other-market": other}

    # -- HTTP

    async def asked(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        by: Owner | Agent | None = None,
        raw: str | None = None,
        **query: Any,
    ) -> tuple[int, Body]:
        headers = {"Content-Type": "application/json"}
        if isinstance(by, Owner):
            await self.sign_in(by)
            headers["Authorization"] = f"Bearer {by.token}"
        elif isinstance(by, Agent):
            headers["X-Service-User-Key"] = by.key
        given: Body = {"data": raw} if raw is not None else {"json": body}
        async with self.http.request(
            method, f"{self.base}/wallet{path}", params=query, headers=headers, **given
        ) as response:
            return response.status, await response.json()

    async def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Body:
        status, told = await self.asked(method, path, body, **more)
        assert status in (200, 201), (method, path, status, told)
        return told

    async def get(self, path: str, **more: Any) -> Body:
        return await self.ok("GET", path, **more)

    # -- people

    async def owner(self) -> Owner:
        wallet = self.world.wallet()
        await self.world.mint(wallet.address, "100000")
        return Owner(wallet)

    async def sign_in(self, person: Owner) -> None:
        now = self.clock.now()
        if person.token and now < person.until:
            return
        asked = {"address": person.wallet.address, "chain_id": CHAIN_ID}
        text = (await self.ok("POST", "/auth/challenge", asked))["message"]
        signed = {"message": text, "signature": person.wallet.sign_text(text)}
        person.token = (await self.ok("POST", "/auth/session", signed))["token"]
        person.until = now + timedelta(hours=6)

    async def agent(self, **policy: Any) -> Agent:
        """An agent of a person who delegates nothing to it."""
        person = await self.owner()
        wallet = self.world.wallet()
        asked = {"name": "Scout", "address": wallet.address}
        told = await self.ok("POST", "/agents", asked, by=person)
        policy = {"accepts_mandates": True} | policy
        await self.ok("PUT", f"/agents/{told['agent_id']}/policy", policy, by=person)
        return Agent(told["agent_id"], wallet, told["key"])

    async def draft(self, agent: Agent, *, owner: Owner | None = None, **terms: Any) -> Mandate:
        owner = owner or await self.owner()
        body = {
            "budget_usdc": "500", "per_tx_cap_usdc": "100", "daily_cap_usdc": "500", "agent_id": agent.id,
            "chain_id": CHAIN_ID, "markets": ["test-market"],
        } | terms  # fmt: skip
        told = await self.ok("POST", "/mandates", body, by=owner)
        return Mandate(self, told["mandate"]["public_id"], owner, agent, body["markets"][0])

    async def working(self, agent: Agent, *, deposit: str = "500", **terms: Any) -> Mandate:
        m = await self.draft(agent, **terms)
        await m.sign()
        await m.put_in(deposit)
        await self.ok("POST", f"/mandates/{m.id}/accept", by=agent)
        await self.round()
        return m

    # -- the house and the world around it

    async def round(self) -> None:
        """The reader and the keeper look once."""
        await self.ticks.round()

    async def later(self, **period: float) -> None:
        """Time goes by, and the house looks."""
        self.clock.forward(**period)
        self.evm.chain.mine()
        await self.round()

    async def gain(self, amount: str, market: str = "test-market") -> None:
        await self.world.mint(self.markets[market], amount)

    async def lose(self, amount: str, market: str = "test-market") -> None:
        loser, at = self.world.wallets[0], self.markets[market]
        await self.sent(loser, at, "TestMarket", "lose", Usdc.parse(amount))

    async def sent(
        self, wallet: LocalWallet, to: str, contract: str, function: str, *args: Any
    ) -> str:
        """A transaction that anybody may send, past the service."""
        data = abi_codec.calldata(contract, function, args)
        return await self.mined(wallet, {"chain_id": CHAIN_ID, "to": to, "data": data, "value": 0})

    async def mined(self, wallet: LocalWallet, call: Body, gas: int = PLENTY) -> str:
        sent = Call(call["chain_id"], call["to"], call["data"], str(call["value"]))
        receipt = await wallet.send(sent, gas=gas)
        assert receipt["status"] == 1, call
        return "0x" + bytes(receipt["transactionHash"]).hex()

    def shares(self, market: str, holder: str) -> int:
        data = abi_codec.calldata("TestMarket", "balanceOf", (holder,))
        told = self.evm.chain.call({"to": self.markets[market], "data": data})
        return int.from_bytes(told, "big")

    async def hall(self, agent: Agent) -> Body:
        """The agent's row, which is the same in the list and alone."""
        alone = await self.get(f"/hall/{agent.id}")
        listed = (await self.get("/hall"))["items"]
        (row,) = [r for r in listed if r["agent_id"] == agent.id]
        assert {k: alone[k] for k in row} | {"as_of": 0} == row | {"as_of": 0}
        return alone


@dataclass
class Mandate:
    """A mandate by the routes of its owner and its agent."""

    desk: Desk
    id: str
    owner: Owner
    agent: Agent
    market: str
    vault: str = ""

    @property
    def path(self) -> str:
        return f"/mandates/{self.id}"

    async def sign(self) -> None:
        """Sign the terms, create the vault, attach it."""
        d, owner = self.desk, self.owner
        told = await d.get(f"{self.path}/terms", by=owner)
        signed = {"signature": owner.wallet.sign_typed(told["typed_data"])}
        await d.ok("POST", f"{self.path}/sign", signed, by=owner)
        create = (await d.get(f"{self.path}/create-call", by=owner))["call"]
        tx = await d.mined(owner.wallet, create, 3_000_000)
        told = await d.ok("POST", f"{self.path}/vault", {"tx_hash": tx}, by=owner)
        self.vault = told["mandate"]["vault_address"]

    async def put_in(self, amount: str) -> None:
        told = await self.desk.get(f"{self.path}/fund", by=self.owner, amount=amount)
        for call in told["calls"]:
            tx = await self.desk.mined(self.owner.wallet, call)
        await self.desk.ok("POST", f"{self.path}/vault-tx", {"tx_hash": tx}, by=self.owner)

    async def read(self) -> Body:
        return await self.desk.get(self.path, by=self.owner)

    async def progress(self) -> Body:
        return dict((await self.read())["progress"])

    async def figures(self) -> tuple[str, ...]:
        """(cash, positions_est, worth_est)."""
        p = await self.progress()
        return p["cash"], p["positions_est"], p["worth_est"]

    async def week(self, week: str) -> Body:
        return await self.desk.get(f"{self.path}/statement", by=self.owner, week=week)

    async def statement_rows(self, limit: int, **period: str) -> tuple[list[Body], Body]:
        """Every row of a period, page by page, and the sums above them."""
        rows: list[Body] = []
        cursor: dict[str, str] = {}
        while True:
            page = await self.desk.get(
                f"{self.path}/statement/rows", by=self.owner, limit=limit, **period, **cursor
            )
            rows += page["rows"]
            if page["next_cursor"] is None:
                return rows, page["sums"]
            cursor = {"cursor": page["next_cursor"]}

    async def days(self) -> dict[str, Body]:
        told = await self.desk.get(f"{self.path}/series", by=self.owner)
        return {p["day"]: p for p in told["points"]}

    # -- the agent

    async def asks(self, data: str, amount: str) -> tuple[int, Body]:
        """Calldata for one action, or why not."""
        target = self.desk.markets[self.market]
        return await self.desk.asked(
            "GET", f"{self.path}/execute-call", by=self.agent, target=target, data=data, approve_amount=amount
        )  # fmt: skip

    async def may_buy(self, amount: str) -> tuple[int, Body]:
        data = abi_codec.calldata("TestMarket", "deposit", (Usdc.parse(amount), self.vault))
        return await self.asks(data, amount)

    async def buy(self, amount: str) -> str:
        status, told = await self.may_buy(amount)
        assert status == 200, told
        return await self.desk.mined(self.agent.wallet, told, EXECUTE_GAS)

    async def sell(self, part: int = 1) -> str:
        """Take a part of the shares out: all, a half, a third."""
        return await self._redeem(self.desk.shares(self.market, self.vault) // part)

    async def sell_but(self, left: str) -> str:
        """Take out all but so much of the value."""
        desk, held = self.desk, self.desk.shares(self.market, self.vault)
        data = abi_codec.calldata("TestMarket", "convertToShares", (Usdc.parse(left),))
        told = desk.evm.chain.call({"to": desk.markets[self.market], "data": data})
        return await self._redeem(held - int.from_bytes(told, "big"))

    async def _redeem(self, shares: int) -> str:
        data = abi_codec.calldata("TestMarket", "redeem", (shares, self.vault, self.vault))
        status, told = await self.asks(data, "0")
        assert status == 200, told
        return await self.desk.mined(self.agent.wallet, told, EXECUTE_GAS)

    async def reports(self, kind: str, **body: Any) -> tuple[int, Body]:
        return await self.desk.asked(
            "POST", f"{self.path}/events", {"kind": kind} | body, by=self.agent
        )

    # -- the owner, on the chain

    async def calls(self, route: str) -> None:
        told = await self.desk.get(f"{self.path}/{route}", by=self.owner)
        await self.desk.mined(self.owner.wallet, told["call"], EXECUTE_GAS)


def two_markets(evm: Evm, other: str, value: str) -> Config:
    """The settings of tests, with a second market whose shares have a value probe of their own."""
    config = config_of(evm)
    (first,) = config.markets
    second = first | {"id": "other-market", "name": "Other Market", "address": other}
    second |= {"share_value": value}
    return Config(default_chain_id=CHAIN_ID, markets=(first, second))


@asynccontextmanager
async def a_desk(
    url: str, evm: Evm, *, house_key: bool = False, **switches: bool
) -> AsyncIterator[Desk]:
    """The service in this process, by its defaults: dry run on, no key of the house."""
    async with a_world(url, evm, keeper=house_key, **switches) as world:
        chain = world.chains.get(CHAIN_ID)
        other = await deploy(chain, evm.key(0), "TestMarket", (evm.usdc,))
        value = await deploy(chain, evm.key(0), "ShareValue", (other,))
        world.deps = replace(world.deps, config=two_markets(evm, other, value))
        world.wallet()  # mints, and moves prices
        settings = Settings(chains={CHAIN_ID: {"rpc_url": evm.url}})  # type: ignore[dict-item]
        ticks = KeeperScheduler(Runtime(settings, world.deps, world.chains, Networks({})))
        runner = await listen(build(world.deps, OPERATIONS), "127.0.0.1", 0)
        try:
            async with ClientSession() as http:
                yield Desk(world, f"http://127.0.0.1:{runner.addresses[0][1]}", http, ticks, other)
        finally:
            await runner.cleanup()
