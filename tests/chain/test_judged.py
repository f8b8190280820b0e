"""What is made of the answers of three nodes: when they count, and what is said of a node."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from chain import quorum
from chain.adapter import ChainConfig, EvmChain
from chain.agreed_view import agreed_view
from chain.quorum import query_each_node, quorum_read, quorum_read_each
from chain.rpc.decoding import Header
from chain.rpc.errors import NodeError
from domain.refusals import Refused, refusal
from tests.chain.test_left_out import read_by
from tests.server.bad_nodes import Node, twin
from tests.world import World, own_evm

evm = own_evm

pytestmark = pytest.mark.anyio
LOGS = "the logs of block 7"
CONTRADICTS = "contradicts the others on the logs of block"


@pytest.fixture
async def chain() -> AsyncIterator[EvmChain]:
    """Three nodes, of which none is asked: a question is answered by the test."""
    urls = [f"http://127.0.0.1:9/{n}" for n in range(3)]
    made = EvmChain(ChainConfig(31337, urls[0], rpc_urls=tuple(urls[1:])))
    yield made
    await made.close()


class Answers:
    """What each node says: an exception is raised, and None never comes."""

    def __init__(self, chain: EvmChain, *each: Any):
        self.chain, self.each = chain, each
        self.asked: list[int] = []

    async def __call__(self, view: EvmChain) -> Any:
        n = self.chain.views.index(view)
        self.asked.append(n)
        if self.each[n] is None:
            await anyio.sleep_forever()
        if isinstance(self.each[n], Exception):
            raise self.each[n]
        return self.each[n]


def faults(chain: EvmChain) -> Mapping[int, str]:
    return dict(chain.node().fault_names())


async def test_an_answer_counts_when_two_of_three_give_it(chain: EvmChain) -> None:
    gone = chain.node().unavailable("no answer")
    for each in ((7, gone, gone), (7, 8, gone), (7, 8, 9)):
        with pytest.raises(Refused) as caught:
            await quorum_read(chain, LOGS, Answers(chain, *each))
        assert "do not say the same of the logs of block 7" in caught.value.refusal.reason
        told = Answers(chain, *({"a": e} if isinstance(e, int) else e for e in each))
        assert await quorum_read_each(chain, LOGS, ["a"], told) == {}
    assert await quorum_read(chain, LOGS, Answers(chain, 7, gone, 7)) == 7


async def test_two_are_asked_at_once_and_the_third_only_where_they_differ(chain: EvmChain) -> None:
    told = Answers(chain, 7, 7, 7)
    both = anyio.Event()

    async def together(view: EvmChain) -> Any:
        found = await told(view)
        if len(told.asked) == 2:
            both.set()
        await both.wait()
        return found

    with anyio.fail_after(10):
        assert await quorum_read(chain, LOGS, together) == 7
    assert sorted(told.asked) == [0, 1]


async def test_who_contradicts_two_others_is_named_until_it_says_the_same(chain: EvmChain) -> None:
    await quorum_read(chain, LOGS, Answers(chain, 8, 7, 7))
    assert faults(chain) == {1: CONTRADICTS}
    gone = chain.node().unavailable("no answer")
    await quorum_read(chain, "a receipt", Answers(chain, 7, gone, 7))
    assert faults(chain) == {1: CONTRADICTS}, "agreement on something else"
    # One with a fault is asked last: here the others differ.
    await quorum_read(chain, "the logs of block 8", Answers(chain, 7, 8, 7))
    assert faults(chain) == {2: CONTRADICTS}
    await quorum_read_each(chain, LOGS, ["a"], Answers(chain, {"a": 7}, {"a": 7}, {"a": 8}))
    assert faults(chain) == {3: CONTRADICTS}


async def test_an_empty_answer_is_no_contradiction(chain: EvmChain) -> None:
    await quorum_read(chain, LOGS, Answers(chain, (), 7, 7))
    assert faults(chain) == {}


async def test_each_node_is_waited_for_until_two_have_answered_and_a_little_longer(
    chain: EvmChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quorum, "LATE_S", 0.02)
    with anyio.fail_after(10):
        assert await query_each_node(chain, Answers(chain, 7, None, 7)) == {0: 7, 2: 7}
    assert faults(chain) == {2: "does not answer in time"}
    # The second to answer is waited for, however long it takes.
    told = Answers(chain, 7, 7, None)

    async def slowly(view: EvmChain) -> Any:
        if view is chain.views[1]:
            await anyio.sleep(0.2)
        return await told(view)

    assert await query_each_node(chain, slowly) == {0: 7, 1: 7}
    assert faults(chain) == {3: "does not answer in time"}


async def test_where_none_answers_nobody_waits_and_no_address_is_told(
    chain: EvmChain, caplog: pytest.LogCaptureFixture
) -> None:
    strange = [NodeError(-32000, "see http://key@node", None), ZeroDivisionError(), KeyError("x")]
    for _ in range(2):
        with pytest.raises(Refused) as caught, anyio.fail_after(10):
            await query_each_node(chain, Answers(chain, *strange))
    assert caught.value.code == "chain_unavailable"
    assert sorted(faults(chain)) == [1, 2, 3]
    assert "http" not in str(faults(chain))
    logged = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert len(logged) == 2, "each kind once"
    await query_each_node(chain, Answers(chain, 7, 7, 7))
    assert faults(chain) == {}


def test_nodes_that_disagree_are_a_trouble_after_a_while_and_none_once_they_agree() -> None:
    nodes = EvmChain(ChainConfig(31337, "http://127.0.0.1:9")).node()
    at, while_ = datetime(2026, 11, 1, tzinfo=UTC), timedelta(minutes=5)
    for minutes, trouble in ((0, None), (3, None), (5, "two forks")):
        nodes.disagree("two forks", at + timedelta(minutes=minutes), while_)
        assert nodes.trouble == trouble
    nodes.agree()
    assert nodes.trouble is None
    nodes.disagree("two forks", at + timedelta(minutes=6), while_)
    assert nodes.trouble is None


async def test_a_step_is_of_the_block_that_most_have_and_its_refusals_are_its_own(
    world: World,
) -> None:
    ahead, others = Node(world), [Node(world, "stands still"), Node(world, "stands still")]
    async with read_by(world, [ahead, *others]) as chain:
        for node in others:
            node.turn()
        world.evm.chain.mine()
        agreed = world.evm.chain.head.number - 1
        at = await agreed_view(chain, world.clock.now())

        async def header(_: EvmChain, head: Header) -> Header:
            return head

        assert (await at.step(header)).block.number == agreed == at.number == chain.node().head
        assert faults(chain) == {}
        block = world.evm.chain.blocks[agreed]
        assert await at.stands(agreed, "0x" + block.hash.hex())
        assert not await at.stands(agreed, "0x" + "ab" * 32)

        async def refuses(_: EvmChain, __: Header) -> None:
            raise Refused(refusal("not_configured", what="it"))

        with pytest.raises(Refused, match="not_configured"):
            await at.step(refuses)
        assert faults(chain) == {}


async def test_a_block_counts_as_two_of_three_name_it(world: World) -> None:
    other, still = Node(world, "minority fork"), Node(world, "stands still")
    async with read_by(world, [Node(world), other, still]) as chain:
        for node in (other, still):
            node.turn()
        below = world.evm.chain.head.number
        assert other.own is not None
        twin_below = twin(other.own)
        other.own.mine(world.evm.chain.head.timestamp + 7)
        world.evm.chain.mine()
        at = await agreed_view(chain, world.clock.now())
        first, forked, _ = chain.views
        (block,) = await first.blocks(below + 1)
        await at.confirm(forked, below, None, top=below + 1)
        with pytest.raises(Refused) as caught:
            await at.confirm(first, below + 1, block)
        assert "do not agree on block" in caught.value.refusal.reason
        still.own = None
        await at.confirm(first, below + 1, block)
        assert list(faults(chain)) == [2]
        for view, number, expected in ((forked, below + 1, None), (forked, below, None)):
            with pytest.raises(Refused) as caught:
                await at.confirm(view, number, expected, top=below + 1)
            assert "lost a block that the others have" in caught.value.refusal.reason
        (was,) = await forked.blocks(below + 1)
        with pytest.raises(Refused) as caught:
            await at.confirm(first, below + 1, was)
        assert "lost a block that the others have" in caught.value.refusal.reason
        # It has no block there any more, which is no other one.
        chain.node().note(1, "another fork", None)
        other.own = twin_below
        await at.confirm(first, below + 1, block)
        assert faults(chain) == {}
