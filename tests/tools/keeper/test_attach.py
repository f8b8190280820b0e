"""A vault belongs to the mandate whose terms it was made of: whoever sent the creation, whenever it
is looked for, and as long as the chain has it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from eth_utils import to_checksum_address

from chain.adapter import EvmChain
from chain.chains import EvmChains
from chain.contracts import abi_codec, eip712
from chain.logs.log_reader import LogReader
from chain.offline_chain import terms as terms_of
from domain.chain_facts import Call
from domain.mandates.targets import Target
from server.keeper.chain_sync import ChainSync
from storage.integrity.ledger_check import verify
from storage.unit_of_work import UnitOfWork
from tests.chain.nodes import distorted
from tests.world import CHAIN_ID, Mandated, World, drafted, signed, working
from tools.context.snapshot_loader import signed_vault
from tools.dispatch.request_context import request_context
from tools.keeper.ingest import ingest_receipt
from tools.model.fields import Nothing

pytestmark = pytest.mark.anyio


def reading(world: World, confirmations: int = 0) -> ChainSync:
    chains = EvmChains([world.evm.facts(confirmations=confirmations)])
    world.wallets.append(chains)  # type: ignore[arg-type]  # closed with the wallets
    world.deps = replace(world.deps, chains=chains)
    return ChainSync(world.deps, LogReader(chains.get(CHAIN_ID)))


async def mined(world: World, wallet: Any, call: Any) -> str:
    ok, tx = await world.mined(wallet, dict(call), gas=900_000)
    assert ok
    return tx


async def create(world: World, m: Mandated, by: Any = None) -> str:
    call = (await m.as_owner("owner_create_call")).body["call"]
    return await mined(world, by or m.owner_wallet, call)


def lost(world: World, tx: str) -> None:
    """The newest block is gone, and another without the transaction stands in its place."""
    world.evm.chain.reorg(1, drop={bytes.fromhex(tx[2:])})
    world.evm.chain.mine()


async def deposit(world: World, m: Mandated, amount: str) -> str:
    await world.mint(m.owner_wallet.address, amount)
    for call in (await m.as_owner("owner_fund", amount=amount)).body["calls"]:
        tx = await mined(world, m.owner_wallet, call)
    return tx


async def vault_of(m: Mandated) -> str | None:
    told: str | None = (await m.read())["mandate"]["vault_address"]
    return told


async def test_the_reader_attaches_a_vault_that_nobody_told_of(world: World) -> None:
    m, reads = await signed(world), reading(world)
    await create(world, m, by=world.wallet())
    await reads.on()
    assert await vault_of(m)
    await deposit(world, m, "400")
    await reads.on()
    told = await m.read()
    assert (told["mandate"]["status"], told["progress"]["cash"]) == ("working", "400.000000")


async def test_a_front_runners_creation_is_attached_by_the_owners_own_transaction(
    world: World,
) -> None:
    m = await signed(world)
    call = (await m.as_owner("owner_create_call")).body["call"]
    await world.mined(world.wallet(), call)
    second = await mined(world, m.owner_wallet, call)
    told = await m.as_owner("owner_vault_attach", tx_hash=second)
    assert told.status == 200, told.body
    assert told.body["mandate"]["vault_address"]


async def factory_predicts(
    chain: EvmChain, message: Mapping[str, str], targets: Sequence[Target]
) -> str:
    """The address that the factory itself names."""
    args = (terms_of(message), *eip712.listed(targets))
    data = abi_codec.calldata("MandateVaultFactory", "predict", args)
    raw = await chain.eth_call(chain.factory or "", data, await chain.latest())
    return str(to_checksum_address(raw[-20:]))


@pytest.mark.parametrize(
    "terms", [{}, {"agent_id": None, "open_board": True}, {"approval_above_usdc": "5"}]
)
async def test_where_a_vault_stands_is_computed_as_the_factory_does(
    world: World, terms: dict[str, Any]
) -> None:
    m = await signed(world, **terms)
    chain = world.chains.get(CHAIN_ID)
    stored = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    assert stored.signed is not None
    told = await factory_predicts(chain, stored.signed.message, stored.allowed_targets)
    assert signed_vault(chain, stored) == told


@asynccontextmanager
async def naming_another(world: World, vault: str) -> AsyncIterator[EvmChain]:
    """A node by whose logs and receipts the factory made another vault of the terms."""

    def forged(log: dict[str, Any]) -> dict[str, Any]:
        topics = list(log["topics"])
        if log["address"].lower() == world.evm.factory.lower():
            topics[3] = "0x" + vault[2:].lower().rjust(64, "0")
        return log | {"topics": topics}

    def distort(request: dict[str, Any], raw: Any) -> Any:
        result = raw.get("result")
        if request["method"] == "eth_getLogs":
            return raw | {"result": [forged(g) for g in result]}
        if request["method"] == "eth_getTransactionReceipt" and result:
            return raw | {"result": result | {"logs": [forged(g) for g in result["logs"]]}}
        return raw

    async with distorted(world.evm.chain, distort) as url:
        chains = EvmChains([replace(world.evm.facts(), rpc_url=url)])
        before, world.deps = world.deps, replace(world.deps, chains=chains)
        try:
            yield chains.get(CHAIN_ID)
        finally:
            world.deps = before
            await chains.close()


async def test_no_node_can_attach_another_address_to_signed_terms(world: World) -> None:
    """The owner would be asked to pay into it."""
    m = await signed(world)
    thief = world.wallet().address
    tx = await create(world, m)
    async with naming_another(world, thief) as chain:
        told = await m.as_owner("owner_vault_attach", tx_hash=tx)
        assert (told.status, told.body["error"]) == (409, "vault_mismatch")
        await ChainSync(world.deps, LogReader(chain)).on()
        assert await vault_of(m) is None
        known = await world.store.read(lambda uow: uow.chainlog.vaults(CHAIN_ID))
    assert known == []
    assert (await m.as_owner("owner_vault_attach", tx_hash=tx)).status == 200
    assert await vault_of(m) not in (None, thief)


async def test_another_mandates_creation_attaches_nothing(world: World) -> None:
    m, other = await signed(world), await signed(world)
    tx = await create(world, other)
    told = await m.as_owner("owner_vault_attach", tx_hash=tx)
    assert told.body["error"] == "vault_mismatch"


async def test_what_happened_before_the_owner_looked_is_not_lost(world: World) -> None:
    """The reader passed a deposit of 100 while nobody had signed the terms here."""
    m = await drafted(world)
    told = (await m.as_owner("owner_terms")).body
    reads = reading(world)
    signature = m.owner_wallet.sign_typed(told["typed_data"])
    chain = world.deps.chains.get(CHAIN_ID)
    mandate = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert mandate is not None
    message = told["typed_data"]["message"]
    made = chain.create_call(message, mandate.allowed_targets, signature)
    vault = await factory_predicts(world.chains.get(CHAIN_ID), message, mandate.allowed_targets)
    await world.mined(world.wallet(), vars_of(made))
    await world.mint(vault, "100")
    await world.mined(m.owner_wallet, vars_of(chain.vault_call(vault, "sync")))
    await reads.on()
    assert await vault_of(m) is None
    assert (await m.as_owner("owner_sign", signature=signature)).status == 200
    assert await vault_of(m) == vault
    await reads.on()
    seen = await m.read()
    assert (seen["mandate"]["status"], seen["progress"]["cash"]) == ("working", "100.000000")
    assert (await verify(world.store)).ok


def vars_of(call: Call) -> dict[str, Any]:
    return {"chain_id": call.chain_id, "to": call.to, "data": call.data, "value": call.value}


async def test_fund_says_that_a_young_vault_is_provisional(world: World) -> None:
    m, reads = await signed(world), reading(world, confirmations=3)
    tx = await create(world, m)
    assert (await m.as_owner("owner_vault_attach", tx_hash=tx)).status == 200
    told = (await m.as_owner("owner_fund")).body
    assert told["provisional"] is True
    assert told["best_way"]["text"].startswith("The vault is new")
    for _ in range(4):
        world.evm.chain.mine()
    await reads.on()
    assert (await m.as_owner("owner_fund")).body["provisional"] is False


@pytest.mark.parametrize("confirmations", [0, 3])
async def test_a_reorganised_creation_gives_the_create_call_back(
    world: World, confirmations: int
) -> None:
    m, reads = await signed(world), reading(world, confirmations)
    tx = await create(world, m)
    assert (await m.as_owner("owner_vault_attach", tx_hash=tx)).status == 200
    assert (await m.as_owner("owner_create_call")).body["error"] == "wrong_status"
    await reads.on()
    lost(world, tx)
    await reads.on()
    assert await vault_of(m) is None
    assert (await m.as_owner("owner_create_call")).body["configured"] is True
    await create(world, m)
    for _ in range(confirmations + 1):
        world.evm.chain.mine()
    await reads.on()
    assert await vault_of(m)


async def test_a_stop_that_never_happened_leaves_a_live_mandate(world: World) -> None:
    m, reads = await working(world), reading(world)
    await reads.on()
    tx = await mined(world, m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).body["mandate"]["status"] == "stopped"
    await reads.on()
    lost(world, tx)
    await reads.on()
    told = (await m.read())["mandate"]
    assert (told["status"], told["paused"]) == ("working", False)
    assert (await verify(world.store)).ok


async def test_a_claim_waits_again_when_its_row_is_reorganised_away(world: World) -> None:
    m, reads = await working(world), reading(world)
    await reads.on()
    tx = await mined(world, m.agent_wallet, (await m.execute("10")).body)
    await m.as_agent("mandate_report_event", kind="buy", amount_usdc="10", tx_hash=tx)
    await reads.on()
    assert (await m.read())["progress"]["pending_claims"]["count"] == 0
    lost(world, tx)
    await reads.on()
    seen = (await m.read())["progress"]
    assert (seen["pending_claims"]["count"], seen["cash"]) == (1, "500.000000")


async def test_a_claim_waits_that_names_a_transaction_whose_row_is_gone_already(
    world: World,
) -> None:
    """The agent tells of its call after a reorganisation took it away."""
    m, reads = await working(world), reading(world)
    tx = await mined(world, m.agent_wallet, (await m.execute("30")).body)
    raw = world.evm.chain.head.txs[0].raw
    await reads.on()
    world.evm.chain.reorg(1, keep=False)
    world.evm.chain.mine()
    await reads.on()
    reply = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="30", tx_hash=tx)
    assert reply.status == 201, reply.body
    assert (await m.read())["progress"]["pending_claims"]["count"] == 1
    world.evm.chain.send_raw(raw)
    await reads.on()
    seen = await m.read()
    assert seen["progress"]["pending_claims"]["count"] == 0
    assert seen["limits"]["used"]["per_day"]["value"] == "30.000000"
    assert (await verify(world.store)).ok


async def test_a_receipt_of_a_block_that_is_gone_is_not_believed(world: World) -> None:
    """A node behind still tells of the branch that the reader left."""
    m, reads = await working(world), reading(world)
    tx = await mined(world, m.agent_wallet, (await m.execute("10")).body)
    chain = world.deps.chains.get(CHAIN_ID)
    old = await chain.receipt(tx)
    world.evm.chain.reorg(1, drop={bytes.fromhex(tx[2:])})
    await reads.on()

    def late(uow: UnitOfWork) -> None:
        mandate = uow.mandates.get(m.id, lock=True)
        assert mandate is not None
        assert old is not None
        ask = request_context(uow, world.deps, m.owner, world.clock.now(), request=Nothing())
        ingest_receipt(uow, ask, chain, mandate, old)

    await world.store.write(late)
    assert (await m.read())["progress"]["cash"] == "500.000000"
