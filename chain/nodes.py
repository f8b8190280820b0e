"""The nodes of one chain as one: the first that works answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from chain.patience import a_part
from chain.rpc import Rpc
from chain.transport import Question
from domain.refusals import Refused

T = TypeVar("T")


class Nodes:
    """Asks the nodes in the order of the settings; one that is unavailable is passed over.

    A read names its block by hash, so that it may go on at another node: one that has not that
    block refuses, and never answers of another.
    Errors: `chain_unavailable` of the first node where none answers; RpcFault is an answer.
    """

    def __init__(self, each: Sequence[Rpc]):
        self.each = tuple(each)

    async def ask(self, method: str, *params: Any) -> Any:
        """Call a method and return its result. Errors: RpcFault."""
        return await self._first(lambda rpc: rpc.ask(method, *params))

    async def ask_all(self, questions: Sequence[Question]) -> list[Any]:
        """The results of many questions, all of one node. Errors: RpcFault."""
        return await self._first(lambda rpc: rpc.ask_all(questions))

    async def fact(self, method: str, *params: Any) -> Any:
        """Call a method for which no error of the node's is an answer."""
        return await self._first(lambda rpc: rpc.fact(method, *params))

    async def facts(self, questions: Sequence[Question]) -> list[Any]:
        """The same for many questions."""
        return await self._first(lambda rpc: rpc.facts(questions))

    async def quantity(self, method: str, *params: Any) -> int:
        """Call a method whose result is a number."""
        return await self._first(lambda rpc: rpc.quantity(method, *params))

    def number(self, told: Any) -> int:
        """Read a JSON-RPC quantity."""
        return self.each[0].number(told)

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

    def unavailable(self, why: str) -> Refused:
        """The refusal for an answer that cannot be used."""
        return self.each[0].unavailable(why)

    async def close(self) -> None:
        """Close the connections."""
        for rpc in self.each:
            await rpc.close()

    async def _first(self, question: Callable[[Rpc], Awaitable[T]]) -> T:
        refused: list[Refused] = []
        for n, rpc in enumerate(self.each):
            try:
                with a_part(len(self.each) - n):
                    return await question(rpc)
            except Refused as error:
                refused.append(error)
        raise refused[0]
