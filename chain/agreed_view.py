"""Agreed view: the blocks that more than half of the configured nodes name alike,
and the one node that answers all of a step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from chain.adapter import EvmChain
from chain.quorum import as_refusal, each_node, why_of
from chain.rpc.decoding import Header
from chain.rpc.node_pool import NodePool
from domain.chain_facts import BlockStamp
from domain.refusals import Refused
from domain.times import timestamp

T = TypeVar("T")
UNAVAILABLE: Final = "chain_unavailable"


@dataclass(frozen=True, slots=True)
class Ground:
    """The nodes that a step may go to, and the newest block that more than half of all have.

    Shapes: `heads` by the node's place, of those that have that block and do not stand still.
    """

    chain: EvmChain
    number: int
    heads: dict[int, Header]

    async def step(self, work: Callable[[EvmChain, Header], Awaitable[T]]) -> T:
        """Do a step by one node, which is asked everything; whatever it does wrong passes the whole
        step to the next. `work` gets the node's own header of the newest block that counts.

        Errors: `chain_unavailable` of the first node where none does the step.
        """
        nodes, views = self.chain.node(), self.chain.views
        refused: list[Refused] = []
        for n in [n for n in nodes.order() if n in self.heads]:
            try:
                result = await work(views[n], await self._head(views[n], self.heads[n]))
            except Exception as error:
                own = as_refusal(nodes, error)
                if own.code != UNAVAILABLE:
                    raise
                refused.append(own)
                nodes.note(n, "failed a step", f"failed a step: {why_of(own)}")
                continue
            nodes.worked(n, has_answer=bool(result))
            return result
        raise refused[0] if refused else nodes.unavailable("no node of it can be read")

    async def _head(self, view: EvmChain, head: Header) -> Header:
        """The newest block that counts: what few nodes have may never be the chain's."""
        if head.block.number == self.number:
            return head
        here = await view.header(self.number)
        if here is None:
            raise view.node().unavailable("the node lost a block below its newest")
        return here

    async def stands(self, number: int, block_hash: str | None) -> bool:
        """Whether more than half of the nodes have this block. Errors: `chain_unavailable`."""
        here = await self.chain.block(number)
        return here is not None and here.hash == block_hash

    async def confirm(
        self, view: EvmChain, number: int, known: BlockStamp | None, top: int | None = None
    ) -> None:
        """Let a node's step stand only where more than half of the configured nodes name the block
        as it does; `known` is how the step has it. Of the block at the `top` of the step they need
        not say anything alike yet: only where they do, and the node does not, it is another fork's.

        Errors: `chain_unavailable`. Where one node is configured its word counts.
        """
        if len(self.chain.views) == 1:
            return
        numbers = (number,) if top in (None, number) else (number, top)
        raw = await each_node(self.chain, lambda v: v.blocks(*numbers))
        own = raw.get(self.chain.views.index(view), (None,) * len(numbers))
        for n, block in enumerate(numbers):
            statement = self._most_say(block, {of: blocks[n] for of, blocks in raw.items()})
            if statement is None and block == number:
                raise self.chain.node().unavailable(f"its nodes do not agree on block {block}")
            if statement is not None and (
                own[n] != statement or (n == 0 and known not in (None, statement))
            ):
                raise view.node().unavailable("the node lost a block that the others have")

    def _most_say(self, number: int, stamps: Mapping[int, BlockStamp | None]) -> BlockStamp | None:
        """The block as more than half of the configured nodes name it; those that name another are
        noted.
        """
        statement, times = Counter(stamps.values()).most_common(1)[0] if stamps else (None, 0)
        if statement is None or times <= len(self.chain.views) // 2:
            return None
        for n, block in stamps.items():
            if block is not None:
                why = None if block == statement else f"is on another fork at block {number}"
                self.chain.node().note(n, "another fork", why)
        return statement


async def ground(chain: EvmChain, now: datetime) -> Ground:
    """Ask every node for its newest block, once.

    Errors: `chain_unavailable` where no block is that of enough nodes: too few answer, or they
    stand still. A chain without confirmations is one for development, which may stand.
    """
    nodes, views = chain.node(), chain.views
    need = len(views) // 2 + 1
    for view in views:
        view.forget_ahead(now=now)
    heads = await each_node(chain, lambda view: view.newest())
    oldest = now - timedelta(seconds=chain.facts.head_age_s)
    moving: dict[int, Header] = {}
    for n, head in heads.items():
        still = bool(chain.confirmations) and head.block.at < oldest
        nodes.note(n, "stands still", _stands(head.block) if still else None)
        if not still:
            moving[n] = head
    moving = _agreeing_heads(nodes, moving, need)
    if len(moving) < need:
        _too_few(nodes, len(heads) - len(moving), need, now)
    number = sorted((h.block.number for h in moving.values()), reverse=True)[need - 1]
    for view in views:
        view.forget_ahead(agreed=number)
    for n, head in heads.items():
        lag = number - head.block.number
        why = f"stands at block {head.block.number}, {lag} behind"
        nodes.note(n, "behind", why if lag > chain.confirmations else None)
    nodes.head = number
    return Ground(chain, number, {n: h for n, h in moving.items() if h.block.number >= number})


def _agreeing_heads(nodes: NodePool, heads: dict[int, Header], need: int) -> dict[int, Header]:
    """Where most nodes tell headers that can be held against their hashes, the others do not hide
    behind a field that is missing.
    """
    proved = {n: h for n, h in heads.items() if h.proved}
    if len(proved) < need:
        return heads
    for n in heads.keys() - proved.keys():
        nodes.note(n, "failed a step", "tells headers that do not hash to their names")
    return proved


def _too_few(nodes: NodePool, unfit: int, need: int, now: datetime) -> None:
    """Errors: `chain_unavailable`, always."""
    if unfit and len(nodes.each) - unfit < need:
        why = "its newest block is too old: it stands still, or is not told"
        # Nobody has to wait to know that: the age of the block says it.
        nodes.disagree(why, now, timedelta(0))
        raise nodes.unavailable(why)
    raise nodes.unavailable(f"{need} of its {len(nodes.each)} nodes have to answer")


def _stands(block: BlockStamp) -> str:
    return f"stands still at block {block.number} of {timestamp(block.at)}"
