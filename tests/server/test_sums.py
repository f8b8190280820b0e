"""A node that leaves logs out: seen by the vault's own totals, read another way, never shown as a wrong figure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any

import pytest
from eth_utils import keccak

from chain.chains import EvmChains
from chain.contracts import abi_codec
from chain.logs.log_reader import LogReader
from domain.money import Usdc
from domain.refusals import Refused
from server.keeper.chain_sync import ChainSync
from server.keeper.scheduler import KeeperScheduler
from server.keeper.value_recording import REST_S
from server.settings import Settings
from server.wiring import Runtime
from storage.integrity.ledger_check import verify
from tests.chain.nodes import distorted
from tests.server.test_paying import left_with_a_gain, listed
from tests.world import CHAIN_ID, Mandated, World, signed, working
from venue.venues import Networks

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def by_topics(request: dict[str, Any]) -> bool:
    """How the reader asks."""
    return request["method"] == "eth_getLogs" and "topics" in request["params"][0]


def by_logs(request: dict[str, Any]) -> bool:
    return request["method"] == "eth_getLogs"


def by_anything(request: dict[str, Any]) -> bool:
    return request["method"] in ("eth_getLogs", "eth_getBlockReceipts")


@asynccontextmanager
async def leaving_out(world: World, hides: Callable[[dict[str, Any]], bool]) -> AsyncIterator[str]:
    """A node that says there are no logs in the blocks mined from now on."""
    first = world.evm.chain.head.number + 1

    def distort(request: dict[str, Any], raw: Any) -> Any:
        if not hides(request) or not isinstance(raw.get("result"), list):
            return raw
        kept = []
        for item in raw["result"]:
            if int(item["blockNumber"], 16) < first:
                kept.append(item)
            elif "logs" in item:
                kept.append(item | {"logs": []})
        return raw | {"result": kept}

    async with distorted(world.evm.chain, distort) as url:
        yield url


@asynccontextmanager
async def kept_by(world: World, *urls: str) -> AsyncIterator[KeeperScheduler]:
    """A service that reads through these nodes."""
    facts = replace(world.evm.facts(), rpc_url=urls[0], rpc_urls=urls[1:])
    chains = EvmChains([facts])
    settings = Settings(chains={CHAIN_ID: {"rpc_url": urls[0]}})  # type: ignore[dict-item]
    deps = replace(world.deps, chains=chains)
    yield KeeperScheduler(Runtime(settings, deps, chains, Networks({})))
    await chains.close()


async def spend(world: World, m: Mandated, amount: str) -> None:
    ok, _ = await world.mined(m.agent_wallet, dict((await m.execute(amount)).body), gas=900_000)
    assert ok


async def sums(m: Mandated) -> tuple[Any, Any, bool]:
    told = (await m.read())["progress"]
    return told["cash"], told["worth_est"], told.get("data_issue", False)


@pytest.mark.parametrize("hides", [by_topics, by_logs])
async def test_logs_that_a_node_leaves_out_are_read_another_way(
    world: World, hides: Callable[[dict[str, Any]], bool]
) -> None:
    m = await working(world)
    async with leaving_out(world, hides) as url, kept_by(world, url) as ticks:
        await ticks.round()
        assert await sums(m) == ("500.000000", "500.000000", False)
        await spend(world, m, "40")
        await spend(world, m, "30")
        await ticks.round()
        rows = (await m.read())["events"]
    logs = [e["kind"] for e in rows if e["reported_by"] == "chain" and e["tx_hash"]]
    assert logs == ["move", "move", "deposit"]
    assert await sums(m) == ("430.000000", "500.000000", False)
    assert (await verify(world.store)).ok


async def test_what_one_node_hides_altogether_is_an_open_question_and_no_figure(
    world: World,
) -> None:
    m = await working(world)
    async with leaving_out(world, by_anything) as url:
        async with kept_by(world, url) as ticks:
            await ticks.round()
            await spend(world, m, "40")
            await ticks.round()
            assert await sums(m) == (None, None, True)
            assert (await m.read())["progress"]["leave_now_est"] is None
            await ticks.round()
            assert await sums(m) == (None, None, True)
        async with kept_by(world, url, world.evm.url) as ticks:  # a second node, an honest one
            await ticks.round()
    assert await sums(m) == ("460.000000", "500.000000", False)
    assert (await verify(world.store)).ok


async def made_unseen(world: World) -> Mandated:
    """A vault that is made and funded while nobody tells the service."""
    m = await signed(world)
    await world.mint(m.owner_wallet.address, "500")
    create = (await m.as_owner("owner_create_call")).body
    await world.mined(m.owner_wallet, create["call"], gas=3_000_000)
    m.vault = create["predicted_vault"]
    chain = world.chains.get(CHAIN_ID)
    for call in (
        chain.approve_call(m.vault, Usdc.parse("500")),
        chain.vault_call(m.vault, "deposit", Usdc.parse("500")),
    ):
        ok, _ = await world.mined(m.owner_wallet, asdict(call))
        assert ok
    return m


@pytest.mark.parametrize("hides", [by_topics, by_logs, by_anything])
async def test_a_creation_that_a_node_leaves_out_is_shown_by_the_lens(
    world: World, hides: Callable[[dict[str, Any]], bool]
) -> None:
    async with leaving_out(world, hides) as url, kept_by(world, url) as ticks:
        m = await made_unseen(world)
        await ticks.round()
        assert (await m.read())["mandate"]["vault_address"] == m.vault
        await ticks.round()
        worth = (None, None, True) if hides is by_anything else ("500.000000", "500.000000", False)
        assert await sums(m) == worth
    assert (await verify(world.store)).ok


async def test_a_creation_that_one_node_of_three_hides_altogether_is_shown_by_another(
    world: World,
) -> None:
    """It does not even show the contract."""
    first = world.evm.chain.head.number + 1

    def without(request: dict[str, Any], raw: Any) -> Any:
        of_lens = request["method"] == "eth_call" and request["params"][0]["to"] == lens
        if of_lens and "result" in raw:
            return raw | {"result": nothing}
        if by_anything(request) and isinstance(raw.get("result"), list):
            return raw | {"result": [x for x in raw["result"] if int(x["blockNumber"], 16) < first]}
        return raw

    lens, empty = world.evm.facts().lens, "0x" + "00" * 19 + "01"
    chain = world.chains.get(CHAIN_ID)
    data = abi_codec.calldata("VaultLens", "read", [(empty,)])
    nothing = "0x" + (await chain.eth_call(lens or "", data, await chain.latest())).hex()
    async with (
        distorted(world.evm.chain, without) as url,
        distorted(world.evm.chain, lambda _, told: told) as third,
        kept_by(world, url, world.evm.url, third) as ticks,
    ):
        m = await made_unseen(world)
        await ticks.round()
        assert (await m.read())["mandate"]["vault_address"] == m.vault
        await ticks.round()
        assert (await m.read())["progress"]["cash"] == "500.000000"
    assert (await verify(world.store)).ok


@asynccontextmanager
async def inventing(world: World, real: str) -> AsyncIterator[str]:
    """A node that shows a vault wherever it is asked for one: another that there is."""
    lens, chain = world.evm.facts().lens or "", world.chains.get(CHAIN_ID)
    data = abi_codec.calldata("VaultLens", "read", [(real,)])
    told = "0x" + (await chain.eth_call(lens, data, await chain.latest())).hex()

    def distort(request: dict[str, Any], answer: Any) -> Any:
        if request["method"] == "eth_call" and request["params"][0].get("to") == lens:
            return answer | {"result": told}
        return answer

    async with distorted(world.evm.chain, distort) as url:
        yield url


@pytest.mark.parametrize("honest", [1, 2])
async def test_a_vault_that_no_log_told_of_is_not_believed_on_the_word_of_one_node_among_several(
    world: World, honest: int
) -> None:
    there = await working(world)
    m = await signed(world)
    async with (
        inventing(world, there.vault) as lying,
        another(world) as second,
        kept_by(world, *[world.evm.url, second][:honest], lying) as ticks,
    ):
        await ChainSync(ticks.deps, LogReader(ticks.parts.chains.get(CHAIN_ID))).on()
        await ticks.round()
    assert (await m.read())["mandate"]["vault_address"] is None
    assert (await m.read())["mandate"]["status"] == "signed"


async def test_a_node_that_tells_of_fewer_vaults_than_asked_holds_no_other_node(
    world: World,
) -> None:
    m, empty = await working(world), "0x" + "00" * 19 + "01"
    async with (
        inventing(world, m.vault) as lying,
        another(world) as second,
        kept_by(world, world.evm.url, second, lying) as ticks,
    ):
        chain = ticks.parts.chains.get(CHAIN_ID)
        told = await chain.vault_states([m.vault, empty], agreed=True)
    assert {v: s.exists for v, s in told.items()} == {m.vault: True, empty: False}


async def test_where_a_vault_is_is_not_believed_on_the_word_of_one_node_among_several(
    world: World,
) -> None:
    """The first node says of a mandate's vault that it is another's, and hides its creation."""
    m, other = await signed(world), await made_unseen(world)
    first = world.evm.chain.head.number - 3

    def distort(request: dict[str, Any], raw: Any) -> Any:
        if request["method"] == "eth_call" and request["params"][0].get("to") == world.evm.factory:
            return raw | {"result": "0x" + other.vault[2:].lower().rjust(64, "0")}
        if by_topics(request) and isinstance(raw.get("result"), list):
            return raw | {"result": [g for g in raw["result"] if int(g["blockNumber"], 16) < first]}
        return raw

    async with (
        distorted(world.evm.chain, distort) as lying,
        kept_by(world, lying, world.evm.url, f"{world.evm.url}?another") as ticks,
    ):
        await ticks.round()
    assert (await m.read())["mandate"]["vault_address"] is None
    assert (await other.read())["mandate"]["vault_address"] == other.vault


async def test_a_vault_that_is_not_made_is_looked_for_every_five_minutes(world: World) -> None:
    asked, looks = list[str](), list[int]()

    def counting(question: dict[str, Any], raw: Any) -> Any:
        if question["method"] == "eth_call":
            asked.append(str(question["params"][0].get("to")))
        return raw

    async with distorted(world.evm.chain, counting) as url, kept_by(world, url) as ticks:
        m = await signed(world)
        for _ in range(3):
            await ticks.round()
            world.clock.forward(seconds=60)
            looks.append(asked.count(world.evm.lens))
        world.clock.forward(minutes=5)
        await ticks.round()
    assert 0 < looks[0] == looks[2] < asked.count(world.evm.lens)
    assert (await m.read())["mandate"]["vault_address"] is None


async def test_a_reading_that_does_not_add_up_writes_nothing(world: World) -> None:
    """What a node hides may not take back what stands in the ledger."""
    m = await working(world)
    async with kept_by(world, world.evm.url) as ticks:
        await ticks.round()
        await spend(world, m, "40")
        await ticks.round()
    async with leaving_out(world, by_anything) as url, kept_by(world, url) as ticks:
        await spend(world, m, "30")
        await ticks.round()
    rows = [e for e in (await m.read())["events"] if e["reported_by"] == "chain"]
    assert [e["kind"] for e in rows] == ["move", "deposit"]
    assert (await sums(m))[2] is True


async def test_a_pause_that_a_node_hides_is_read_another_way(world: World) -> None:
    """No sum moves with a pause; the vault itself says whether there is one."""
    m = await working(world)
    async with leaving_out(world, by_logs) as url, kept_by(world, url) as ticks:
        call = (await m.as_owner("owner_pause_call")).body["call"]
        ok, _ = await world.mined(m.owner_wallet, call)
        assert ok
        await ticks.round()
    told = (await m.read())["mandate"]
    assert (told["paused"], told.get("provisional", False)) == (True, False)
    assert (await sums(m))[2] is False


async def test_a_hidden_payment_of_the_agent_is_read_and_ends_the_keepers_work(
    world: World,
) -> None:
    m = await left_with_a_gain(world)
    assert await listed(world) == 1
    pay = world.chains.get(CHAIN_ID).vault_call(m.vault, "payAgent")
    async with leaving_out(world, by_logs) as url, kept_by(world, url) as ticks:
        await world.wallet().send(pay)
        await ticks.round()
        world.clock.forward(seconds=REST_S)
        await ticks.round()  # compared once more, and done with
    assert (await m.read())["fees"]["agent_fee"]["paid"] == "0.999999"
    world.clock.forward(seconds=REST_S)
    assert await listed(world) == 0


async def test_a_hidden_withdrawal_of_a_settled_vault_is_read_another_way(world: World) -> None:
    """The node tells of the settlement in the same transaction, and not of what was paid out."""
    m = await working(world)
    withdrawn = "0x" + keccak(text="Withdrawn(bytes32,address,uint256)").hex()

    def without(request: dict[str, Any], raw: Any) -> Any:
        if not by_logs(request) or not isinstance(raw.get("result"), list):
            return raw
        return raw | {"result": [g for g in raw["result"] if g["topics"][0] != withdrawn]}

    async with distorted(world.evm.chain, without) as url, kept_by(world, url) as ticks:
        await ticks.round()
        await world.mined(m.owner_wallet, (await m.as_owner("owner_withdraw_call")).body["call"])
        await ticks.round()
    assert (await m.read())["mandate"]["status"] == "settled"
    assert await sums(m) == ("0.000000", "0.000000", False)


# -- more than half of the nodes


def by_receipt(request: dict[str, Any]) -> bool:
    return request["method"] == "eth_getTransactionReceipt"


@asynccontextmanager
async def forgetting(world: World) -> AsyncIterator[str]:
    """A node that knows of no logs and of no receipts from now on."""
    first = world.evm.chain.head.number + 1

    def distort(request: dict[str, Any], raw: Any) -> Any:
        new = raw.get("result")
        if by_logs(request):
            return raw | {"result": [g for g in new if int(g["blockNumber"], 16) < first]}
        if by_receipt(request) and new and int(new["blockNumber"], 16) >= first:
            return raw | {"result": None}
        return raw

    async with distorted(world.evm.chain, distort) as url:
        yield url


async def test_nothing_is_taken_back_on_the_word_of_one_node_among_several(world: World) -> None:
    m = await working(world)
    async with kept_by(world, world.evm.url) as ticks:
        await ticks.round()
    async with forgetting(world) as lying, another(world) as second:
        told = dict((await m.execute("40")).body)
        ok, tx = await world.mined(m.agent_wallet, told, gas=900_000)
        assert ok
        # Its receipt brings the row early, by an honest node; the reader comes by with another.
        assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200
        async with kept_by(world, lying, second) as ticks:
            chain = ticks.parts.chains.get(CHAIN_ID)
            with pytest.raises(Refused, match="chain_unavailable"):
                await ChainSync(ticks.deps, LogReader(chain)).on()
        async with kept_by(world, lying, world.evm.url, second) as ticks:
            chain = ticks.parts.chains.get(CHAIN_ID)
            await ChainSync(ticks.deps, LogReader(chain)).on()
            await ticks.round()
    rows = [e for e in (await m.read())["events"] if e["reported_by"] == "chain"]
    assert [e["kind"] for e in rows] == ["move", "deposit"]
    assert await sums(m) == ("460.000000", "500.000000", False)


@asynccontextmanager
async def poorer(world: World) -> AsyncIterator[str]:
    """A node whose lens tells of other vaults than there are."""

    def distort(request: dict[str, Any], raw: Any) -> Any:
        lens = world.evm.lens.lower()
        if request["method"] == "eth_call" and request["params"][0].get("to", "").lower() == lens:
            cash = f"{500_000_000:064x}"
            return raw | {"result": raw["result"].replace(cash, f"{400_000_000:064x}")}
        return raw

    async with distorted(world.evm.chain, distort) as url:
        yield url


def another(world: World) -> Any:
    """A second node of the same chain, as honest as the first."""
    return distorted(world.evm.chain, lambda _, told: told)


async def test_two_of_three_nodes_are_believed_and_one_of_two_is_not(world: World) -> None:
    m = await working(world)
    honest = world.evm.url
    async with poorer(world) as lying, another(world) as second:
        async with kept_by(world, lying, honest, second) as ticks:
            chain = ticks.parts.chains.get(CHAIN_ID)
            state = (await chain.vault_states([m.vault], agreed=True))[m.vault]
            assert str(state.cash) == "500.000000"
        async with kept_by(world, lying, honest) as ticks:
            chain = ticks.parts.chains.get(CHAIN_ID)
            with pytest.raises(Refused, match="chain_unavailable"):
                await chain.vault_states([m.vault], agreed=True)


async def test_a_quorum_needs_more_than_half_of_the_nodes_to_answer(world: World) -> None:
    m = await working(world)
    dead = "http://127.0.0.1:9/"
    async with another(world) as second, kept_by(world, world.evm.url, dead, second) as ticks:
        chain = ticks.parts.chains.get(CHAIN_ID)
        assert m.vault in await chain.vault_states([m.vault], agreed=True)
    async with kept_by(world, world.evm.url, dead) as ticks:
        with pytest.raises(Refused, match="chain_unavailable"):
            await ticks.parts.chains.get(CHAIN_ID).vault_states([m.vault], agreed=True)
