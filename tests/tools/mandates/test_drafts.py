"""Drafts: who may make, correct, assign, accept and cancel them, and what that leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import (
    CHAIN_ID,
    Mandated,
    World,
    drafted,
    error_of,
    market_targets,
    signed,
    working,
)
from tools.model.operation import ANONYMOUS

pytestmark = pytest.mark.anyio


async def _mandates(world: World) -> int:
    return await world.store.read(
        lambda uow: int(uow.sql.rows("SELECT COUNT(*) AS n FROM mandates")[0]["n"])
    )


async def test_a_note_is_read_for_anybody_and_stored_for_an_owner_only(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    note = "500 USDC for two weeks, at most $50 per action"
    told = await world.do("mandate_draft", ANONYMOUS, note=note)
    assert (told.status, told.body["saved"], told.body["public_id"]) == (200, False, None)
    assert told.body["draft"]["per_tx_cap_usdc"] == "50.000000"
    assert {u["term"] for u in told.body["understood"]} >= {
        "budget_usdc",
        "per_tx_cap_usdc",
        "horizon_days",
    }
    assert (
        await error_of(world.do("mandate_draft", ANONYMOUS, note=note, save=True))
        == "unauthenticated"
    )
    assert await error_of(world.do("mandate_draft", agent, note=note, save=True)) == "forbidden"
    assert await _mandates(world) == 0
    kept = await world.do("mandate_draft", owner, note=note, save=True)
    assert (kept.status, kept.body["saved"]) == (201, True)
    stored = await world.ok("mandate_get", owner, public_id=kept.body["public_id"])
    assert stored["mandate"]["purpose"] == note
    assert stored["mandate"]["status"] == "draft"
    assert stored["terms_status"] is None


async def test_a_market_is_chosen_by_its_name_or_its_id(world: World) -> None:
    for note, terms, kinds in [
        ("$500. Use the Test Market.", {}, {"vault", "x402", "contract"}),
        ("$500 for lending", {}, {"vault", "x402", "contract"}),
        ("$500. Only the Test Market.", {}, {"vault", "contract"}),
        ("$500. Use another market.", {"markets": ["test-market"]}, {"vault", "x402", "contract"}),
    ]:
        told = await world.ok("mandate_draft", ANONYMOUS, note=note, terms=terms)
        assert (told["needs_review"], told["draft"]["markets"]) == (False, ["test-market"]), note
        assert {t["kind"] for t in told["draft"]["allowed_targets"]} == kinds
    for note in ("$500. Use another market.", "$500. Do not use the Test Market."):
        told = await world.ok("mandate_draft", ANONYMOUS, note=note)
        assert (told["needs_review"], told["draft"]["allowed_targets"]) == (True, None)


async def test_every_sentence_of_a_note_is_told_where_it_went(world: World) -> None:
    told = await world.ok(
        "mandate_draft",
        ANONYMOUS,
        note="Budget 700 USDC. Never act without asking me. Be nice to strangers.",
    )
    assert told["understood"] == [
        {"term": "budget_usdc", "value": "700.000000", "text": "Budget 700 USDC"}
    ]
    (sentence,) = told["unclear"]
    assert sentence["text"] == "Never act without asking me"
    assert sentence["could_be"] == [{"term": "approval_above_usdc", "value": None}]
    assert told["unrelated"] == [{"text": "Be nice to strangers"}]
    assert (told["needs_review"], told["draft"]["needs_review"]) == (True, True)
    assert "approval_above_usdc" not in {a["term"] for a in told["assumed"]}


async def test_what_a_note_leaves_open_is_null_and_has_no_clause(world: World) -> None:
    owner, _ = await world.owner()
    note = "Budget around 500 USDC, 30 days. Stop at a 20% loss."
    told = (await world.do("mandate_draft", owner, note=note, save=True)).body
    unclear = {
        "budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc", "approval_above_usdc",
        "stop_floor_bps", "horizon_days",
    }  # fmt: skip
    assert set(told["draft"]["unclear_terms"]) == unclear
    assert {told["draft"][name] for name in unclear} == {None}
    assert {c["key"] for c in told["clauses"]} == {"markets", "at_stop", "agent_fee", "your_floors"}
    assert told["exposure"] is None
    on = {"public_id": told["public_id"]}
    kept = await world.ok("mandate_get", owner, **on)
    assert [c["n"] for c in kept["clauses"]] == [c["n"] for c in told["clauses"]]
    put = await world.ok("owner_mandate_correct", owner, **on, budget_usdc="500")
    assert (put["mandate"]["needs_review"], put["mandate"]["unclear_terms"]) == (False, [])
    assert [c["n"] for c in put["clauses"]] == list(range(1, 11))


async def test_typed_terms_win_over_the_note_and_settle_what_it_leaves_open(world: World) -> None:
    owner, _ = await world.owner()
    note = "Budget 500 USDC, 50 per trade. Take whatever cut you think fair."
    terms = {"per_tx_cap_usdc": "20", "payout_rule": {"bps": 500}, "target_bps": None}
    open_still = await world.ok("mandate_draft", ANONYMOUS, note=note, terms=terms)
    assert "payout_rule" not in open_still["draft"]["unclear_terms"]
    told = (await world.do("mandate_draft", owner, note=note, terms=terms, save=True)).body
    typed = {u["term"]: u["value"] for u in told["understood"] if u["text"] is None}
    assert typed["per_tx_cap_usdc"] == "20.000000"
    assert typed["payout_rule"] == {"kind": "share_of_verified_gain", "bps": 500}
    assert told["draft"]["per_tx_cap_usdc"] == "20.000000"
    stored = (await world.ok("mandate_get", owner, public_id=told["public_id"]))["mandate"]
    assert (stored["per_tx_cap_usdc"], stored["purpose"]) == ("20.000000", note)


@pytest.mark.parametrize(
    ("terms", "loc"),
    [
        (
            {"per_tx_cap_usdc": "50", "daily_cap_usdc": "20", "budget_usdc": "100"},
            "terms.per_tx_cap_usdc",
        ),
        ({"agent_id": "u_aaaaaaaaaa", "open_board": True}, "terms.open_board"),
        ({"horizon_days": 0}, "terms.horizon_days"),
        ({"budget": "100"}, "terms.budget"),
        ({"payout_rule": {"bps": 4000}}, "terms.payout_rule.bps"),
    ],
)
async def test_typed_terms_are_validated_like_a_create_body(
    world: World, terms: dict[str, Any], loc: str
) -> None:
    told = await world.do("mandate_draft", ANONYMOUS, note="a plan", terms=terms)
    assert (told.status, told.body["error"]) == (400, "invalid_request")
    assert [f["loc"] for f in told.body["detail"]["fields"]] == [loc]


async def test_an_unclear_draft_gives_out_no_terms_until_its_owner_has_put_fields(
    world: World,
) -> None:
    owner, wallet = await world.owner()
    agent, _ = await world.agent(owner)
    note = "Budget 500 USDC. Never act without asking me."
    kept = (await world.do("mandate_draft", owner, note=note, save=True)).body
    on = {"public_id": kept["public_id"]}
    read = await world.ok("mandate_get", owner, **on)
    assert read["mandate"]["needs_review"] is True
    assigned = await world.do("owner_mandate_assign", owner, **on, agent_id=agent.user_id)
    assert assigned.status == 200
    for refused in (
        await world.do("owner_terms", owner, **on),
        await world.do("owner_sign", owner, **on, signature="0x" + "11" * 65),
    ):
        assert (refused.status, refused.body["error"]) == (409, "draft_unclear")
        assert refused.body["next"][0]["route"] == "PUT /wallet/mandates/{public_id}"
    corrected = await world.ok(
        "owner_mandate_correct",
        owner,
        **on,
        budget_usdc="500",
        approval_above_usdc="0.000001",
        agent_id=agent.user_id,
        chain_id=CHAIN_ID,
    )
    assert corrected["mandate"]["needs_review"] is False
    terms = await world.ok("owner_terms", owner, **on)
    signature = wallet.sign_typed(terms["typed_data"])
    assert (await world.do("owner_sign", owner, **on, signature=signature)).status == 200


async def test_a_note_understood_whole_is_signed_as_it_was_read(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    kept = (await world.do("mandate_draft", owner, note="500 USDC for 14 days", save=True)).body
    assert (kept["needs_review"], kept["unclear"]) == (False, [])
    on = {"public_id": kept["public_id"]}
    await world.do("owner_mandate_assign", owner, **on, agent_id=agent.user_id)
    assert (await world.do("owner_terms", owner, **on)).status == 200


@pytest.mark.parametrize(
    "note", ["$500, aim for 99999999%", "ask me for anything from $0.000001 up", "$0.000001"]
)
async def test_a_note_at_the_edges_is_read_and_not_refused(world: World, note: str) -> None:
    assert (await world.do("mandate_draft", ANONYMOUS, note=note)).status == 200


async def test_the_standard_preset_fills_what_is_left_out(world: World) -> None:
    owner, _ = await world.owner()
    told = await world.do("owner_mandate_create", owner, budget_usdc="500")
    m = told.body["mandate"]
    assert told.status == 201
    assert (m["per_tx_cap_usdc"], m["daily_cap_usdc"]) == ("50.000000", "150.000000")
    assert (m["stop_floor_bps"], m["horizon_days"], m["on_floor"]) == (2000, 30, "keep")
    assert m["payout_rule"] == {"kind": "share_of_verified_gain", "bps": 1000}
    assert m["approval_above_usdc"] is None
    assert [t["kind"] for t in m["allowed_targets"]] == ["vault", "x402"]
    assert [c["n"] for c in told.body["clauses"]] == list(range(1, 11))


async def test_a_cap_above_the_budget_is_refused_under_its_own_name(world: World) -> None:
    owner, _ = await world.owner()
    for field in ("per_tx_cap_usdc", "daily_cap_usdc"):
        told = await world.do("owner_mandate_create", owner, budget_usdc="500", **{field: "600"})
        assert (told.status, told.body["error"]) == (400, "invalid_request")
        assert [f["loc"] for f in told.body["detail"]["fields"]] == [field]


async def test_an_agent_that_does_not_accept_cannot_be_named(world: World) -> None:
    owner, _ = await world.owner()
    shy, _ = await world.agent(owner, accepts=False)
    told = await world.do("owner_mandate_create", owner, budget_usdc="500", agent_id=shy.user_id)
    assert (told.status, told.body["error"]) == (409, "agent_not_accepting")
    unknown = await world.do(
        "owner_mandate_create", owner, budget_usdc="500", agent_id="u_aaaaaaaaaa"
    )
    assert (unknown.status, unknown.body["error"]) == (404, "not_found")
    both = await world.do(
        "owner_mandate_create", owner, budget_usdc="500", agent_id=shy.user_id, open_board=True
    )
    assert both.body["error"] == "invalid_request"
    assert await _mandates(world) == 0


async def test_a_correction_replaces_the_whole_draft(world: World) -> None:
    m = await drafted(world, approval_above_usdc="20", purpose="first")
    told = await m.as_owner("owner_mandate_correct", budget_usdc="100")
    after = told.body["mandate"]
    assert told.status == 200
    assert (after["budget_usdc"], after["purpose"]) == ("100.000000", "")
    assert after["approval_above_usdc"] is None
    assert (after["agent_id"], after["per_tx_cap_usdc"]) == (None, "10.000000")
    assert await error_of(world.do("mandate_get", m.agent, public_id=m.id)) == "not_found"


async def test_designating_an_agent_takes_the_draft_off_the_open_board(world: World) -> None:
    m = await drafted(world, agent_id=None, open_board=True)
    other, _ = await world.agent(m.owner)
    assert (await world.do("mandate_get", other, public_id=m.id)).status == 200
    told = await m.as_owner("owner_mandate_assign", agent_id=m.agent.user_id)
    assert told.body["mandate"]["open_board"] is False
    assert told.body["mandate"]["agent_id"] == m.agent.user_id
    assert await error_of(world.do("mandate_get", other, public_id=m.id)) == "not_found"
    assert await error_of(world.do("mandate_accept", other, public_id=m.id)) == "not_found"


async def test_a_proposal_is_the_owners_draft_with_the_proposers_name(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    told = await world.do(
        "mandate_propose",
        agent,
        budget_usdc="50",
        purpose="data for the week",
        agent_id=agent.user_id,
    )
    assert told.status == 201
    assert told.body["mandate"]["proposed_by_agent_id"] == agent.user_id
    await world.ok("owner_mandate_create", owner, budget_usdc="70")
    listed = (await world.ok("mandate_list", owner, proposed=True))["items"]
    assert [i["mandate"]["public_id"] for i in listed] == [told.body["mandate"]["public_id"]]
    public_id = told.body["mandate"]["public_id"]
    corrected = await world.do(
        "owner_mandate_correct",
        owner,
        public_id=public_id,
        budget_usdc="40",
        agent_id=agent.user_id,
    )
    assert corrected.body["mandate"]["proposed_by_agent_id"] == agent.user_id
    assert (
        await error_of(
            world.do("owner_mandate_correct", agent, public_id=public_id, budget_usdc="40")
        )
        == "forbidden"
    )


async def test_a_proposal_cannot_open_the_board(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    for value in (True, False):
        told = await world.do("mandate_propose", agent, budget_usdc="50", open_board=value)
        assert told.body["error"] == "invalid_request"
        assert told.body["detail"]["fields"][0]["loc"] == "open_board"
    assert await _mandates(world) == 0


async def test_accepting_an_open_offer_closes_the_board(world: World) -> None:
    m = await drafted(world, agent_id=None, open_board=True)
    late, _ = await world.agent(m.owner)
    told = await m.as_agent("mandate_accept")
    assert told.body["mandate"]["open_board"] is False
    assert told.body["mandate"]["agent_id"] == m.agent.user_id
    refused = await world.do("mandate_accept", late, public_id=m.id)
    assert (refused.status, refused.body["error"]) == (409, "conflict")
    await m.as_owner("owner_mandate_assign", agent_id=m.agent.user_id)
    assert (await m.as_agent("mandate_accept")).status == 200


async def _markets_clause(m: Mandated) -> dict[str, Any]:
    return next(c for c in (await m.read())["clauses"] if c["key"] == "markets")


async def test_a_label_over_another_address_is_not_the_drafters_to_give(world: World) -> None:
    copied = [
        t | {"address": "0x" + "66" * 20} if t["kind"] == "contract" else t
        for t in market_targets(world)
    ]
    genuine = await drafted(world)
    agent = genuine.agent
    draft = {"budget_usdc": "50", "chain_id": CHAIN_ID, "allowed_targets": copied}
    proposed = await world.ok("mandate_propose", agent, **draft)
    contracts = [t for t in proposed["mandate"]["allowed_targets"] if t["kind"] == "contract"]
    assert {(t["label"], t["market"]) for t in contracts} == {(None, None)}
    (clause,) = [c for c in proposed["clauses"] if c["key"] == "markets"]
    assert "Test Market" not in str(clause)
    assert f"{contracts[0]['address']} 0x6e553f65" in clause["text_en"]
    assert "does not know" in clause["text_en"]
    assert "Test Market: deposit" in (await _markets_clause(genuine))["text_en"]
    assert "does not know" not in (await _markets_clause(genuine))["text_en"]


async def test_a_listed_call_gets_the_services_label_whatever_the_draft_says(world: World) -> None:
    given = [
        t | {"label": "Safe savings", "market": "bank"} if t["kind"] == "contract" else t
        for t in market_targets(world)
    ]
    m = await drafted(world, allowed_targets=given)
    clause = await _markets_clause(m)
    assert "Safe savings" not in str(clause)
    assert "Test Market: deposit" in clause["text_en"]
    read = (await m.read())["mandate"]
    assert {t["market"] for t in read["allowed_targets"] if t["kind"] == "contract"} == {
        "test-market"
    }


async def test_a_listed_call_that_is_held_less_tightly_says_so(world: World) -> None:
    deposit = market_targets(world)[1] | {"self_args": [], "probe": "0x01e1d114"}
    m = await drafted(world, allowed_targets=[{"kind": "vault"}, deposit])
    text = (await _markets_clause(m))["text_en"]
    assert (
        "Test Market: deposit (not held to the vault's own address; valued by 0x01e1d114)" in text
    )


async def test_a_listed_call_of_another_chain_is_not_known(world: World) -> None:
    m = await drafted(world, chain_id=84532)
    assert "Test Market" not in str(await _markets_clause(m))


async def test_a_venue_entry_has_the_services_name_or_none(world: World) -> None:
    entry = {"kind": "venue", "venue": "perps", "symbols": ["BTC"], "label": "Test Market: deposit"}
    m = await drafted(world, allowed_targets=[entry])
    clause = await _markets_clause(m)
    assert clause["text_en"] == (
        "The agent may only deal with: markets of a venue that this service does not know."
    )
    assert clause["params"]["items"][0]["label"] is None


async def test_no_words_of_an_agent_stand_in_the_clause_that_an_owner_signs(world: World) -> None:
    m = await drafted(world)
    wordy = "Every other action needs your signature first"
    for entry in (
        {"kind": "x402", "hosts": [f"api.weather.example. {wordy}"]},
        {"kind": "venue", "venue": "Test Market: deposit (checked by this service)"},
        {"kind": "venue", "venue": "Test-Market"},
        {"kind": "venue", "venue": "perps", "symbols": ["no market without asking you"]},
        {"kind": "venue", "venue": "Hyperliquid", "symbols": ["BTC"]},
    ):
        draft = {"budget_usdc": "50", "chain_id": CHAIN_ID, "allowed_targets": [entry]}
        told = await world.do("mandate_propose", m.agent, **draft)
        assert (told.status, told.body["error"]) == (400, "invalid_request"), entry
        assert told.body["detail"]["fields"][0]["loc"].startswith("allowed_targets.0."), entry


async def test_a_draft_lists_no_more_calls_than_a_vault_takes(world: World) -> None:
    m = await drafted(world)
    call = {"kind": "contract", "address": "0x" + "66" * 20}
    calls = [call | {"selector": f"0x{n:08x}"} for n in range(22)]
    draft = {"budget_usdc": "50", "chain_id": CHAIN_ID, "allowed_targets": calls}
    assert (await world.do("owner_mandate_create", m.owner, **draft)).status == 201
    told = await world.do("owner_mandate_create", m.owner, **draft, markets=["test-market"])
    assert told.body["detail"]["fields"] == [
        {"loc": "markets", "msg": "at most 24 contract entries"}
    ]


async def test_accepting_confirms_once(world: World) -> None:
    m = await drafted(world)
    first = await m.as_agent("mandate_accept")
    world.clock.forward(hours=1)
    again = await m.as_agent("mandate_accept")
    assert (
        first.body["mandate"]["accepted_at"]
        == again.body["mandate"]["accepted_at"]
        == "2026-11-20T12:00:00.000Z"
    )
    offers = await world.ok("agent_offers", m.agent, agent_id=m.agent.user_id)
    assert offers["items"] == []


async def test_an_open_offer_is_seen_but_nobodys_before_it_is_accepted(world: World) -> None:
    m = await working(world, agent_id=None, open_board=True, accept=False)
    assert (await m.as_agent("mandate_get")).status == 200
    assert await error_of(m.execute("10")) == "mandate_not_accepted"
    assert await error_of(m.as_agent("mandate_report_event", kind="note")) == "mandate_not_accepted"
    assert (await m.as_agent("mandate_accept")).status == 200
    assert (await m.read())["mandate"]["paused"] is True
    assert await error_of(m.execute("10")) == "mandate_paused"
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_resume_call")).body["call"])
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx, kind="resume")).body["mandate"][
        "paused"
    ] is False
    assert (await m.execute("10")).status == 200


async def test_an_agent_without_a_wallet_on_the_chain_cannot_take_a_signed_offer(
    world: World,
) -> None:
    m = await signed(world, agent_id=None, open_board=True)
    told = await world.ok("owner_agent_register", m.owner, name="Bare")
    await world.ok(
        "owner_agent_policy_put", m.owner, agent_id=told["agent_id"], accepts_mandates=True
    )
    bare = type(m.agent)("agent", told["agent_id"], m.owner.user_id)
    refused = await world.do("mandate_accept", bare, public_id=m.id)
    assert (refused.status, refused.body["error"]) == (400, "invalid_request")
    await world.ok(
        "agent_deposit_address",
        bare,
        agent_id=bare.user_id,
        chain_id=CHAIN_ID,
        address=m.agent_wallet.address,
    )
    assert (await world.do("mandate_accept", bare, public_id=m.id)).status == 200


async def test_a_cancelled_offer_is_gone_for_agents(world: World) -> None:
    m = await drafted(world, agent_id=None, open_board=True)
    assert (await m.as_owner("owner_mandate_cancel")).body["mandate"]["status"] == "cancelled"
    assert (await m.as_owner("owner_mandate_cancel")).status == 200
    for name in ("mandate_accept", "mandate_get"):
        assert await error_of(m.as_agent(name)) == "not_found"


@pytest.mark.parametrize(
    "name",
    [
        "owner_mandate_assign",
        "owner_mandate_correct",
        "owner_terms",
        "owner_sign",
        "mandate_accept",
    ],
)
async def test_a_cancelled_mandate_does_not_come_back(world: World, name: str) -> None:
    m = await drafted(world)
    await m.as_owner("owner_mandate_cancel")
    more: dict[str, dict[str, Any]] = {
        "owner_mandate_assign": {"agent_id": m.agent.user_id},
        "owner_mandate_correct": {"budget_usdc": "5"},
        "owner_sign": {"signature": "0x" + "11" * 65},
    }
    act = m.as_agent if name == "mandate_accept" else m.as_owner
    reply = await act(name, **more.get(name, {}))
    assert (reply.status, reply.body["error"]) == (
        409,
        "wrong_status" if name in ("owner_terms", "mandate_accept") else "mandate_signed",
    )
    assert (await m.read())["mandate"]["status"] == "cancelled"


@pytest.mark.parametrize("text", ["nul\x00inside", "half \ud800 pair"], ids=["nul", "surrogate"])
async def test_text_that_no_database_holds_is_refused_wherever_it_stands(
    both: World, text: str
) -> None:
    owner, _ = await both.owner()
    before = await _mandates(both)
    calls: dict[str, dict[str, Any]] = {
        "owner_mandate_create": {"budget_usdc": "5", "purpose": text},
        "mandate_draft": {"note": text, "save": True},
        "owner_mandate_assign": {"public_id": "m_aaaaaaaaaa", "agent_id": text},
        "mandate_get": {"public_id": text},
        "mandate_list": {"cursor": text},
    }
    for name, fields in calls.items():
        reply = await both.do(name, owner, **fields)
        assert (reply.status, reply.body["error"]) == (400, "invalid_request"), name
    assert await _mandates(both) == before


async def test_several_drafts_are_thrown_away_at_once_all_or_none(world: World) -> None:
    m = await drafted(world)
    others = [
        (await world.ok("owner_mandate_create", m.owner, budget_usdc="50"))["public_id"]
        for _ in range(2)
    ]
    _, stranger = await signed(world), await drafted(world)

    async def status_of(public_id: str) -> str:
        read = await world.ok("mandate_get", m.owner, public_id=public_id)
        return str(read["mandate"]["status"])

    for foreign in (stranger.id, "m_zzzzzzzzzz"):
        refused = await world.do("owner_drafts_discard", m.owner, public_ids=[*others, foreign])
        assert (refused.status, refused.body["error"]) == (404, "not_found")
    assert [await status_of(i) for i in others] == ["draft", "draft"]
    for _ in range(2):
        told = await world.ok("owner_drafts_discard", m.owner, public_ids=[*others, others[0]])
        assert told["public_ids"] == sorted(others)
    assert [await status_of(i) for i in (*others, m.id)] == ["cancelled", "cancelled", "draft"]


async def test_terms_that_were_signed_meanwhile_are_not_thrown_away_as_a_draft(
    world: World,
) -> None:
    m = await signed(world)
    draft = (await world.ok("owner_mandate_create", m.owner, budget_usdc="50"))["public_id"]
    asked = {"public_ids": [draft, m.id]}
    refused = await world.do("owner_drafts_discard", m.owner, **asked)
    assert (refused.status, refused.body["error"]) == (409, "wrong_status")
    assert (await m.read())["mandate"]["status"] == "signed"
    read = await world.ok("mandate_get", m.owner, public_id=draft)
    assert read["mandate"]["status"] == "draft"
    # What was cancelled after the signature was no draft either.
    await m.as_owner("owner_mandate_cancel")
    assert (await world.do("owner_drafts_discard", m.owner, **asked)).status == 409
    for wrong in ([], [draft] * 51):
        assert (await world.do("owner_drafts_discard", m.owner, public_ids=wrong)).status == 400
