"""What stays to be looked at when the story is over: a mandate at work with an action that waits
for its owner, a draft, and a wallet for who has none.
"""

from __future__ import annotations

from typing import Any, Final

from chain import codec
from domain.money import Usdc
from domain.wire import JsonObject
from server.demo.people import as_call
from server.demo.stage import Stage
from server.demo.story import StepFailed

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
DRAFT: Final = "200 USDC for lending, at most 20 in one action, for two weeks"


async def settles_in(s: Stage) -> None:
    """Make them, as an owner and an agent do over HTTP."""
    body = TERMS | {"agent_id": s.seen["agent_id"]}
    made = await s.owner.ask("POST", "/wallet/mandates", body, expect=201)
    path = f"/wallet/mandates/{made['mandate']['public_id']}"
    typed = (await s.owner.ask("GET", path + "/terms"))["typed_data"]
    signature = s.owner.wallet.sign_typed(typed)
    await s.owner.ask("POST", path + "/sign", {"signature": signature})
    created = await s.owner.send((await s.owner.ask("GET", path + "/create-call"))["call"])
    told = await s.owner.ask("POST", path + "/vault", {"tx_hash": created})
    for call in (await s.owner.ask("GET", path + "/fund", amount="500"))["calls"]:
        funded = await s.owner.send(call)
    await s.owner.ask("POST", path + "/vault-tx", {"tx_hash": funded})
    await _acts(s, path, told["mandate"]["vault_address"])
    await s.owner.ask("POST", "/wallet/mandates/draft", {"note": DRAFT, "save": True}, expect=201)


async def _acts(s: Stage, path: str, vault: str) -> None:
    """The agent lends 40 and reports it, then asks for 90."""
    await _agent(s, "POST", path + "/accept", expect=200)
    call = await _prepared(s, path, vault, "40", expect=200)
    receipt = await s.agent_wallet.send(as_call(call), gas=900_000)
    tx_hash = "0x" + bytes(receipt["transactionHash"]).hex()
    payload = {"target": {"market": "test-market"}, "why": "The rate is 4.6%."}
    report = {"kind": "buy", "amount_usdc": "40", "tx_hash": tx_hash, "payload": payload}
    await _agent(s, "POST", path + "/events", report, expect=201)
    await _prepared(s, path, vault, "90", expect=202)


async def _prepared(s: Stage, path: str, vault: str, amount: str, *, expect: int) -> JsonObject:
    data = codec.calldata("TestMarket", "deposit", (Usdc.parse(amount), vault))
    asked: dict[str, Any] = {
        "target": s.market,
        "data": data,
        "approve_amount": amount,
        "why": "The rate holds; a larger step saves gas.",
    }
    return await _agent(s, "GET", path + "/execute-call", expect=expect, **asked)


async def _agent(
    s: Stage, method: str, path: str, body: JsonObject | None = None, *, expect: int, **query: Any
) -> JsonObject:
    headers = {"X-Service-User-Key": s.seen["agent_key"]}
    async with s.owner.http.request(
        method, s.base + path, json=body, params=query, headers=headers
    ) as response:
        told: JsonObject = await response.json()
        if response.status != expect:
            raise StepFailed(f"{method} {path}: {response.status}, not {expect}: {told}")
        return told
