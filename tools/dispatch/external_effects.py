"""External effects: begin, act and finish, with two transactions around one outside call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from domain.refusals import Refused
from storage.errors import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.dispatch.idempotency import (
    IdempotencyKey,
    acquire_or_replay,
    outcome_unknown,
    store_result,
    to_result,
)
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    Operation,
    OperationResult,
    RequestContext,
    RequestModel,
)
from tools.model.shutdown import ENDING, GRACE

T = TypeVar("T")
log = logging.getLogger("wallet.effects")

# Between the end of the time that an effect has and that of its claim: to write how it ended.
WRITING: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRunner:
    """One call of an operation with an outside effect."""

    op: Operation
    effect: ExternalEffect[Any, Any]
    deps: Deps
    caller: Caller
    request: RequestModel
    key: IdempotencyKey | None

    async def reply(self) -> OperationResult:
        """Begin in one transaction, act with none open, finish in another.

        What is refused in `begin` leaves nothing behind. What `act` refuses has not happened: it is
        undone, and the key is free again. Whatever else goes wrong from there on leaves the key
        taken, and every repeat is told that the outcome is unknown: nothing is ever done twice.
        """
        value: object = self.request
        if self.effect.begin is not None or self.key is not None:
            started = await self._in_transaction(self._begin)
            if isinstance(started, OperationResult):
                return started
            (value,) = started
        try:
            done = await self._act(value)
        except Refused:
            await self._in_transaction(lambda uow, now: self._undo(uow, now, value))
            raise
        except Exception:
            if not self.op.writes:
                raise
            raise await self._lost() from None
        try:
            if self.effect.finish is None and self.key is None:
                return to_result(self.op, done)
            return await self._in_transaction(lambda uow, now: self._finish(uow, now, value, done))
        except Exception:
            raise await self._lost() from None

    async def _act(self, value: object) -> object:
        """Errors: `Unavailable` where this process ends before; it may be done all the same."""
        with self.deps.shutdown.ends(GRACE):
            async with asyncio.timeout(self.effect.bound_s):
                return await self.effect.act(self.deps, self.caller, value)
        raise Unavailable(ENDING)

    def _ctx(self, uow: UnitOfWork, now: datetime) -> RequestContext[RequestModel, object]:
        return request_context(uow, self.deps, self.caller, now, request=self.request)

    async def _in_transaction(self, work: Callable[[UnitOfWork, datetime], T]) -> T:
        now = self.deps.clock.now()
        if self.op.writes:
            return await written(self.deps, self.caller, lambda uow: work(uow, now))
        return await self.deps.store.read(lambda uow: work(uow, now))

    def _begin(self, uow: UnitOfWork, now: datetime) -> OperationResult | tuple[object]:
        until = now + timedelta(seconds=self.effect.bound_s) + WRITING
        replay = acquire_or_replay(uow, self.op, self.key, now, until)
        if replay is not None:
            return replay
        if self.effect.begin is None:
            return (self.request,)
        return (self.effect.begin(uow, self._ctx(uow, now)),)

    def _finish(
        self, uow: UnitOfWork, now: datetime, started: object, done: object
    ) -> OperationResult:
        if self.effect.finish is not None:
            done = self.effect.finish(uow, self._ctx(uow, now), started, done)
        return store_result(uow, self.key, to_result(self.op, done))

    def _undo(self, uow: UnitOfWork, now: datetime, started: object) -> None:
        if self.effect.undo is not None:
            self.effect.undo(uow, self._ctx(uow, now), started)
        if self.key is not None:
            uow.idempotency.release(self.key.scope, self.key.key)

    async def _lost(self) -> Refused:
        """Say so at once; where not even that can be written, the claim says it when it ends."""
        log.exception("nobody knows how %s ended", self.op.name)
        if (key := self.key) is not None:
            with suppress(Exception):
                now = self.deps.clock.now()
                await self.deps.store.write(
                    lambda uow: uow.idempotency.abandon(key.scope, key.key, now)
                )
        return outcome_unknown(self.op)
