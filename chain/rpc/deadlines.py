"""Deadlines: the total wait of a request for a chain, counted in this one place.

Within a scope every question of a node is given up when the time of the scope is over; a node that
was given up once is not waited for again in the same request. The question itself goes on behind
the caller's back, so that what it says is still learned. Outside of any scope (the reader, the
keeper) a question takes the time that the node is given.
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
    """Until when questions may wait, in seconds of the monotonic clock, and the nodes that were
    given up.
    """

    until: float
    given_up: set[int] = field(default_factory=set)

    def left_s(self) -> float:
        """Seconds that are left; 0 where none are."""
        return max(0.0, self.until - time.monotonic())


def scope() -> Deadline | None:
    """The scope that the caller is in."""
    return _SCOPE.get()


@contextmanager
def deadline(wait_ms: int) -> Iterator[None]:
    """Wait no longer than this in all, and never longer than the scope outside."""
    outer, until = _SCOPE.get(), time.monotonic() + wait_ms / 1_000
    inner = Deadline(until) if outer is None else Deadline(min(until, outer.until), outer.given_up)
    token = _SCOPE.set(inner)
    try:
        yield
    finally:
        _SCOPE.reset(token)


@contextmanager
def share_deadline(parts: int) -> Iterator[None]:
    """Leave the others their part of what is left: the next node is asked within the same time."""
    outer = _SCOPE.get()
    if outer is None or parts <= 1:
        yield
        return
    with deadline(int(1_000 * outer.left_s() / parts)):
        yield


def without_deadline() -> Context:
    """A context for what goes on without the caller."""
    context = copy_context()
    context.run(_SCOPE.set, None)
    return context
