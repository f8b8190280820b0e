"""The chapter of payments: a web service asks for money by x402, and a mandate's purse pays it
within the signed terms.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import anyio
from aiohttp import ClientSession
from mcp import StdioServerParameters

from chain.tx_sender import address_of
from devtools.demo.people import DemoAgent, harness
from devtools.demo.stage import CHAIN_ID, DemoStage
from devtools.demo.story import StepFailed
from domain.money import Usdc

TERMS: Final = {
    "budget_usdc": "200",
    "per_tx_cap_usdc": "50",
    "daily_cap_usdc": "100",
    "approval_above_usdc": "10",
    "stop_floor_bps": 5000,
    "allowed_targets": [{"kind": "vault"}, {"kind": "x402", "purse": {}}],
}
REPORT, ARCHIVE, LIBRARY = "/report", "/archive", "/library"
"""At 0.25, 15 and 60 USDC, in docs/examples/paid_api."""
LOOKS: Final = 300
LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class _Payment:
    """The mandate's answer to a seller's request: `paid`, `pending_approval`, a refusal's name."""

    outcome: str
    header: str = ""
    nonce: str = ""
    approval_id: str = ""


@dataclass(slots=True)
class _Shopping:
    """An agent at a seller."""

    stage: DemoStage
    agent: DemoAgent
    path: str
    payee: str
    shop: str
    http: ClientSession

    async def pay(self, path: str, most: str, key: str) -> _Payment:
        """Ask the seller, and have the mandate pay what it asks for; a refusal is an answer."""
        async with self.http.get(self.shop + path) as offer:
            if offer.status != 402:
                raise StepFailed(f"the seller asked for no money: {offer.status}")
            required = json.loads(base64.b64decode(offer.headers["PAYMENT-REQUIRED"]))
        answer = await self.agent.attempt(
            "mandate_pay", public_id=self.path.rpartition("/")[2], payment_required=required,
            max_amount=most, why="the forecast", idempotency_key=key,
        )  # fmt: skip
        if "refusal" in answer:
            return _Payment(answer["refusal"]["error"])
        nonce = answer["bill"]["nonce"]
        if answer.get("status") == "pending_approval":
            return _Payment("pending_approval", "", nonce, answer["approval"]["approval_id"])
        return _Payment("paid", answer["header"], nonce)

    async def buy(self, path: str, most: str, key: str) -> _Payment:
        """A payment that the mandate must not refuse."""
        answer = await self.pay(path, most, key)
        if answer.outcome != "paid":
            raise StepFailed(f"{path} was not paid: {answer.outcome}")
        return answer

    async def send(self, path: str, payment: _Payment) -> int:
        """Send a payment to the seller; the status of its answer."""
        named = {"PAYMENT-SIGNATURE": payment.header}
        async with self.http.get(self.shop + path, headers=named) as answer:
            await answer.read()
            return answer.status

    async def fund(self, amount: str) -> None:
        """Put USDC into the purse."""
        done = await self.agent.call(
            "mandate_act", public_id=self.path.rpartition("/")[2], why="to pay for forecasts",
            action={"kind": "fund", "amount_usdc": amount},
            idempotency_key=f"fund-{await self.earned()}",
        )  # fmt: skip
        self.stage.story.same(f"{amount} USDC into the purse", done["outcome"], "landed")

    async def earned(self) -> str:
        """USDC of the seller."""
        return str((await self.stage.chain.usdc_balances([self.payee]))[self.payee])

    async def has_earned(self, amount: str) -> None:
        """Insist on what the seller has, on chain and in the mandate's record."""
        expected = str(Usdc.parse(amount))
        self.stage.story.same("the seller has", await self.earned(), expected)
        for _ in range(LOOKS):
            if (await self.purse())[2] == expected:
                return
            await anyio.sleep(LOOK_S)
        raise StepFailed("the payment did not reach the record")

    async def purse(self) -> tuple[str, str, str]:
        """The record of the purse: its address, what lies in it, what was paid today."""
        answer = (await self.stage.owner.ask("GET", self.path, parts="x402"))["x402"]
        return answer["purse"], answer["in_purse"], answer["paid_today"]


async def pays(s: DemoStage, seller: str, key_file: str, number: int) -> None:
    """Let an agent buy from a seller, whose command is given."""
    s.story.chapter(number, "A web service asks for money: paid out of a mandate, within its terms")
    made = await s.owner.agree(TERMS | {"agent_id": s.seen["agent_id"]}, "200")
    payee, gas = ("0x" + s.net.chain.keys[n].hex() for n in (5, 6))
    local = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server", "mcp", "--url", s.base, "--agent-key-file", key_file],
        env=s.service_env(),
    )
    async with (
        _open(s, seller, address_of(payee), gas) as shop,
        harness(local, s.agent_wallet) as agent,
        ClientSession() as http,
    ):
        await agent.call("mandate_accept", public_id=made.path.rpartition("/")[2])
        shopping = _Shopping(s, agent, made.path, address_of(payee), shop, http)
        for chapter in (_within, _above_approval, _over_the_cap, _lost, _paused, _booked):
            await chapter(shopping)


