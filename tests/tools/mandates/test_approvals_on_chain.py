"""Approvals that the vault keeps: the owner signs the very action, and nobody's session stands for that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak

from chain.chains import EvmChains
from domain.chain_facts import Call
from domain.money import Usdc
from tests.chain.test_signatures import N, deployed
from tests.tools.mandates.test_calls import down
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, drafted, error_of, signed, working
from tools.model.operation import Caller
from tools.model.serialization import wire

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def asking(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    """A world whose factory keeps approvals on chain."""
    async with a_world(sqlite_url, evm, approvals_on_chain=True) as opened:
        yield opened


async def asks(world: World, **terms: Any) -> tuple[Mandated, str]:
    """A working mandate that is asked above 20, and an item that waits."""
    m = await working(world, approval_above_usdc="20", **terms)
    held = await m.execute("30")
    assert (held.status, held.body["status"]) == (202, "pending_approval")
    return m, held.body["approval"]["approval_id"]


async def decides(m: Mandated, item: str, **more: Any) -> Any:
    body = {"approval_id": item, "decision": "approve"} | more
    return await m.as_owner("owner_approval_decide", **body)


async def to_sign(m: Mandated, item: str) -> dict[str, Any]:
    told = await decides(m, item)
    assert (told.status, told.body["error"]) == (409, "signature_needed"), told.body
    return dict(told.body["detail"]["typed_data"])


async def forget(m: Mandated) -> None:
    """Leave the mandate without what its factory said, as one of before has it."""

    def work(uow: Any) -> None:
        uow.mandates.save(replace(uow.mandates.get(m.id, lock=True), approvals_on_chain=None))

    await m.world.store.write(work)


async def asked_of(m: Mandated) -> tuple[str, str]:
    clause = (await m.read())["clauses"][5]
    return clause["enforced_by"], clause["status"]


async def test_an_action_above_the_amount_goes_out_with_the_owner_s_signature_once(
    asking: World,
) -> None:
    m, item = await asks(asking)
    data = await to_sign(m, item)
    assert data["primaryType"] == "ApproveAction"
    assert (await m.execute("30")).status == 202
    done = await decides(m, item, signature=m.owner_wallet.sign_typed(data))
    assert (done.status, done.body["approval"]["status"]) == (200, "approved")
    assert (await decides(m, item)).body["approval"]["status"] == "approved"
    told = await m.execute("30")
    assert (told.status, told.body["approval_id"]) == (200, item), told.body
    assert told.body["simulation"]["ok"] is True
    chain = asking.chains.get(CHAIN_ID)
    assert chain.explain_call(told.body["data"]).function == "executeApproved"
    ok, tx = await asking.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok
    again, _ = await asking.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert not again
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    (used,) = (await m.as_agent("mandate_approvals", status="used")).body["items"]
    assert used["approval_id"] == item
    row = next(e for e in (await m.read())["events"] if "executed" in e["payload"])
    assert "violation" not in row["payload"]
    # The same action once more, in the same second: another item, and another moment to sign.
    fresh = (await m.execute("30")).body["approval"]["approval_id"]
    other = await to_sign(m, fresh)
    assert int(other["message"]["until"]) == int(data["message"]["until"]) - 1
    await decides(m, fresh, signature=m.owner_wallet.sign_typed(other))
    told = await m.execute("30")
    ok, _ = await asking.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok


async def test_the_gate_switch_turns_nothing_off_that_the_vault_keeps(asking: World) -> None:
    m, item = await asks(asking)
    asking.deps = replace(asking.deps, defaults=replace(asking.deps.defaults, approval_gate=False))
    held = await m.execute("30")
    assert (held.status, held.body["approval"]["approval_id"]) == (202, item)
    assert await asked_of(m) == ("Contract", "enforced")
    assert (await m.execute("20")).status == 200


async def test_a_session_without_the_owner_s_key_approves_nothing(asking: World) -> None:
    m, item = await asks(asking)
    data = await to_sign(m, item)
    other = (await m.execute("31")).body["approval"]["approval_id"]
    good = bytes.fromhex(m.owner_wallet.sign_typed(data)[2:])
    s = N - int.from_bytes(good[32:64], "big")
    twin = good[:32] + s.to_bytes(32, "big") + bytes([55 - good[64]])
    later = data | {"message": data["message"] | {"until": "99999999999"}}
    for bad in (
        m.agent_wallet.sign_typed(data),
        m.owner_wallet.sign_typed(await to_sign(m, other)),
        m.owner_wallet.sign_typed(later),
        "0x" + twin.hex(),
    ):
        told = await decides(m, item, signature=bad)
        assert (told.status, told.body["error"]) == (400, "invalid_signature"), bad
    assert (await m.execute("30")).status == 202
    # Past the service the vault says the same.
    chain = asking.chains.get(CHAIN_ID)
    entry = (asking.evm.market, asking.deposit_data(m.vault, "30"))
    bare = wire(chain.vault_call(m.vault, "execute", *entry, Usdc.parse("30")))
    forged = wire(
        chain.vault_call(
            m.vault,
            "executeApproved",
            *entry,
            Usdc.parse("30"),
            int(data["message"]["until"]),
            twin,
        )
    )
    for call in (bare, forged):
        ok, _ = await asking.mined(m.agent_wallet, call, gas=900_000)
        assert not ok
    assert (await decides(m, item, decision="decline")).status == 200


async def test_a_short_signature_goes_out_in_the_form_that_the_vault_takes(asking: World) -> None:
    m, item = await asks(asking)
    good = bytes.fromhex(m.owner_wallet.sign_typed(await to_sign(m, item))[2:])
    v = good[64] - 27
    compact = good[:32] + (int.from_bytes(good[32:64], "big") | v << 255).to_bytes(32, "big")
    assert (await decides(m, item, signature="0x" + compact.hex())).status == 200
    told = await m.execute("30")
    assert told.status == 200, told.body
    assert told.body["simulation"]["ok"] is True


async def test_an_approval_that_ran_out_is_neither_given_nor_taken(asking: World) -> None:
    m, item = await asks(asking)
    signature = m.owner_wallet.sign_typed(await to_sign(m, item))
    asking.clock.forward(days=1)
    assert await error_of(decides(m, item, signature=signature)) == "approval_expired"
    assert (await m.execute("30")).body["approval"]["approval_id"] != item


async def test_clause_six_says_who_keeps_it_from_the_draft_on(asking: World) -> None:
    m = await drafted(asking, approval_above_usdc="20")
    assert await asked_of(m) == ("Contract", "enforced")
    clause = (await m.as_owner("owner_terms")).body["clauses"][5]
    assert clause["enforced_by"] == "Contract"
    assert "your signature over that very action" in clause["text_en"]
    note = await asking.ok("mandate_draft", note="500 USDC, ask me above 20")
    assert note["clauses"][5]["enforced_by"] == "Contract"


async def test_terms_with_an_amount_are_not_given_while_the_factory_cannot_be_asked(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking.remembers = False
    down(monkeypatch)
    m = await drafted(asking, approval_above_usdc="20")
    assert await asked_of(m) == ("Service guard", "enforced")
    told = await m.as_owner("owner_terms")
    assert (told.status, told.body["error"]) == (503, "chain_unavailable")
    monkeypatch.undo()
    assert (await m.as_owner("owner_terms")).body["clauses"][5]["enforced_by"] == "Contract"


async def test_a_mandate_keeps_its_own_factory_when_another_is_set(asking: World) -> None:
    m, item = await asks(asking)
    other = EvmChains([asking.evm.facts()])
    asking.deps = replace(asking.deps, chains=other)
    assert await asked_of(m) == ("Contract", "enforced")
    data = await to_sign(m, item)
    assert (await decides(m, item, signature=m.owner_wallet.sign_typed(data))).status == 200
    assert (await m.execute("30")).body["simulation"]["ok"] is True
    await other.close()


async def test_a_mandate_from_before_learns_who_keeps_its_approvals(asking: World) -> None:
    m = await working(asking, approval_above_usdc="20")

    await forget(m)
    assert (await asked_of(m))[0] == "Service guard"
    item = (await m.execute("30")).body["approval"]["approval_id"]
    assert (await asked_of(m))[0] == "Contract"

    def by_the_service_alone(uow: Any) -> None:
        uow.approvals.save(replace(uow.approvals.get(m.id, item), status="approved"))

    await asking.store.write(by_the_service_alone)
    assert (await m.execute("30")).status == 202
    data = await to_sign(m, item)
    assert (await decides(m, item, signature=m.owner_wallet.sign_typed(data))).status == 200
    assert (await m.execute("30")).status == 200


async def test_nobody_is_asked_while_it_is_unknown_who_keeps_approvals(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(asking, approval_above_usdc="20")

    await forget(m)
    fresh = EvmChains([asking.evm.facts(factory=asking.chains.get(CHAIN_ID).factory)])
    asking.deps = replace(asking.deps, chains=fresh)
    down(monkeypatch)
    told = await m.execute("30")
    assert (told.status, told.body["error"]) == (503, "chain_unavailable")
    assert (await m.execute("20")).status == 200
    await fresh.close()


async def test_a_contract_wallet_approves_by_erc_1271(
    asking: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await asking.owner()
    wallet = await deployed(
        asking.evm, asking.chains, "TestWallet", encode(["address"], [key.address])
    )
    person = await asking.store.write(
        lambda uow: uow.identities.person(wallet, new_id="u_contract23", now=asking.clock.now())
    )

    async def owner() -> Any:
        return Caller("owner", person.user_id, person.user_id, person.address), key

    monkeypatch.setattr(asking, "owner", owner)
    m = await signed(asking, approval_above_usdc="20")
    _, tx = await asking.mined(key, (await m.as_owner("owner_create_call")).body["call"])
    attached = (await m.as_owner("owner_vault_attach", tx_hash=tx)).body["mandate"]
    m.vault = attached["vault_address"]
    await asking.mint(m.vault, "500")
    sync = asking.chains.get(CHAIN_ID).vault_call(m.vault, "sync").data
    run = keccak(text="run(address,bytes)")[:4] + encode(
        ["address", "bytes"], [m.vault, bytes.fromhex(sync[2:])]
    )
    _, tx = await asking.mined(key, wire(Call(CHAIN_ID, wallet, "0x" + run.hex())))
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).body["mandate"]["status"] == "working"
    await m.as_agent("mandate_accept")
    item = (await m.execute("30")).body["approval"]["approval_id"]
    data = await to_sign(m, item)
    foreign = await decides(m, item, signature=m.agent_wallet.sign_typed(data))
    assert foreign.body["error"] == "invalid_signature"
    good = key.sign_typed(data)
    unborn = encode(["address", "bytes", "bytes"], [wallet, b"", bytes.fromhex(good[2:])])
    wrapped = await decides(m, item, signature="0x" + unborn.hex() + "6492" * 16)
    assert wrapped.body["error"] == "invalid_signature"
    assert "deployed first" in wrapped.body["reason"]
    assert (await decides(m, item, signature=good)).status == 200
    told = await m.execute("30")
    assert told.body["simulation"]["ok"] is True, told.body
    ok, _ = await asking.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok
