"""Bad input gets the right code and leaves nothing behind."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from storage.store import Store
from tests.world import BY_NAME, World, drafted, working
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS, Caller
from tools.model.serialization import encoded

pytestmark = pytest.mark.anyio
TABLES = [
    "mandates",
    "ledger_events",
    "approvals",
    "reservations",
    "idempotency",
    "policies",
    "agents",
    "agent_keys",
]


async def counts(store: Store) -> dict[str, int]:
    return await store.read(
        lambda uow: {t: int(uow.sql.rows(f"SELECT COUNT(*) AS n FROM {t}")[0]["n"]) for t in TABLES}
    )


NUMBERS = ["NaN", "Infinity", "1e5", "1.0000001", "1000000000001", "", "abc", "0x10", "--1", "1."]
NUMBERS += [".5", " 1 ", "1.0000000", "+1", "01", "1,5"]


@pytest.mark.parametrize("value", [*NUMBERS, 0.1234567], ids=str)
async def test_an_amount_that_is_none_is_refused(world: World, value: Any) -> None:
    m = await drafted(world)
    before = await counts(world.store)
    reply = await m.as_agent("mandate_report_event", kind="buy", amount_usdc=value, key="k")
    assert (reply.status, reply.body["error"]) == (400, "invalid_number")
    assert await counts(world.store) == before


@pytest.mark.parametrize("value", [True, {}, []], ids=str)
async def test_what_no_number_is_written_as_is_a_wrong_type(world: World, value: Any) -> None:
    m = await drafted(world)
    reply = await m.as_agent("mandate_report_event", kind="buy", amount_usdc=value, key="k")
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")
    assert reply.body["detail"]["fields"][0]["loc"] == "amount_usdc"


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"budget_usdc": "0"}, "budget_usdc"),
        ({"per_tx_cap_usdc": "60", "daily_cap_usdc": "50"}, "per_tx_cap_usdc"),
        ({"daily_cap_usdc": "101"}, "daily_cap_usdc"),
        ({"horizon_days": 0}, "horizon_days"),
        ({"horizon_days": 367}, "horizon_days"),
        ({"horizon_days": "30"}, "horizon_days"),
        ({"stop_floor_bps": 10001}, "stop_floor_bps"),
        ({"on_floor": "burn"}, "on_floor"),
        ({"payout_rule": {"kind": "x", "bps": 1}}, "payout_rule"),
        ({"payout_rule": {"bps": 5001}}, "payout_rule.bps"),
        ({"approval_above_usdc": "0"}, "approval_above_usdc"),
        ({"surprise": 1}, "surprise"),
        ({"open_board": "yes"}, "open_board"),
        ({"markets": ["nowhere"]}, "markets.0"),
        ({"allowed_targets": [{"kind": "cake"}]}, "allowed_targets.0.kind"),
        ({"allowed_targets": [{"kind": "vault"}, {"kind": "vault"}]}, "allowed_targets"),
        ({"budget_usdc": None}, "budget_usdc"),
        ({"purpose": "x" * 2001}, "purpose"),
    ],
)
async def test_a_draft_with_a_wrong_field_names_it(
    world: World, fields: dict[str, Any], loc: str
) -> None:
    owner, _ = await world.owner()
    before = await counts(world.store)
    given = {n: v for n, v in ({"budget_usdc": "100"} | fields).items() if v is not None}
    reply = await world.do("owner_mandate_create", owner, **given)
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")
    assert loc in {f["loc"] for f in reply.body["detail"]["fields"]}
    assert await counts(world.store) == before


async def test_another_owners_mandate_is_as_if_it_were_not_there(world: World) -> None:
    m = await working(world)
    stranger, _ = await world.owner()
    rival, _ = await world.agent(stranger)
    before = await counts(world.store)
    for op in OPERATIONS:
        if "public_id" not in op.path_names or op.auth in ("keeper", "admin"):
            continue
        caller = stranger if op.auth != "agent" else rival
        arguments = {"public_id": m.id} | SAMPLES.get(op.name, {})
        theirs = await world.do(op.name, caller, **arguments)
        arguments |= {"public_id": "m_zzzzzzzzzz"}
        nobody_there = await world.do(op.name, caller, **arguments)
        assert (theirs.status, theirs.body["error"]) == (404, "not_found"), op.name
        assert dict(theirs.body) == dict(nobody_there.body), op.name
    assert await counts(world.store) == before


ACT: dict[str, Any] = {
    "action": {"kind": "call", "target": "0x" + "11" * 20, "data": "0x12345678"},
    "idempotency_key": "act-1",
}
SAMPLES: dict[str, dict[str, Any]] = {
    "mandate_act": ACT,
    "mandate_act_prepare": ACT,
    "mandate_act_send": ACT | {"signed": "0x" + "02" * 100},
    "owner_mandate_correct": {"budget_usdc": "100"},
    "owner_mandate_assign": {"agent_id": "u_x"},
    "owner_sign": {"signature": "0x" + "00" * 65},
    "owner_vault_attach": {"tx_hash": "0x" + "00" * 32},
    "owner_vault_tx": {"tx_hash": "0x" + "00" * 32},
    "owner_approval_decide": {"approval_id": "ap_x", "decision": "approve"},
    "mandate_approval": {"approval_id": "ap_aaaaaaaaaa"},
    "mandate_report_event": {"kind": "note"},
    "mandate_report_refusal": {"reason": "server_guard"},
    "mandate_execute_call": {"target": "0x" + "11" * 20, "data": "0x12345678"},
    "mandate_unwind_call": {"target": "0x" + "11" * 20, "data": "0x12345678"},
    "mandate_pay": {
        "payment_required": {"x402Version": 2},
        "max_amount": "1",
        "why": "data",
    },
    "mandate_reconcile": {"tx_hash": "0x" + "00" * 32},
}


async def test_every_operation_refuses_a_caller_of_another_role(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    for op in OPERATIONS:
        if op.auth == "open":
            continue
        assert await world.error(op.name, ANONYMOUS) == "unauthenticated", op.name
        wrong = {"owner": agent, "agent": owner, "keeper": owner}.get(op.auth, Caller("keeper"))
        assert await world.error(op.name, wrong) == "forbidden", op.name


@pytest.mark.parametrize("name", ["apiKey", "Seed Phrase", "hmac_secret", "private key pem"])
async def test_a_secret_is_refused_at_any_depth_and_never_repeated(world: World, name: str) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    before = await counts(world.store)
    given = {"agent_id": agent.user_id, "venues": [{"x": {"deep": [{name: "hunter2"}]}}]}
    reply = await world.do("owner_agent_policy_put", owner, **given)
    assert (reply.status, reply.body["error"]) == (400, "secret_not_accepted")
    assert "hunter2" not in str(reply.body)
    assert await counts(world.store) == before


NOT_AN_AGENTS = ("deposit", "withdraw", "signed", "stop", "payout")
NOT_AN_AGENTS_KEYS = (
    "violation",
    "executed",
    "approval",
    "refusal",
    "marked",
    "reverses",
    "log_index",
)


async def test_an_agent_writes_only_its_own_kinds_and_payload_keys(world: World) -> None:
    m = await working(world)
    wrong: list[dict[str, Any]] = [{"kind": kind, "amount_usdc": "1"} for kind in NOT_AN_AGENTS]
    wrong += [{"kind": "note", "payload": {key: {}}} for key in NOT_AN_AGENTS_KEYS]
    for given in wrong:
        reply = await m.as_agent("mandate_report_event", **given)
        assert reply.body["error"] == "invalid_request", given
    negative = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="-1")
    assert negative.body["error"] == "invalid_number"
    resolved = await m.as_agent("mandate_report_event", kind="resolve", amount_usdc="-1")
    assert resolved.status == 201


@pytest.mark.parametrize("key", ["", "a" * 129, "spa ce", "ü", "a/b"])
async def test_an_idempotency_key_has_a_form(world: World, key: str) -> None:
    m = await working(world)
    reply = await m.as_agent("mandate_report_event", kind="note", key=key)
    assert reply.body["error"] == "invalid_request"
    assert BY_NAME["mandate_report_event"].idempotency is not None


@pytest.mark.anyio
@pytest.mark.parametrize("surface", ["http", "mcp"])
async def test_a_refusal_names_the_first_wrong_fields_and_counts_the_rest(
    world: World, surface: Literal["http", "mcp"]
) -> None:
    op, given = BY_NAME["mandate_draft"], {f"k{n}": 1 for n in range(4_900)} | {"note": "a"}
    told = await run(op, world.deps, ANONYMOUS, given, transport=surface)
    assert (told.status, told.body["error"]) == (400, "invalid_request")
    detail: Any = told.body["detail"]
    assert [f["loc"] for f in detail["fields"]] == [f"k{n}" for n in range(20)]
    assert detail["more"] == 4_880
    long = await run(op, world.deps, ANONYMOUS, {"é" * 50_000: 1, "note": "a"}, transport=surface)
    few: Any = long.body["detail"]
    assert len(few["fields"]) == 1
    assert "more" not in few
    for reply in (told, long):
        assert len(encoded(reply.body)) < 8_192
