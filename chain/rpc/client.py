"""JSON-RPC client of one node: timeouts, bounded retries, a chain id check."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from math import ceil
from typing import Final, TypeVar

import anyio
import stamina

from chain.rpc.circuit_breaker import CircuitBreaker
from chain.rpc.deadlines import Deadline, scope, without_deadline
from chain.rpc.errors import BlockNotYetSeen, Json, NodeError, NodeUnusable, TransientNodeError
from chain.rpc.http_transport import HttpTransport, RpcCall
from domain.refusals import Refused, refusal

T = TypeVar("T")
ATTEMPTS: Final = 4
MAX_RETRY_PAUSE_S: Final = (
    2  # a node that asks for a longer pause is not waited for; the caller is told how long it is
)
CHAIN_CHECK_S: Final = 180
BATCH: Final = 50
DEADLINE_PAUSE_S: Final = 5.0
MAX_LATE: Final = 8
AT_ONCE: Final = 8
_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")


def _backoff(fault: Exception) -> bool | float:
    """Decide whether to retry and after which pause; stamina's own where the node names none."""
    if not isinstance(fault, TransientNodeError):
        return False
    if fault.after_s is None:
        return True
    return float(fault.after_s) if fault.after_s <= MAX_RETRY_PAUSE_S else False


class RpcClient:
    """Client of one node.

    The node's chain id is checked before the first answer is used, again with every new connection,
    after every outage and every few minutes. After repeated failures the node is not called for a
    while, so that no caller waits for it.
    Errors: `chain_unavailable` for a node that times out, is busy, sends a malformed answer or
    serves another chain: never a guessed figure (chain.md).
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
        self._deadline_breaker = CircuitBreaker(clock, DEADLINE_PAUSE_S)
        self._late_requests: set[asyncio.Task[object]] = set()
        self.given_up = 0
        self.serves: int | None = None
        # A service that is no node has no chain id to give.
        self._names_chain = names_chain
        self._proved_at: float | None = None
        self._proved_for = 0
        self._proving, self._unproved = anyio.Lock(), 0
        self._batch, self._last_problem = BATCH, ""

    async def ask(self, method: str, *params: object) -> Json:
        """Call a method and return its result. Errors: NodeError for an error that the node itself
        returns, for example a revert; `chain_unavailable`.
        """
        question = (method, list(params))
        return await self._ask_proved(lambda: self._transport.one(question))

    async def ask_all(self, questions: Sequence[RpcCall]) -> list[Json]:
        """Results of many calls, in their order, with as few requests as the node allows. Errors:
        NodeError where the node returns an error for one of them; `chain_unavailable`.
        """
        results: list[Json] = []
        while len(results) < len(questions):
            results += await self._ask_batch(questions[len(results) : len(results) + self._batch])
        return results

    async def fact(self, method: str, *params: object) -> Json:
        """Call a method; an error of the node is `chain_unavailable` too."""
        try:
            return await self.ask(method, *params)
        except NodeError as fault:
            raise self.unavailable(f"{method} refused: {fault}") from None

    async def facts(self, questions: Sequence[RpcCall]) -> list[Json]:
        """Call many methods; an error of the node is `chain_unavailable` too."""
        try:
            return await self.ask_all(questions)
        except NodeError as fault:
            raise self.unavailable(f"{questions[0][0]} refused: {fault}") from None

    async def quantity(self, method: str, *params: object) -> int:
        """Call a method whose result is a number. Errors: `chain_unavailable`."""
        return self.number(await self.fact(method, *params))

    def number(self, raw: object) -> int:
        """Parse a JSON-RPC quantity. Errors: `chain_unavailable`."""
        if not isinstance(raw, str) or not _QUANTITY.fullmatch(raw):
            raise self.unavailable("the node gives no number where one is due")
        return int(raw, 16)

    async def prove(self) -> None:
        """Check now which chain the node serves. Errors: `chain_unavailable` where it is another
        chain; no further answer is used until it is ours.
        """
        self._admitted()
        self._proved_at = None
        await self._prove()

    @property
    def is_open(self) -> bool:
        """True while a circuit breaker is open, of all callers or of those with a deadline."""
        return self._breaker.is_open or self._deadline_breaker.is_open

    def record_timeout(self) -> None:
        """Count an answer that came too late as a failure."""
        self._breaker.failed()
        self._last_problem = "no answer in time"

    async def close(self) -> None:
        """Close the connections and cancel requests whose callers have left."""
        for task in tuple(self._late_requests):
            task.cancel()
        await asyncio.gather(*self._late_requests, return_exceptions=True)
        await self._transport.close()

    def unavailable(self, reason: str, after_s: int = 1) -> Refused:
        """Build the refusal for an unusable answer; the chain id is checked again after it."""
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
        fresh = self._proved_at is not None and self._clock() - self._proved_at < CHAIN_CHECK_S
        return fresh and self._proved_for == self._transport.opened

    async def _prove(self) -> None:
        unproved = self._unproved
        async with self._proving:
            if self._proved:
                return
            if self._unproved != unproved:  # it failed for all who waited
                raise self.unavailable(self._last_problem or "it does not say its chain")
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

    async def _ask_proved(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request once the chain id is proved; give up at the caller's deadline."""
        limit = scope()
        return await (self._proved_answer(send) if limit is None else self._in_time(send, limit))

    async def _in_time(self, send: Callable[[], Awaitable[T]], limit: Deadline) -> T:
        wait_s = self._deadline_breaker.wait_s()
        if id(self) in limit.given_up or wait_s or len(self._late_requests) >= MAX_LATE:
            raise self._refused("it did not answer in time just now", ceil(wait_s))
        # It goes on without the caller: how it ends is what the next ones are told.
        request = asyncio.get_running_loop().create_task(
            self._proved_answer(send), context=without_deadline()
        )
        finished, _ = await asyncio.wait({request}, timeout=limit.left_s())
        if not finished:
            self._late_requests.add(request)
            request.add_done_callback(self._discard_late)
            limit.given_up.add(id(self))
            self.given_up += 1
            self._deadline_breaker.failed()
            raise self._refused("it did not answer in time")
        try:
            return request.result()
        finally:
            self._deadline_breaker.succeeded()

    def _discard_late(self, request: asyncio.Task[T]) -> None:
        self._late_requests.discard(request)
        if not request.cancelled():
            request.exception()  # a node's own fault is counted where it was met

    async def _proved_answer(self, send: Callable[[], Awaitable[T]]) -> T:
        self._admitted()
        if not self._proved:
            await self._prove()
        try:
            answer = await self._ask_retrying(send)
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
            retry_s = ceil(wait_s)
            raise self.unavailable(
                f"{self._last_problem}; it is asked again in {retry_s} s", retry_s
            )

    # -- one question, or many

    async def _ask_batch(self, questions: Sequence[RpcCall]) -> list[Json]:
        if len(questions) > 1:
            try:
                return list(await self._ask_proved(lambda: self._transport.many(questions)))
            except NodeError:
                # One of them is an error, which is told when they are asked apart, or this is more
                # than the node takes at once.
                results = await self._ask_separately(questions)
                self._batch = max(1, len(questions) // 4)
                return results
        return await self._ask_separately(questions)

    async def _ask_separately(self, questions: Sequence[RpcCall]) -> list[Json]:
        results: dict[int, Json] = {}
        failed: list[Exception] = []
        pending = iter(enumerate(questions))

        async def send_next() -> None:
            for n, (method, params) in pending:
                try:
                    results[n] = await self.ask(method, *params)
                except (NodeError, Refused) as error:
                    failed.append(error)
                if failed:
                    return

        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(send_next)
        if failed:
            raise failed[0]
        return [results[n] for n in range(len(questions))]

    async def _ask_retrying(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request with retries within the timeout; count the node's failures."""
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
                    return await send()
        except BlockNotYetSeen as error:
            raise self.unavailable(error.reason) from None
        except TransientNodeError as error:
            raise self._failed(error.reason, error.after_s or 1) from None
        except NodeUnusable as error:
            raise self._failed(error.reason) from None
        raise AssertionError("the retry loop returns or raises")

    def _failed(self, reason: str, after_s: int = 1) -> Refused:
        self._breaker.failed()
        self._last_problem = reason
        return self.unavailable(reason, after_s)
