"""The signer and agents' keys: what it refuses by itself, whatever a taken-over service asks of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.transactions import read_signed
from domain.agents.key_rules import AgentCall
from domain.chain_facts import Transaction
from domain.mandates.mandate import Mandate, SignedTerms
from domain.money import Usdc
from domain.refusals import Refused, SigningRefused
from server.signer import agent_keys
from server.signer.agent_keys import AgentKeys
from tests.hosted import hosted, signing
from tests.world import CHAIN_ID, Mandated, World

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def keys(world: World, tmp_path: Path) -> AsyncIterator[AgentKeys]:
    async with signing(world, tmp_path) as agents:
        yield agents


class Asked:
    """What the service would ask the signer for, and what a taken-over one makes of it."""

    def __init__(self, m: Mandated, mandate: Mandate, terms: SignedTerms, call: AgentCall):
        self.m, self.mandate, self.terms, self.call = m, mandate, terms, call

    async def sign(self, **changes: Any) -> str:
        signer = self.m.world.deps.agent_signer
        assert signer is not None
        terms = replace(self.terms, **changes.pop("terms", {}))
        sent = replace(self.call.transaction, **changes.pop("transaction", {}))
        key = changes.pop("key", f"{self.m.agent.user_id}-1")
        targets = changes.pop("targets", self.mandate.allowed_targets)
        call = replace(self.call, transaction=sent, **changes)
        return await signer.agent_signed(key, terms, targets, call)

    async def refused(self, **changes: Any) -> str:
        with pytest.raises(SigningRefused) as found:
            await self.sign(**changes)
        return str(found.value)


async def asked(m: Mandated, amount: str = "5") -> Asked:
    world = m.world
    chain, usdc = world.chains.get(CHAIN_ID), Usdc.parse(amount)
    mandate = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert mandate is not None
    assert mandate.signed is not None
    assert mandate.agent_address is not None
    data = world.deposit_data(m.vault, amount)
    made = chain.vault_call(m.vault, "execute", world.evm.market, data, usdc)
    facts = await chain.sending_facts(mandate.agent_address)
    sent = Transaction(
        chain_id=CHAIN_ID, to=m.vault, data=made.data, value=0, nonce=facts.nonce, gas=700_000, max_fee=facts.max_fee, tip=facts.tip
    )  # fmt: skip
    call = AgentCall(
        vault=m.vault, target=world.evm.market, data=data, amount=usdc, transaction=sent
    )
    return Asked(m, mandate, mandate.signed, call)


async def test_a_call_of_a_vault_whose_terms_name_the_key_is_signed(
    world: World, keys: AgentKeys
) -> None:
    ask = await asked(await hosted(world))
    signed = read_signed(await ask.sign())
    assert signed is not None
    assert (signed.sender, signed.transaction) == (
        ask.mandate.agent_address,
        ask.call.transaction,
    )


async def test_everything_else_is_refused(world: World, keys: AgentKeys) -> None:
    ask = await asked(await hosted(world))
    told, stranger = ask.terms.message, world.wallet()
    owner = {"message": {**told, "owner": stranger.address}}
    agent = {"message": {**told, "agent": stranger.address}}
    bigger = {"message": {**told, "perTxCap": str(10**12)}}
    wide = {"message": {**told, "allowedTargetsHash": "0x" + "11" * 32}}
    assert "did not sign" in await ask.refused(terms=owner)
    assert "did not sign" in await ask.refused(terms=agent)
    assert "did not sign" in await ask.refused(terms=bigger)
    assert "did not sign" in await ask.refused(terms=wide)
    assert "did not sign" in await ask.refused(terms={"verifying_contract": stranger.address})
    assert "no terms" in await ask.refused(terms={"message": {}})
    assert "not that of the terms" in await ask.refused(targets=ask.mandate.allowed_targets[:2])
    assert "not that of the terms" in await ask.refused(vault=stranger.address)
    assert "do not name the call" in await ask.refused(target=world.evm.usdc)
    assert "do not name the call" in await ask.refused(data="0xa9059cbb" + "00" * 64)
    assert "cap per action" in await ask.refused(amount=Usdc.parse("101"))
    assert "elsewhere" in await ask.refused(transaction={"to": stranger.address})
    assert "coins" in await ask.refused(transaction={"value": 1})
    assert "another call" in await ask.refused(transaction={"data": "0x"})
    assert "another call" in await ask.refused(amount=Usdc.parse("6"))
    assert "gas" in await ask.refused(transaction={"gas": 5_000_001})
    fee = ask.call.transaction.max_fee * 11
    assert "fee" in await ask.refused(transaction={"max_fee": fee})
    assert "no such key" in await ask.refused(key="u_abcdefgh23-1")
    assert "no such key" in await ask.refused(key=f"{ask.m.agent.user_id}-2")
    for name in ("../../etc", ask.m.agent.user_id, f"{ask.m.agent.user_id}-100"):
        assert "cannot be answered" in await ask.refused(key=name)


async def test_a_stop_of_a_vault_whose_terms_name_the_key_is_signed_and_no_other(
    world: World, keys: AgentKeys
) -> None:
    ask, other = await asked(await hosted(world)), await hosted(world)
    chain = world.chains.get(CHAIN_ID)
    stop = chain.vault_call(ask.m.vault, "stop").data
    plain: dict[str, Any] = {"target": "", "data": stop, "amount": Usdc(0)}
    paid = {"transaction": {"data": stop, "value": 1}}
    assert "coins" in await ask.refused(**plain, **paid)
    more = {"transaction": {"data": stop + "00"}}
    assert "another call" in await ask.refused(**plain, **more)
    assert "another call" in await ask.refused(**plain)
    there = {"vault": other.vault, "transaction": {"data": stop, "to": other.vault}}
    assert "not that of the terms" in await ask.refused(**plain, **there)
    signed = read_signed(await ask.sign(**plain, transaction={"data": stop}))
    assert signed is not None
    assert (signed.sender, signed.transaction.data) == (ask.mandate.agent_address, stop)


async def test_the_terms_of_another_agents_mandate_open_nothing(
    world: World, keys: AgentKeys
) -> None:
    mine, other = await asked(await hosted(world)), await asked(await hosted(world))
    foreign = {"terms": {"message": other.terms.message, "signature": other.terms.signature}}
    assert "name another agent" in await mine.refused(**foreign)
    assert "name another agent" in await other.refused(key=f"{mine.m.agent.user_id}-1")


async def test_the_vault_as_the_signer_reads_it_decides(world: World, keys: AgentKeys) -> None:
    m = await hosted(world)
    ask = await asked(m)
    over = await asked(m, "60")
    for _ in range(2):
        now = await asked(m, "100")
        await world.chains.get(CHAIN_ID).broadcast(
            read_signed(await now.sign())  # type: ignore[arg-type]
        )
    assert "would revert" in await over.refused()
    pause: Any = (await m.as_owner("owner_pause_call")).body
    await world.mined(m.owner_wallet, pause["call"])
    assert "another agent now" in await ask.refused()


async def test_signatures_are_counted_and_an_ended_key_signs_nothing(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await asked(await hosted(world))
    monkeypatch.setattr(agent_keys, "PER_MINUTE", 3)
    for _ in range(3):
        await ask.sign()
    assert "a minute" in await ask.refused()
    world.clock.forward(seconds=61)
    await ask.sign()
    signer, agent_id = world.deps.agent_signer, ask.m.agent.user_id or ""
    assert signer is not None
    before = await signer.agent_address(f"{agent_id}-1")
    for _ in range(2):
        await signer.agent_key_end(f"{agent_id}-1")
    assert "no such key" in await ask.refused()
    with pytest.raises(SigningRefused, match="has ended"):
        await signer.agent_address(f"{agent_id}-1")
    assert await signer.agent_address(f"{agent_id}-2") != before
    assert "name another agent" in await ask.refused(key=f"{agent_id}-2")


async def test_a_signer_that_is_away_is_not_configured(world: World, tmp_path: Path) -> None:
    async with signing(world, tmp_path):
        m = await hosted(world)
    action = {"kind": "enter", "market": "test-market", "amount_usdc": "5"}
    told = await m.as_agent("mandate_act", action=action, idempotency_key="in-1")
    assert (told.status, told.body["error"]) == (409, "not_configured")
    with pytest.raises(Refused):
        await (await asked(m)).sign()
