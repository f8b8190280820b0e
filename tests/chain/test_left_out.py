"""Which of three nodes are asked: one that was found wrong is left out, and comes back by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from chain.adapter import EvmChain
from chain.agreed_view import AgreedView, agreed_view
from chain.rpc.decoding import Header
from chain.rpc.node_pool import STEPS_PER_ROTATION
from domain.refusals import Refused
from tests.server.bad_nodes import Node, Scenario
from tests.world import World, own_evm

evm = own_evm

pytestmark = pytest.mark.anyio
NEWEST = "latest"


@asynccontextmanager
async def read_by(world: World, nodes: Sequence[Node]) -> AsyncIterator[EvmChain]:
    """The chain of the world, read by these nodes."""
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(node.served()) for node in nodes]
        facts = world.evm.facts(rpc_url=urls[0], rpc_urls=tuple(urls[1:]), confirmations=1)
        chain = EvmChain(facts)
        stack.push_async_callback(chain.node().close)
        yield chain


async def itself(view: EvmChain, _: Header) -> EvmChain:
    """A step whose answer is the node that did it."""
    return view


async def judged(world: World, chain: EvmChain, *nodes: Node, seconds: int = 30) -> AgreedView:
    """Some time, a block, and a step by which the nodes are judged."""
    world.clock.forward(seconds=seconds)
    world.evm.chain.mine()
    for node in nodes:
        node.goes_on()
    at = await agreed_view(chain, world.clock.now())
    await at.confirm(await at.step(itself), at.number, None)
    return at


@pytest.mark.parametrize("scenario", ["stands still", "falls behind", "minority fork"])
async def test_a_node_that_was_found_wrong_is_asked_nothing_until_it_is_right(
    world: World, scenario: Scenario
) -> None:
    """Not even where the two others are silent: it would tell an old block, or one of its own."""
    bad, silent = Node(world, scenario), Node(world, "malformed JSON")
    also_silent = Node(world, "malformed JSON")
    async with read_by(world, [bad, silent, also_silent]) as chain:
        bad.turn()
        if bad.own is not None and scenario == "minority fork":
            bad.own.mine(world.evm.chain.head.timestamp + 1)
        # Of one that stands still a single block is missing: it is not behind as well.
        rounds, seconds = (1, 130) if scenario == "stands still" else (5, 30)
        for _ in range(rounds):
            with suppress(Refused):  # the step of one on another fork
                await judged(world, chain, bad, seconds=seconds)
        assert chain.node().every() == [1, 2, 0], "it is still asked where it stands"
        for node in (silent, also_silent):
            node.turn()
        with pytest.raises(Refused, match="chain_unavailable"):
            await chain.block(NEWEST)
        for node in (bad, silent, also_silent):
            node.own, node.since = None, 0
        await judged(world, chain)
        assert not list(chain.node().fault_names())
        for node in (silent, also_silent):
            node.turn()
        found = await chain.block(NEWEST)
        assert found is not None
        assert found.number == world.evm.chain.head.number


async def test_where_all_nodes_stand_still_they_are_asked_all_the_same(world: World) -> None:
    async with read_by(world, [Node(world), Node(world), Node(world)]) as chain:
        await judged(world, chain)
        world.clock.forward(seconds=121)
        with pytest.raises(Refused) as caught:
            await agreed_view(chain, world.clock.now())
        assert "its newest block is too old" in caught.value.refusal.reason
        assert (
            chain.node().trouble == "its newest block is too old: it stands still, or is not told"
        )
        assert [n for n, _ in chain.node().fault_names()] == [1, 2, 3]
        assert (await chain.latest()).number == world.evm.chain.head.number
        await judged(world, chain)
        assert not list(chain.node().fault_names())


async def test_each_node_does_a_step_now_and_then_and_clears_its_fault_by_it(world: World) -> None:
    async with read_by(world, [Node(world), Node(world), Node(world)]) as chain:
        at, nodes = await judged(world, chain), chain.node()
        did = [chain.views.index(await at.step(itself)) for _ in range(STEPS_PER_ROTATION - 2)]
        assert did == [0] * (STEPS_PER_ROTATION - 2)

        async def passes_over_the_first(view: EvmChain, _: Header) -> EvmChain | None:
            if view is chain.views[0]:
                raise view.node().unavailable("no logs")
            return None

        # A step without an answer is no step of the turn, and clears nothing.
        for _ in range(2):
            await at.step(passes_over_the_first)
        assert [n for n, _ in nodes.fault_names()] == [1]
        assert nodes.order() == [0, 1, 2], "its turn, whatever its faults"
        assert await at.step(itself) is chain.views[0]
        assert not list(nodes.fault_names())
        await at.step(passes_over_the_first)
        did = [chain.views.index(await at.step(itself)) for _ in range(2 * STEPS_PER_ROTATION)]
        assert did == [1] * (2 * STEPS_PER_ROTATION - 1) + [2]
        nodes.note(2, "failed a step", "failed a step")
        assert nodes.order() == [1, 2, 0], "one without a fault, then from the one that worked last"
