"""Agents: registration, keys, who sees what, policy and its log, deposit addresses, offers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import anyio
import pytest

from storage.sql import micros
from tests.world import CHAIN_ID, World, drafted, working
from tools.context.credentials import resolve
from tools.model.operation import Caller, OperationResult

pytestmark = pytest.mark.anyio
OF_AN_AGENT = ("agent_policy", "agent_balances", "agent_offers", "agent_activity")


async def registered(world: World, owner: Caller, **more: Any) -> dict[str, Any]:
    return await world.ok("owner_agent_register", owner, **{"name": "Scout"} | more)


async def works(world: World, key: str) -> bool:
    now = world.clock.now()
    found = await world.store.read(lambda uow: resolve(uow, "agent_key", key, now))
    return found[0] is not None


async def test_an_agent_is_registered_and_listed_without_its_key(world: World) -> None:
    owner, wallet = await world.owner()
    told = await registered(world, owner, name="  Scout ", address=wallet.address.lower())
    assert (told["name"], told["address"]) == ("Scout", wallet.address)
    assert await works(world, told["key"])
    (row,) = (await world.ok("owner_agents", owner))["items"]
    assert row["keys"] == [
        {"key_id": told["key_id"], "created_at": row["created_at"], "revoked_at": None}
    ]
    assert told["key"] not in str(row)
    other, _ = await world.owner()
    assert (await world.ok("owner_agents", other))["items"] == []


@pytest.mark.parametrize(
    "fields",
    [{"name": ""}, {"name": "  "}, {"name": "x" * 81}, {"name": 5}, {"name": "a", "more": 1}, {}],
)
async def test_a_registration_has_a_form(world: World, fields: dict[str, Any]) -> None:
    owner, _ = await world.owner()
    assert await world.error("owner_agent_register", owner, **fields) == "invalid_request"
    wrong = {"name": "a", "address": "0x1"}
    assert await world.error("owner_agent_register", owner, **wrong) == "invalid_address"
    assert (await world.ok("owner_agents", owner))["items"] == []


async def test_a_key_is_rotated_without_a_gap_and_revoked_at_once(both: World) -> None:
    owner, _ = await both.owner()
    told = await registered(both, owner)
    given = {"agent_id": told["agent_id"]}
    second = await both.ok("owner_agent_key_add", owner, **given)
    assert await works(both, told["key"])
    assert await works(both, second["key"])
    assert await both.error("owner_agent_key_add", owner, **given) == "conflict"
    first = given | {"key_id": told["key_id"]}
    await both.ok("owner_agent_key_revoke", owner, **first)
    assert not await works(both, told["key"])
    assert await both.error("owner_agent_key_revoke", owner, **first) == "not_found"
    replies: list[OperationResult] = []

    async def add() -> None:
        replies.append(await both.do("owner_agent_key_add", owner, **given))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(add)
    assert sorted(r.status for r in replies) == [201] + [409] * 5


async def test_agents_are_paged_newest_first(world: World) -> None:
    owner, _ = await world.owner()
    made = []
    for n in range(5):
        made.append((await registered(world, owner, name=f"A{n}"))["agent_id"])
        world.clock.forward(seconds=1)
    first = await world.ok("owner_agents", owner, limit=3)
    rest = await world.ok("owner_agents", owner, limit=3, cursor=first["next_cursor"])
    assert [r["agent_id"] for r in first["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None


async def test_an_agent_is_there_for_its_owner_and_itself_only(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    rival, _ = await world.agent(owner)
    other, _ = await world.owner()
    for name in OF_AN_AGENT:
        for caller, status in ((owner, 200), (agent, 200), (rival, 404), (other, 404)):
            assert (await world.do(name, caller, agent_id=agent.user_id)).status == status, name
    for name, more in (
        ("owner_agent_policy_put", {}), ("owner_agent_key_add", {}), ("owner_agent_key_revoke", {"key_id": "k"}),
        ("agent_deposit_address", {"chain_id": 1}),
    ):  # fmt: skip
        assert await world.error(name, other, agent_id=agent.user_id, **more) == "not_found", name
    mine = {"agent_id": agent.user_id}
    assert await world.error("owner_agent_policy_put", agent, **mine) == "forbidden"


async def test_an_agent_knows_who_it_is(world: World) -> None:
    m = await drafted(world)
    told = await world.ok("agents_me", m.agent)
    assert (told["agent_id"], told["name"]) == (m.agent.user_id, "Scout")
    assert told["owner"] == {"address": m.owner.address}
    assert told["policy"] == {"exists": True, "accepts_mandates": True}
    assert [x["public_id"] for x in told["mandates"]] == [m.id]
    assert told["toolsets"] == ["core"]
    mine = await world.ok("agents_me", m.owner)
    assert [a["agent_id"] for a in mine["agents"]] == [m.agent.user_id]
    assert m.owner.user_id not in str(told) + str(mine)


# -- policy ------------------------------------------------------------------------------------------------------------


async def put(world: World, owner: Caller, agent: Caller, **policy: Any) -> dict[str, Any]:
    return await world.ok("owner_agent_policy_put", owner, agent_id=agent.user_id, **policy)


async def test_a_policy_is_replaced_whole_and_its_changes_are_logged(both: World) -> None:
    owner, _ = await both.owner()
    agent, _ = await both.agent(owner, accepts=False)
    before = await both.ok("agent_policy", agent, agent_id=agent.user_id)
    assert (before["exists"], before["changes"], before["updated_at"]) == (False, [], None)
    assert before["policy"]["accepts_mandates"] is False
    given = {"assets": ["USDC"], "accepts_mandates": True}
    first = await put(both, owner, agent, per_tx_cap_usdc="5", **given)
    assert first["changed"] is True
    assert first["changes"][0]["changes"] == {
        "per_tx_cap_usdc": {"from": None, "to": "5.000000"}, "assets": {"from": None, "to": ["USDC"]},
        "accepts_mandates": {"from": False, "to": True},
    }  # fmt: skip
    both.clock.forward(seconds=1)
    same = await put(both, owner, agent, per_tx_cap_usdc="5.000000", **given)
    assert (same["changed"], len(same["changes"])) == (False, 1)
    assert same["updated_at"] == first["updated_at"]
    both.clock.forward(seconds=1)
    less = await put(both, owner, agent, total_cap_usdc=7)
    assert less["policy"] | {"total_cap_usdc": None} == before["policy"]
    assert less["changes"][0]["changes"]["accepts_mandates"] == {"from": True, "to": False}
    seconds = [c["changed_at"].removeprefix("2026-11-20T12:00:") for c in less["changes"]]
    assert seconds == ["02.000Z", "00.000Z"]


async def test_the_last_ten_changes_are_shown(world: World) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner, accepts=False)
    for n in range(12):
        told = await put(world, owner, agent, slippage_bps=n + 1)
    assert [c["changes"]["slippage_bps"]["to"] for c in told["changes"]] == list(range(12, 2, -1))


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("per_tx_cap_usdc", "-1", "invalid_number"),
        ("total_cap_usdc", "0.0000001", "invalid_number"),
        ("slippage_bps", 10_001, "invalid_request"),
        ("max_cost_bps", "5", "invalid_request"),
        ("credit_budget_daily", -1, "invalid_request"),
        ("accepts_mandates", "yes", "invalid_request"),
        ("auto_vs_approval", [], "invalid_request"),
        ("updated_at", "2026-11-20", "invalid_request"),
        ("venues", {"hl": {"api_key": "hunter2"}}, "secret_not_accepted"),
    ],
)
async def test_a_policy_that_is_none_is_refused_and_nothing_is_kept(
    world: World, field: str, value: Any, code: str
) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner, accepts=False)
    given = {"agent_id": agent.user_id, field: value}
    reply = await world.do("owner_agent_policy_put", owner, **given)
    assert reply.body["error"] == code
    assert "hunter2" not in str(reply.body)
    assert (await world.ok("agent_policy", owner, agent_id=agent.user_id))["exists"] is False


async def test_a_policy_field_holds_16_kib_and_the_log_says_what_it_cut(world: World) -> None:
    owner, _ = await world.owner()
    agent = (await registered(world, owner))["agent_id"]
    most = "é" * ((16_384 - 2) // 2)
    over = await world.do("owner_agent_policy_put", owner, agent_id=agent, venues=most + "é")
    assert (over.status, over.body["error"]) == (400, "invalid_request")
    assert over.body["detail"]["fields"][0]["loc"] == "venues"
    for n in range(12):
        given = {"assets": [n], "venues": most[n:], "stop_conditions": {"a": most[n + 9 :]}}
        assert (await world.ok("owner_agent_policy_put", owner, agent_id=agent, **given))["changed"]
    told = await world.ok("agent_policy", owner, agent_id=agent)
    assert told["venues"] == most[11:]
    assert len(told["changes"]) == 10
    newest = told["changes"][0]["changes"]
    assert newest["assets"] == {"from": [10], "to": [11]}
    after = {"a": most[20:]}
    text = json.dumps(after, ensure_ascii=False, separators=(",", ":")).encode()
    assert newest["stop_conditions"] == {
        "from": None,
        "to": None,
        "cut": {"from": len(text) + 2, "to": len(text)},
        "sha256": newest["stop_conditions"]["sha256"],
    }
    assert newest["stop_conditions"]["sha256"]["to"] == hashlib.sha256(text).hexdigest()
    assert set(newest["venues"]["cut"]) == {"from", "to"}
    kept = await world.store.read(lambda uow: uow.sql.rows("SELECT changes FROM policy_changes"))
    assert max(len(row["changes"]) for row in kept) < 2_000
    assert len(json.dumps(told["changes"], ensure_ascii=False).encode()) < 20_000


# -- names -----------------------------------------------------------------------------------------------------------


ALIKE = ("Scout Ω", "SCOUT ω", "Ｓｃｏｕｔ Ω", "𝐒𝐜𝐨𝐮𝐭 Ω", "Scout\u00a0\u2126")
ALIKE += ("S cout Ω", "Scout-Ω.", "Scóut Ω", "Sc0ut Ω")


def refused_name(reply: Any) -> str:
    """The sentence with which a name is refused as another's."""
    assert (reply.status, reply.body["error"], reply.body["retry_safe"]) == (409, "conflict", False)
    assert reply.body["detail"]["fields"] == [{"loc": "name", "msg": reply.body["reason"]}]
    assert reply.body["next"][0]["route"] == "POST /wallet/agents"
    return str(reply.body["reason"])


