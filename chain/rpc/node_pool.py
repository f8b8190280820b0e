"""Node pool: the nodes of one chain as one, the faults of each, and the choice between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeVar, get_args

from chain.rpc.client import RpcClient
from chain.rpc.deadlines import share_deadline
from chain.rpc.http_transport import Question
from domain.chain_facts import BlockStamp
from domain.refusals import Refused

T = TypeVar("T")

Fault = Literal[
    "no answer", "stands still", "behind", "another fork", "contradicts", "failed a step"
]
FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)
# What such a node says of a block is old or wrong; the others may still answer a question.
LEFT_OUT: Final[frozenset[Fault]] = frozenset({"stands still", "behind", "another fork"})
ANOTHER_FIRST: Final = 20


class NodePool:
    """Asks the nodes in their order, the one that worked last first; one that is unavailable is
    passed over, and one that is left out is not asked.

    A read names its block by hash, so that it may go on at another node: one that has not that
    block refuses, and never answers of another.
    Shapes: `faults` by the node's place, each with what it did; `complete` is the block up to
    which this process's reader has the ledger complete, `head` the newest block that enough nodes
    had in its last step; `unforeseen` names the errors that reading an answer ended with.
    Errors: `chain_unavailable` of the first node where none answers; RpcFault is an answer.
    """

    def __init__(self, each: Sequence[RpcClient]):
        self.each = tuple(each)
        self.faults: list[dict[Fault, str]] = [{} for _ in self.each]
        self.complete: BlockStamp | None = None
        self.trouble: str | None = None
        self.head = 0
        self.unforeseen = set[str]()
        self._first = self._steps = 0
        self._since: datetime | None = None

    async def ask(self, method: str, *params: Any) -> Any:
        """Call a method and return its result. Errors: RpcFault."""
        return await self._first_answer(lambda rpc: rpc.ask(method, *params))

    async def ask_all(self, questions: Sequence[Question]) -> list[Any]:
        """The results of many questions, all of one node. Errors: RpcFault."""
        return await self._first_answer(lambda rpc: rpc.ask_all(questions))

    async def fact(self, method: str, *params: Any) -> Any:
        """Call a method for which no error of the node's is an answer."""
        return await self._first_answer(lambda rpc: rpc.fact(method, *params))

    async def facts(self, questions: Sequence[Question]) -> list[Any]:
        """The same for many questions."""
        return await self._first_answer(lambda rpc: rpc.facts(questions))

    async def quantity(self, method: str, *params: Any) -> int:
        """Call a method whose result is a number."""
        return await self._first_answer(lambda rpc: rpc.quantity(method, *params))

    def number(self, raw: Any) -> int:
        """Read a JSON-RPC quantity."""
        return self.each[0].number(raw)

    async def prove(self) -> None:
        """Ask every node that answers which chain it serves.

        Errors: `chain_unavailable` where none serves ours.
        """
        refused: list[Refused] = []
        for rpc in self.each:
            try:
                await rpc.prove()
            except Refused as error:
                refused.append(error)
        if len(refused) == len(self.each):
            raise refused[0]

    def unavailable(self, reason: str) -> Refused:
        """The refusal for an answer that cannot be used."""
        return self.each[0].unavailable(reason)

    async def close(self) -> None:
        """Close the connections."""
        for rpc in self.each:
            await rpc.close()

    # -- which of them

    def order(self) -> list[int]:
        """The places of the nodes in the order in which they are asked: from the one that worked
        last on, those that failed a step or do not answer last; without those that are left out,
        unless all are. One step in twenty begins at the next place, whatever is wrong with the node
        there, so that each has its chance.
        """
        fit = [n for n, own in enumerate(self.faults) if not LEFT_OUT & own.keys()]
        fit = fit or list(range(len(self.each)))
        turn, of = divmod(self._steps, ANOTHER_FIRST)
        if of == ANOTHER_FIRST - 1:
            return sorted(fit, key=lambda n: (n - turn) % len(self.each))
        return sorted(fit, key=lambda n: (bool(self.faults[n]), (n - self._first) % len(self.each)))

    def every(self) -> list[int]:
        """All places in that order, those that are left out last."""
        fit = self.order()
        return [*fit, *(n for n in range(len(self.each)) if n not in fit)]

    def worked(self, n: int, *, has_answer: bool) -> None:
        """A node answered a whole step: it is the first of the next one. Where nothing was found it
        was asked too little to be right again.
        """
        self._first = n
        if has_answer:
            self.faults[n].pop("failed a step", None)
            self._steps += 1

    def note(self, n: int, fault: Fault, reason: str | None) -> None:
        """What is wrong with a node, in no words of its own; None where it is right again."""
        if reason is None:
            self.faults[n].pop(fault, None)
        else:
            self.faults[n][fault] = reason

    def clear(self, n: int, fault: Fault, reason: str) -> None:
        """A node is right again in what was noted in these words."""
        if self.faults[n].get(fault) == reason:
            del self.faults[n][fault]

    def fault_names(self) -> Iterator[tuple[int, str]]:
        """What is wrong with each node, by its place from 1 on."""
        for n, own in enumerate(self.faults, start=1):
            fault_name = next((own[fault] for fault in FAULTS if fault in own), None)
            if fault_name is not None:
                yield n, fault_name

    # -- whether they agree

    def agree(self) -> None:
        """What was read stands on what most of them say."""
        self._since = self.trouble = None

    def disagree(self, reason: str, now: datetime, after: timedelta) -> None:
        """Nothing could be read; for longer than `after` that is trouble."""
        self._since = self._since or now
        if now - self._since >= after:
            self.trouble = reason

    async def _first_answer(self, question: Callable[[RpcClient], Awaitable[T]]) -> T:
        refused: list[Refused] = []
        order = self.order()
        for n, place in enumerate(order):
            try:
                with share_deadline(len(order) - n):
                    return await question(self.each[place])
            except Refused as error:
                refused.append(error)
        raise refused[0]
