"""Quorum reads: an answer counts when more than half of the configured nodes give it."""

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
K = TypeVar("K")
V = TypeVar("V")
ViewT = TypeVar("ViewT", covariant=True)
logger = logging.getLogger("wallet.chain")
LATE_S: Final = 2
"""How long the others are waited for where enough have answered."""


class NodeAnswers(Protocol[ViewT]):
    """A chain that can be read through each of its nodes separately."""

    @property
    def views(self) -> Sequence[ViewT]:
        """One view for each configured node, in the order of the settings."""
        ...

    def node(self) -> NodePool:
        """The pool of all configured nodes."""
        ...


async def quorum_read(
    chain: NodeAnswers[V],
    subject: str,
    query: Callable[[V], Awaitable[T]],
    compared: Callable[[T], object] = lambda answers: answers,
) -> T:
    """Return the answer that more than half of the configured nodes give; with one node, its
    answer.

    Shapes: `subject` names the thing read, for the refusal; `compared` maps an answer to the part
    that has to be equal. The first of the equal answers is returned.
    Errors: `chain_unavailable` where no answer is given by enough nodes.
    """

    def agreeing(answers: Mapping[int, T]) -> list[int]:
        return majority(len(chain.views), {n: compared(answer) for n, answer in answers.items()})

    answers = await query_until(chain, query, lambda answers: bool(agreeing(answers)))
    majority_places = agreeing(answers)
    if not majority_places:
        raise chain.node().unavailable(f"its nodes do not say the same of {subject}")
    note_dissent(chain.node(), subject, majority_places, answers)
    return answers[majority_places[0]]


async def quorum_read_each(
    chain: NodeAnswers[V],
    subject: str,
    keys: Sequence[K],
    query: Callable[[V], Awaitable[Mapping[K, T]]],
    compared: Callable[[T], object] = lambda answer: answer,
) -> dict[K, list[T]]:
    """For each key the equal answers of more than half of the configured nodes; a key on which no
    such majority agrees is left out. What a node leaves out counts for no answer.

    Errors: `chain_unavailable` where no node answers.
    """

    def parts(key: K, answers: Mapping[int, Mapping[K, T]]) -> dict[int, object]:
        return {n: compared(own[key]) for n, own in answers.items() if key in own}

    def agreeing(key: K, answers: Mapping[int, Mapping[K, T]]) -> list[int]:
        return majority(len(chain.views), parts(key, answers))

    answers = await query_until(chain, query, lambda now: all(agreeing(k, now) for k in keys))
    agreed = {key: places for key in keys if (places := agreeing(key, answers))}
    for key, places in agreed.items():
        note_dissent(chain.node(), subject, places, parts(key, answers))
    return {key: [answers[n][key] for n in places] for key, places in agreed.items()}


def majority(node_count: int, answers: Mapping[int, object]) -> list[int]:
    """Places of the nodes whose answers are equal, if more than half of `node_count`; else none."""
    for answer in answers.values():
        places = [n for n, other in answers.items() if other == answer]
        if len(places) > node_count // 2:
            return places
    return []


def note_dissent(
    nodes: NodePool, subject: str, agreeing: Sequence[int], answers: Mapping[int, object]
) -> None:
    """Record a fault for each node whose answer differs from the majority's, and clear it for the
    others. An empty answer is no fault: that node may only be behind.
    """
    reason = f"contradicts the others on {subject.rstrip(' 0123456789')}"
    for n, answer in answers.items():
        if n in agreeing:
            nodes.clear(n, "contradicts", reason)
        elif answer not in (None, (), []):
            nodes.note(n, "contradicts", reason)


async def query_until(
    chain: NodeAnswers[V],
    query: Callable[[V], Awaitable[T]],
    enough: Callable[[Mapping[int, T]], bool],
) -> dict[int, T]:
    """Query a majority of the nodes at once, then the others one by one, until `enough` accepts the
    answers; return the answers by the nodes' places.

    Errors: `chain_unavailable` of the first node where none answers.
    """
    views, answers, refused = chain.views, dict[int, T](), dict[int, Refused]()
    order, majority_size = chain.node().every(), len(chain.views) // 2 + 1

    async def query_node(n: int) -> None:
        try:
            answers[n] = await query(views[n])
        except Exception as error:
            refused[n] = as_refusal(chain.node(), error)

    batches = [order[:majority_size], *([n] for n in order[majority_size:])]
    for tried_batches, batch in enumerate(batches):
        with share_deadline(len(batches) - tried_batches):
            async with anyio.create_task_group() as group:
                for n in batch:
                    group.start_soon(query_node, n)
        if enough(answers):
            break
    if not answers:
        raise refused[order[0]]
    return {n: answers[n] for n in order if n in answers}


async def query_each_node(
    chain: NodeAnswers[V], query: Callable[[V], Awaitable[T]]
) -> dict[int, T]:
    """Query every node at once and return the answers by the nodes' places. Once a majority has
    answered, the others have two more seconds; a node that misses them counts a failure in its
    circuit breaker.

    Errors: `chain_unavailable` where no node answers.
    """
    nodes, views = chain.node(), chain.views
    if len(views) == 1:
        return await query_until(chain, query, bool)
    majority_size, pending = len(views) // 2 + 1, set(range(len(views)))
    answers, failed = dict[int, T](), dict[int, Refused]()
    majority_answered, all_answered = anyio.Event(), anyio.Event()

    async def query_node(n: int) -> None:
        try:
            answers[n] = await query(views[n])
        except Exception as error:
            failed[n] = as_refusal(nodes, error)
        pending.discard(n)
        if len(answers) >= majority_size or not pending:
            majority_answered.set()
        if not pending:
            all_answered.set()

    async with anyio.create_task_group() as group:
        for n in range(len(views)):
            group.start_soon(query_node, n)
        await majority_answered.wait()
        with anyio.move_on_after(LATE_S):
            await all_answered.wait()
        group.cancel_scope.cancel()
    for n in range(len(views)):
        reason = node_problem_of(failed[n]) if n in failed else None
        if n in pending:
            nodes.clients[n].record_timeout()
            reason = "does not answer in time"
        nodes.note(n, "no answer", reason)
    if not answers:
        raise failed[min(failed)]
    return answers


def as_refusal(nodes: NodePool, error: Exception) -> Refused:
    """Map any error of a node to `chain_unavailable`. An exception of an unforeseen type counts as
    that node's failure as well, and is logged the first time.
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


def node_problem_of(refused: Refused) -> str:
    """The reason of a refusal without the node's own text, which may hold an address with a key."""
    parts = refused.refusal.reason.rstrip(".").split(": ")
    # The sentence of `chain_unavailable` names the chain first, and then what is wrong.
    return parts[1] if refused.code == "chain_unavailable" and len(parts) > 1 else parts[0]
