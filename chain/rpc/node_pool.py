"""Node pool: the nodes of one chain as one client, with their faults and order of calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, TypeVar, get_args

from chain.rpc.client import RpcClient
from chain.rpc.deadlines import share_deadline
from chain.rpc.errors import Json
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import BlockStamp
from domain.refusals import Refused

T = TypeVar("T")

NodeFault = Literal[
    "no answer", "stands still", "behind", "another fork", "contradicts", "failed a step"
]
FAULTS: Final[tuple[NodeFault, ...]] = get_args(NodeFault)
# What such a node says of a block is old or wrong; the others may still answer a question.
EXCLUDED: Final[frozenset[NodeFault]] = frozenset({"stands still", "behind", "another fork"})
STEPS_PER_ROTATION: Final = 20


class NodePool:
    """Calls the nodes in order, beginning with the one that worked last; an unavailable node is
    passed over, and an excluded one is not called.

    A read names its block by hash, so that it may continue at another node: a node without that
    block refuses, and never answers for another block.
    Shapes: `faults` by the node's place, each with its reason; `complete` is the block up to which
    this process's reader has the ledger complete, `head` the newest agreed block of its last step;
    `unforeseen` names the exception types that answers have raised.
    Errors: `chain_unavailable` of the first node where none answers; a NodeError counts as an
    answer.
    """

    def __init__(self, clients: Sequence[RpcClient]):
        self.clients = tuple(clients)
        self.faults: list[dict[NodeFault, str]] = [{} for _ in self.clients]
        self.complete: BlockStamp | None = None
        self.trouble: str | None = None
        self.head = 0
        self.unforeseen = set[str]()
        self._first = self._steps = 0
        self._disagreeing_since: datetime | None = None

    async def ask(self, method: str, *params: object) -> Json:
        """Call a method and return its result. Errors: NodeError."""
        return await self._first_answer(lambda rpc: rpc.ask(method, *params))

    async def ask_all(self, questions: Sequence[RpcCall]) -> list[Json]:
        """Results of many calls, all from one node. Errors: NodeError."""
        return await self._first_answer(lambda rpc: rpc.ask_all(questions))

    async def fact(self, method: str, *params: object) -> Json:
        """Call a method; an error of the node is `chain_unavailable` too."""
        return await self._first_answer(lambda rpc: rpc.fact(method, *params))

    async def facts(self, questions: Sequence[RpcCall]) -> list[Json]:
        """Call many methods; an error of the node is `chain_unavailable` too."""
        return await self._first_answer(lambda rpc: rpc.facts(questions))

    async def quantity(self, method: str, *params: object) -> int:
        """Call a method whose result is a number."""
        return await self._first_answer(lambda rpc: rpc.quantity(method, *params))

    def number(self, raw: object) -> int:
        """Parse a JSON-RPC quantity."""
        return self.clients[0].number(raw)

    async def prove(self) -> None:
        """Check which chain each reachable node serves. Errors: `chain_unavailable` where none
        serves ours.
        """
        refused: list[Refused] = []
        for rpc in self.clients:
            try:
                await rpc.prove()
            except Refused as error:
                refused.append(error)
        if len(refused) == len(self.clients):
            raise refused[0]

    def unavailable(self, reason: str) -> Refused:
        """Build the refusal for an unusable answer."""
        return self.clients[0].unavailable(reason)

    async def close(self) -> None:
        """Close the connections."""
        for rpc in self.clients:
            await rpc.close()

    # -- which of them

    def order(self) -> list[int]:
        """Places of the nodes in the order of calls: the one that worked last first, nodes with
        faults last, without excluded nodes unless all are. One step in twenty begins at the next
        place, whatever its faults, so that each node gets a chance to recover.
        """
        usable = [n for n, faults in enumerate(self.faults) if not EXCLUDED & faults.keys()]
        usable = usable or list(range(len(self.clients)))
        turn, of = divmod(self._steps, STEPS_PER_ROTATION)
        if of == STEPS_PER_ROTATION - 1:
            return sorted(usable, key=lambda n: (n - turn) % len(self.clients))
        return sorted(
            usable, key=lambda n: (bool(self.faults[n]), (n - self._first) % len(self.clients))
        )

    def every(self) -> list[int]:
        """All places in that order, excluded nodes last."""
        ordered = self.order()
        return [*ordered, *(n for n in range(len(self.clients)) if n not in ordered)]

    def worked(self, n: int, *, has_answer: bool) -> None:
        """Record that a node completed a step; one without an answer clears no fault."""
        self._first = n
        if has_answer:
            self.faults[n].pop("failed a step", None)
            self._steps += 1

    def note(self, n: int, fault: NodeFault, reason: str | None) -> None:
        """Record a node's fault, in our own words; None clears it."""
        if reason is None:
            self.faults[n].pop(fault, None)
        else:
            self.faults[n][fault] = reason

    def clear(self, n: int, fault: NodeFault, reason: str) -> None:
        """Clear a fault where it was recorded with this reason."""
        if self.faults[n].get(fault) == reason:
            del self.faults[n][fault]

    def fault_names(self) -> Iterator[tuple[int, str]]:
        """(place from 1, reason) of each node with a fault."""
        for n, faults in enumerate(self.faults, start=1):
            fault_name = next((faults[fault] for fault in FAULTS if fault in faults), None)
            if fault_name is not None:
                yield n, fault_name

    # -- whether they agree

    def agree(self) -> None:
        """Record that the nodes agreed."""
        self._disagreeing_since = self.trouble = None

    def disagree(self, reason: str, now: datetime, after: timedelta) -> None:
        """Record that they did not; for longer than `after` it becomes the chain's `trouble`."""
        self._disagreeing_since = self._disagreeing_since or now
        if now - self._disagreeing_since >= after:
            self.trouble = reason

    async def _first_answer(self, question: Callable[[RpcClient], Awaitable[T]]) -> T:
        refused: list[Refused] = []
        order = self.order()
        for n, place in enumerate(order):
            try:
                with share_deadline(len(order) - n):
                    return await question(self.clients[place])
            except Refused as error:
                refused.append(error)
        raise refused[0]
