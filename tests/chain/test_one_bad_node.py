"""One bad node among three, first in their order: it stops none of the reads, and none is its word."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from chain.adapter import ChainConfig, EvmChain
from chain.agreed_view import agreed_view
from chain.quorum import query_each_node, query_until, quorum_read
from chain.reads.sent_transactions import transactions_to
from domain.chain_facts import BlockStamp, Call
from tests.chain.nodes import distorted
from tests.world import CHAIN_ID, Evm, World, signed, working

pytestmark = pytest.mark.anyio
Distort = Callable[[dict[str, Any], Any], Any]
FAR = 1_000
BARE: dict[str, str] = {}
BALANCE_OF = "0x70a08231"
YEAR_9999 = 253_000_000_000


def honest(_: dict[str, Any], told: Any) -> Any:
    return told


@asynccontextmanager
async def three(evm: Evm, first: Distort, confirmations: int = 0) -> AsyncIterator[EvmChain]:
    """A chain of three nodes of which the first distorts."""
    async with AsyncExitStack() as stack:
        urls = [
            await stack.enter_async_context(distorted(evm.chain, d))
            for d in (first, honest, honest)
        ]
        chain = EvmChain(
            ChainConfig(
                CHAIN_ID, urls[0], evm.usdc, evm.factory, evm.lens, rpc_urls=tuple(urls[1:]),
                confirmations=confirmations, read_ms=60_000,
            )
        )  # fmt: skip
        yield chain
        await chain.close()


def mined_in(evm: Evm) -> str:
    return "0x" + evm.chain.blocks[1].txs[0].hash.hex()


async def test_a_failed_transaction_without_calldata_is_that_nodes_failure(evm: Evm) -> None:
    def failed(asked: dict[str, Any], told: Any) -> Any:
        if asked["method"] == "eth_getTransactionReceipt":
            return told | {"result": told["result"] | {"status": "0x0"}}
        if asked["method"] == "eth_getTransactionByHash":
            sent = {k: v for k, v in told["result"].items() if k != "input"}
            return told | {"result": sent | {"to": "0x" + "11" * 20}}
        return told

    tx = mined_in(evm)
    async with three(evm, failed) as chain:
        found = (await chain.receipts([tx]))[tx]
        assert found is not None
        assert found.ok


async def test_a_block_of_transactions_without_hash_or_calldata_is_unavailable(evm: Evm) -> None:
    sent = evm.chain.blocks[1].txs[0]
    sender = "0x" + sent.sender.hex()

    def bare(asked: dict[str, Any], told: Any) -> Any:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][1] and told["result"]:
            txs = [{"from": sender, "to": sender}]
            return told | {"result": told["result"] | {"transactions": txs}}
        return told

    async with three(evm, bare) as chain:
        head = await chain.latest()
        found = await quorum_read(
            chain, "what it sent", lambda view: transactions_to(view, sender, sender, 0, head)
        )
        assert found.as_of == head
        assert found.calls == ()


@pytest.mark.parametrize("one", [True, False])
async def test_an_error_that_was_not_foreseen_is_one_nodes_failure(evm: Evm, one: bool) -> None:
    async with three(evm, honest) as chain:
        bad = chain.views[0]

        async def ask(view: EvmChain) -> int:
            return len(BARE["input"]) if view is bad else 7

        found = await (
            query_until(chain, ask, lambda s: len(s) > 1) if one else query_each_node(chain, ask)
        )
        assert found == {1: 7, 2: 7}


async def test_a_step_that_one_node_breaks_is_done_by_the_next(world: World) -> None:
    async with three(world.evm, honest) as chain:
        at = await agreed_view(chain, world.deps.clock.now())
        asked: list[EvmChain] = []

        async def work(view: EvmChain, _: Any) -> str:
            asked.append(view)
            return BARE["input"] if len(asked) == 1 else "done"

        assert await at.step(work) == "done"
        assert len(asked) == 2


async def test_one_answer_far_ahead_does_not_condemn_a_node_that_is_honest_again(
    world: World,
) -> None:
    lies = [True]

    def ahead(asked: dict[str, Any], told: Any) -> Any:
        if lies and asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            raw = told["result"]
            number = hex(int(raw["number"], 16) + FAR)
            return told | {
                "result": {
                    "number": number, "hash": raw["hash"], "parentHash": raw["parentHash"],
                    "timestamp": hex(YEAR_9999),
                }
            }  # fmt: skip
        return told

    world.evm.chain.mine()
    async with three(world.evm, ahead, confirmations=3) as chain:
        now = world.evm.chain.head.timestamp
        at = BlockStamp(0, "", (await chain.views[1].latest()).at).at
        assert int(at.timestamp()) == now
        await agreed_view(chain, at + timedelta(seconds=1))
        lies.clear()
        assert (await chain.views[0].latest()).number == world.evm.chain.head.number


async def test_what_one_node_says_of_a_vault_is_not_kept(world: World) -> None:
    m = await working(world)

    def raised(asked: dict[str, Any], told: Any) -> Any:
        if asked["method"] == "eth_call":
            return told | {
                "result": told["result"].replace(f"{500_000_000:064x}", f"{501_000_000:064x}")
            }
        return told

    async with three(world.evm, raised) as chain:
        await chain.vault_states([m.vault])
        assert chain._state_cache.get(m.vault) is None
        await chain.vault_states([m.vault], agreed=True)
        kept = chain._state_cache.get(m.vault)
        assert kept is not None
        assert str(kept.cash) == "500.000000"


async def test_one_node_denies_no_creation(world: World) -> None:
    m = await signed(world)

    def denies(asked: dict[str, Any], told: Any) -> Any:
        if asked["method"] == "eth_call":
            return {
                "jsonrpc": "2.0", "id": asked["id"],
                "error": {"code": 3, "message": "execution reverted", "data": "0x"},
            }  # fmt: skip
        return told

    stored = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    assert stored.signed is not None
    async with three(world.evm, denies) as chain:
        call = chain.create_call(
            stored.signed.message, stored.allowed_targets, stored.signed.signature
        )
        tried = await chain.simulate(Call(CHAIN_ID, call.to, call.data, stored.owner_address))
        assert tried.ok


@pytest.mark.parametrize("times", [10, 0])
async def test_gas_and_balances_are_not_one_nodes_word(evm: Evm, times: int) -> None:
    def lies(asked: dict[str, Any], told: Any) -> Any:
        call = asked["params"][0] if asked["method"] == "eth_call" else {}
        if asked["method"] == "eth_estimateGas" and "result" in told:
            return told | {"result": hex(int(told["result"], 16) * times + 21_000)}
        if call.get("data", call.get("input", "")).startswith(BALANCE_OF):
            return told | {"result": "0x" + f"{10**9:064x}"}
        return told

    holder = "0x" + "42" * 20
    call = Call(CHAIN_ID, evm.usdc, "0x18160ddd")  # totalSupply()
    async with three(evm, honest) as chain:
        gas = (await chain.simulate(call)).gas
        balance = (await chain.usdc_balances([holder]))[holder]
    async with three(evm, lies) as chain:
        assert (await chain.simulate(call)).gas == gas
        assert (await chain.usdc_balances([holder]))[holder] == balance
