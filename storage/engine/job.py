"""Job: one queued handler and the future of its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, Final

from storage.unit_of_work import UnitOfWork

# Handlers that share a commit.
BATCH: Final = 64
# A batch gives the others on the loop their turn after so much.
TURN_MS: Final = 5

OnBatch = Callable[[int], object]
"""Told how many handlers were committed together."""


def ignore_batch(_: int) -> None:
    """Default observer of batches: it counts nothing."""


@dataclass(slots=True, eq=False)
class Job:
    """A handler that waits for its transaction, with the context of the task that asked for it: a
    batch runs in that of the first of them.
    """

    work: Callable[[UnitOfWork], object]
    future: asyncio.Future[Any]
    result: object = None
    error: BaseException | None = None
    context: Context = field(default_factory=copy_context, kw_only=True)

    def run(self, uow: UnitOfWork) -> object:
        """Run the handler as in the task that asked for it."""
        return self.context.run(self.work, uow)

    def settle(self) -> None:
        """Hand the result or the error to the caller."""
        if self.future.done():
            return
        if isinstance(self.error, StopIteration):  # a future takes any exception but this one
            self.future.set_exception(RuntimeError("the handler raised StopIteration"))
        elif self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


def fail(jobs: Iterable[Job], error: BaseException) -> None:
    """Answer all of them with an error."""
    for job in jobs:
        job.error = error
        job.settle()
