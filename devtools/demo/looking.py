"""Showcase data that stays when the story is over: a mandate at work with an action that waits for
its owner, a draft, and a browser wallet for visitors without one.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from chain.contracts import abi_codec
from devtools.demo.stage import DemoStage
from domain.money import Usdc

TERMS: Final = {
    "budget_usdc": "500",
    "per_tx_cap_usdc": "100",
    "daily_cap_usdc": "250",
    "approval_above_usdc": "60",
    "stop_floor_bps": 2000,
    "horizon_days": 30,
    "payout_rule": {"bps": 1000},
    "markets": ["test-market"],
    "purpose": "Lend idle USDC in the Test Market; ask above 60.",
}
WHY: Final = "The rate holds; a larger step saves gas."
DRAFT: Final = "200 USDC for lending, at most 20 in one action, for two weeks"


async def settles_in(s: DemoStage) -> None:
    """Make them, as an owner and an agent do over HTTP."""
    made = await s.owner.agree(TERMS | {"agent_id": s.seen["agent_id"]}, "500")
    await _acts(s, made.path, made.vault)
    await s.owner.ask("POST", "/wallet/mandates/draft", {"note": DRAFT, "save": True}, expect=201)


async def _acts(s: DemoStage, path: str, vault: str) -> None:
    """The agent lends 40 and reports it, then asks for 90."""
    agent = s.owner.with_key(s.seen["agent_key"], s.agent_wallet)

    asks = partial(agent.ask, "GET", path + "/execute-call", target=s.market, why=WHY)

    def lending(amount: str) -> str:
        return abi_codec.calldata("TestMarket", "deposit", (Usdc.parse(amount), vault))

    await agent.ask("POST", path + "/accept")
    tx_hash = await agent.send(await asks(data=lending("40"), approve_amount="40"))
    payload = {"target": {"market": "test-market"}, "why": "The rate is 4.6%."}
    report = {"kind": "buy", "amount_usdc": "40", "tx_hash": tx_hash, "payload": payload}
    await agent.ask("POST", path + "/events", report, expect=201)
    await asks(data=lending("90"), approve_amount="90", expect=202)
