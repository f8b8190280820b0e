"""Quorum reads: the answer of more than half of the nodes; a single node is not believed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import anyio

from chain.rpc.deadlines import share_deadline
from chain.rpc.errors import NodeError
from chain.rpc.node_pool import NodePool
from domain.refusals import Refused

T = TypeVar("T")
V = TypeVar("V")
View = TypeVar("View", covariant=True)
logger = logging.getLogger("wallet.chain")
LATE_S: Final = 2
"""How long the others are waited for where enough have answered."""


class NodeAnswers(Protocol[View]):
    """A chain through each of its nodes alone."""

    @property
    def views(self) -> Sequence[View]:
        """One for each configured node, in the order of the settings."""
        ...

    def node(self) -> NodePool:
        """All of them as one."""
        ...


async def quorum_read(
    chain: NodeAnswers[V],
    of: str,
    ask: Callable[[V], Awaitable[T]],
    alike: Callable[[T], object] = lambda statement: statement,
) -> T:
    """What more than half of the configured nodes answer alike; one node by itself is believed.

    Shapes: `of` says of what, for whoever reads the refusal; `alike` is the part of an answer that
    has to be the same, and the answer of the first that says it is told.
    Errors: `chain_unavailable` where no answer is that of enough nodes.
    """

    def limit(statement: Mapping[int, T]) -> list[int]:
        return majority(len(chain.views), {n: alike(one) for n, one in statement.items()})

    statement = await until(chain, ask, lambda statement: bool(limit(statement)))
    same = limit(statement)
    if not same:
        raise chain.node().unavailable(f"its nodes do not say the same of {of}")
    dissent(chain.node(), of, same, statement)
    return statement[same[0]]


def majority(nodes: int, statement: Mapping[int, object]) -> list[int]:
    """Who of so many configured nodes say the same, if they are more than half of all."""
    for one in statement.values():
        same = [n for n, other in statement.items() if other == one]
        if len(same) > nodes // 2:
            return same
    return []


def dissent(nodes: NodePool, of: str, same: Sequence[int], statement: Mapping[int, object]) -> None:
    """Note who says something else than most, until it says the same of such a thing again; who has
    nothing to say may only be behind.
    """
    why = f"contradicts the others on {of.rstrip(' 0123456789')}"
    for n, own in statement.items():
        if n in same:
            nodes.clear(n, "contradicts", why)
        elif own not in (None, (), []):
            nodes.note(n, "contradicts", why)


async def until(
    chain: NodeAnswers[V],
    ask: Callable[[V], Awaitable[T]],
    enough: Callable[[Mapping[int, T]], bool],
) -> dict[int, T]:
    """Ask as many nodes as are more than half, at once, and then one after the other until it is
    enough: the answers by the nodes' places.

    Errors: `chain_unavailable` of the first where none answers.
    """
    views, statement, refused = chain.views, dict[int, T](), dict[int, Refused]()
    order, need = chain.node().every(), len(chain.views) // 2 + 1

    async def put(n: int) -> None:
        try:
            statement[n] = await ask(views[n])
        except Exception as error:
            refused[n] = as_refusal(chain.node(), error)

    turns = [order[:need], *([n] for n in order[need:])]
    for turn, some in enumerate(turns):
        with share_deadline(len(turns) - turn):
            async with anyio.create_task_group() as group:
                for n in some:
                    group.start_soon(put, n)
        if enough(statement):
            break
    if not statement:
        raise refused[order[0]]
    return {n: statement[n] for n in order if n in statement}


async def each_node(chain: NodeAnswers[V], question: Callable[[V], Awaitable[T]]) -> dict[int, T]:
    """Put a question to every node at once: the answers by the nodes' places. Where enough have
    answered, the others have two seconds; one that had not is soon left alone for a while.

    Errors: `chain_unavailable` where none answers.
    """
    nodes, views = chain.node(), chain.views
    if len(views) == 1:
        return await until(chain, question, bool)
    need, waiting = len(views) // 2 + 1, set(range(len(views)))
    raw, failed = dict[int, T](), dict[int, Refused]()
    enough, over = anyio.Event(), anyio.Event()

    async def ask(n: int) -> None:
        try:
            raw[n] = await question(views[n])
        except Exception as error:
            failed[n] = as_refusal(nodes, error)
        waiting.discard(n)
        if len(raw) >= need or not waiting:
            enough.set()
        if not waiting:
            over.set()

    async with anyio.create_task_group() as group:
        for n in range(len(views)):
            group.start_soon(ask, n)
        await enough.wait()
        with anyio.move_on_after(LATE_S):
            await over.wait()
        group.cancel_scope.cancel()
    for n in range(len(views)):
        why = why_of(failed[n]) if n in failed else None
        if n in waiting:
            nodes.each[n].was_late()
            why = "does not answer in time"
        nodes.note(n, "no answer", why)
    if not raw:
        raise failed[min(failed)]
    return raw


def as_refusal(nodes: NodePool, error: Exception) -> Refused:
    """What a node did wrong, as the one refusal: an answer of a form that nobody foresaw is that
    node's failure as well, and logged the first time.
    """
    if isinstance(error, Refused):
        return error
    if isinstance(error, NodeError):
        return nodes.unavailable(f"the node answers with an error: {error}")
    kind = type(error).__name__
    if kind not in nodes.unforeseen:
        nodes.unforeseen.add(kind)
        logger.error("an answer of a node cannot be read (%s)", kind, exc_info=error)
    return nodes.unavailable(f"the node's answer makes no sense ({kind})")


def why_of(refused: Refused) -> str:
    """Why a node is of no use, without what it said itself: an address with a key in it may stand
    there.
    """
    reason = refused.refusal.reason.partition("answer: ")[2] or refused.refusal.reason
    return reason.rstrip(".").partition(": ")[0]
