"""One of three nodes that lies where it pays, in every place: no figure is wrong, no claim ends by
it, no transfer is confirmed by it, and no keeper is held off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from chain import quorum
from chain.chains import EvmChains
from chain.tx_sender import TxSender
from domain.refusals import Refused
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from storage.integrity.ledger_check import verify
from tests.chain.nodes import distorted
from tests.server.bad_nodes import PLACES, Node
from tests.server.lying_nodes import LIES, Liar, Lie, Tired
from tests.server.test_nodes_judged import ROUNDS, a_round, logs, read_through, rows, spend
from tests.server.test_record_marks import worth
from tests.server.test_silent_probe import invested
from tests.tools.keeper.test_transfers_chain import idle, pay, registered
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, own_evm, working
from venue.venues import Networks

evm = own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
OF_MONEY = [lie for lie in LIES if lie != "keeps what is sent, and says that all reverts"]


@pytest.fixture
async def world(sqlite_url: str, evm: Evm, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(quorum, "LATE_S", 0.2)
    async with a_world(sqlite_url, evm, stop_line_dry_run=False) as opened:
        yield opened


def among(world: World, lie: Lie, place: int, confirmations: int) -> tuple[Liar, list[Node]]:
    liar = Liar(world, lie, confirmations)
    nodes: list[Node] = [Node(world), Node(world)]
    nodes.insert(place, liar)
    return liar, nodes


async def figures(m: Mandated) -> tuple[Any, ...]:
    """What is shown of a mandate, and the cash that is read of its vault."""
    told = await m.read()
    chain = m.world.deps.chains.get(CHAIN_ID)
    vault = (await chain.vault_states([m.vault], agreed=True))[m.vault]
    status, progress = told["mandate"]["status"], told["progress"]
    return status, progress["cash"], str(vault.cash), progress.get("data_issue", False)


@PLACES
@pytest.mark.parametrize("lie", OF_MONEY)
async def test_one_that_lies_where_it_pays_makes_no_wrong_figure(
    world: World, lie: Lie, place: int, confirmations: int
) -> None:
    m = await working(world)
    liar, nodes = among(world, lie, place, confirmations)
    async with read_through(world, nodes, confirmations=confirmations) as ticks:
        for _ in range(confirmations + 1):
            await a_round(world, ticks)
        liar.turn()
        await world.deps.chains.get(CHAIN_ID).node().close()  # type: ignore[attr-defined]  # EvmChain's
        tx = await spend(world, m, "40")
        await m.as_agent("mandate_report_event", kind="buy", amount_usdc="40", tx_hash=tx)
        for _ in range(ROUNDS):
            await a_round(world, ticks)
            status, cash, at_vault, issue = await figures(m)
            assert (status, issue) == ("working", False)
            assert cash in ("500.000000", "460.000000")
            assert at_vault == "460.000000"
        assert cash == "460.000000"
        seen = await m.read()
        assert seen["progress"]["pending_claims"]["count"] == 0
        told = (await m.as_agent("mandate_reconcile", tx_hash=tx)).body
        assert told["outcome"] == "landed"
        assert await rows(world, m) == await logs(world, m)
        assert (await verify(world.store)).ok
        # Two that agree are asked no further; who contradicts them is told.
        assert place == 2 or liar.told_lies
        if place == 0:
            assert "contradicts the others" in ticks.parts.chains.faults()[CHAIN_ID][1]


@PLACES
async def test_a_claim_ends_by_no_receipt_of_one_node(
    world: World, place: int, confirmations: int
) -> None:
    """A call that failed is told as one that did something, and the other way round."""
    m = await working(world)
    liar, nodes = among(world, "turns receipts round", place, confirmations)
    chain = world.chains.get(CHAIN_ID)
    data = world.deposit_data(m.vault, "101")  # above the cap: the vault refuses it
    call = chain.vault_call(m.vault, "execute", world.evm.market, data, 101_000_000)
    async with read_through(world, nodes, confirmations=confirmations) as ticks:
        liar.turn()
        receipt = await m.agent_wallet.send(call, gas=900_000)
        assert receipt["status"] == 0
        tx = "0x" + bytes(receipt["transactionHash"]).hex()
        await m.as_agent("mandate_report_event", kind="buy", amount_usdc="40", tx_hash=tx)
        for _ in range(confirmations + 3):
            await a_round(world, ticks)
        told = (await m.as_agent("mandate_reconcile", tx_hash=tx)).body
        assert told["outcome"] == "reverted"
        ended = await m.as_owner("mandate_events", limit=20)
        claims = [e["payload"]["claim"] for e in ended.body["items"] if "claim" in e["payload"]]
        assert [c["outcome"] for c in claims] == ["reverted"]


@pytest.mark.parametrize("lie", ["turns receipts round", "more than was moved"])
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_transfer_is_confirmed_as_most_nodes_tell_it(
    world: World, place: int, lie: Lie
) -> None:
    agent, wallet, stranger = await registered(world)
    liar, nodes = among(world, lie, place, 1)
    async with read_through(world, nodes, confirmations=1) as ticks:
        for _ in range(3):
            await a_round(world, ticks)
        liar.turn()
        await pay(world, stranger, wallet.address, "7")
        reported = await pay(world, stranger, wallet.address, "40")
        await world.ok(
            "transfer_report", agent, chain_id=CHAIN_ID,
            asset="USDC", amount="40", tx_hash=reported, direction="in",
        )  # fmt: skip
        for _ in range(4):
            await a_round(world, ticks)
            assert await idle(world, agent) in ("0.000000", "7.000000", "40.000000", "47.000000")
        assert await idle(world, agent) == "47.000000"


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_no_node_by_itself_holds_the_stop_line_off(world: World, place: int) -> None:
    m, target = await invested(world)
    lie: Lie = "keeps what is sent, and says that all reverts"
    liar, nodes = among(world, lie, place, 1)
    async with read_through(world, nodes, confirmations=1) as ticks:
        sender = TxSender(ticks.parts.chains, world.evm.keeper_key, poll_s=0.01)  # type: ignore[arg-type]  # EvmChains
        world.deps = ticks.deps = replace(world.deps, keeper=sender)
        for keeping in ticks._keepings:
            keeping.deps = world.deps
        for _ in range(2):
            await a_round(world, ticks)
        liar.turn()
        await worth(world, target, "100")
        for _ in range(4):
            await a_round(world, ticks)
        told = (await world.chains.get(CHAIN_ID).vault_states([m.vault]))[m.vault]
        assert told.stopped
        assert liar.told_lies


async def test_two_nodes_that_rest_in_turns_stop_no_reading(world: World) -> None:
    m = await working(world)
    tired = [Tired(world), Tired(world)]
    async with read_through(world, [*tired, Node(world)], answer_s=1, confirmations=1) as ticks:
        for _ in range(2):
            await a_round(world, ticks)
        await spend(world, m, "40")
        for turn in range(ROUNDS):
            for n, node in enumerate(tired):
                node.rests = turn % 2 == n
            await a_round(world, ticks)
            status, cash, _, issue = await figures(m)
            assert (status, issue) == ("working", False)
            assert cash in ("500.000000", "460.000000")
        assert cash == "460.000000"
        assert all(node.left for node in tired)
        assert await rows(world, m) == await logs(world, m)


async def test_what_nodes_contradict_each_other_in_waits_and_it_is_said_why(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Two nodes of which one lies: a receipt that they tell differently is nobody's."""
    m = await working(world)
    liar = Liar(world, "turns receipts round", 0)
    data = world.deposit_data(m.vault, "101")  # above the cap: the vault refuses it
    call = world.chains.get(CHAIN_ID).vault_call(
        m.vault, "execute", world.evm.market, data, 101_000_000
    )
    async with read_through(world, [Node(world), liar], confirmations=0) as ticks:
        liar.turn()
        receipt = await m.agent_wallet.send(call, gas=900_000)
        tx = "0x" + bytes(receipt["transactionHash"]).hex()
        await m.as_agent("mandate_report_event", kind="buy", amount_usdc="40", tx_hash=tx)
        for _ in range(3):
            await a_round(world, ticks)
        chain = ticks.parts.chains.get(CHAIN_ID)
        with pytest.raises(Refused, match="chain_unavailable"):
            await chain.receipt(tx)
        assert await chain.receipts([tx]) == {}
        assert (await m.read())["progress"]["pending_claims"]["count"] == 1
        assert f"no agreed receipt of {tx}" in caplog.text
        assert (await m.as_agent("mandate_reconcile", tx_hash=tx)).body["outcome"] == "unknown"
        liar.since = 0
        for _ in range(2):
            await a_round(world, ticks)
        assert (await m.read())["progress"]["pending_claims"]["count"] == 0


