"""A service beside a local venue: both networks, people with wallets, a clock that moves when told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from devtools.devvenue import DevVenue, Rules, VenueFault, serve
from devtools.devvenue.faults import Faults
from domain.settings import Config, Switches, Trading
from domain.trading.venue_account import TERMS, agent_name, milliseconds
from domain.trading.venue_values import Network
from server.settings import Settings
from server.system import SystemIds
from server.venues import SharedWeights, venues
from storage.store import Store, open_store
from tests.databases import PATIENT
from tests.waiting import LoopClock
from tests.world import BY_NAME, Clock
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS, Caller, Deps, OperationResult
from tools.trading.paper.simulated_exchange import SimulatedExchange as PaperDesk
from venue import actions, signing
from venue.venues import Networks

BUILDER = Account.from_key("0x" + "bb" * 32)
DEAD = "http://127.0.0.1:9"
# Of the venue's clients: no machine needs so long for an answer, and nobody is kept waiting for one that does not come.
PATIENCE_S = 15


def signed_name(name: str, until: datetime) -> str:
    """A name with its end, as the wallet signs it."""
    return f"{name} valid_until {milliseconds(until)}"


class Silences(Faults):
    """Faults whose seconds pass on the loop's clock: nobody waits for them.

    A request that is held outlasts every client's patience; `after` the next one of a kind so many seconds pass.
    """

    def __init__(self, clock: LoopClock):
        super().__init__()
        self._clock = clock
        self.outlasted = 0
        self.after: dict[str, float] = {}

    def take(self, route: str, kind: str) -> VenueFault | None:
        fault = super().take(route, kind)
        held = fault is not None and "hang" in fault.effect
        self.outlasted += held
        if held:
            self._clock.forward(PATIENCE_S + 1)
        if seconds := self.after.pop(kind, None):
            # Whoever has its answer by then rests, and whoever has not gives it up: both are late.
            asyncio.get_running_loop().call_later(0.05, self._clock.forward, seconds)
        return fault


@dataclass
class Person:
    """Somebody who is signed in, and the wallet he trades with."""

    caller: Caller
    wallet: LocalAccount


@dataclass
class Desk:
    """Everything one test acts with."""

    store: Store
    deps: Deps
    clock: Clock
    networks: Networks
    main: DevVenue
    test: DevVenue
    people: int = 0
    # What the market does while a paper order waits for its second snapshot.
    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    urls: tuple[str, str] = ("", "")

    async def do(
        self, name: str, who: Caller = ANONYMOUS, /, *, key: str | None = None, **arguments: Any
    ) -> OperationResult:
        return await run(BY_NAME[name], self.deps, who, arguments, key=key)

    async def ok(
        self, name: str, who: Caller = ANONYMOUS, /, *, key: str | None = None, **arguments: Any
    ) -> dict[str, Any]:
        reply = await self.do(name, who, key=key, **arguments)
        assert not reply.refused, reply.body
        return dict(reply.body)

    async def refused(
        self, name: str, who: Caller = ANONYMOUS, /, *, key: str | None = None, **arguments: Any
    ) -> OperationResult:
        reply = await self.do(name, who, key=key, **arguments)
        assert reply.refused, reply.body
        return reply

    async def person(self, *, deposit: str | None = "1000") -> Person:
        self.people += 1
        wallet: LocalAccount = Account.from_key(f"0x{0xA000 + self.people:064x}")
        signed_in_with = Account.from_key(f"0x{0xB000 + self.people:064x}").address
        user = await self.store.write(
            lambda uow: uow.identities.person(
                signed_in_with, new_id=self.deps.ids.short("u_"), now=self.clock.now()
            )
        )
        if deposit is not None:
            self.main.deposit(wallet.address, deposit)
            self.test.deposit(wallet.address, deposit)
        return Person(Caller("owner", user.user_id, user.user_id, user.address), wallet)

    async def challenge(self, p: Person, wallet: str | None = None) -> dict[str, Any]:
        return await self.ok(
            "own_link_challenge",
            p.caller,
            address=wallet or p.wallet.address,
            terms_sha256=TERMS.sha256,
        )

    def answered(self, challenge: dict[str, Any], wallet: LocalAccount) -> dict[str, str]:
        """The body that links a wallet: a challenge, and the wallet's signature of its text."""
        return {
            "challenge_id": challenge["challenge_id"],
            "signature": signed(wallet, challenge["message"]),
        }

    async def link(self, p: Person, challenge: dict[str, Any] | None = None) -> dict[str, Any]:
        challenge = challenge or await self.challenge(p)
        return await self.ok("own_link", p.caller, **self.answered(challenge, p.wallet))

    async def linked(self, **more: Any) -> Person:
        p = await self.person(**more)
        await self.link(p)
        return p

    def approval(
        self,
        p: Person,
        agent: str,
        *,
        network: Network = "testnet",
        kind: str = "order",
        **changes: Any,
    ) -> dict[str, Any]:
        """The body of an approval that the person's wallet signed."""
        name = agent_name(str(p.caller.user_id), network, kind)  # type: ignore[arg-type]
        until = self.clock.now().replace(microsecond=0) + changes.pop("lasts", timedelta(days=7))
        asked: dict[str, Any] = {
            "agent_address": agent, "agent_name": signed_name(name, until), "nonce": milliseconds(self.clock.now()) + self.next_nonce(),
            "signature_chain_id": "0xa4b1", "kind": kind,
        } | changes  # fmt: skip
        action = actions.approve_agent(
            network,
            agent=asked["agent_address"],
            name=asked["agent_name"],
            nonce=asked["nonce"],
            signature_chain_id=asked["signature_chain_id"],
        )
        typed = signing.user_typed_data(action)
        made = p.wallet.sign_typed_data(full_message=dict(typed))
        return asked | {
            "signature": {"r": f"0x{made.r:064x}", "s": f"0x{made.s:064x}", "v": made.v}
        }

    def outlasted(self) -> int:
        """How many requests the clients gave up for the venue's silence."""
        return sum(
            v.faults.outlasted for v in (self.main, self.test) if isinstance(v.faults, Silences)
        )

    def next_nonce(self) -> int:
        self.people += 1
        return self.people

    async def enabled(self, p: Person, agent: str, **changes: Any) -> dict[str, Any]:
        return await self.ok("own_enable_relay", p.caller, **self.approval(p, agent, **changes))

    async def rows(self, table: str) -> list[dict[str, Any]]:
        return await self.store.read(
            lambda uow: [dict(r) for r in uow.sql.rows(f"SELECT * FROM {table}")]
        )

    def switched(self, **values: bool) -> None:
        self.deps = replace(self.deps, defaults=replace(self.deps.defaults, **values))


