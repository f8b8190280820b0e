"""A small world for tests: a real store, a real EVM with our contracts, a clock that stands still, counted ids."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chain.adapter import ChainConfig
from chain.chains import EvmChains
from chain.contracts import abi_codec, purse
from chain.contracts.sign_in import SiweSignIn
from chain.tx_sender import TxSender, address_of, deploy
from devtools.devchain import DevChain, serve_in_thread
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.mandates.markets import from_config
from domain.mandates.purses import PurseTerms
from domain.money import Usdc
from domain.settings import Config, Switches
from server.system import SystemIds
from storage.store import Store, open_store
from tests.databases import PATIENT
from tests.remembered import RememberingChain, remembered
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS, Caller, Deps, OperationResult
from tools.model.serialization import wire

CHAIN_ID = 31337
HUB_GAS = 6_000_000
PLENTY = 1_000_000  # of gas for any transaction of a set-up, whose estimate no test is about
START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
BY_NAME = {op.name: op for op in OPERATIONS}


class Clock:
    """A clock that moves when told."""

    def __init__(self, at: datetime = START):
        self.at = at

    def now(self) -> datetime:
        return self.at

    def forward(self, **period: float) -> None:
        self.at += timedelta(**period)


class CountedIds(SystemIds):
    """Random ids: what a test needs of them is only that they differ."""


@dataclass(frozen=True)
class Evm:
    """A chain with our contracts, served over HTTP."""

    chain: DevChain
    clock: Clock
    url: str
    usdc: str
    market: str
    factory: str
    lens: str
    keeper_key: str

    def key(self, n: int) -> str:
        return "0x" + self.chain.keys[n].hex()

    def facts(self, **changes: Any) -> ChainConfig:
        contracts = {"usdc": self.usdc, "factory": self.factory, "lens": self.lens}
        patience = {"read_ms": 30_000, "call_ms": 60_000}  # a busy machine is no hanging node
        told = {"rpc_url": self.url, "confirmations": 0} | contracts | patience | changes
        return ChainConfig(CHAIN_ID, **told)


@contextmanager
def running_evm() -> Iterator[Evm]:
    """Start the chain once; tests go back to a snapshot."""
    clock = Clock()
    chain = RememberingChain(lambda: int(clock.now().timestamp()), CHAIN_ID)
    with serve_in_thread(chain) as url:
        deployer, keeper = ("0x" + chain.keys[n].hex() for n in (0, 1))
        contracts = asyncio.run(deployed(url, deployer, keeper))
        yield Evm(chain, clock, url, *contracts, keeper_key=keeper)


@pytest.fixture(scope="module")
def own_evm() -> Iterator[Evm]:
    """The chain of one module, whose tests move its clock or its blocks too far for others: `evm = own_evm`."""
    with running_evm() as running:
        yield running


async def deployed(url: str, deployer: str, keeper: str) -> tuple[str, str, str, str]:
    """Put our contracts on a chain: USDC, market, factory, lens."""
    chains = EvmChains([ChainConfig(CHAIN_ID, url, confirmations=0)])
    evm = chains.get(CHAIN_ID)
    usdc = await deploy(evm, deployer, "TestUSDC")
    market = await deploy(evm, deployer, "TestMarket", (usdc,))
    factory = await deploy(evm, deployer, "MandateVaultFactory", (usdc, address_of(keeper), False))
    lens = await deploy(evm, deployer, "VaultLens")
    await chains.close()
    return usdc, market, factory, lens


async def asking_factory(evm: Evm) -> str:
    """Another factory on the chain, whose vaults keep approvals."""
    chains = EvmChains([evm.facts()])
    args = evm.usdc, address_of(evm.keeper_key), True
    made = await deploy(chains.get(CHAIN_ID), evm.key(0), "MandateVaultFactory", args)
    await chains.close()
    return made


async def purse_contracts(evm: Evm, factory: str) -> dict[str, str]:
    """The plain hub of purses and the deployer of the others, for the vaults of a factory."""
    chains = EvmChains([evm.facts()])
    deployer = await deploy(chains.get(CHAIN_ID), evm.key(0), "PurseHubDeployer", (factory,))
    await chains.close()
    data = abi_codec.calldata("PurseHubDeployer", "deploy", ((0, 0, 0, bytes(32)),))
    sender = LocalWallet(evm.key(0), evm.url)
    await sender.send(Call(CHAIN_ID, deployer, data), gas=HUB_GAS)
    await sender.close()
    hub = purse.hub_address(deployer, factory, PurseTerms())
    return {"purse_hub": hub, "purse_deployer": deployer}


@dataclass
class World:
    """Everything one test acts with."""

    store: Store
    deps: Deps
    clock: Clock
    evm: Evm
    chains: EvmChains
    facts: ChainConfig | None = None
    remembers: bool = True  # a set-up that was acted out before may be put back instead
    wallets: list[LocalWallet] = field(default_factory=list)
    _n: Any = field(default_factory=lambda: itertools.count(2))

    def __post_init__(self) -> None:
        self.whole = self.deps  # a test that exchanges a part of them works with other ones

    async def do(
        self, name: str, caller: Caller = ANONYMOUS, /, *, key: str | None = None, **arguments: Any
    ) -> OperationResult:
        """Run an operation by its one path."""
        return await run(BY_NAME[name], self.deps, caller, arguments, key=key, transport="http")

    async def ok(
        self, name: str, caller: Caller = ANONYMOUS, /, *, key: str | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Run an operation that must not refuse."""
        reply = await self.do(name, caller, key=key, **arguments)
        assert not reply.refused, reply.body
        return dict(reply.body)

    async def error(self, name: str, caller: Caller = ANONYMOUS, /, **arguments: Any) -> str:
        """The code with which an operation refuses."""
        return str((await self.do(name, caller, **arguments)).body["error"])

    def wallet(self) -> LocalWallet:
        wallet = LocalWallet(self.evm.key(next(self._n)), self.evm.url)
        self.wallets.append(wallet)
        return wallet

    async def owner(self) -> tuple[Caller, LocalWallet]:
        """A person who has signed in before."""
        wallet = self.wallet()
        new = {"new_id": self.deps.ids.short("u_"), "now": self.clock.now()}
        user = await self.store.write(lambda uow: uow.identities.person(wallet.address, **new))
        return Caller("owner", user.user_id, user.user_id, user.address), wallet

    async def agent(
        self, owner: Caller, *, accepts: bool = True, **policy: Any
    ) -> tuple[Caller, LocalWallet]:
        """An agent of an owner, with a wallet and a key."""
        wallet = self.wallet()
        name = await free_name(self.store, owner)
        told = await self.ok("owner_agent_register", owner, name=name, address=wallet.address)
        if accepts:
            policy = {"agent_id": told["agent_id"], "accepts_mandates": True} | policy
            await self.ok("owner_agent_policy_put", owner, **policy)
        named = (told["agent_id"], owner.user_id, wallet.address, name, hashed(told["key"]))
        return Caller("agent", *named), wallet

    async def prove(self, agent: Caller, wallet: LocalWallet) -> None:
        """Let a wallet sign that it is the agent's."""
        named = {"agent_id": agent.user_id, "chain_id": CHAIN_ID, "address": wallet.address}
        asked = await self.ok("agent_deposit_address", agent, **named)
        signature = wallet.sign_typed(asked["typed_data"])
        told = await self.ok("agent_deposit_address", agent, **named, signature=signature)
        assert told["proven"]

    async def mint(self, to: str, amount: str) -> None:
        data = abi_codec.calldata("TestUSDC", "mint", (to, Usdc.parse(amount)))
        await self.wallets[0].send(Call(CHAIN_ID, self.evm.usdc, data), gas=PLENTY)

    def deposit_data(self, vault: str, amount: str) -> str:
        """Calldata of the market's deposit for a vault."""
        return abi_codec.calldata("TestMarket", "deposit", (Usdc.parse(amount), vault))

    async def mined(
        self, wallet: LocalWallet, call: dict[str, Any], gas: int | None = PLENTY
    ) -> tuple[bool, str]:
        sent = Call(call["chain_id"], call["to"], call["data"], call["value"])
        receipt = await wallet.send(sent, gas=gas)
        return receipt["status"] == 1, "0x" + bytes(receipt["transactionHash"]).hex()