async def rank(world: World, agent_id: str, *, ranked: bool = True) -> None:
    """Say in the Hall's rows that an agent is ranked, or not."""

    given = {"n": int(not ranked), "id": agent_id}
    change = "UPDATE hall_agents SET unranked = :n WHERE agent_id = :id"
    assert await world.store.write(lambda uow: uow.sql.run(change, **given)) == 1


async def test_nobody_else_takes_the_name_of_an_agent_that_is_ranked(both: World) -> None:
    owner, other = (await both.owner())[0], (await both.owner())[0]
    ranked = (await registered(both, owner, name="Scout Ω"))["agent_id"]
    earlier = await registered(both, other, name="Scout Ω")  # neither was ranked
    await rank(both, ranked)
    third = (await both.owner())[0]
    await rank(both, (await registered(both, other, name="Kot"))["agent_id"])
    for name in (*ALIKE, "кот", "Кот"):
        why = refused_name(await both.do("owner_agent_register", third, name=name))
        assert "ranked in the Hall" in why, name
        assert "Scout" not in why
    await registered(both, third, name="Scout 2")
    # Of two that were called the same before, each stands with its id; both may be ranked later.
    await rank(both, earlier["agent_id"])
    listed = (await both.ok("hall_list"))["items"]
    alike = {r["agent_id"] for r in listed if r["name"] == "Scout Ω"}
    assert {ranked, earlier["agent_id"]} <= alike
    await rank(both, ranked, ranked=False)
    refused_name(await both.do("owner_agent_register", third, name="Scout Ω"))
    await rank(both, earlier["agent_id"], ranked=False)
    await registered(both, third, name="Scout Ω")


