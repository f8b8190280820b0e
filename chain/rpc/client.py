"""JSON-RPC to one node: timeouts, bounded retries, the chain it serves, and one refusal for
everything a node can do wrong.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from math import ceil
from typing import Any, Final

import anyio
import stamina

from chain.rpc.circuit_breaker import CircuitBreaker
from chain.rpc.deadlines import Deadline, scope, without_deadline
from chain.rpc.errors import BlockNotYetSeen, NodeError, NodeUnusable, TransientNodeError
from chain.rpc.http_transport import HttpTransport, Question
from domain.refusals import Refused, refusal

ATTEMPTS: Final = 4
PATIENCE_S: Final = (
    2  # a node that asks for a longer pause is not waited for; the caller is told how long it is
)
ASKED_EVERY_S: Final = 180
BATCH: Final = 50
HURRIED_PAUSE_S: Final = 5.0
LATE_AT_MOST: Final = 8
AT_ONCE: Final = 8
_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")


def _backoff(fault: Exception) -> bool | float:
    """Whether and when to try again: stamina's own growing pauses where the node names none."""
    if not isinstance(fault, TransientNodeError):
        return False
    if fault.after_s is None:
        return True
    return float(fault.after_s) if fault.after_s <= PATIENCE_S else False


class RpcClient:
    """One node of a chain.

    The chain it serves is asked before the first answer is believed, again with every new
    connection, after every outage and every few minutes. A node that failed again and again is
    left alone for a while, so that nobody waits for it.
    Errors: `chain_unavailable` for a node that times out, is busy, answers nonsense or serves
    another chain: never a guessed figure (chain.md).
    """

    def __init__(
        self,
        url: str,
        chain_id: int,
        timeout_s: int = 10,
        *,
        names_chain: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.chain_id, self._timeout_s, self._clock = chain_id, timeout_s, clock
        self._transport, self._breaker = HttpTransport(url, timeout_s), CircuitBreaker(clock)
        # Of those who cannot wait: a node that is slow for them may still serve the others.
        self._hurried = CircuitBreaker(clock, HURRIED_PAUSE_S)
        self._late: set[asyncio.Task[Any]] = set()
        self.given_up = 0
        self.serves: int | None = None
        # A service that is no node has no chain id to give.
        self._names_chain = names_chain
        self._proved_at: float | None = None
        self._proved_for = 0
        self._proving, self._unproved = anyio.Lock(), 0
        self._batch, self._why = BATCH, ""

    async def ask(self, method: str, *params: Any) -> Any:
        """Call a method and return its result.

        Errors: RpcFault for what the node itself answers with an error, a revert for example.
        """
        question = (method, list(params))
        return await self._believed(lambda: self._transport.one(question))

    async def ask_all(self, questions: Sequence[Question]) -> list[Any]:
        """The results of many questions, in their order, with as few requests as the node allows.

        Errors: RpcFault where the node answers one of them with an error.
        """
        results: list[Any] = []
        while len(results) < len(questions):
            results += await self._ask_batch(questions[len(results) : len(results) + self._batch])
        return results

    async def fact(self, method: str, *params: Any) -> Any:
        """Call a method for which no error of the node's is an answer."""
        try:
            return await self.ask(method, *params)
        except NodeError as fault:
            raise self.unavailable(f"{method} refused: {fault}") from None

    async def facts(self, questions: Sequence[Question]) -> list[Any]:
        """The same for many questions."""
        try:
            return await self.ask_all(questions)
        except NodeError as fault:
            raise self.unavailable(f"{questions[0][0]} refused: {fault}") from None

    async def quantity(self, method: str, *params: Any) -> int:
        """Call a method whose result is a number, and for which no error is an answer."""
        return self.number(await self.fact(method, *params))

    def number(self, raw: Any) -> int:
        """Read a JSON-RPC quantity."""
        if not isinstance(raw, str) or not _QUANTITY.fullmatch(raw):
            raise self.unavailable("the node gives no number where one is due")
        return int(raw, 16)

    async def prove(self) -> None:
        """Ask which chain the node serves, whatever it said before.

        Errors: `chain_unavailable` where it is another one; nothing is read of it until it is ours.
        """
        self._admitted()
        self._proved_at = None
        await self._prove()

    @property
    def is_open(self) -> bool:
        """True while the node is left alone, by everybody or by those who cannot wait."""
        return self._breaker.is_open or self._hurried.is_open

    def was_late(self) -> None:
        """Nobody waited for its answer; that counts as a failure."""
        self._breaker.failed()
        self._why = "no answer in time"

    async def close(self) -> None:
        """Close the connections, and let go of what nobody waits for."""
        for task in tuple(self._late):
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._transport.close()

    def unavailable(self, reason: str, after_s: int = 1) -> Refused:
        """The refusal for an answer that cannot be used; whoever answers next says again which
        chain it serves.
        """
        self._proved_at = None
        return self._refused(reason, after_s)

    def _refused(self, reason: str, after_s: int = 1) -> Refused:
        return Refused(
            refusal(
                "chain_unavailable",
                chain_id=self.chain_id,
                why=reason,
                detail={"retry_after_s": max(1, after_s)},
            )
        )

    # -- which chain

    @property
    def _proved(self) -> bool:
        if not self._names_chain:
            return True
        fresh = self._proved_at is not None and self._clock() - self._proved_at < ASKED_EVERY_S
        return fresh and self._proved_for == self._transport.opened

    async def _prove(self) -> None:
        unproved = self._unproved
        async with self._proving:
            if self._proved:
                return
            if self._unproved != unproved:  # it failed for all who waited
                raise self.unavailable(self._why or "it does not say its chain")
            try:
                raw = await self._ask_retrying(lambda: self._transport.one(("eth_chainId", [])))
            except Refused:
                self._unproved += 1
                raise
            except NodeError as fault:
                raise self.unavailable(f"eth_chainId refused: {fault}") from None
            number = self.number(raw)
            self.serves = number
            if number != self.chain_id:
                raise self.unavailable(f"the node serves chain {number}")
            self._proved_at, self._proved_for = self._clock(), self._transport.opened

    async def _believed(self, put: Callable[[], Awaitable[Any]]) -> Any:
        """An answer, once it is known which chain it is of; given up where the caller's time is
        over.
        """
        hurry = scope()
        return await (self._proved_answer(put) if hurry is None else self._in_time(put, hurry))

    async def _in_time(self, put: Callable[[], Awaitable[Any]], hurry: Deadline) -> Any:
        wait_s = self._hurried.wait_s()
        if id(self) in hurry.given_up or wait_s or len(self._late) >= LATE_AT_MOST:
            raise self._refused("it did not answer in time just now", ceil(wait_s))
        # It goes on without the caller: how it ends is what the next ones are told.
        request = asyncio.get_running_loop().create_task(
            self._proved_answer(put), context=without_deadline()
        )
        done, _ = await asyncio.wait({request}, timeout=hurry.left_s())
        if not done:
            self._late.add(request)
            request.add_done_callback(self._came_late)
            hurry.given_up.add(id(self))
            self.given_up += 1
            self._hurried.failed()
            raise self._refused("it did not answer in time")
        try:
            return request.result()
        finally:
            self._hurried.succeeded()

    def _came_late(self, request: asyncio.Task[Any]) -> None:
        self._late.discard(request)
        if not request.cancelled():
            request.exception()  # a node's own fault is counted where it was met

    async def _proved_answer(self, put: Callable[[], Awaitable[Any]]) -> Any:
        self._admitted()
        if not self._proved:
            await self._prove()
        try:
            answer = await self._ask_retrying(put)
        except NodeError:
            self._breaker.succeeded()
            raise
        if not self._proved:  # it came over a connection that is new
            await self._prove()
        self._breaker.succeeded()
        return answer

    def _admitted(self) -> None:
        wait_s = self._breaker.wait_s()
        if wait_s:
            again = ceil(wait_s)
            raise self.unavailable(f"{self._why}; it is asked again in {again} s", again)

    # -- one question, or many

    async def _ask_batch(self, questions: Sequence[Question]) -> list[Any]:
        if len(questions) > 1:
            try:
                return list(await self._believed(lambda: self._transport.many(questions)))
            except NodeError:
                # One of them is an error, which is told when they are asked apart, or this is more
                # than the node takes at once.
                apart = await self._apart(questions)
                self._batch = max(1, len(questions) // 4)
                return apart
        return await self._apart(questions)

    async def _apart(self, questions: Sequence[Question]) -> list[Any]:
        results: dict[int, Any] = {}
        failed: list[Exception] = []
        rest = iter(enumerate(questions))

        async def some() -> None:
            for n, (method, params) in rest:
                try:
                    results[n] = await self.ask(method, *params)
                except (NodeError, Refused) as error:
                    failed.append(error)
                if failed:
                    return

        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(some)
        if failed:
            raise failed[0]
        return [results[n] for n in range(len(questions))]

    async def _ask_retrying(self, put: Callable[[], Awaitable[Any]]) -> Any:
        """Put a question, again and again within the time; what the node does wrong is counted."""
        try:
            async for attempt in stamina.retry_context(
                on=_backoff,
                attempts=ATTEMPTS,
                timeout=self._timeout_s,
                wait_initial=0.05,
                wait_max=1.0,
                wait_jitter=0.1,
            ):
                with attempt:
                    return await put()
        except BlockNotYetSeen as fault:
            raise self.unavailable(fault.why) from None
        except TransientNodeError as fault:
            raise self._failed(fault.why, fault.after_s or 1) from None
        except NodeUnusable as fault:
            raise self._failed(fault.why) from None
        raise AssertionError("the retry loop returns or raises")

    def _failed(self, reason: str, after_s: int = 1) -> Refused:
        self._breaker.failed()
        self._why = reason
        return self.unavailable(reason, after_s)