async def error_of(call: Awaitable[OperationResult]) -> object:
    """The refusal that a call is answered with; None where it is not refused."""
    return (await call).body.get("error")


async def free_name(store: Store, owner: Caller) -> str:
    """A name that no agent of the owner has: Scout, Scout 2, Scout 3 …"""
    names = await store.read(lambda uow: uow.identities.names_of(owner.user_id or ""))
    return f"Scout {len(names) + 1}" if names else "Scout"


@dataclass
class Mandated:
    """A mandate with its people."""

    world: World
    id: str
    owner: Caller
    owner_wallet: LocalWallet
    agent: Caller
    agent_wallet: LocalWallet
    vault: str = ""

    async def as_owner(self, name: str, /, **arguments: Any) -> OperationResult:
        return await self.world.do(name, self.owner, public_id=self.id, **arguments)

    async def as_agent(
        self, name: str, /, *, key: str | None = None, **arguments: Any
    ) -> OperationResult:
        return await self.world.do(name, self.agent, key=key, public_id=self.id, **arguments)

    async def read(self) -> dict[str, Any]:
        return await self.world.ok("mandate_get", self.owner, public_id=self.id)

    async def recorded(self, wallet: LocalWallet, call: Mapping[str, Any], **named: Any) -> str:
        """Send a call, and let the ledger know its transaction."""
        ok, tx = await self.world.mined(wallet, dict(call))
        assert ok
        told = await self.as_owner("owner_vault_tx", tx_hash=tx, **named)
        assert told.status == 200, told.body
        return tx

    def forced(self, amount: str, approve: str | None = None) -> dict[str, Any]:
        """A deposit of the agent's own making, past the service's checks."""
        world, limit = self.world, Usdc.parse(approve or amount)
        entry = world.evm.market, world.deposit_data(self.vault, amount)
        call = world.chains.get(CHAIN_ID).vault_call(self.vault, "execute", *entry, limit)
        return dict(wire(call))

    async def execute(self, amount: str, **more: Any) -> OperationResult:
        market = self.world.evm.market
        data = self.world.deposit_data(self.vault or market, amount)
        asked = {"target": market, "data": data, "approve_amount": amount} | more
        return await self.as_agent("mandate_execute_call", **asked)


