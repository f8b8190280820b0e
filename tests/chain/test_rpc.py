"""A node that misbehaves: a refusal, never a guessed figure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from chain.adapter import ChainConfig, EvmChain
from chain.rpc.client import RpcClient
from chain.rpc.errors import NodeError
from domain.chain_facts import Call
from domain.refusals import Refused
from tests.chain.nodes import Answer, distorted, fault, node, result
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Evm

pytestmark = pytest.mark.anyio
TO = "0x" + "11" * 20
HASH = "0x" + "11" * 32


async def refused(
    answer: Answer, *, timeout_s: int = STUCK_S, chain_id: str | None = "0x7a69"
) -> Refused:
    async with node(answer, chain_id=chain_id) as url:
        rpc = RpcClient(url, 31337, timeout_s)
        with pytest.raises(Refused) as caught:
            await rpc.fact("eth_blockNumber")
        await rpc.close()
    assert caught.value.code == "chain_unavailable"
    return caught.value


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize(
    ("headers", "pause_s", "tries"),
    [
        ({"Retry-After": "7"}, 7, 1),
        (
            {
                "Retry-After": "Fri, 20 Nov 2026 12:01:30 GMT",
                "Date": "Fri, 20 Nov 2026 12:00:00 GMT",
            },
            90,
            1,
        ),
        ({"Retry-After": "0"}, 1, 4),
        ({"Retry-After": "soon"}, 1, 4),
        ({}, 1, 4),
    ],
)
async def test_a_busy_node_is_tried_again_and_says_when(
    headers: dict[str, str], pause_s: int, tries: int
) -> None:
    seen = []

    async def busy(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        seen.append(request["method"])
        return web.Response(status=429, headers=headers)

    told = await refused(busy)
    assert told.refusal.detail["retry_after_s"] == pause_s
    assert len(seen) == tries


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "",
        "not json",
        "[]",
        "{}",
        '{"jsonrpc": "2.0", "id": 1, "error": "x"}',
        '{"error": null}',
        "[" * 5_000,
        "\xff",
    ],
)
async def test_nonsense_is_unavailable(body: str) -> None:
    async def nonsense(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=body.encode("latin-1"), content_type="application/json")

    await refused(nonsense)


async def test_another_chain_is_unavailable() -> None:
    async def other(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        return result(request, "0x1")

    told = await refused(other, chain_id=None)
    assert "serves chain 1" in told.refusal.reason


@pytest.mark.parametrize("told", [None, 5, "", "0x", "1f", "0xzz", [], {}])
async def test_a_number_that_is_none_is_unavailable(told: Any) -> None:
    async def odd(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        return result(request, told)

    async with node(odd) as url:
        rpc = RpcClient(url, 31337)
        with pytest.raises(Refused, match="chain_unavailable"):
            await rpc.quantity("eth_blockNumber")
        await rpc.close()


async def test_a_node_that_is_switched_for_another_chains_is_noticed_after_its_outage() -> None:
    serves, statuses = iter(["0x7a69", "0x1"]), iter([200, 401, 200])

    async def switched(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        if request["method"] == "eth_chainId":
            return result(request, next(serves))
        status = next(statuses)
        return result(request, "0x5") if status == 200 else web.Response(status=status)

    async with node(switched, chain_id=None) as url:
        rpc = RpcClient(url, 31337)
        assert await rpc.quantity("eth_blockNumber") == 5
        for why in ("HTTP 401", "serves chain 1"):
            with pytest.raises(Refused) as caught:
                await rpc.quantity("eth_blockNumber")
            assert why in caught.value.refusal.reason
        await rpc.close()


@pytest.mark.usefixtures("no_backoff")
async def test_a_passing_fault_is_survived() -> None:
    failures = iter([503, 503])

    async def shaky(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        status = next(failures, None)
        return web.Response(status=status) if status else result(request, "0x10")

    async with node(shaky) as url:
        rpc = RpcClient(url, 31337)
        assert await rpc.ask("eth_blockNumber") == "0x10"
        await rpc.close()


async def test_a_silent_node_is_given_up_in_bounded_time() -> None:
    asked_times = []

    async def silent(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        asked_times.append(request["method"])
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.timeout(STUCK_S):
        told = await refused(silent, timeout_s=1)
    assert "TimeoutError" in told.refusal.reason
    assert len(asked_times) <= 2


@pytest.mark.usefixtures("no_backoff")
async def test_a_dead_address_is_unavailable_and_not_shown() -> None:
    rpc = RpcClient("http://127.0.0.1:9/secret-key", 31337, 1)
    with pytest.raises(Refused) as caught:
        await rpc.ask("eth_blockNumber")
    assert "secret" not in str(caught.value.refusal)
    await rpc.close()


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize(
    ("code", "message", "again"),
    [
        (-32005, "limit exceeded", True),
        (-32005, "daily request count exceeded, request rate limited", True),
        (-32097, "busy", True),
        (-32000, "header not found", True),
        (
            -32005,
            "query returned more than 10000 results. Try with this block range [0x1, 0x5].",
            False,
        ),
        (-32602, "eth_getLogs is limited to a 10,000 range", False),
        (-32000, "missing trie node", False),
        (3, "execution reverted: too many requests, rate limit", False),
        (-32000, "execution reverted: header not found", False),
    ],
)
async def test_only_a_passing_fault_is_asked_again(code: int, message: str, again: bool) -> None:
    seen = []

    async def faulty(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        seen.append(request["method"])
        return fault(request, code, message)

    async with node(faulty) as url:
        rpc = RpcClient(url, 31337)
        with pytest.raises(Refused if again else NodeError):
            await rpc.ask("eth_getLogs")
        await rpc.close()
    assert len(seen) == (4 if again else 1)


# -- what a fault means to the reads ----------------------------------------------------------------------------


async def test_a_node_that_fell_behind_is_not_believed() -> None:
    heights = iter([1_000, 100])

    async def behind(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        return result(
            request,
            {"number": hex(next(heights)), "hash": HASH, "parentHash": HASH, "timestamp": "0x1"},
        )

    async with node(behind) as url:
        chain = EvmChain(ChainConfig(31337, url, confirmations=24))
        assert (await chain.latest()).number == 1_000
        with pytest.raises(Refused, match="chain_unavailable"):
            await chain.latest()
        await chain.close()


CONTRACT_SIGNED = "0x" + "ab" * 70  # no EOA's form: a contract wallet would be asked


async def everything(chain: EvmChain, tx: str) -> dict[str, str]:
    """What each read says: the refusal's code, or the name of what it gave."""
    block = await chain.latest()
    reads = {
        "latest": chain.latest, "block": lambda: chain.block(block.number), "receipt": lambda: chain.receipt(tx),
        "states": lambda: chain.vault_states([TO]), "balances": lambda: chain.usdc_balances([TO]),
        "simulate": lambda: chain.simulate(Call(CHAIN_ID, chain.usdc or "", "0x18160ddd")),
        "signature": lambda: chain.check_signature("0x" + "22" * 32, CONTRACT_SIGNED, chain.usdc or ""),
    }  # fmt: skip
    told = {}
    for name, read in reads.items():
        try:
            told[name] = type(await read()).__name__
        except Refused as refusal:
            told[name] = refusal.code
    return told