@pytest.mark.parametrize(
    "name",
    [
        "Scout (u_5nd5hbhfkz)", "u_abcdefgh23", "M_ABCDEFGH23", "Scout u＿5nd5hbhfkz", "u‿5nd5hbhfkz",
        "h-5nd5hbhfkz", "u_5nd5һbһfkz",
    ],
)  # fmt: skip
async def test_a_name_that_holds_what_reads_as_an_id_is_refused(both: World, name: str) -> None:
    owner = (await both.owner())[0]
    told = await both.do("owner_agent_register", owner, name=name)
    assert (told.status, told.body["detail"]["fields"][0]["loc"]) == (400, "name")


@pytest.mark.parametrize("name", ["Πилот", "Γид 7", "ѕсоυт", "Sсоυт", "Ϲoin"])
async def test_a_name_is_refused_whose_word_mixes_scripts_that_look_alike(
    both: World, name: str
) -> None:
    owner = (await both.owner())[0]
    told = await both.do("owner_agent_register", owner, name=name)
    (field,) = told.body["detail"]["fields"]
    assert (told.status, field["loc"], "a word" in field["msg"]) == (400, "name", True)


@pytest.mark.parametrize("name", ["my_algotrader", "menu_abcdefgh23", "u_short", "u_abcdefgh234"])
async def test_a_name_with_an_underscore_is_a_name(both: World, name: str) -> None:
    await registered(both, (await both.owner())[0], name=name)