@asynccontextmanager
async def _open(s: DemoStage, seller: str, payee: str, gas: str) -> AsyncIterator[str]:
    """Start the seller, which starts its facilitator; its address."""
    command = [*shlex.split(seller), "--rpc-url", s.net.rpc_url, "--chain-id", str(CHAIN_ID)]
    command += ["--usdc", s.net.deployed.usdc, "--pay-to", payee, "--port", "0"]
    env = {"PATH": os.defpath, "FACILITATOR_KEY": gas}
    async with await anyio.open_process(command, env=env, stderr=None) as process:
        try:
            if process.stdout is None:
                raise StepFailed("the seller says nothing")
            shop = (await process.stdout.receive()).decode().strip()
            s.story.print_line(f"a seller with x402's own middleware at {shop}")
            yield shop
        finally:
            process.terminate()


async def _within(b: _Shopping) -> None:
    story = b.stage.story
    low = await b.pay(REPORT, "0.25", "report-1")
    story.same(
        "0.25 USDC for a report, the purse being empty, is refused with", low.outcome, "purse_low"
    )
    await b.fund("10")
    paid = await b.buy(REPORT, "0.25", "report-1")
    story.same("paid in one call, the seller answers", await b.send(REPORT, paid), 200)
    await b.has_earned("0.25")


async def _above_approval(b: _Shopping) -> None:
    story, owner = b.stage.story, b.stage.owner
    await b.fund("10")
    held = await b.pay(ARCHIVE, "15", "archive-1")
    story.same("15 USDC for the archive: held", held.outcome, "pending_approval")
    await b.has_earned("0.25")
    decision = f"{b.path}/approvals/{held.approval_id}"
    decided = await owner.ask("POST", decision, {"decision": "approve"})
    story.same("the owner", decided["approval"]["status"], "approved")
    paid = await b.buy(ARCHIVE, "15", "archive-1")
    story.same("then the seller answers", await b.send(ARCHIVE, paid), 200)
    await b.has_earned("15.25")


async def _over_the_cap(b: _Shopping) -> None:
    refused = await b.pay(LIBRARY, "60", "library-1")
    b.stage.story.same(
        "60 USDC for the library is refused with", refused.outcome, "over_per_payment"
    )


async def _lost(b: _Shopping) -> None:
    """The agent hangs up after it has paid, and asks for everything again."""
    story, at = b.stage.story, urlsplit(b.shop)
    paid = await b.buy(REPORT, "0.25", "report-2")
    lines = [f"GET {REPORT} HTTP/1.1", f"Host: {at.netloc}"]
    lines += [f"PAYMENT-SIGNATURE: {paid.header}", "", ""]
    async with await anyio.connect_tcp(str(at.hostname), at.port or 80) as stream:
        await stream.send("\r\n".join(lines).encode())
        await _until(b, "15.5")
    story.print_line("an answer is lost after the seller has been paid")
    again = await b.buy(REPORT, "0.25", "report-2")
    story.same("asked again, the same bill", again.nonce, paid.nonce)
    story.same("and the answer that was lost", await b.send(REPORT, again), 200)
    await b.has_earned("15.5")


async def _until(b: _Shopping, amount: str) -> None:
    for _ in range(LOOKS):
        if await b.earned() == str(Usdc.parse(amount)):
            return
        await anyio.sleep(LOOK_S)
    raise StepFailed("the seller was not paid")


async def _paused(b: _Shopping) -> None:
    """A payment signed before a pause is worth nothing after it, and nothing more is signed."""
    story, owner = b.stage.story, b.stage.owner
    paid = await b.buy(REPORT, "0.25", "report-3")
    pause = await owner.ask("GET", b.path + "/pause-call")
    sent = {"tx_hash": await owner.send(pause["call"])}
    await owner.ask("POST", b.path + "/vault-tx", sent)
    story.same(
        "signed before a pause and sent after it: the seller answers",
        await b.send(REPORT, paid),
        402,
    )
    refused = await b.pay(REPORT, "0.25", "report-4")
    story.same("while paused a payment is refused with", refused.outcome, "mandate_paused")
    await b.has_earned("15.5")


async def _booked(b: _Shopping) -> None:
    """The record agrees with the purse's own balance."""
    story, (purse, inside, paid_today) = b.stage.story, await b.purse()
    balance = (await b.stage.chain.usdc_balances([purse]))[purse]
    story.same("paid today, by the chain's logs", paid_today, str(Usdc.parse("15.5")))
    story.same("left in the purse, in the record and on chain", inside, str(balance))