def signed(wallet: LocalAccount, text: str) -> str:
    return "0x" + wallet.sign_message(encode_defunct(text=text)).signature.hex().removeprefix("0x")


def order_key(n: int) -> str:
    return signing.key_from((0xC000 + n).to_bytes(32, "big")).public_key.to_checksum_address()


@asynccontextmanager
async def a_desk(
    url: str,
    *,
    rules: Rules | None = None,
    down: bool = False,
    clock: Clock | None = None,
    **trading: Any,
) -> AsyncIterator[Desk]:
    store, clock = await open_store(url, PATIENT), clock or Clock()

    def now() -> int:
        return milliseconds(clock.now())

    free = rules or Rules(ip_budget=None)
    main, test = DevVenue(now, mainnet=True, rules=free), DevVenue(now, rules=free)
    passing = LoopClock()
    for network in (main, test):
        network.deposit(BUILDER.address, "200")
        network.faults = Silences(passing)
    (main_runner, main_url), (test_runner, test_url) = await serve(main), await serve(test)
    settings = Settings(
        venue_mainnet_url=DEAD if down else main_url,
        venue_testnet_url=DEAD if down else test_url,
        venue_timeout_s=PATIENCE_S,
    )
    networks = venues(settings, clock, SharedWeights(store))
    config = Config(
        trading=Trading(
            **(
                {"builder_address": BUILDER.address, "verify_pause_s": 0, "relays_per_minute": 0}
                | trading
            )
        )
    )
    deps = Deps(
        store,
        EvmChains([]),
        clock,
        SystemIds(),
        config,
        SiweSignIn(),
        Switches(door=True),
        venues=networks,
    )
    desk = Desk(store, deps, clock, networks, main, test, urls=(main_url, test_url))

    async def wait(period: timedelta) -> None:
        clock.at += period
        for act in desk.meanwhile:
            act()

    desk.deps = replace(
        deps, paper=PaperDesk(store=store, clock=clock, trading=config.trading, wait=wait)
    )
    try:
        yield desk
    finally:
        main.faults.clear()
        test.faults.clear()
        await networks.close()
        await main_runner.cleanup()
        await test_runner.cleanup()
        await store.close()


@pytest.fixture(autouse=True)
def _at_once(no_backoff: None) -> None:
    """Tries at the venue follow each other at once."""


@pytest.fixture
async def desk(sqlite_url: str) -> AsyncIterator[Desk]:
    async with a_desk(sqlite_url) as opened:
        yield opened


@pytest.fixture
async def both(database_url: str) -> AsyncIterator[Desk]:
    """The same desk on SQLite and on PostgreSQL."""
    async with a_desk(database_url) as opened:
        yield opened
