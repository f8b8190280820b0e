"""The stage of a conformance run: a chain, a service with a clock that can be moved, a proxy, and
a mandate a scenario.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio
from aiohttp import ClientSession
from pydantic import SecretStr

from chain.contracts import abi_codec
from devtools.conform.proxy import Proxy
from devtools.demo.people import Owner
from devtools.devnet import Devnet, chain_settings, devnet, market_entry
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.money import Usdc
from domain.wire_fields import JsonObject
from http_shim.http_server import address_of, bound, listen_on
from server.application import application
from server.keeper.scheduler import KeeperScheduler
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from server.settings import Settings
from server.system import SystemClock
from server.wiring import Runtime, build_runtime
from storage.schema import migrate
from tools.catalogue import OPERATIONS

CHAIN_ID: Final = 31337
OWNER, AGENT = 2, 3
PLENTY: Final = Usdc.parse("1000000")


class MovedClock:
    """The machine's clock, moved forward when a scenario says so."""

    def __init__(self) -> None:
        self._real, self._by = SystemClock(), timedelta()

    def now(self) -> datetime:
        """The present, as this run sees it."""
        return self._real.now() + self._by

    def forward_to(self, at: datetime) -> None:
        """Move to a moment."""
        self._by += max(timedelta(), at - self.now())


@dataclass
class Stage:
    """Chain, service and agent that the runs share."""

    net: Devnet
    parts: Runtime
    clock: MovedClock
    proxy: Proxy
    base: str
    owner: Owner
    command: Sequence[str]
    limit_s: int
    cases: int = 0

    async def forward_to(self, at: datetime) -> None:
        """Move time; the owner's session ended meanwhile, so he signs in anew.

        A block is mined, as on any chain where time goes by: calls are simulated at the newest one,
        and the vault's day is that block's.
        """
        self.clock.forward_to(at)
        self.net.chain.mine()
        await self.owner.sign_in()

    async def case(self, **terms: Any) -> ScenarioRun:
        """A working mandate for a fresh agent account."""
        self.proxy.reset()
        key = "0x" + self.net.chain.keys[AGENT].hex()
        wallet = LocalWallet(key, self.net.rpc_url)
        address = wallet.address
        await wallet.close()
        ask = self.owner.ask
        self.cases += 1
        name = {"name": f"Under test {self.cases}", "address": address}
        agent = await ask("POST", "/wallet/agents", name, expect=201)
        await ask("PUT", f"/wallet/agents/{agent['agent_id']}/policy", {"accepts_mandates": True})
        body = {
            "budget_usdc": "500",
            "per_tx_cap_usdc": "100",
            "daily_cap_usdc": "200",
            "agent_id": agent["agent_id"],
            "horizon_days": 30,
            "markets": ["test-market"],
        } | terms
        made = await self.owner.agree(body, body["budget_usdc"])
        since = self.net.chain.head.number
        return ScenarioRun(self, made.path, agent["key"], key, address, since)


@dataclass
class Run:
    """The exit of one run of the agent; None for one that had to be killed."""

    code: int | None
    printed: str


