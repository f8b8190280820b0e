"""What an agent accepted is what it is held to: other terms end its acceptance."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

import pytest

from domain.mandates.acceptance import accepted_terms, record_acceptance, revise
from domain.mandates.targets import Target
from domain.money import Usdc
from tests.domain.material import START as NOW
from tests.domain.material import mandate as a_mandate
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, drafted, market_targets
from tools.model.operation import OperationResult
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio

OTHER: Final[dict[str, Any]] = {
    "budget_usdc": "90000",
    "per_tx_cap_usdc": "99",
    "daily_cap_usdc": "251",
    "stop_floor_bps": 2001,
    "target_bps": 5,
    "horizon_days": 31,
    "payout_rule": {"bps": 0},
    "allowed_targets": [{"kind": "vault"}, {"kind": "x402"}],
    "approval_above_usdc": "40",
    "on_floor": "close",
}


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm) as opened:
        opened.deps = replace(opened.deps, webhooks=WebhookSigning(b"k" * 32))
        yield opened


def _body(m: Mandated, **changes: Any) -> dict[str, Any]:
    return {
        "budget_usdc": "500", "per_tx_cap_usdc": "100", "daily_cap_usdc": "250",
        "agent_id": m.agent.user_id, "chain_id": CHAIN_ID,
        "allowed_targets": market_targets(m.world), **changes,
    }  # fmt: skip


async def _accepted(world: World, **terms: Any) -> Mandated:
    m = await drafted(world, **terms)
    assert (await m.as_agent("mandate_accept")).status == 200
    return m


async def _corrected(m: Mandated, **changes: Any) -> OperationResult:
    reply = await m.as_owner("owner_mandate_correct", **_body(m, **changes))
    assert reply.status == 200, reply.body
    return reply


async def _offered(m: Mandated) -> list[str]:
    page = await m.world.ok("agent_offers", m.agent, agent_id=m.agent.user_id)
    return [offer["mandate"]["public_id"] for offer in page["items"]]


@pytest.mark.parametrize("term", OTHER)
async def test_another_term_ends_the_acceptance_and_offers_it_anew(world: World, term: str) -> None:
    m = await _accepted(world)
    assert await _offered(m) == []
    told = await _corrected(m, **{term: OTHER[term]})
    assert told.body["mandate"]["accepted_at"] is None
    assert (await m.read())["mandate"]["accepted_at"] is None
    assert await _offered(m) == [m.id]
    world.clock.forward(hours=1)
    again = await m.as_agent("mandate_accept")
    assert again.body["mandate"]["accepted_at"] == "2026-11-20T13:00:00.000Z"


async def test_the_same_terms_and_another_purpose_keep_it(world: World) -> None:
    m = await _accepted(world)
    for purpose in ("", "something for the week"):
        world.clock.forward(hours=1)
        told = await _corrected(m, purpose=purpose)
        assert told.body["mandate"]["accepted_at"] == "2026-11-20T12:00:00.000Z"
    assigned = await m.as_owner("owner_mandate_assign", agent_id=m.agent.user_id)
    assert assigned.body["mandate"]["accepted_at"] == "2026-11-20T12:00:00.000Z"
    assert await _offered(m) == []


async def test_terms_that_come_back_are_accepted_anew(world: World) -> None:
    m = await _accepted(world)
    await _corrected(m, budget_usdc="90000")
    told = await _corrected(m)
    assert told.body["mandate"]["accepted_at"] is None
    assert await _offered(m) == [m.id]


async def test_terms_that_another_agent_is_assigned_to_are_not_accepted(world: World) -> None:
    m = await _accepted(world)
    other, _ = await world.agent(m.owner)
    told = await m.as_owner("owner_mandate_assign", agent_id=other.user_id)
    assert told.body["mandate"]["accepted_at"] is None
    back = await m.as_owner("owner_mandate_assign", agent_id=m.agent.user_id)
    assert back.body["mandate"]["accepted_at"] is None


async def test_terms_taken_from_the_open_board_are_held_to_as_well(world: World) -> None:
    m = await _accepted(world, agent_id=None, open_board=True)
    kept = await _corrected(m, purpose="the same")
    assert kept.body["mandate"]["accepted_at"] == "2026-11-20T12:00:00.000Z"
    told = await _corrected(m, payout_rule={"bps": 0})
    assert told.body["mandate"]["accepted_at"] is None
    assert await _offered(m) == [m.id]


async def test_the_agent_that_accepted_other_terms_cannot_act(world: World) -> None:
    m = await _accepted(world)
    await _corrected(m, budget_usdc="90000", payout_rule={"bps": 0})
    terms = (await m.as_owner("owner_terms")).body["typed_data"]
    signed = await m.as_owner("owner_sign", signature=m.owner_wallet.sign_typed(terms))
    assert signed.body["mandate"]["accepted_at"] is None
    refused = await m.execute("1")
    assert refused.body["error"] == "mandate_not_accepted"


async def test_the_owner_is_told_once(world: World) -> None:
    m = await _accepted(world)
    hook = await world.ok(
        "owner_webhook_create", m.owner, url="https://hooks.example/a",
        events=["mandate.acceptance_ended"],
    )  # fmt: skip
    await _corrected(m, purpose="the same")
    await _corrected(m, budget_usdc="90000")
    await _corrected(m, budget_usdc="90001")
    queued = await world.store.read(
        lambda uow: uow.sql.rows("SELECT body FROM webhook_deliveries ORDER BY made_at")
    )
    (told,) = [json.loads(row["body"]) for row in queued]
    assert hook["webhook"]["webhook_id"]
    assert (told["type"], told["data"]) == (
        "mandate.acceptance_ended",
        {"public_id": m.id, "agent_id": m.agent.user_id, "accepted_at": "2026-11-20T12:00:00.000Z"},
    )


def test_an_acceptance_from_before_the_digest_is_of_the_terms_that_stand() -> None:
    before = replace(record_acceptance(a_mandate(), NOW), accepted_digest=None)
    same = revise(before, replace(before, purpose="other words"))
    assert (same.accepted_at, same.accepted_digest) == (NOW, accepted_terms(before))
    other = revise(before, replace(before, budget_usdc=Usdc.parse("90000")))
    assert (other.accepted_at, other.accepted_digest) == (None, None)


def test_what_the_service_calls_a_target_is_no_term() -> None:
    call = Target("contract", "0x" + "11" * 20, "0x6e553f65", (1,), None, "Market", "market")
    m = replace(a_mandate(), allowed_targets=(call,))
    renamed = replace(m, allowed_targets=(replace(call, label="Other", market="other"),))
    moved = replace(m, allowed_targets=(replace(call, self_args=(0,)),))
    assert accepted_terms(renamed) == accepted_terms(m) != accepted_terms(moved)


@pytest.mark.parametrize("bps", [3001, 5000])
async def test_a_share_that_no_vault_takes_is_refused_at_once(world: World, bps: int) -> None:
    m = await drafted(world)
    rule = {"payout_rule": {"bps": bps}}
    refused = (
        await m.as_owner("owner_mandate_correct", **_body(m, **rule)),
        await world.do("owner_mandate_create", m.owner, **_body(m, **rule)),
        await world.do("mandate_propose", m.agent, budget_usdc="50", **rule),
    )
    for told in refused:
        assert (told.status, told.body["error"]) == (400, "invalid_request")
        assert told.body["detail"]["fields"] == [
            {"loc": "payout_rule.bps", "msg": "a share from 0% to 30%"}
        ]
    taken = await _corrected(m, payout_rule={"bps": 3000})
    assert taken.body["mandate"]["payout_rule"]["bps"] == 3000
    assert (await m.as_owner("owner_terms")).status == 200
