"""Deadlines: the total time that a request may wait for chain nodes.

Within a deadline every call of a node is given up when the time is over, and a node that was given
up once is not waited for again in the same request. The call itself continues in the background, so
that its outcome is still recorded. Without a deadline (the reader, the keeper) a call may take the
node's full timeout.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field

_SCOPE: ContextVar[Deadline | None] = ContextVar("_SCOPE", default=None)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time until which calls may wait (monotonic seconds), and the nodes given up."""

    until: float
    given_up: set[int] = field(default_factory=set)

    def left_s(self) -> float:
        """Remaining seconds, at least 0."""
        return max(0.0, self.until - time.monotonic())


def scope() -> Deadline | None:
    """The deadline of the current context, or None."""
    return _SCOPE.get()


@contextmanager
def deadline(wait_ms: int) -> Iterator[None]:
    """Context with a total wait of `wait_ms`, never beyond the enclosing deadline."""
    outer, until = _SCOPE.get(), time.monotonic() + wait_ms / 1_000
    inner = Deadline(until) if outer is None else Deadline(min(until, outer.until), outer.given_up)
    token = _SCOPE.set(inner)
    try:
        yield
    finally:
        _SCOPE.reset(token)


@contextmanager
def share_deadline(shares: int) -> Iterator[None]:
    """Context with an equal share of the remaining time, for `shares - 1` further nodes."""
    outer = _SCOPE.get()
    if outer is None or shares <= 1:
        yield
        return
    with deadline(int(1_000 * outer.left_s() / shares)):
        yield


def without_deadline() -> Context:
    """A context without a deadline, for work that outlives its caller."""
    context = copy_context()
    context.run(_SCOPE.set, None)
    return context
