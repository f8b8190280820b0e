"""The reader in front of nodes with limits, bad habits, and many vaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chain.adapter import ChainConfig, EvmChain
from chain.logs.log_reader import BlockRange, LogReader, ReadCursor, Watched
from chain.logs.transfer_logs import inbound
from devtools.devchain import answer
from domain.money import Usdc
from domain.refusals import Refused
from tests.chain.nodes import distorted
from tests.chain.test_reader_ledger import chain_rows, spend, ticks
from tests.world import CHAIN_ID, Evm, Mandated, World, running_evm, working

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OLD_BLOCKS = 300


async def history(world: World) -> Mandated:
    """A mandate whose rows lie so far back that they are read in ranges."""
    m = await working(world)
    for n in range(4):
        await spend(world, m, f"{n + 1}")
    for _ in range(OLD_BLOCKS):
        world.evm.chain.mine()
    return m


async def read_all(
    world: World, url: str, known: list[str], *, chunk: int = 50
) -> tuple[list[str], int]:
    """(names of the logs in the order read, steps) from the first block to the head."""
    chain = EvmChain(ChainConfig(CHAIN_ID, url, world.evm.usdc, world.evm.factory, confirmations=0))
    reader, cursor, found, steps = LogReader(chain), None, [], 0
    reader.chunk = chunk
    try:
        while isinstance(told := await reader.step(cursor, Watched.of(known)), BlockRange):
            cursor, steps = told.cursor, steps + 1
            found += [f"{g.block.number}:{g.log_index}:{g.name}" for g in told.logs]
        return found, steps
    finally:
        await chain.close()


def logs_asked(request: dict[str, Any]) -> dict[str, Any] | None:
    return request["params"][0] if request.get("method") == "eth_getLogs" else None


def refused(request: dict[str, Any], message: str, code: int = -32005) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}}


async def test_a_range_that_a_provider_refuses_is_halved_until_it_is_answered(world: World) -> None:
    m = await history(world)
    whole, _ = await read_all(world, world.evm.url, [m.vault])
    refusals = 0

    def limited(request: dict[str, Any], raw: Any) -> Any:
        nonlocal refusals
        wanted = logs_asked(request)
        if (
            wanted
            and "fromBlock" in wanted
            and int(wanted["toBlock"], 16) - int(wanted["fromBlock"], 16) >= 8
        ):
            refusals += 1
            return refused(request, "query returned more than 10000 results")
        return raw

    async with distorted(world.evm.chain, limited) as url:
        found, _ = await read_all(world, url, [m.vault], chunk=2_000)
    assert refusals
    assert found == whole
    assert [name.partition(":")[2].partition(":")[2] for name in found].count("Executed") == 4


async def test_a_range_of_transfers_is_halved_whatever_the_provider_says(world: World) -> None:
    m = await working(world)
    evm = world.evm

    def limited(request: dict[str, Any], raw: Any) -> Any:
        wanted = logs_asked(request)
        if wanted and int(wanted["toBlock"], 16) - int(wanted["fromBlock"], 16) >= 4:
            return refused(request, "at most 4 blocks", -32602)
        return raw

    async with distorted(evm.chain, limited) as url:
        chain = EvmChain(ChainConfig(CHAIN_ID, url, evm.usdc, evm.factory, confirmations=0))
        found = await inbound(chain, [m.vault], 0, evm.chain.head.number)
        await chain.close()
    assert [log.recipient for _, log in found] == [m.vault]


async def test_a_receipts_block_has_to_hash_to_its_name(world: World) -> None:
    m = await working(world)
    evm = world.evm
    honest = EvmChain(evm.facts())
    ((tx_hash, _),) = await inbound(honest, [m.vault], 0, evm.chain.head.number)

    def another_time(request: dict[str, Any], raw: Any) -> Any:
        if request.get("method") == "eth_getBlockByHash":
            return raw | {"result": raw["result"] | {"timestamp": "0x1"}}
        return raw

    assert await honest.receipt(tx_hash) is not None
    await honest.close()
    async with distorted(evm.chain, another_time) as url:
        chain = EvmChain(ChainConfig(CHAIN_ID, url, evm.usdc, evm.factory, confirmations=0))
        with pytest.raises(Refused) as told:
            await chain.receipt(tx_hash)
        await chain.close()
    assert "does not hash" in told.value.refusal.reason


async def test_a_providers_advice_is_taken(world: World) -> None:
    m = await history(world)
    whole, _ = await read_all(world, world.evm.url, [m.vault])
    ranges: list[tuple[int, int]] = []

    def advising(request: dict[str, Any], raw: Any) -> Any:
        wanted = logs_asked(request)
        if wanted and "fromBlock" in wanted:
            low, high = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
            ranges.append((low, high))
            if high - low > 20:
                return refused(
                    request,
                    f"Log response size exceeded. This block range should work: [{hex(low)}, {hex(low + 20)}]",
                )
        return raw

    async with distorted(world.evm.chain, advising) as url:
        found, _ = await read_all(world, url, [m.vault], chunk=2_000)
    assert found == whole
    refused_first = next(r for r in ranges if r[1] - r[0] > 20)
    assert (refused_first[0], refused_first[0] + 20) in ranges


async def test_logs_out_of_order_come_in_order_and_twice_told_ones_are_one_row(
    world: World,
) -> None:
    m = await history(world)

    def disorder(request: dict[str, Any], raw: Any) -> Any:
        if logs_asked(request) and isinstance(raw, dict) and isinstance(raw.get("result"), list):
            return raw | {"result": [*reversed(raw["result"]), *raw["result"]]}
        return raw

    async with distorted(world.evm.chain, disorder) as url:
        runner, reader = ticks(world)
        chain = EvmChain(
            ChainConfig(CHAIN_ID, url, world.evm.usdc, world.evm.factory, confirmations=0)
        )
        reader.chain = chain
        await runner.read_chain(reader)
        await chain.close()
    rows = await chain_rows(world, m)
    assert [e["kind"] for e in rows] == ["deposit", *["move"] * 4]
    assert [e["payload"]["executed"]["spent"] for e in rows[1:]] == [
        f"{n}.000000" for n in (1, 2, 3, 4)
    ]


async def test_logs_of_other_blocks_than_those_asked_for_are_not_believed(world: World) -> None:
    m = await history(world)

    def elsewhere(request: dict[str, Any], raw: Any) -> Any:
        if logs_asked(request) and isinstance(raw, dict) and raw.get("result"):
            return raw | {
                "result": [log | {"blockHash": "0x" + "ab" * 32} for log in raw["result"]]
            }
        return raw

    async with distorted(world.evm.chain, elsewhere) as url:
        with pytest.raises(Refused) as caught:
            await read_all(world, url, [m.vault])
    assert caught.value.code == "chain_unavailable"


@pytest.mark.parametrize("vaults", [10, 10_000])
async def test_a_new_block_costs_as_many_questions_with_10000_vaults_as_with_ten(
    world: World, vaults: int
) -> None:
    m = await working(world)
    asked: list[str] = []

    def counting(question: dict[str, Any], raw: Any) -> Any:
        asked.append(question["method"])
        return raw

    known = [m.vault.lower(), *(f"0x{n + 1:040x}" for n in range(vaults - 1))]
    async with distorted(world.evm.chain, counting) as url:
        chain = EvmChain(ChainConfig(CHAIN_ID, url, world.evm.usdc, world.evm.factory))
        head = world.evm.chain.head
        cursor = ReadCursor(head.number, "0x" + head.hash.hex())
        reader = LogReader(chain)
        await reader.step(cursor, Watched.of(known))
        await spend(world, m, "7")
        asked.clear()
        told = await reader.step(cursor, Watched.of(known))
        await chain.close()
    assert isinstance(told, BlockRange)
    assert [g.name for g in told.logs] == ["Executed"]
    assert len(asked) <= 3
    assert asked.count("eth_getLogs") == 1


async def deposits(world: World, count: int) -> Mandated:
    """A vault with a log in each of the newest blocks."""
    m = await working(world, deposit="1")
    chain = world.chains.get(CHAIN_ID)
    approve = chain.approve_call(m.vault, Usdc.parse("400"))
    await m.owner_wallet.send(approve)
    call = chain.vault_call(m.vault, "deposit", Usdc(1))
    sent = {"from": m.owner_wallet.address, "to": call.to, "data": call.data, "gas": hex(200_000)}
    for _ in range(count):
        answer(world.evm.chain, {"id": 1, "method": "eth_sendTransaction", "params": [sent]})
    return m


MOST_LOGS = 10_000
A_BLOCK = 100


async def test_20000_logs_in_200_blocks_cost_at_most_250_questions(world: World) -> None:
    """A log in each of 200 blocks of a real chain, told a hundred times over at places of its own, by
    a node that answers no more than 10,000 logs at once. Every question counts, each of a batch
    too; a batch is one request.
    """
    m = await deposits(world, 200)
    requests: list[int] = []

    def fuller(request: dict[str, Any], raw: Any) -> Any:
        if not logs_asked(request):
            return raw
        if A_BLOCK * len(raw["result"]) > MOST_LOGS:
            return refused(request, f"query returned more than {MOST_LOGS} results")
        raw["result"] = [
            log | {"logIndex": hex(A_BLOCK * int(log["logIndex"], 16) + n)}
            for log in raw["result"]
            for n in range(A_BLOCK)
        ]
        return raw

    async with distorted(world.evm.chain, fuller, requests) as url:
        chain = EvmChain(world.evm.facts(confirmations=24, rpc_url=url))
        reader, logs = LogReader(chain), 0
        cursor = ReadCursor(world.evm.chain.head.number - 200, None)
        while isinstance(told := await reader.step(cursor, Watched.of([m.vault])), BlockRange):
            cursor, logs = told.cursor, logs + len(told.logs)
        await chain.close()
    assert logs == 20_000
    assert sum(requests) <= 250
    assert len(requests) <= 25


async def test_nothing_is_taken_back_on_the_word_of_a_node_that_serves_another_chain(
    world: World,
) -> None:
    m = await working(world)
    swapped: list[bool] = []

    def another(request: dict[str, Any], raw: Any) -> Any:
        """The same address, and from some moment on another chain behind it."""
        if swapped and request["method"] == "eth_chainId":
            return raw | {"result": "0x1"}
        if swapped and isinstance(raw["result"], dict):
            return raw | {"result": raw["result"] | {"parentHash": "0x" + "cd" * 32}}
        return raw

    async with distorted(world.evm.chain, another) as url:
        runner, reader = ticks(world)
        reader.chain = EvmChain(world.evm.facts(rpc_url=url))
        await runner.read_chain(reader)
        before = await world.store.read(lambda uow: uow.chainlog.cursor(CHAIN_ID))
        world.evm.chain.mine()
        swapped.append(True)
        with pytest.raises(Refused) as caught:
            await runner.read_chain(reader)
        assert "serves chain 1" in caught.value.refusal.reason
        assert await world.store.read(lambda uow: uow.chainlog.cursor(CHAIN_ID)) == before
        swapped.clear()
        await runner.read_chain(reader)
        await reader.chain.close()
    assert [e["kind"] for e in await chain_rows(world, m)] == ["deposit"]


@pytest.fixture(scope="module")
def other_evm() -> Iterator[Evm]:
    with running_evm() as running:
        yield running


async def test_two_chains_are_read_apart(world: World, other_evm: Evm, sqlite_url: str) -> None:
    """The same vault addresses on another chain mean nothing here."""
    m = await working(world)
    await spend(world, m, "3")
    runner, reader = ticks(world)
    await runner.read_chain(reader)
    before = await chain_rows(world, m)
    other = EvmChain(ChainConfig(7, other_evm.url, other_evm.usdc, other_evm.factory))
    # It says that it is chain 31337, and the settings say 7: nothing of it is believed.
    with pytest.raises(Refused):
        await LogReader(other).step(None, Watched.of([m.vault]))
    await other.close()
    assert await chain_rows(world, m) == before
    kept = await world.store.read(
        lambda uow: (uow.chainlog.cursor(CHAIN_ID), uow.chainlog.cursor(7))
    )
    assert kept[0] is not None
    assert kept[1] is None


@pytest.mark.parametrize(
    ("confirmations", "vaults", "old"), [(0, 1, 0), (24, 1, 0), (0, 501, OLD_BLOCKS)]
)
async def test_a_block_full_of_strangers_logs_with_our_topics_stops_nothing(
    world: World, confirmations: int, vaults: int, old: int
) -> None:
    """Anybody can leave more logs with the topics of our events in a block than a node tells at
    once.
    """
    m = await working(world)
    await spend(world, m, "7")
    crowded = world.evm.chain.head
    for _ in range(1 + old):
        world.evm.chain.mine()
    places = {"0x" + crowded.hash.hex(), crowded.number}

    def full(request: dict[str, Any], raw: Any) -> Any:
        wanted = logs_asked(request)
        if wanted is None or "address" in wanted:
            return raw
        blocks = {wanted.get("blockHash")}
        if "fromBlock" in wanted:
            blocks = set(range(int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16) + 1))
        return (
            refused(request, "query returned more than 10000 results") if places & blocks else raw
        )

    known = [m.vault.lower(), *(f"0x{n + 1:040x}" for n in range(vaults - 1))]
    async with distorted(world.evm.chain, full) as url:
        chain = EvmChain(world.evm.facts(confirmations=confirmations, rpc_url=url))
        told = await LogReader(chain).step(ReadCursor(crowded.number - 2, None), Watched.of(known))
        await chain.close()
    assert isinstance(told, BlockRange)
    assert [g.name for g in told.logs] == ["Deposited", "Executed"]