async def test_an_owner_has_no_two_agents_whose_names_read_the_same(both: World) -> None:
    owner, other = (await both.owner())[0], (await both.owner())[0]
    first = await registered(both, owner, name="Scout Ω")
    for name in ALIKE:
        why = refused_name(await both.do("owner_agent_register", owner, name=name))
        assert why == "You have an agent whose name reads the same.", name
    for pair in (("Sail", "SaiI"), ("modem", "modern"), ("BOT", "ВОТ"), ("Zoë", "zoe"), ("Agent 1", "Agent l"), ("ΑΒΕ", "abe"), ("ΑΛΦΑ", "αλφα"), ("日本土", "日本士"), ("ロボ", "口ボ"), ("ABC", "ΑΒϹ"), ("coco", "ϲοϲο"), ("工場", "エ場"), ("へや", "ヘや"), ("kot", "кот"), ("Beta", "Вета"), ("Tom", "Том")):  # fmt: skip
        await registered(both, owner, name=pair[0])
        refused_name(await both.do("owner_agent_register", owner, name=pair[1]))
    for name in (
        "Scout",
        "Scout 2",
        "5cout Ω",
        "Scout Ω 2",
        "🤖",
        "🦾",
        "日本AI",
        "日本BI",
        "C+",
        "Пилат",
        "日本木",
        "Σοφια",
        "Сова",
        "Сава",
        "小工",
        "小王",
    ):
        await registered(both, owner, name=name)
    await registered(both, other, name="Scout Ω")
    # Without a live key an agent cannot act, and its record goes on: its name is not free.
    keys = {"agent_id": first["agent_id"], "key_id": first["key_id"]}
    await both.ok("owner_agent_key_revoke", owner, **keys)
    refused_name(await both.do("owner_agent_register", owner, name="Scout Ω"))


async def test_one_of_two_registrations_at_once_takes_a_name(both: World) -> None:
    owner, _ = await both.owner()
    replies: list[Any] = []

    async def register(name: str) -> None:
        replies.append(await both.do("owner_agent_register", owner, name=name))

    async with anyio.create_task_group() as tasks:
        for name in ("Rate Runner", "RATE RUNNER", "Rate Runner", "Ｒate Runner"):
            tasks.start_soon(register, name)
    assert sorted(r.status for r in replies) == [201, 409, 409, 409]
    assert len((await both.ok("owner_agents", owner))["items"]) == 1


# -- deposit address ---------------------------------------------------------------------------------------------------


async def test_a_deposit_address_is_set_and_read_in_lower_case(world: World) -> None:
    owner, wallet = await world.owner()
    agent = await registered(world, owner)
    given = {"agent_id": agent["agent_id"], "chain_id": CHAIN_ID}
    assert await world.error("agent_deposit_address", owner, **given) == "not_found"
    told = await world.ok("agent_deposit_address", owner, address=wallet.address, **given)
    assert told["address"] == wallet.address.lower()
    assert await world.ok("agent_deposit_address", owner, **given) == told
    wrong = given | {"address": wallet.address[:-1] + wallet.address[-1].swapcase()}
    if wrong["address"] != wallet.address:
        assert await world.error("agent_deposit_address", owner, **wrong) == "invalid_address"
    elsewhere = given | {"chain_id": 1}
    assert await world.error("agent_deposit_address", owner, **elsewhere) == "not_found"


async def test_an_address_is_proven_by_its_own_signature_once(both: World) -> None:
    owner, _ = await both.owner()
    agent, wallet = await both.agent(owner)
    given = {"agent_id": agent.user_id, "chain_id": CHAIN_ID}
    asked = await both.ok("agent_deposit_address", agent, **given)
    assert (asked["address"], asked["proven"]) == (wallet.address.lower(), False)
    named = {"agent_id": agent.user_id, "chain_id": str(CHAIN_ID), "address": wallet.address}
    assert asked["typed_data"]["message"] == named | {"nonce": asked["nonce"]}
    assert await both.ok("agent_deposit_address", owner, **given) == asked
    signature = wallet.sign_typed(asked["typed_data"])
    told = await both.ok("agent_deposit_address", agent, signature=signature, **given)
    assert told == asked | {"proven": True, "typed_data": None, "nonce": None}
    assert await both.ok("agent_deposit_address", agent, **given) == told
    again = await both.do("agent_deposit_address", agent, signature=signature, **given)
    assert (again.status, again.body["error"]) == (400, "invalid_signature")