HEALTHY = {
    "latest": "BlockStamp", "block": "BlockStamp", "receipt": "Receipt", "states": "dict", "balances": "dict",
    "simulate": "Simulation", "signature": "NoneType",
}  # fmt: skip


async def told_by(evm: Evm, distort: Any) -> dict[str, str]:
    """The reads over a node that begins to misbehave once it has been trusted."""
    on = []
    async with distorted(
        evm.chain, lambda asked, told: distort(asked, told) if on else told
    ) as url:
        chain = EvmChain(
            ChainConfig(CHAIN_ID, url, evm.usdc, evm.factory, evm.lens, confirmations=0)
        )
        tx = "0x" + evm.chain.blocks[1].txs[0].hash.hex()
        assert await everything(chain, tx) == HEALTHY
        on.append(True)
        told: dict[str, str] = {}
        try:
            told = await everything(chain, tx)
        except Refused as refusal:  # not even the newest block could be read
            told = dict.fromkeys(HEALTHY, refusal.code)
        await chain.close()
    return told


@pytest.mark.parametrize(
    "told", ["missing trie node", "the method is not available", "archive state needed"]
)
async def test_a_fault_that_is_no_revert_is_never_taken_for_an_answer(evm: Evm, told: str) -> None:
    def distort(request: dict[str, Any], good: Any) -> Any:
        if request["method"] in ("eth_call", "eth_getCode"):
            return {
                "jsonrpc": "2.0",
                "id": request["id"],
                "error": {"code": -32000, "message": told},
            }
        return good

    seen = await told_by(evm, distort)
    assert seen == HEALTHY | dict.fromkeys(
        ("states", "balances", "simulate", "signature"), "chain_unavailable"
    )


