"""The chapter where the vault itself keeps approvals: the owner signs the very action."""

from __future__ import annotations

from typing import Any

from mcp.client.sse import sse_client

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from devtools.demo.people import DemoAgent, FundedMandate, Owner, harness
from devtools.demo.stage import ASKING_CHAIN_ID, DemoStage
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.money import Usdc
from tools.model.serialization import wire

TERMS = {
    "budget_usdc": "200",
    "per_tx_cap_usdc": "100",
    "daily_cap_usdc": "200",
    "approval_above_usdc": "50",
    "markets": ["signed-market"],
    "chain_id": ASKING_CHAIN_ID,
}


async def signs_each(s: DemoStage, number: int) -> None:
    """On a chain whose factory keeps approvals: no session and no switch stands for a signature."""
    s.story.chapter(number, "Where the vault keeps approvals: the owner signs the very action")
    wallet, actor = (
        LocalWallet("0x" + s.asking.chain.keys[n].hex(), s.asking.rpc_url) for n in (2, 3)
    )
    owner = s.owner.on_chain(wallet)
    facts = next(f for f in s.settings.chain_facts() if f.chain_id == ASKING_CHAIN_ID)
    chain, headers = EvmChain(facts), {"X-Service-User-Key": s.seen["agent_key"]}
    try:
        made = await _agrees(s, owner)
        async with harness(sse_client(s.base + "/sse", headers=headers), actor) as agent:
            await _acts(s, chain, agent, owner, made)
    finally:
        for one in (wallet, actor):
            await one.close()
        await chain.close()


async def _agrees(s: DemoStage, owner: Owner) -> FundedMandate:
    """Terms, a vault, money in it."""
    mint = abi_codec.calldata("TestUSDC", "mint", (owner.wallet.address, Usdc.parse("200")))
    await owner.wallet.send(Call(ASKING_CHAIN_ID, s.asking.deployed.usdc, mint))
    made = await owner.agree(TERMS | {"agent_id": s.seen["agent_id"]}, "200")
    asking = made.terms["clauses"][5]
    s.story.print_line(f" 6. {asking['text_en']} [{asking['enforced_by']}]")
    s.story.same("clause 6 is kept by the", asking["enforced_by"], "Contract")
    s.story.same("200 USDC deposited; the mandate is", made.status, "working")
    return made


async def _acts(
    s: DemoStage, chain: EvmChain, agent: DemoAgent, owner: Owner, made: FundedMandate
) -> None:
    """Held, tried past the service, tried with the session alone, signed, done, tried again."""
    path, vault = made.path, made.vault
    market, amount = s.asking.deployed.market or "", Usdc.parse("90")
    data = abi_codec.calldata("TestMarket", "deposit", (amount, vault))
    request = {
        "public_id": path.rpartition("/")[2],
        "target": market,
        "data": data,
        "approve_amount": str(amount),
    }
    await agent.call("mandate_accept", public_id=request["public_id"])
    refused = await agent.call("mandate_execute_call", **request)
    s.story.same("90 USDC: held", refused.get("status"), "pending_approval")
    bare = wire(chain.vault_call(vault, "execute", market, data, amount))
    await _reverts(s, chain, agent, bare, "sent past the service", "ApprovalNeeded")
    decision = f"{path}/approvals/{refused['approval']['approval_id']}"
    alone = await owner.ask("POST", decision, {"decision": "approve"}, expect=409)
    s.story.same("the owner's session alone is refused", alone["error"], "signature_needed")
    signature = owner.wallet.sign_typed(alone["detail"]["typed_data"])
    body = {"decision": "approve", "signature": signature}
    decided = await owner.ask("POST", decision, body)
    s.story.same("with the owner's signature over it", decided["approval"]["status"], "approved")
    answer = await agent.call("mandate_execute_call", **request)
    ok, tx = await agent.execute(answer)
    s.story.hold(f"executeApproved puts 90 USDC into the market: {tx}", truth=ok)
    await _reverts(s, chain, agent, answer, "the same once more", "ApprovalUsed")
    stop = await owner.ask("GET", path + "/stop-call")
    closed = {"tx_hash": await owner.send(stop["call"])}
    now = await owner.ask("POST", path + "/vault-tx", closed)
    s.story.same("the owner stops it; the mandate is", now["mandate"]["status"], "stopped")


async def _reverts(
    s: DemoStage, chain: EvmChain, agent: DemoAgent, call: Any, subject: str, error: str
) -> None:
    _, tx = await agent.execute(call)
    receipt = await chain.receipt(tx)
    error_name = receipt.revert.name if receipt is not None and receipt.revert is not None else None
    s.story.same(f"{subject}, the vault reverts with", error_name, error)
