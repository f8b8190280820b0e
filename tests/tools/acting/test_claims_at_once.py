"""What became of many reported transactions is asked in a few requests, whatever their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chain.chains import EvmChains
from domain.mandates.mandate import Mandate
from tests.chain.nodes import Distortion, distorted
from tests.tools.acting.test_reconcile import asked, reverted
from tests.world import CHAIN_ID, Mandated, World, working
from tools.keeper import claim_expiry
from tools.keeper.claim_expiry import expire_claims

pytestmark = pytest.mark.anyio
CLAIMS = 40


async def reported(m: Mandated, tx_hash: str) -> None:
    told = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="1", tx_hash=tx_hash)
    assert told.status in (201, 202), told.body


async def mandate_of(m: Mandated) -> Mandate:
    found = await m.world.store.read(lambda uow: uow.mandates.get(m.id))
    assert found is not None
    return found


@asynccontextmanager
async def chains_behind(
    world: World, distort: Distortion, requests: list[int]
) -> AsyncIterator[EvmChains]:
    async with distorted(world.evm.chain, distort, requests) as url:
        chains = EvmChains([world.evm.facts(rpc_url=url)])
        try:
            yield chains
        finally:
            await chains.close()


async def test_forty_claims_are_asked_in_a_few_requests(world: World) -> None:
    m = await working(world)
    failed = [await reverted(m, await asked(m, "20", "20")) for _ in range(2)]
    for tx_hash in (*failed, *(f"0x{n:064x}" for n in range(1, CLAIMS - 1))):
        await reported(m, tx_hash)
    requests, methods = list[int](), Counter[str]()

    def counting(question: dict[str, Any], raw: Any) -> Any:
        methods[question["method"]] += 1
        return raw

    async with chains_behind(world, counting, requests) as chains:
        assert await expire_claims(world.deps, chains.get(CHAIN_ID), [await mandate_of(m)]) == 2
    assert methods["eth_getTransactionReceipt"] == CLAIMS
    assert methods["eth_getBlockByHash"] == methods["eth_getTransactionByHash"] == 2
    assert methods["eth_call"] == 0, "nobody reads here why a call failed"
    assert len(requests) <= 6
    seen = (await m.read())["progress"]["pending_claims"]
    assert seen["count"] == CLAIMS - 2


async def test_a_receipt_that_makes_no_sense_holds_no_other_claim(world: World) -> None:
    m = await working(world)
    failed = await reverted(m, await asked(m, "20", "20"))
    doubtful = "0x" + "ab" * 32
    for tx_hash in (doubtful, failed):
        await reported(m, tx_hash)

    def odd(question: dict[str, Any], raw: Any) -> Any:
        mine = question["params"] and question["params"][0] == doubtful
        return raw | {"result": {"blockHash": "0x12"}} if mine else raw

    world.clock.forward(days=1)
    async with chains_behind(world, odd, []) as chains:
        assert await expire_claims(world.deps, chains.get(CHAIN_ID), [await mandate_of(m)]) == 1
    ended = [e for e in (await m.read())["events"] if (e["payload"] or {}).get("claim")]
    assert [e["tx_hash"] for e in ended] == [failed]


async def test_one_owners_claims_keep_nobody_elses_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_expiry, "CLAIMS_A_ROUND", 6)
    busy, other = await working(world), await working(world)
    for n in range(9):
        await reported(busy, f"0x{n + 1:064x}")
    await reported(other, "0x" + "cd" * 32)
    mandates = [await mandate_of(busy), await mandate_of(other)]
    asked_of = await world.store.read(lambda uow: claim_expiry.pending_claims(uow, mandates))
    assert Counter(one.mandate.public_id for one in asked_of) == {busy.id: 5, other.id: 1}