@pytest.mark.parametrize(
    "nonsense", [5, "zz", [], {}, True, {"number": "0x1"}, {"status": "0x1"}, "0xabc"]
)
async def test_an_answer_of_the_wrong_shape_is_unavailable(evm: Evm, nonsense: Any) -> None:
    def distort(request: dict[str, Any], good: Any) -> Any:
        return good if request["method"] == "eth_chainId" else {**good, "result": nonsense}

    assert set((await told_by(evm, distort)).values()) == {"chain_unavailable"}


async def test_a_receipt_of_another_transaction_is_not_believed(evm: Evm) -> None:
    def distort(request: dict[str, Any], good: Any) -> Any:
        if request["method"] == "eth_getTransactionReceipt":
            return {**good, "result": {**good["result"], "transactionHash": HASH}}
        return good

    assert (await told_by(evm, distort))["receipt"] == "chain_unavailable"


async def test_another_block_than_the_one_asked_for_is_not_believed(evm: Evm) -> None:
    def distort(request: dict[str, Any], good: Any) -> Any:
        if request["method"] == "eth_getBlockByNumber" and request["params"][0] != "latest":
            return {**good, "result": {**good["result"], "number": "0x0"}}
        return good

    assert (await told_by(evm, distort))["block"] == "chain_unavailable"


async def test_state_is_asked_for_by_the_hash_of_its_block(evm: Evm) -> None:
    asked_at = []

    def distort(request: dict[str, Any], good: Any) -> Any:
        if request["method"] in ("eth_call", "eth_getCode"):
            asked_at.append(request["params"][1])
        return good

    assert await told_by(evm, distort) == HEALTHY
    assert asked_at
    assert all(at == {"blockHash": "0x" + evm.chain.head.hash.hex()} for at in asked_at)


async def test_an_address_without_a_contract_tells_no_balance(evm: Evm) -> None:
    chain = EvmChain(ChainConfig(CHAIN_ID, evm.url, usdc=TO, confirmations=0))
    with pytest.raises(Refused, match="chain_unavailable"):
        await chain.usdc_balances([TO])
    await chain.close()


async def test_a_revert_is_explained_from_the_state_before_it(evm: Evm) -> None:
    snapshot = evm.chain.snapshot()
    chain = EvmChain(evm.facts())
    rpc = chain.node()
    sender = (await rpc.ask("eth_accounts"))[7]
    sent = {
        "from": sender,
        "to": evm.usdc,
        "data": "0xa9059cbb" + "00" * 31 + "09" + "00" * 31 + "01",
        "gas": "0x186a0",
    }
    receipt = await chain.receipt(await rpc.ask("eth_sendTransaction", sent))
    assert receipt is not None
    assert (receipt.ok, receipt.logs, receipt.transfers) == (False, (), ())
    assert receipt.revert is not None
    assert receipt.revert.name == "Unknown"
    assert receipt.revert.args["data"].startswith("0xe450d38c")  # ERC20InsufficientBalance
    assert await chain.receipt(HASH) is None
    await chain.close()
    evm.chain.revert(snapshot)


async def test_one_answer_of_a_block_far_ahead_does_not_stop_the_chain() -> None:
    """What stands in a later time at a lower number was never below that block."""
    heads = iter([(1_000, 10), (10**9, 12), (1_001, 12), (1_002, 14)])

    async def wild(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        number, at = next(heads)
        told = {"number": hex(number), "hash": HASH, "parentHash": HASH, "timestamp": hex(at)}
        return result(request, told)

    async with node(wild) as url:
        chain = EvmChain(ChainConfig(31337, url, confirmations=24))
        assert (await chain.latest()).number == 1_000
        assert (await chain.latest()).number == 10**9
        with pytest.raises(Refused, match="chain_unavailable"):
            await chain.latest()
        assert (await chain.latest()).number == 1_002
        await chain.close()


@pytest.mark.slow
async def test_a_node_that_does_not_say_its_chain_is_waited_for_once_by_all() -> None:
    """Not by one after another: the last of many would wait for minutes."""
    asked_times = 0

    async def silent(_: web.Request, request: dict[str, Any]) -> web.StreamResponse:
        nonlocal asked_times
        asked_times += 1
        await asyncio.Event().wait()
        raise AssertionError

    async with node(silent, chain_id=None) as url:
        rpc = RpcClient(url, 31337, 1)
        asked = (rpc.fact("eth_blockNumber") for _ in range(20))
        told = await asyncio.gather(*asked, return_exceptions=True)
        await rpc.close()
    assert all(isinstance(one, Refused) for one in told)
    assert asked_times == 1
