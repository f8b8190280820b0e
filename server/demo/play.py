"""The story in nine chapters; every one is done for real, and insisted on."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import anyio
from aiohttp import ClientSession
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from pydantic import SecretStr

from chain import codec
from chain.evm import EvmChain
from chain.local_wallet import LocalWallet, address_of
from domain.facts import Call
from domain.money import Usdc
from domain.refusals import Refused
from server.demo.people import Agent, Owner, harness
from server.demo.story import StepFailed, Story
from server.demo.trading import trades
from server.devnet import Devnet, devnet, environment
from server.devvenue import Venues, venues
from server.maintenance import create_house_key, verify_ledgers
from server.process import serve_until
from server.settings import ChainSettings, Settings
from server.wiring import chain_facts
from skill.text import client_config

CHAIN_ID: Final = 31337
GIB: Final = Usdc.parse("10000")
NOTE: Final = (
    "Put 500 USDC to work in the Test Market for two weeks, at most 100 per action and 300 a day. "
    "Never lose more than 20%. Ask me above 80. The agent gets 10% of profits. Close everything at the floor."
)


@dataclass(slots=True)
class Stage:
    """What the chapters share."""

    story: Story
    folder: Path
    net: Devnet
    settings: Settings
    base: str
    owner: Owner
    agent_wallet: LocalWallet
    chain: EvmChain
    keeper_key: str = ""
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The mandate's route."""
        return f"/wallet/mandates/{self.seen['id']}"

    @property
    def market(self) -> str:
        """The market's address."""
        return self.net.deployed.market or ""

    def service_env(self) -> dict[str, str]:
        """Environment of a subprocess that uses the same database and chain."""
        return {
            **environment(self.net, CHAIN_ID),
            "PATH": _path(),
            "WALLET_DATABASE_URL": self.settings.database_url,
            "WALLET_MARKETS_FILE": str(self.settings.markets_file),
            "WALLET_DOOR": "on",
            "WALLET_LOG_LEVEL": "ERROR",
            "WALLET_BASE_URL": self.base,
            "WALLET_SERVICE_USER_KEY": self.seen["agent_key"],
        }


def _path() -> str:
    return os.defpath


async def play(*, stay: bool, port: int) -> int:
    """Play the story; 0 only if every step held."""
    story, started = Story(), time.monotonic()
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    try:
        with tempfile.TemporaryDirectory(prefix="wallet-demo-") as folder:
            await _on_stage(story, Path(folder), stay=stay, port=port, started=started)
    except* StepFailed as failed:
        story.fail("; ".join(str(e) for e in _leaves(failed)))
    except* Refused as refused:
        story.fail(
            "; ".join(
                f"{e.code}: {e.refusal.reason}" for e in _leaves(refused) if isinstance(e, Refused)
            )
        )
    else:
        return 0
    return 1


def _leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    """The exceptions inside nested groups."""
    return [
        x
        for e in group.exceptions
        for x in (_leaves(e) if isinstance(e, BaseExceptionGroup) else [e])
    ]


MARKETS: Final = """
[[markets]]
id = "test-market"
name = "Test Market"
status = "live"
kind = "erc4626"
chain_id = {chain_id}
address = "{address}"
"""


async def _on_stage(story: Story, folder: Path, *, stay: bool, port: int, started: float) -> None:
    story.chapter(1, "A chain, contracts, a database and the service")
    async with (
        devnet("127.0.0.1", 0, CHAIN_ID) as net,
        venues("127.0.0.1", 0, _people(net)) as both,
    ):
        story.say(f"embedded EVM (chain {CHAIN_ID}) at {net.rpc_url}")
        for name, address in (
            ("test USDC", net.deployed.usdc),
            ("vault factory", net.deployed.factory),
            ("ERC-4626 market", net.deployed.market),
        ):
            story.say(f"{name} at {address}")
        markets = folder / "markets.toml"
        markets.write_text(MARKETS.format(chain_id=CHAIN_ID, address=net.deployed.market))
        story.say(
            f"local trading venue at {both.mainnet_url} (mainnet) and {both.testnet_url} (testnet)"
        )
        settings = _settings(folder, net, markets, port, both)
        async with anyio.create_task_group() as group, ClientSession() as http:
            stop = anyio.Event()
            base = await group.start(_service, settings, stop)
            story.hold(
                f"a fresh SQLite database, and the service on one port: {base}",
                truth=await _up(http, base),
            )
            stage = await _cast(story, folder, net, settings, base, http)
            try:
                await _chapters(stage)
                story.end(int(time.monotonic() - started))
                if stay:
                    await _stay(stage)
            finally:
                await _leave(stage)
                stop.set()