@pytest.mark.parametrize("micros", [2**63, 2**255])
async def test_a_log_of_more_than_all_usdc_stops_no_reading(world: World, micros: int) -> None:
    """One node by itself tells so; what it tells of others is read."""
    m = await working(world)
    other = await working(world)

    def huge(request: dict[str, Any], raw: Any) -> Any:
        if request["method"] != "eth_getLogs" or not raw.get("result"):
            return raw
        word = f"{40_000_000:064x}"
        return raw | {
            "result": [
                g | {"data": g["data"].replace(word, f"{micros:064x}")}
                if g["address"].lower() == m.vault.lower()
                else g
                for g in raw["result"]
            ]
        }

    async with distorted(world.evm.chain, huge) as url:
        chains = EvmChains([world.evm.facts(rpc_url=url)])
        settings = Settings(chains={CHAIN_ID: {"rpc_url": url}})  # type: ignore[dict-item]
        ticks = KeeperScheduler(
            Runtime(settings, replace(world.deps, chains=chains), chains, Networks({}))
        )
        await spend(world, m, "40")
        await spend(world, other, "7")
        await ticks.round()
        left_out = chains.gauges()[f'wallet_chain_logs_left_out_total{{chain="{CHAIN_ID}"}}']
        await chains.close()
    assert left_out >= 1
    assert (await other.read())["progress"]["cash"] == "493.000000"
    assert (await m.read())["progress"]["cash"] == "460.000000", "read again, out of its receipt"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", "-0x5"),
        ("number", hex(2**63)),
        ("number", hex(2**256)),
        ("timestamp", hex(2**63 - 1)),
        ("timestamp", hex(2**300)),
        ("timestamp", "0x"),
    ],
)
async def test_a_block_whose_numbers_no_column_holds_is_no_block(
    world: World, field: str, value: str
) -> None:
    def bent(request: dict[str, Any], raw: Any) -> Any:
        if not request["method"].startswith("eth_getBlockBy") or not raw.get("result"):
            return raw
        return raw | {"result": raw["result"] | {field: value}}

    async with distorted(world.evm.chain, bent) as url:
        chains = EvmChains([world.evm.facts(rpc_url=url)])
        with pytest.raises(Refused, match="chain_unavailable"):
            await chains.get(CHAIN_ID).latest()
        await chains.close()
