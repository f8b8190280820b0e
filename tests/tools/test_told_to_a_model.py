"""What a model is given unasked: at most 8 KB by every tool, however much is stored (contract 5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import BY_NAME, Mandated, World, drafted, signed, working
from tools.agents.transfer_reports import WAITING_AN_AGENT
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run
from tools.model.operation import Caller, Operation, OperationResult
from tools.model.serialization import encoded
from tools.model.truncation import MAX_CHARS

pytestmark = pytest.mark.anyio
TOOLS = [op for op in OPERATIONS if op.on_mcp]
LONG = "é" * 2_000
PREVIEW = {"steps": [{"said": "x" * 100, "n": n} for n in range(100)]}
TARGETS: list[dict[str, Any]] = [
    {"kind": "contract", "address": f"0x{n + 1:040x}", "selector": "0x12345678", "self_args": [0]}
    for n in range(24)
] + [{"kind": "x402", "hosts": [f"paid-{n}.example.org" for n in range(20)]}]


async def over_mcp(world: World, op: Operation, caller: Caller, **given: Any) -> OperationResult:
    return await run(op, world.deps, caller, given, transport="mcp")


async def filled(world: World) -> Mandated:
    """A mandate about which everybody wrote as much as is taken."""
    m = await working(world)
    agent_id = m.agent.user_id or ""
    for n in range(11):
        policy = {
            name: [f"{n}" + "é" * 8_000]
            for name in ("assets", "venues", "networks", "stop_conditions", "hold_ratio")
        }
        given = {"agent_id": agent_id, "accepts_mandates": True, **policy}
        await world.ok("owner_agent_policy_put", m.owner, **given)
    place = {"id": LONG[:200], "market": LONG[:200], "side": LONG[:200], "label": LONG[:200]}
    payload = {
        "text": LONG, "why": LONG, "resource": LONG, "fee_kind": LONG, "position": place, "preview": PREVIEW,
        "target": {"market": LONG[:200], "address": LONG[:200], "selector": LONG[:200], "label": LONG[:200]},
    }  # fmt: skip
    for kind in ("note", "fee", "buy", "note"):
        amount = None if kind == "note" else "1"
        told = await m.as_agent("mandate_report_event", kind=kind, amount_usdc=amount, payload=payload)  # fmt: skip
        assert told.status in (201, 202), told.body
        told = await m.as_agent(
            "mandate_report_refusal", reason="server_guard", attempted={"x": "y" * 3_900}
        )
        assert told.status == 201, told.body
    for n in range(WAITING_AN_AGENT):
        moved = {"chain_id": 31337, "asset": f"ASSET{n:05d}", "amount": "1", "tx_hash": f"0x{n:064x}"}  # fmt: skip
        await world.ok("transfer_report", m.agent, direction="in", **moved)
    for _ in range(3):
        draft = await world.do("mandate_propose", m.agent, budget_usdc="5", purpose=LONG, allowed_targets=TARGETS)  # fmt: skip
        assert draft.status == 201, draft.body
    return m


async def test_no_default_answer_over_mcp_is_above_8_kb(world: World) -> None:
    m = await filled(world)
    other = await drafted(world, purpose=LONG, allowed_targets=TARGETS)
    known = {"agent_id": m.agent.user_id}
    seen: dict[str, int] = {}
    for op in TOOLS:
        if op.writes or "target" in op.request_model.model_fields:
            continue
        for of in (m, other) if "public_id" in op.request_model.model_fields else (m,):
            given = {n: v for n, v in (known | {"public_id": of.id}).items() if n in op.request_model.model_fields}  # fmt: skip
            told = await over_mcp(world, op, of.agent, **given)
            seen[f"{op.name} {of.id}"] = len(encoded(told.body))
    said = {"kind": "note", "payload": {"text": LONG, "why": LONG, "resource": LONG, "preview": PREVIEW}}  # fmt: skip
    for name, arguments in (
        ("mandate_draft", {"note": ("keep 50 USDC a day, ask above 9 " * 70)[:2_000]}),
        ("mandate_propose", {"budget_usdc": "5", "purpose": LONG, "allowed_targets": TARGETS}),
        ("mandate_report_event", {"public_id": m.id, **said}),
        ("mandate_report_refusal", {"public_id": m.id, "reason": "server_guard", "attempted": {"x": "y" * 3_900}}),
    ):  # fmt: skip
        told = await over_mcp(world, BY_NAME[name], m.agent, **arguments)
        assert not told.refused, told.body
        seen[name] = len(encoded(told.body))
    assert len(seen) > 22
    assert {name: size for name, size in seen.items() if size > MAX_CHARS} == {}


async def test_what_was_cut_is_named_and_read_whole_where_that_is_asked_for(world: World) -> None:
    m = await filled(world)
    events, about = BY_NAME["mandate_events"], {"public_id": m.id}
    said = {"text": LONG, "why": LONG, "preview": PREVIEW}
    await m.as_agent("mandate_report_event", kind="note", payload=said)
    told: Any = (await over_mcp(world, events, m.agent, **about)).body
    payload = told["items"][0]["payload"]
    assert len(told["items"]) == 1
    assert (payload["text"][:99], payload["text"][-1]) == (LONG[:99], "…")
    assert payload["preview"] is None
    assert {"items.0.payload.text", "items.0.payload.preview"} <= set(told["cut"]["fields"])
    whole: Any = (await over_mcp(world, events, m.agent, **about, limit=1)).body
    assert "cut" not in whole
    assert whole["items"][0]["payload"]["text"] == LONG
    assert whole["items"][0]["payload"]["preview"] == PREVIEW


async def test_a_policy_too_long_for_a_model_says_which_fields_it_does_not_tell(
    world: World,
) -> None:
    m = await filled(world)
    op, agent_id = BY_NAME["agent_policy"], m.agent.user_id
    told: Any = (await over_mcp(world, op, m.agent, agent_id=agent_id)).body
    assert (told["exists"], told["accepts_mandates"], told["assets"]) == (True, True, None)
    assert {"assets", "venues", "policy.assets"} <= set(told["cut"]["fields"])
    assert told["cut"]["whole"] == "GET /wallet/agents/{agent_id}/policy answers it whole."
    whole = await world.ok("agent_policy", m.agent, agent_id=agent_id)
    assert "cut" not in whole
    assert len(whole["assets"][0]) > 8_000


async def test_many_balances_are_cut_over_mcp_and_whole_over_http(world: World) -> None:
    m = await filled(world)
    op, agent_id = BY_NAME["agent_balances"], m.agent.user_id
    whole = await world.ok("agent_balances", m.agent, agent_id=agent_id)
    told: Any = (await over_mcp(world, op, m.agent, agent_id=agent_id)).body
    assert set(whole) == {"agent_id", "balances"}
    assert len(whole["balances"]) >= WAITING_AN_AGENT
    assert told["cut"]["fields"] == ["balances"]
    assert 20 < len(told["balances"]) < 60
    assert told["balances"] == whole["balances"][: len(told["balances"])]


async def test_a_long_purpose_leaves_no_part_of_the_mandate_out(world: World) -> None:
    m = await signed(world, purpose=LONG)
    told: Any = (await over_mcp(world, BY_NAME["mandate_get"], m.agent, public_id=m.id)).body
    assert set(told.get("left_out", ())) <= {"clauses"}
    assert told["mandate"]["budget_usdc"] == "500.000000"
    assert told["cut"]["fields"] == ["mandate.purpose", "card_header.purpose"]
    whole: Any = (await over_mcp(world, BY_NAME["mandate_get"], m.agent, public_id=m.id, parts="mandate,clauses")).body  # fmt: skip
    assert whole["mandate"]["purpose"] == LONG
    assert len(whole["clauses"]) == 10