@dataclass
class ScenarioRun:
    """One mandate and its agent: what the agent did is read from the chain and the ledger, never
    from what it prints.
    """

    stage: Stage
    path: str
    key: str
    private_key: str
    address: str
    since: int
    runs: list[Run] = field(default_factory=list)

    async def run(self, amount: str, *, limit_s: int | None = None) -> Run:
        """Start the agent with its task and wait for its end; its whole process group is killed at
        the limit.
        """
        stage, market = self.stage, self.stage.net.deployed.market or ""
        task = {"market": market, "amount_usdc": amount}
        env = os.environ | {
            "WALLET_BASE": stage.base,
            "WALLET_KEY": self.key,
            "AGENT_PRIVATE_KEY": self.private_key,
            "RPC_URL": stage.net.rpc_url,
            "WALLET_TASK": json.dumps(task),
        }
        command = [
            part.replace("{market}", market).replace("{amount}", amount) for part in stage.command
        ]
        process = await asyncio.create_subprocess_exec(
            *command,
            env=env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        output = b""
        try:
            with anyio.move_on_after(limit_s or stage.limit_s):
                output, _ = await process.communicate()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with anyio.CancelScope(shield=True):
                await process.wait()
        done = Run(
            process.returncode if output or process.returncode == 0 else None,
            output.decode(errors="replace")[-2_000:],
        )
        self.runs.append(done)
        await self.settle()
        return done

    async def settle(self) -> None:
        """Let the chain reader catch up."""
        await KeeperScheduler(self.stage.parts).round()

    def transactions(self) -> list[bool]:
        """Whether each transaction of the agent's wallet succeeded, since the mandate was
        funded.
        """
        sender = bytes.fromhex(self.address[2:])
        blocks = self.stage.net.chain.blocks[self.since + 1 :]
        return [tx.status == 1 for block in blocks for tx in block.txs if tx.sender == sender]

    async def events(self) -> list[JsonObject]:
        """The ledger, newest first."""
        page = await self.stage.owner.ask("GET", self.path + "/events", limit=200)
        return list(page["items"])

    async def executed(self) -> list[Usdc]:
        """The amounts that executed calls took out, by the chain's logs, oldest first."""
        rows = [e for e in reversed(await self.events()) if e["reported_by"] == "chain"]
        return [
            Usdc.parse(e["payload"]["executed"]["spent"])
            for e in rows
            if "executed" in e["payload"]
        ]

    async def reports(self) -> list[JsonObject]:
        """The agent's reports of executed actions."""
        return [
            e
            for e in await self.events()
            if e["reported_by"] == "agent" and e["kind"] in ("buy", "sell", "move")
        ]

    async def violations(self) -> list[str]:
        """Codes of every flagged row."""
        return [
            c
            for e in await self.events()
            for c in (e["payload"].get("violation") or {}).get("codes", [])
        ]

    async def owner_sends(self, route: str) -> None:
        """Have the owner send one of the calls that the service makes for him."""
        call = await self.stage.owner.ask("GET", self.path + route)
        await self.stage.owner.send(call["call"])

    async def market_halves(self) -> None:
        """Halve the value of the market's shares."""
        market = self.stage.net.deployed.market or ""
        reserved = (await self.stage.parts.chains.get(CHAIN_ID).usdc_balances([market]))[market]
        lose = abi_codec.calldata("TestMarket", "lose", (reserved.share_down(5_000),))
        await self.stage.owner.wallet.send(Call(CHAIN_ID, market, lose))


@asynccontextmanager
async def staged(command: Sequence[str], limit_s: int) -> AsyncIterator[Stage]:
    """Set everything up on free ports and in a folder that goes away."""
    clock = MovedClock()
    with tempfile.TemporaryDirectory(prefix="wallet-conform-") as name:
        folder = Path(name)
        async with devnet("127.0.0.1", 0, CHAIN_ID, clock=clock) as net:
            markets = folder / "markets.toml"
            markets.write_text(market_entry(net, CHAIN_ID))
            settings = Settings(
                database_url=f"sqlite:///{folder / 'wallet.sqlite'}",
                default_chain_id=CHAIN_ID,
                chains={CHAIN_ID: chain_settings(net)},
                keeper_private_key=SecretStr(net.keeper_key),
                markets_file=markets,
                door="on",
                chain_read_ms=5_000,  # the chain is in this process
                # The clock stands still between scenarios, so that nothing is ever paid off.
                rate_reads=0,
                rate_writes=0,
                rate_anonymous=0,
                rate_challenges=0,
                drafts_per_hour=0,
            )
            await anyio.to_thread.run_sync(migrate.upgrade, settings.database_url)
            sock = bound("127.0.0.1", 0)
            address = address_of(sock)
            proxy = Proxy(address)
            front, base = await proxy.start()
            # What the service says of itself leads to the front, which loses answers.
            async with (
                build_runtime(settings, clock, address=base) as parts,
                ClientSession() as http,
            ):
                server, _ = build_server(parts.deps, OPERATIONS)
                app = application(parts.deps, mcp_app(server, parts.deps.config.base_url))
                service = await listen_on(app, sock)
                wallet = LocalWallet("0x" + net.chain.keys[OWNER].hex(), net.rpc_url)
                try:
                    owner = Owner(http, address, wallet, CHAIN_ID)
                    mint = abi_codec.calldata("TestUSDC", "mint", (wallet.address, PLENTY))
                    await wallet.send(Call(CHAIN_ID, net.deployed.usdc, mint))
                    await owner.sign_in()
                    yield Stage(net, parts, clock, proxy, base, owner, command, limit_s)
                finally:
                    with anyio.CancelScope(shield=True):
                        await wallet.close()
                        await front.cleanup()
                        await drain(server)
                        await service.cleanup()
