"""Fair shares of scarce capacity: slots, and round-robin turns of periodic work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


def holder_to_displace(slots: Mapping[str, int], requester: str) -> str | None:
    """The holder that loses a slot to the requester where none is free: the one with the most
    slots, if it keeps at least as many as the requester then has; None where there is no such
    holder.

    A requester below an equal share is never refused: some holder then has more than that.
    """
    largest = max(slots, key=lambda holder: slots[holder], default=None)
    if largest is None or slots[largest] < slots.get(requester, 0) + 2:
        return None
    return largest


def round_robin(items: Iterable[T], holder_of: Callable[[T], str], limit: int) -> list[T]:
    """The first `limit` of some items where each holder in turn gives its next, in their order."""
    rounds: dict[str, int] = {}
    turns: list[tuple[int, int, T]] = []
    for n, item in enumerate(items):
        holder = holder_of(item)
        rounds[holder] = rounds.get(holder, 0) + 1
        turns.append((rounds[holder], n, item))
    turns.sort(key=lambda turn: turn[:2])
    return [item for _, _, item in turns[:limit]]
