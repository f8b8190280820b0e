"""The chapter of the stop line at the venue: an agent proposes, the owner signs, the market falls,
and the keeper takes the position off with a key that another process holds."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Final

import anyio
from aiohttp import ClientSession
from mcp.client.sse import sse_client

from chain.contracts import abi_codec
from devtools.demo.orders import LOOK_S, PATIENCE_S, nothing_open
from devtools.demo.people import harness
from devtools.demo.stage import CHAIN_ID, DemoStage
from devtools.demo.story import StepFailed
from devtools.demo.trading import approval
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.money import Usdc
from server.cli.maintenance import set_allowed, set_switch, verify_ledgers
from venue import signing

COIN: Final = "BTC"
BEFORE: Final = Decimal(65_000)
AFTER: Final = Decimal(55_000)
DEEP: Final = "9"
VENUE_TARGET: Final = {"kind": "venue", "venue": "hyperliquid", "symbols": [COIN]}
TERMS: Final = {
    "budget_usdc": "50",
    "per_tx_cap_usdc": "50",
    "daily_cap_usdc": "50",
    "stop_floor_bps": 1_000,
    "on_floor": "close",
    "allowed_targets": [{"kind": "vault"}, VENUE_TARGET],
}


async def keeps(s: DemoStage, secret: str, number: int) -> None:
    """A mandate that trades at the venue falls below its line, and is closed there."""
    s.story.chapter(number, "The stop line closes a position at the venue")
    async with _signer(s):
        await _approves(s)
        path = await _agrees(s)
        key = LocalWallet(secret, s.net.rpc_url)
        try:
            await _buys(s, key, path)
        finally:
            await key.close()
        await _falls(s, path)


@asynccontextmanager
async def _signer(s: DemoStage) -> AsyncIterator[None]:
    """`wallet signer` in a process of its own, as an operator runs it under another user."""
    settings = s.settings
    seal = settings.signer_seal_file
    if seal is None or settings.signer_socket is None:
        raise StepFailed("the demo's settings name no signer")
    seal.write_text(secrets.token_hex(32))
    seal.chmod(0o600)
    env = s.service_env() | {
        "WALLET_VENUE_MAINNET_URL": settings.venue_mainnet_url,
        "WALLET_VENUE_TESTNET_URL": settings.venue_testnet_url,
        "WALLET_SIGNER_SOCKET": str(settings.signer_socket),
        "WALLET_SIGNER_KEYS": str(settings.signer_keys),
        "WALLET_SIGNER_SEAL_FILE": str(seal),
        "WALLET_SIGNER_PEER_UID": str(os.getuid()),
    }
    run = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", "signer"), env=env, stderr=asyncio.subprocess.PIPE
    )
    try:
        line = await run.stderr.readline() if run.stderr else b""
        s.story.hold(
            "a signer in a process of its own holds the keeper's key",
            truth=b"signing for user" in line,
            shown=line,
        )
        yield
    finally:
        with anyio.CancelScope(shield=True):
            if run.returncode is None:
                run.send_signal(signal.SIGTERM)
            await run.wait()


async def _approves(s: DemoStage) -> None:
    """The owner approves the signer's key at the venue; the service never has it."""
    status = await s.owner.ask("GET", "/wallet/own/status")
    offered = status["enable_keeper"]
    signed = approval(s.owner, status["network"], offered["agent_address"], offered["agent_name"])
    body = {**signed, "kind": "keeper"}
    answer = await s.owner.ask("POST", "/wallet/own/enable/relay", body)
    s.story.same("the owner approved it at the venue", answer["venue"], "ok")
    await s.owner.ask("POST", "/wallet/own/enable/verify", {})
    status = await s.owner.ask("GET", "/wallet/own/status")
    s.story.same(
        "and the venue names it", status["keeper_key"]["address"], offered["agent_address"]
    )


async def _agrees(s: DemoStage) -> str:
    """Terms with an entry at the venue, a vault, money in it, an agent; the mandate's route."""
    policy = f"/wallet/agents/{s.seen['agent_id']}/policy"
    await s.owner.ask("PUT", policy, {"accepts_mandates": True, "venues": ["hyperliquid"]})
    mint = abi_codec.calldata("TestUSDC", "mint", (s.owner.wallet.address, Usdc.parse("50")))
    await s.owner.wallet.send(Call(CHAIN_ID, s.net.deployed.usdc, mint))
    body = TERMS | {"agent_id": s.seen["agent_id"]}
    made = await s.owner.agree(body, "50")
    closing = made.terms["clauses"][6]
    s.story.print_line(f" 7. {closing['text_en']} [{closing['enforced_by']}]")
    s.story.same("50 USDC, floor 45; the mandate is", made.status, "working")
    return made.path