def config_of(evm: Evm) -> Config:
    """Settings whose markets file knows the chain's own market."""
    named = {"id": "test-market", "name": "Test Market", "status": "live", "kind": "erc4626"}
    market = named | {"chain_id": CHAIN_ID, "address": evm.market}
    return Config(default_chain_id=CHAIN_ID, markets=(market,))


def market_targets(world: World) -> list[dict[str, Any]]:
    """The ERC-4626 market's entries."""
    (market,) = from_config(config_of(world.evm).markets)
    return [{"kind": "vault"}, *(t.as_json() for t in market.targets())]


def _packed(world: World, m: Mandated) -> tuple[Any, ...]:
    at = world.wallets.index
    return m.id, m.owner, at(m.owner_wallet), m.agent, at(m.agent_wallet), m.vault


def _opened(world: World, packed: tuple[Any, ...]) -> Mandated:
    public_id, owner, owners, agent, agents, vault = packed
    wallets = world.wallets
    return Mandated(world, public_id, owner, wallets[owners], agent, wallets[agents], vault)


@remembered(packed=_packed, opened=_opened)
async def drafted(world: World, **terms: Any) -> Mandated:
    """A draft that names an agent."""
    owner, owner_wallet = await world.owner()
    agent, agent_wallet = await world.agent(owner)
    body = {
        "budget_usdc": "500", "per_tx_cap_usdc": "100", "daily_cap_usdc": "250", "agent_id": agent.user_id, "chain_id": CHAIN_ID,
        "allowed_targets": market_targets(world),
    } | terms  # fmt: skip
    told = await world.ok("owner_mandate_create", owner, **body)
    return Mandated(world, told["mandate"]["public_id"], owner, owner_wallet, agent, agent_wallet)


@remembered(packed=_packed, opened=_opened)
async def signed(world: World, **terms: Any) -> Mandated:
    """A signed mandate."""
    m = await drafted(world, **terms)
    told = (await m.as_owner("owner_terms")).body
    reply = await m.as_owner("owner_sign", signature=m.owner_wallet.sign_typed(told["typed_data"]))
    assert reply.status == 200, reply.body
    return m


@remembered(packed=_packed, opened=_opened)
async def working(
    world: World, *, deposit: str = "500", accept: bool = True, **terms: Any
) -> Mandated:
    """A mandate whose vault stands and is funded."""
    m = await signed(world, **terms)
    reply = await m.as_owner("owner_create_call")
    assert reply.status == 200, reply.body
    create = reply.body
    if create.get("first"):
        ok, _ = await world.mined(m.owner_wallet, create["first"], gas=HUB_GAS)
        assert ok
    ok, tx = await world.mined(m.owner_wallet, create["call"], gas=PLENTY)
    assert ok
    attached = await m.as_owner("owner_vault_attach", tx_hash=tx)
    assert attached.status == 200, attached.body
    m.vault = attached.body["mandate"]["vault_address"]
    await world.mint(m.owner_wallet.address, "10000")
    for call in (await m.as_owner("owner_fund", amount=deposit)).body["calls"]:
        ok, tx = await world.mined(m.owner_wallet, call, gas=PLENTY)
        assert ok
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).body["mandate"]["status"] == "working"
    if accept:
        assert (await m.as_agent("mandate_accept")).status == 200
    return m


@asynccontextmanager
async def a_world(
    url: str,
    evm: Evm,
    *,
    keeper: bool = True,
    config: Config | None = None,
    approvals_on_chain: bool = False,
    purses: bool = False,
    **switches: bool,
) -> AsyncIterator[World]:
    """Open a world on a database; the chain goes back to where it was at the end."""
    store = await open_store(url, PATIENT)
    snapshot, before = evm.chain.snapshot(), evm.clock.at
    evm.clock.at = START
    factory = await asking_factory(evm) if approvals_on_chain else evm.factory
    hubs = await purse_contracts(evm, factory) if purses else {}
    facts = evm.facts(factory=factory, **hubs)
    chains = EvmChains([facts])
    deps = Deps(
        store=store,
        chains=chains,
        clock=evm.clock,
        ids=CountedIds(),
        config=config or config_of(evm),
        sign_in=SiweSignIn(),
        defaults=Switches(**({"door": True} | switches)),
        keeper=TxSender(chains, evm.keeper_key, poll_s=0.01) if keeper else None,
    )
    world = World(store, deps, evm.clock, evm, chains, facts)
    try:
        yield world
    finally:
        for wallet in world.wallets:
            await wallet.close()
        await chains.close()
        await store.close()
        evm.chain.revert(snapshot)
        evm.clock.at = before