def _people(net: Devnet) -> list[str]:
    """Addresses of the chain's keys, which have money at the venue too."""
    return [address_of("0x" + key.hex()) for key in net.chain.keys]


def _settings(folder: Path, net: Devnet, markets: Path, port: int, both: Venues) -> Settings:
    port = port or _free_port()
    facts = ChainSettings(
        rpc_url=net.rpc_url,
        usdc=net.deployed.usdc,
        factory=net.deployed.factory,
        lens=net.deployed.lens,
        confirmations=0,
        poll_s=1,
    )
    return Settings(
        database_url=f"sqlite:///{folder / 'wallet.sqlite'}",
        base_url=f"http://127.0.0.1:{port}",
        default_chain_id=CHAIN_ID,
        chains={CHAIN_ID: facts},
        keeper_private_key=SecretStr(net.keeper_key),
        markets_file=markets,
        door="on",
        keeper_tick_s=1,
        venue_mainnet_url=both.mainnet_url,
        venue_testnet_url=both.testnet_url,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _service(settings: Settings, stop: anyio.Event, *, task_status: Any) -> None:
    port = int(settings.base_url.rsplit(":", 1)[1])
    await serve_until(settings, "127.0.0.1", port, stop, keeper=True, ready=task_status.started)


async def _up(http: ClientSession, base: str) -> bool:
    async with http.get(base + "/readyz") as response:
        return response.status == 200


async def _cast(
    story: Story, folder: Path, net: Devnet, settings: Settings, base: str, http: ClientSession
) -> Stage:
    owner_wallet, agent_wallet = (
        LocalWallet("0x" + net.chain.keys[n].hex(), net.rpc_url) for n in (2, 3)
    )
    mint = Call(
        CHAIN_ID, net.deployed.usdc, codec.calldata("TestUSDC", "mint", (owner_wallet.address, GIB))
    )
    await owner_wallet.send(mint)
    owner = Owner(http, base, owner_wallet, CHAIN_ID)
    keeper = await create_house_key(settings, "keeper", "kk_")
    chain = EvmChain(chain_facts(settings)[0])
    return Stage(story, folder, net, settings, base, owner, agent_wallet, chain, keeper["key"])


async def _leave(stage: Stage) -> None:
    with anyio.CancelScope(shield=True):
        for wallet in (stage.owner.wallet, stage.agent_wallet):
            await wallet.close()
        await stage.chain.close()


async def _chapters(stage: Stage) -> None:
    await registers(stage)
    await signs(stage)
    stdio = StdioServerParameters(
        command=sys.executable, args=["-m", "server", "mcp"], env=stage.service_env()
    )
    async with harness(stdio, stage.agent_wallet) as agent:
        await acts(stage, agent)
    headers = {"X-Service-User-Key": stage.seen["agent_key"]}
    async with harness(
        sse_client(stage.base + "/sse", headers=headers), stage.agent_wallet
    ) as agent:
        await is_refused(stage, agent)
        await asks(stage, agent)
    await reads(stage)
    await leaves(stage)
    await trades(stage.story, stage.owner, 9)


# -- the chapters
# --------------------------------------------------------------------------------------------------


async def registers(s: Stage) -> None:
    """The owner signs in, registers an agent, lets it accept mandates."""
    s.story.chapter(2, "The owner signs in and registers an agent")
    session = await s.owner.sign_in()
    s.story.same(
        "signed in with a wallet (SIWE) as", session["user"]["address"], s.owner.wallet.address
    )
    agent = await s.owner.ask(
        "POST", "/wallet/agents", {"name": "Scout", "address": s.agent_wallet.address}, expect=201
    )
    s.seen |= {"agent_id": agent["agent_id"], "agent_key": agent["key"]}
    s.story.say(f"agent {agent['agent_id']} with a key that is shown once: {agent['key'][:6]}…")
    policy = await s.owner.ask(
        "PUT", f"/wallet/agents/{agent['agent_id']}/policy", {"accepts_mandates": True}
    )
    s.story.same("its policy accepts mandates", policy["policy"]["accepts_mandates"], True)


async def signs(s: Stage) -> None:
    """A note becomes a draft, is corrected, read, signed; the vault is created and funded."""
    s.story.chapter(3, "Plain words become signed terms and a funded vault")
    s.story.say(f'note: "{NOTE}"')
    read = await s.owner.ask(
        "POST", "/wallet/mandates/draft", {"note": NOTE, "save": True}, expect=201
    )
    s.seen["id"] = read["public_id"]
    s.story.say(
        "understood: " + "; ".join(f"{u['term']} = {u['value']}" for u in read["understood"])
    )
    d = read["draft"]
    terms = {
        n: d[n]
        for n in (
            "budget_usdc",
            "per_tx_cap_usdc",
            "daily_cap_usdc",
            "stop_floor_bps",
            "horizon_days",
            "payout_rule",
            "allowed_targets",
            "approval_above_usdc",
            "on_floor",
            "purpose",
        )
    }
    corrected = terms | {"daily_cap_usdc": "250", "agent_id": s.seen["agent_id"]}
    told = await s.owner.ask("PUT", s.path, corrected)
    s.story.same(
        "the owner corrects the cap per day to", told["mandate"]["daily_cap_usdc"], "250.000000"
    )
    signable = await s.owner.ask("GET", s.path + "/terms")
    for clause in signable["clauses"]:
        s.story.say(f"{clause['n']:2}. {clause['text_en']} [{clause['enforced_by']}]")
    worst = signable["exposure"]
    s.story.say(
        f"worst case: {worst['before_pause']} before a pause lands, {worst['today']} today, {worst['ever']} ever"
    )
    signature = s.owner.wallet.sign_typed(signable["typed_data"])
    signed = await s.owner.ask("POST", s.path + "/sign", {"signature": signature})
    s.story.same("the terms are signed (EIP-712)", signed["mandate"]["status"], "signed")
    create = await s.owner.ask("GET", s.path + "/create-call")
    s.story.same("the factory call was simulated before sending", create["simulation"]["ok"], True)
    made = await s.owner.send(create["call"])
    attached = await s.owner.ask("POST", s.path + "/vault", {"tx_hash": made})
    s.story.same(
        "the vault stands where the terms say",
        attached["mandate"]["vault_address"],
        create["predicted_vault"],
    )
    s.seen["vault"] = attached["mandate"]["vault_address"]
    fund = await s.owner.ask("GET", s.path + "/fund", amount="500")
    for call in fund["calls"]:
        s.seen["deposit_tx"] = await s.owner.send(call)
    told = await s.owner.ask("POST", s.path + "/vault-tx", {"tx_hash": s.seen["deposit_tx"]})
    s.story.same("500 USDC deposited; the mandate is", told["mandate"]["status"], "working")


def _deposit_data(s: Stage, amount: Usdc) -> str:
    return codec.calldata("TestMarket", "deposit", (amount, s.seen["vault"]))


async def acts(s: Stage, agent: Agent) -> None:
    """Over stdio: tools, offer, acceptance, calldata, a transaction, a report and its
    repetition.
    """
    s.story.chapter(4, "The agent works over MCP (stdio)")
    tools = await agent.tools()
    s.story.hold(
        f"`wallet mcp` offers {len(tools)} tools",
        truth="mandate_execute_call" in tools,
        shown=tools,
    )
    me = await agent.call("agents_me")
    offers = await agent.call("agent_offers", agent_id=me["agent_id"])
    s.story.same("its offer", [o["mandate"]["public_id"] for o in offers["items"]], [s.seen["id"]])
    early = await agent.attempt(
        "mandate_execute_call",
        public_id=s.seen["id"],
        target=s.market,
        data=_deposit_data(s, Usdc(1)),
    )
    s.story.same(
        "before acceptance it is refused", early["refusal"]["error"], "mandate_not_accepted"
    )
    await agent.call("mandate_accept", public_id=s.seen["id"])
    amount = Usdc.parse("60")
    told = await agent.call(
        "mandate_execute_call",
        public_id=s.seen["id"],
        target=s.market,
        data=_deposit_data(s, amount),
        approve_amount=str(amount),
    )
    s.story.same("calldata that the simulation accepts", told["simulation"]["ok"], True)
    ok, tx = await agent.execute(told)
    s.story.hold(f"60 USDC into the market: {tx}", truth=ok)
    s.seen["first_tx"] = tx
    report = {
        "public_id": s.seen["id"],
        "kind": "buy",
        "amount_usdc": "60",
        "tx_hash": tx,
        "idempotency_key": "buy-1",
        "payload": {
            "position": {"id": "test-market"},
            "target": {"market": "test-market"},
            "why": "the best rate on the list",
        },
    }
    first = await agent.call("mandate_report_event", **report)
    again = await agent.call("mandate_report_event", **report)
    s.story.hold("the same report again is the same answer", truth=first == again, shown=again)
    rows = await agent.call("mandate_events", public_id=s.seen["id"])
    own = [e for e in rows["items"] if e["reported_by"] == "agent"]
    s.story.same("rows that it wrote", len(own), 1)
    s.story.same("broken rules", first["violation"], False)


async def is_refused(s: Stage, agent: Agent) -> None:
    """Over SSE: above the cap per action; refused before gas, reverted by the vault, reported and
    proven.
    """
    s.story.chapter(5, "Above the cap: refused before gas, reverted on chain, proven (SSE)")
    amount = Usdc.parse("150")
    data = _deposit_data(s, amount)
    told = await agent.attempt(
        "mandate_execute_call",
        public_id=s.seen["id"],
        target=s.market,
        data=data,
        approve_amount=str(amount),
    )
    block = told["refusal"]
    s.story.same("the service refuses with", block["error"], "over_per_tx_cap")
    s.story.say(
        f'"{block["reason"]}" who fixes it: {block["who_fixes"]}; possible now: {block["remaining"]["value"]}'
    )
    forced = s.chain.vault_call(s.seen["vault"], "execute", s.market, data, amount)
    ok, tx = await agent.execute(forced.as_json())
    s.story.same("sent all the same, the transaction succeeds", ok, False)
    receipt = await s.chain.receipt(tx)
    revert = receipt.revert.name if receipt and receipt.revert else None
    s.story.same("the vault reverts with", revert, "OverPerTxCap")
    report = await agent.call(
        "mandate_report_refusal",
        public_id=s.seen["id"],
        reason="OverPerTxCap",
        tx_hash=tx,
        check="over_per_tx_cap",
        attempted={"amount_usdc": str(amount)},
    )
    s.story.same("the refused attempt is proven by the receipt", report["proven"], True)


async def asks(s: Stage, agent: Agent) -> None:
    """Above the approval amount: held, approved, executed."""
    s.story.chapter(6, "Above the approval amount: the owner is asked")
    amount = Usdc.parse("90")
    asked = {
        "public_id": s.seen["id"],
        "target": s.market,
        "data": _deposit_data(s, amount),
        "approve_amount": str(amount),
        "why": "a larger step while the rate holds",
    }
    held = await agent.call("mandate_execute_call", **asked)
    s.story.same("held", held.get("status"), "pending_approval")
    s.story.same("no calldata is handed out", held.get("data"), None)
    item = held["approval"]["approval_id"]
    again = await agent.call("mandate_execute_call", **asked)
    s.story.same("asked again, the same item", again["approval"]["approval_id"], item)
    decided = await s.owner.ask("POST", f"{s.path}/approvals/{item}", {"decision": "approve"})
    s.story.same("the owner", decided["approval"]["status"], "approved")
    told = await agent.call("mandate_execute_call", **asked)
    ok, tx = await agent.execute(told)
    s.story.hold(f"90 USDC into the market: {tx}", truth=ok)
    report = await agent.call(
        "mandate_report_event",
        public_id=s.seen["id"],
        kind="buy",
        amount_usdc="90",
        tx_hash=tx,
        idempotency_key="buy-2",
        payload={"position": {"id": "test-market"}, "target": {"market": "test-market"}},
    )
    s.story.same("broken rules", report["violation"], False)
    s.seen["approval"] = item


async def _settled_ledger(s: Stage, *, spent: str) -> dict[str, Any]:
    """The mandate read once the chain reader has brought everything in."""
    for _ in range(100):
        told = await s.owner.ask("GET", s.path)
        chain_moves = [
            e for e in told["events"] if e["kind"] == "move" and e["reported_by"] == "chain"
        ]
        if (
            sum(
                Usdc.parse(e["payload"]["executed"]["spent"]).micros
                for e in chain_moves
                if "executed" in e["payload"]
            )
            == Usdc.parse(spent).micros
        ):
            return told
        await anyio.sleep(0.1)
    raise StepFailed("the chain reader did not bring the vault's logs in")


async def reads(s: Stage) -> None:
    """The mandate read agrees with the chain to the last digit."""
    s.story.chapter(7, "The record agrees with the chain")
    told = await _settled_ledger(s, spent="150")
    vault = (await s.chain.vault_states([s.seen["vault"]]))[s.seen["vault"]]
    balance = (await s.chain.usdc_balances([s.seen["vault"]]))[s.seen["vault"]]
    p, limits = told["progress"], told["limits"]
    s.story.same("cash in the ledger is the vault's USDC balance", p["cash"], str(balance))
    s.story.same(
        "worth is cash and positions by the vault's own probe",
        p["worth_est"],
        str(vault.cash + vault.positions),
    )
    s.story.same("the floor is the vault's", p["floor"], str(vault.floor))
    s.story.same(
        "used today is what the vault measured",
        limits["used"]["per_day"]["value"],
        str(vault.spent_today),
    )
    s.story.same("nothing is reserved any more", limits["used"]["per_day"]["reserved"], "0.000000")
    s.story.same("clauses", [c["n"] for c in told["clauses"]], list(range(1, 11)))
    kinds = {step["kind"] for step in told["steps"]}
    s.story.hold(
        f"the record's steps: {', '.join(sorted(kinds))}",
        truth={"instruction", "funding", "action", "outcome", "consent", "control"} <= kinds,
        shown=kinds,
    )
    used = await s.owner.ask("GET", s.path + "/approvals", approval_id=s.seen["approval"])
    s.story.same("the approval is", used["items"][0]["status"], "used")
    s.story.same(
        "terms",
        {k: told["terms_status"][k] for k in ("digest_matches", "signer_matches")},
        {"digest_matches": True, "signer_matches": True},
    )
    s.story.table(
        "the mandate",
        {
            "worth": p["worth_est"],
            "realized": p["realized"],
            "leave now": p["leave_now_est"],
            "fees": p["fees"],
            "possible now": limits["remaining"]["value"],
            "worst case ever": told["exposure"]["ever"],
        },
    )


async def leaves(s: Stage) -> None:
    """A gain, the stop, the unwinding, settlement, the agent's fee, withdrawal, the statement."""
    s.story.chapter(8, "The owner stops, the keeper settles, the agent is paid, the owner is out")
    owner, market, vault = s.owner, s.market, s.seen["vault"]
    gain = Call(
        CHAIN_ID,
        s.net.deployed.usdc,
        codec.calldata("TestUSDC", "mint", (market, Usdc.parse("15"))),
    )
    await owner.wallet.send(gain)
    s.story.say("the market earns 15 USDC")
    stopped = await owner.ask("POST", s.path + "/stop")
    await owner.ask(
        "POST", s.path + "/vault-tx", {"tx_hash": await owner.send(stopped["stop_call"])}
    )
    told = await owner.ask("GET", s.path)
    s.story.same("stopped on chain", told["chain_state"]["stopped"], True)
    s.story.same("the open position holds the withdrawal back", told["lock"]["withdrawable"], False)
    block = await s.chain.latest()
    shares = await s.chain.eth_call(
        market, codec.calldata("TestMarket", "balanceOf", (vault,)), block
    )
    exit_data = codec.calldata(
        "TestMarket", "redeem", (int.from_bytes(shares, "big"), vault, vault)
    )
    unwind = await owner.ask("GET", s.path + "/unwind-call", target=market, data=exit_data)
    await owner.ask("POST", s.path + "/vault-tx", {"tx_hash": await owner.send(unwind["call"])})
    before = (await s.chain.usdc_balances([s.agent_wallet.address]))[s.agent_wallet.address]
    headers = {"Authorization": f"Bearer {s.keeper_key}"}
    async with (
        ClientSession(headers=headers) as http,
        http.post(s.base + s.path + "/settle") as response,
    ):
        settled = await response.json()
        s.story.same("the keeper settles, from chain facts", response.status, 200)
    told = await _until_settled(s)
    fee = (await s.chain.usdc_balances([s.agent_wallet.address]))[s.agent_wallet.address] - before
    s.story.say(f"settled by {', '.join(settled['transactions']) or 'the keeper tick'}")
    paid = Usdc.parse(told["fees"]["agent_fee"]["paid"])
    s.story.hold(
        f"the agent's fee was paid on chain: {fee} USDC, 10% of the measured gain",
        truth=fee == paid and fee.micros > 0,
        shown=paid,
    )
    withdraw = await owner.ask("GET", s.path + "/withdraw-call")
    await owner.ask("POST", s.path + "/vault-tx", {"tx_hash": await owner.send(withdraw["call"])})
    left = (await s.chain.usdc_balances([vault]))[vault]
    s.story.same("the vault is empty", str(left), "0.000000")
    told = await owner.ask("GET", s.path)
    s.story.same("cash in the ledger", told["progress"]["cash"], "0.000000")
    s.story.same("status", told["mandate"]["status"], "settled")
    year, week, _ = datetime.now(UTC).isocalendar()
    report = await owner.ask("GET", s.path + "/statement", week=f"{year:04d}-W{week:02d}")
    s.story.table(
        "statement " + report["period"]["week"],
        {
            "worth": f"{report['worth']['start']} → {report['worth']['end']}",
            "deposits": report["flows"]["deposits"],
            "withdrawals": report["flows"]["withdrawals"],
            "realized": report["result"]["realized"],
            "estimated": report["result"]["estimated"],
            "agent fee": report["fees"]["by_type"]["agent"],
            "largest move": report["allowed_vs_used"]["largest_move"],
            "busiest day": report["allowed_vs_used"]["busiest_day"],
        },
    )
    out = Usdc.parse(report["flows"]["withdrawals"]) - Usdc.parse(report["flows"]["deposits"])
    s.story.same("the owner's result is the realized one", report["result"]["realized"], str(out))
    checked = await verify_ledgers(s.settings)
    s.story.same("`wallet db verify` finds every ledger whole", checked["ok"], True)


async def _until_settled(s: Stage) -> dict[str, Any]:
    for _ in range(100):
        told = await s.owner.ask("GET", s.path)
        if (
            told["mandate"]["status"] == "settled"
            and told["fees"]["agent_fee"]["paid"] != "0.000000"
        ):
            return told
        await anyio.sleep(0.1)
    raise StepFailed("the settlement did not reach the record")


async def _stay(s: Stage) -> None:
    """Serve until SIGTERM or Ctrl-C; then everything that was made goes."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        _invite(s)
        async for _ in signals:
            return


def _invite(s: Stage) -> None:
    """Say how to connect."""
    key = s.seen["agent_key"]
    print("\nThe service stays up, with the door on. Ctrl-C ends it.\n")
    for name, config in client_config(s.base).items():
        text = config if isinstance(config, str) else json.dumps(config)
        print(f"{name}: {text.replace('ak_…', key)}")
    print(f'\ncurl -H "X-Service-User-Key: {key}" {s.base}/wallet/agents/me', flush=True)