async def _steered(s: DemoStage, px: Decimal) -> None:
    """Move the local venue's market."""
    body = {"coin": COIN, "mid": str(px), "size": DEEP}
    url = f"{s.settings.venue_testnet_url}/dev/move"
    async with ClientSession() as http, http.post(url, json=body) as answer:
        if answer.status != 200:
            raise StepFailed(f"the local venue did not move: {await answer.text()}")


async def _buys(s: DemoStage, key: LocalWallet, path: str) -> None:
    """The agent prepares over MCP; nothing is sent before the owner's own key has signed."""
    await _steered(s, BEFORE)
    await set_switch(s.settings, "live_terminal", "on")
    await set_allowed(s.settings, s.owner.wallet.address, "the demo", allowed=True)
    headers = {"X-Service-User-Key": s.seen["agent_key"]}
    public_id = path.rpartition("/")[2]
    async with harness(sse_client(s.base + "/sse", headers=headers), s.agent_wallet) as agent:
        await agent.call("mandate_accept", public_id=public_id)
        created = await agent.call(
            "order_prepare",
            product=COIN,
            side="buy",
            type="market",
            notional_usdc="45",
            mode_seen="live",
            mandate_id=public_id,
            why="it may rise",
        )
    s.story.same(
        "the agent's order waits for its owner", created["order"]["status"], "awaiting_owner"
    )
    s.story.same("the agent sees no bytes to sign", created["to_sign"], None)
    order_id = created["order"]["order_id"]
    opened = await s.owner.ask("POST", f"/wallet/order/{order_id}/open", {})
    signed = signing.Signature.from_hex(key.sign_typed(opened["to_sign"]["typed_data"]))
    body: dict[str, object] = {
        "order_id": order_id,
        "confirm_id": opened["confirm_id"],
        "signature": signed.as_json(),
    }
    done = await s.owner.ask("POST", "/wallet/order/execute", body)
    s.story.same("signed by the owner's order key, it is", done["status"], "executed")


async def _falls(s: DemoStage, path: str) -> None:
    """The market falls, and the keeper closes by itself."""
    before = (await s.owner.ask("GET", path))["progress"]
    position = before["venue"]["positions"][0]
    s.story.same("the mandate's record names the position", position["product"], COIN)
    await _steered(s, AFTER)
    s.story.print_line(f"{COIN} falls from {BEFORE} to {AFTER}")
    await set_switch(s.settings, "stop_line_dry_run", "off")
    await _until_sold(s, path)
    answer = await s.owner.ask("GET", path)
    await set_switch(s.settings, "live_terminal", "off")
    await set_allowed(s.settings, s.owner.wallet.address, "the demo", allowed=False)
    s.story.same("the keeper stopped the mandate", answer["mandate"]["status"], "stopped")
    rows = [e for e in answer["events"] if e["reported_by"] == "keeper" and e["kind"] != "note"]
    s.story.same(
        "its rows, in their order",
        [e["kind"] for e in reversed(rows)],
        ["buy", "stop", "sell"],
    )
    sold = rows[0]["payload"]["venue"]
    s.story.same("all of it was sold", sold["size"], position["size"])
    venue = answer["progress"]["venue"]
    s.story.hold(
        f"{venue['result_est']} USDC at the venue, from fills and never in the vault's worth",
        truth=Decimal(venue["result_est"]) < -5
        and answer["progress"]["worth_est"] == before["worth_est"] == "50.000000",
        shown=venue,
    )
    await nothing_open(s)
    checked = await verify_ledgers(s.settings)
    s.story.same("`wallet db verify` finds every ledger whole", checked["ok"], True)


async def _until_sold(s: DemoStage, path: str) -> None:
    """Wait for the row of the keeper's fill. Errors: StepFailed past 30 seconds."""
    with anyio.move_on_after(PATIENCE_S):
        while True:
            events = (await s.owner.ask("GET", path))["events"]
            if any((e["reported_by"], e["kind"]) == ("keeper", "sell") for e in events):
                return
            await anyio.sleep(LOOK_S)
    raise StepFailed("the keeper closed nothing")