async def test_only_the_addresss_signature_over_what_was_asked_for_proves_it(world: World) -> None:
    owner, stranger = await world.owner()
    agent, wallet = await world.agent(owner)
    rival, _ = await world.agent(owner)
    given = {"agent_id": agent.user_id, "chain_id": CHAIN_ID}
    asked = (await world.ok("agent_deposit_address", agent, **given))["typed_data"]
    named = {"agent_id": rival.user_id, "chain_id": CHAIN_ID, "address": wallet.address}
    theirs = await world.ok("agent_deposit_address", rival, **named)
    for wrong in (
        {"signature": stranger.sign_typed(asked)},
        {"signature": wallet.sign_typed(theirs["typed_data"])},
        {"signature": wallet.sign_typed(asked | {"message": asked["message"] | {"nonce": "1"}})},
        {"signature": "0x"},
        {"signature": stranger.sign_typed(asked), "address": stranger.address},
    ):
        reply = await world.do("agent_deposit_address", agent, **wrong, **given)
        assert (reply.status, reply.body["error"]) == (400, "invalid_signature")
    assert (await world.ok("agent_deposit_address", agent, **given))["proven"] is False


async def test_an_address_goes_to_the_agent_that_it_signs_for_last(world: World) -> None:
    owner, _ = await world.owner()
    one, wallet = await world.agent(owner)
    two, _ = await world.agent(owner)
    await world.prove(one, wallet)
    await world.prove(two, wallet)
    told = await world.ok("agent_deposit_address", one, agent_id=one.user_id, chain_id=CHAIN_ID)
    assert told["proven"] is False
    await world.prove(one, wallet)
    proven = await world.store.read(lambda uow: uow.addresses.proven(CHAIN_ID))
    assert proven == {wallet.address.lower(): one.user_id}


async def test_an_address_on_a_chain_that_is_not_read_cannot_be_proven(world: World) -> None:
    owner, wallet = await world.owner()
    agent, _ = await world.agent(owner)
    given = {"agent_id": agent.user_id, "chain_id": 999_999}
    told = await world.ok("agent_deposit_address", agent, address=wallet.address, **given)
    assert (told["proven"], told["typed_data"], told["nonce"]) == (False, None, None)
    reply = await world.do("agent_deposit_address", agent, signature="0x" + "11" * 65, **given)
    assert reply.body["error"] == "not_configured"


async def test_an_address_that_a_live_vault_names_stays(world: World) -> None:
    m = await working(world)
    given = {"agent_id": m.agent.user_id, "chain_id": CHAIN_ID, "address": "0x" + "77" * 20}
    assert await world.error("agent_deposit_address", m.agent, **given) == "conflict"
    await world.ok("agent_deposit_address", m.agent, **given | {"address": m.agent.address})
    await world.ok("agent_deposit_address", m.agent, **given | {"chain_id": 1})


# -- offers ------------------------------------------------------------------------------------------------------------


async def test_offers_wait_until_they_are_accepted(world: World) -> None:
    m = await drafted(world)
    board = await drafted(world, agent_id=None, open_board=True)
    rows = (await world.ok("agent_offers", m.agent, agent_id=m.agent.user_id))["items"]
    assert {r["mandate"]["public_id"] for r in rows} == {m.id, board.id}
    assert set(rows[0]["exposure"]) >= {"before_pause", "today", "ever"}
    await world.ok("mandate_accept", m.agent, public_id=m.id)
    rows = (await world.ok("agent_offers", m.agent, agent_id=m.agent.user_id))["items"]
    assert {r["mandate"]["public_id"] for r in rows} == {board.id}


async def test_offers_that_name_the_agent_come_before_the_open_board(both: World) -> None:
    named = [await drafted(both)]
    agent = named[0].agent
    strangers: list[str] = []
    owner, _ = await both.owner()
    for _ in range(5):
        both.clock.forward(seconds=1)
        draft = {"budget_usdc": "5", "open_board": True}
        told = await both.ok("owner_mandate_create", owner, **draft)
        strangers.insert(0, told["public_id"])
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        page = await both.ok("agent_offers", agent, agent_id=agent.user_id, limit=2, cursor=cursor)
        seen += [row["mandate"]["public_id"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == ([named[0].id, *strangers], None)


async def test_times_are_told_to_the_millisecond(world: World) -> None:
    owner, _ = await world.owner()
    world.clock.forward(microseconds=123_456)
    await registered(world, owner)
    (row,) = (await world.ok("owner_agents", owner))["items"]
    assert row["created_at"] == "2026-11-20T12:00:00.123Z"
    assert micros(world.clock.now()) % 1_000_000 == 123_456
