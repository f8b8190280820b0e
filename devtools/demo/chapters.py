"""Chapters two to seven: from the sign-in to a record that agrees with the chain."""

from __future__ import annotations

from typing import Final

import anyio

from devtools.demo.people import DemoAgent
from devtools.demo.stage import DemoStage
from devtools.demo.story import StepFailed
from domain.money import Usdc
from domain.wire_fields import JsonObject
from tools.model.serialization import wire

NOTE: Final = (
    "Budget 500 USDC for two weeks, at most 100 per action and 300 a day. Never lose more than "
    "20%. Ask me above 80. The agent gets 10% of profits. Close everything at the floor."
)


async def registers(s: DemoStage) -> None:
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
    s.story.print_line(
        f"agent {agent['agent_id']} with a key that is shown once: {agent['key'][:6]}…"
    )
    policy = await s.owner.ask(
        "PUT", f"/wallet/agents/{agent['agent_id']}/policy", {"accepts_mandates": True}
    )
    s.story.same("its policy accepts mandates", policy["policy"]["accepts_mandates"], True)


async def signs(s: DemoStage) -> None:
    """A note becomes a draft, is corrected, read, signed; the vault is created and funded."""
    s.story.chapter(3, "Plain words become signed terms and a funded vault")
    s.story.print_line(f'note: "{NOTE}"')
    read = await s.owner.ask(
        "POST", "/wallet/mandates/draft", {"note": NOTE, "save": True}, expect=201
    )
    s.seen["id"] = read["public_id"]
    s.story.print_line(
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
    corrected = terms | {
        "daily_cap_usdc": "250", "markets": ["test-market"], "agent_id": s.seen["agent_id"],
    }  # fmt: skip
    answer = await s.owner.ask("PUT", s.path, corrected)
    s.story.same(
        "the owner corrects the cap per day to", answer["mandate"]["daily_cap_usdc"], "250.000000"
    )
    signable = await s.owner.ask("GET", s.path + "/terms")
    for clause in signable["clauses"]:
        s.story.print_line(f"{clause['n']:2}. {clause['text_en']} [{clause['enforced_by']}]")
    worst = signable["exposure"]
    s.story.print_line(
        f"worst case: {worst['before_pause']} before a pause lands, {worst['today']} today, "
        f"{worst['ever']} ever"
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
    answer = await s.owner.ask("POST", s.path + "/vault-tx", {"tx_hash": s.seen["deposit_tx"]})
    s.story.same("500 USDC deposited; the mandate is", answer["mandate"]["status"], "working")


async def acts(s: DemoStage, agent: DemoAgent) -> None:
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
        data=s.deposit_data(Usdc(1)),
    )
    s.story.same(
        "before acceptance it is refused", early["refusal"]["error"], "mandate_not_accepted"
    )
    await agent.call("mandate_accept", public_id=s.seen["id"])
    amount = Usdc.parse("60")
    answer = await agent.call(
        "mandate_execute_call",
        public_id=s.seen["id"],
        target=s.market,
        data=s.deposit_data(amount),
        approve_amount=str(amount),
    )
    s.story.same("calldata that the simulation accepts", answer["simulation"]["ok"], True)
    ok, tx = await agent.execute(answer)
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


async def is_refused(s: DemoStage, agent: DemoAgent) -> None:
    """Over SSE: above the cap per action; refused before gas, reverted by the vault, reported and
    proven.
    """
    s.story.chapter(5, "Above the cap: refused before gas, reverted on chain, proven (SSE)")
    amount = Usdc.parse("150")
    data = s.deposit_data(amount)
    answer = await agent.attempt(
        "mandate_execute_call",
        public_id=s.seen["id"],
        target=s.market,
        data=data,
        approve_amount=str(amount),
    )
    block = answer["refusal"]
    s.story.same("the service refuses with", block["error"], "over_per_tx_cap")
    s.story.print_line(
        f'"{block["reason"]}" who fixes it: {block["who_fixes"]}; possible now: '
        f"{block['remaining']['value']}"
    )
    forced = s.chain.vault_call(s.seen["vault"], "execute", s.market, data, amount)
    ok, tx = await agent.execute(wire(forced))
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


async def asks(s: DemoStage, agent: DemoAgent) -> None:
    """Above the approval amount, in one call with a key on the agent's own machine: held, approved,
    executed, and never twice.
    """
    s.story.chapter(6, "Above the approval amount: the owner is asked, and one call acts")
    request = {
        "public_id": s.seen["id"],
        "action": {"kind": "enter", "market": "test-market", "amount_usdc": "90"},
        "why": "a larger step while the rate holds",
        "idempotency_key": "enter-90",
    }
    held = await agent.call("mandate_act", **request)
    s.story.same("an act of 90 USDC is", held["outcome"], "held")
    s.story.same("nothing is signed", held.get("tx_hash"), None)
    item = held["approval"]["approval_id"]
    again = await agent.call("mandate_act", **request)
    s.story.same("asked again, the same item", again["approval"]["approval_id"], item)
    decided = await s.owner.ask("POST", f"{s.path}/approvals/{item}", {"decision": "approve"})
    s.story.same("the owner", decided["approval"]["status"], "approved")
    done = await agent.call("mandate_act", **request)
    s.story.hold(f"90 USDC into the market: {done['tx_hash']}", truth=done["outcome"] == "landed")
    repeated = await agent.call("mandate_act", **request)
    s.story.same(
        "the same call again is the same transaction", repeated["tx_hash"], done["tx_hash"]
    )
    s.story.same("it reported itself", done["event"]["kind"], "buy")
    s.seen["approval"] = item


async def _settled_ledger(s: DemoStage, *, spent: str) -> JsonObject:
    """The mandate read once the chain reader has brought everything in."""
    for _ in range(100):
        answer = await s.owner.ask("GET", s.path)
        chain_moves = [
            e for e in answer["events"] if e["kind"] == "move" and e["reported_by"] == "chain"
        ]
        if (
            sum(
                Usdc.parse(e["payload"]["executed"]["spent"]).micros
                for e in chain_moves
                if "executed" in e["payload"]
            )
            == Usdc.parse(spent).micros
        ):
            return answer
        await anyio.sleep(0.1)
    raise StepFailed("the chain reader did not bring the vault's logs in")


async def reads(s: DemoStage) -> None:
    """The mandate read agrees with the chain to the last digit."""
    s.story.chapter(7, "The record agrees with the chain")
    answer = await _settled_ledger(s, spent="150")
    vault = (await s.chain.vault_states([s.seen["vault"]]))[s.seen["vault"]]
    balance = (await s.chain.usdc_balances([s.seen["vault"]]))[s.seen["vault"]]
    p, limits = answer["progress"], answer["limits"]
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
    s.story.same("clauses", [c["n"] for c in answer["clauses"]], list(range(1, 11)))
    kinds = {step["kind"] for step in answer["steps"]}
    s.story.hold(
        f"the record's steps: {', '.join(sorted(kinds))}",
        truth={"instruction", "funding", "action", "outcome", "consent", "control"} <= kinds,
        shown=kinds,
    )
    used = await s.owner.ask("GET", s.path + "/approvals", approval_id=s.seen["approval"])
    s.story.same("the approval is", used["items"][0]["status"], "used")
    s.story.same(
        "terms",
        {k: answer["terms_status"][k] for k in ("digest_matches", "signer_matches")},
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
            "worst case ever": answer["exposure"]["ever"],
        },
    )
