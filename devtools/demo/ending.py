"""The last chapter: a gain, the stop, settlement, the fee, and the way out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
from aiohttp import ClientSession

from chain.contracts import abi_codec
from devtools.demo.stage import CHAIN_ID, DemoStage
from devtools.demo.story import StepFailed
from domain.chain_facts import Call
from domain.money import Usdc
from domain.wire_fields import JsonObject
from server.cli.maintenance import verify_ledgers


async def leaves(s: DemoStage) -> None:
    """A gain, the stop, the unwinding, settlement, the agent's fee, withdrawal, the statement."""
    s.story.chapter(8, "The owner stops, the keeper settles, the agent is paid, the owner is out")
    await _earns(s)
    await _stops(s)
    await _unwinds(s)
    await _settles(s)
    await _withdraws(s)
    await _reads_the_statement(s)
    checked = await verify_ledgers(s.settings)
    s.story.same("`wallet db verify` finds every ledger whole", checked["ok"], True)


async def _sends(s: DemoStage, call: Any) -> None:
    """The owner sends a call of the vault, and tells the service of it."""
    await s.owner.ask("POST", s.path + "/vault-tx", {"tx_hash": await s.owner.send(call)})


async def _earns(s: DemoStage) -> None:
    mint = abi_codec.calldata("TestUSDC", "mint", (s.market, Usdc.parse("15")))
    await s.owner.wallet.send(Call(CHAIN_ID, s.net.deployed.usdc, mint))
    s.story.print_line("the market earns 15 USDC")


async def _stops(s: DemoStage) -> None:
    stopped = await s.owner.ask("POST", s.path + "/stop")
    await _sends(s, stopped["stop_call"])
    answer = await s.owner.ask("GET", s.path)
    s.story.same("stopped on chain", answer["chain_state"]["stopped"], True)
    s.story.same(
        "the open position holds the withdrawal back", answer["lock"]["withdrawable"], False
    )


async def _unwinds(s: DemoStage) -> None:
    vault, block = s.seen["vault"], await s.chain.latest()
    query = abi_codec.calldata("TestMarket", "balanceOf", (vault,))
    shares = int.from_bytes(await s.chain.eth_call(s.market, query, block), "big")
    data = abi_codec.calldata("TestMarket", "redeem", (shares, vault, vault))
    unwind = await s.owner.ask("GET", s.path + "/unwind-call", target=s.market, data=data)
    await _sends(s, unwind["call"])


async def _settles(s: DemoStage) -> None:
    agent = s.agent_wallet.address
    before = (await s.chain.usdc_balances([agent]))[agent]
    headers = {"Authorization": f"Bearer {s.keeper_key}"}
    async with (
        ClientSession(headers=headers) as http,
        http.post(s.base + s.path + "/settle") as response,
    ):
        settled = await response.json()
        s.story.same("the keeper settles, from chain facts", response.status, 200)
    answer = await _until_settled(s)
    fee = (await s.chain.usdc_balances([agent]))[agent] - before
    s.story.print_line(f"settled by {', '.join(settled['transactions']) or 'the keeper tick'}")
    prepaid_cost = Usdc.parse(answer["fees"]["agent_fee"]["paid"])
    s.story.hold(
        f"the agent's fee was paid on chain: {fee} USDC, 10% of the measured gain",
        truth=fee == prepaid_cost and fee.micros > 0,
        shown=prepaid_cost,
    )


async def _until_settled(s: DemoStage) -> JsonObject:
    for _ in range(100):
        answer = await s.owner.ask("GET", s.path)
        if (
            answer["mandate"]["status"] == "settled"
            and answer["fees"]["agent_fee"]["paid"] != "0.000000"
        ):
            return answer
        await anyio.sleep(0.1)
    raise StepFailed("the settlement did not reach the record")


async def _withdraws(s: DemoStage) -> None:
    vault = s.seen["vault"]
    withdraw = await s.owner.ask("GET", s.path + "/withdraw-call")
    await _sends(s, withdraw["call"])
    left = (await s.chain.usdc_balances([vault]))[vault]
    s.story.same("the vault is empty", str(left), "0.000000")
    answer = await s.owner.ask("GET", s.path)
    s.story.same("cash in the ledger", answer["progress"]["cash"], "0.000000")
    s.story.same("status", answer["mandate"]["status"], "settled")


async def _reads_the_statement(s: DemoStage) -> None:
    year, week, _ = datetime.now(UTC).isocalendar()
    report = await s.owner.ask("GET", s.path + "/statement", week=f"{year:04d}-W{week:02d}")
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
