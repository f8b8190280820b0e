"""Agreed view: blocks that a majority of nodes names alike, and the node that serves one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from chain.adapter import EvmChain
from chain.quorum import as_refusal, node_problem_of, query_each_node
from chain.rpc.decoding import Header
from chain.rpc.node_pool import NodePool
from domain.chain_facts import BlockStamp
from domain.refusals import Refused
from domain.times import timestamp

T = TypeVar("T")
UNAVAILABLE: Final = "chain_unavailable"


@dataclass(frozen=True, slots=True)
class AgreedView:
    """The newest block that more than half of all nodes have, and the nodes that may serve a step.

    Shapes: `heads` by the node's place, of the nodes that have that block and do not stand still.
    """

    chain: EvmChain
    number: int
    heads: dict[int, Header]

    async def step(self, work: Callable[[EvmChain, Header], Awaitable[T]]) -> T:
        """Run one step through one node, which answers all of its reads; a failure passes the whole
        step to the next node. `work` gets the node's own header of the newest agreed block.

        Errors: `chain_unavailable` of the first node where no node completes the step.
        """
        nodes, views = self.chain.node(), self.chain.views
        refused: list[Refused] = []
        for n in [n for n in nodes.order() if n in self.heads]:
            try:
                result = await work(views[n], await self._head(views[n], self.heads[n]))
            except Exception as error:
                refusal = as_refusal(nodes, error)
                if refusal.code != UNAVAILABLE:
                    raise
                refused.append(refusal)
                nodes.note(n, "failed a step", f"failed a step: {node_problem_of(refusal)}")
                continue
            nodes.worked(n, has_answer=bool(result))
            return result
        raise refused[0] if refused else nodes.unavailable("no node of it can be read")

    async def _head(self, view: EvmChain, head: Header) -> Header:
        """Return the node's header of the newest agreed block; blocks above it may yet go."""
        if head.block.number == self.number:
            return head
        header = await view.header(self.number)
        if header is None:
            raise view.node().unavailable("the node lost a block below its newest")
        return header

    async def stands(self, number: int, block_hash: str | None) -> bool:
        """True where more than half of the nodes have this block. Errors: `chain_unavailable`."""
        block = await self.chain.block(number)
        return block is not None and block.hash == block_hash

    async def confirm(
        self, view: EvmChain, number: int, expected: BlockStamp | None, top: int | None = None
    ) -> None:
        """Accept a node's step only where more than half of the configured nodes name the block as
        this node does; `expected` is the block as the step read it. The block at the `top` of the
        step needs no majority yet: a node is refused only where a majority exists and names another
        block.

        Errors: `chain_unavailable`. With one configured node, its answer counts.
        """
        if len(self.chain.views) == 1:
            return
        numbers = (number,) if top in (None, number) else (number, top)
        answers = await query_each_node(self.chain, lambda other_view: other_view.blocks(*numbers))
        view_blocks = answers.get(self.chain.views.index(view), (None,) * len(numbers))
        for n, block in enumerate(numbers):
            agreed = self._most_say(block, {place: blocks[n] for place, blocks in answers.items()})
            if agreed is None and block == number:
                raise self.chain.node().unavailable(f"its nodes do not agree on block {block}")
            if agreed is not None and (
                view_blocks[n] != agreed or (n == 0 and expected not in (None, agreed))
            ):
                raise view.node().unavailable("the node lost a block that the others have")

    def _most_say(self, number: int, stamps: Mapping[int, BlockStamp | None]) -> BlockStamp | None:
        """The block as a majority names it, or None; a node that names another gets a fault."""
        agreed, count = Counter(stamps.values()).most_common(1)[0] if stamps else (None, 0)
        if agreed is None or count <= len(self.chain.views) // 2:
            return None
        for n, block in stamps.items():
            if block is not None:
                fault = None if block == agreed else f"is on another fork at block {number}"
                self.chain.node().note(n, "another fork", fault)
        return agreed


async def agreed_view(chain: EvmChain, now: datetime) -> AgreedView:
    """Ask every node for its newest block once, and build the agreed view.

    Errors: `chain_unavailable`.
    """
    nodes, views = chain.node(), chain.views
    majority_size = len(views) // 2 + 1
    for view in views:
        view.forget_ahead(now=now)
    heads = await query_each_node(chain, lambda view: view.newest())
    oldest = now - timedelta(seconds=chain.facts.head_age_s)
    moving: dict[int, Header] = {}
    for n, head in heads.items():
        stands_still = bool(chain.confirmations) and head.block.at < oldest
        nodes.note(n, "stands still", _stands(head.block) if stands_still else None)
        if not stands_still:
            moving[n] = head
    moving = _agreeing_heads(nodes, moving, majority_size)
    if len(moving) < majority_size:
        _too_few(nodes, len(heads) - len(moving), majority_size, now)
    number = sorted((h.block.number for h in moving.values()), reverse=True)[majority_size - 1]
    for view in views:
        view.forget_ahead(agreed=number)
    for n, head in heads.items():
        lag = number - head.block.number
        fault = f"stands at block {head.block.number}, {lag} behind"
        nodes.note(n, "behind", fault if lag > chain.confirmations else None)
    nodes.head = number
    return AgreedView(chain, number, {n: h for n, h in moving.items() if h.block.number >= number})


def _agreeing_heads(
    nodes: NodePool, heads: dict[int, Header], majority_size: int
) -> dict[int, Header]:
    """Keep only nodes whose headers hash to their block names, where a majority sends such headers:
    a node could otherwise avoid the check by omitting a field.
    """
    proved = {n: h for n, h in heads.items() if h.proved}
    if len(proved) < majority_size:
        return heads
    for n in heads.keys() - proved.keys():
        nodes.note(n, "failed a step", "tells headers that do not hash to their names")
    return proved


def _too_few(nodes: NodePool, unfit: int, majority_size: int, now: datetime) -> None:
    """Refuse the step, always. Errors: `chain_unavailable`."""
    if unfit and len(nodes.clients) - unfit < majority_size:
        reason = "its newest block is too old: it stands still, or is not told"
        # Nobody has to wait to know that: the age of the block says it.
        nodes.disagree(reason, now, timedelta(0))
        raise nodes.unavailable(reason)
    raise nodes.unavailable(f"{majority_size} of its {len(nodes.clients)} nodes have to answer")


def _stands(block: BlockStamp) -> str:
    return f"stands still at block {block.number} of {timestamp(block.at)}"
