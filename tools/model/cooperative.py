"""Cooperative iteration: processes long lists in chunks and yields to the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

import anyio.lowlevel

A = TypeVar("A")
B = TypeVar("B")
ITEMS_PER_YIELD: Final = 25


async def map_cooperatively(
    items: Iterable[A], of: Callable[[A], B], a_turn: int = ITEMS_PER_YIELD
) -> list[B]:
    """`of` of every item; the others on the loop have their turn every `a_turn` items."""
    results: list[B] = []
    for n, item in enumerate(items, start=1):
        results.append(of(item))
        if n % a_turn == 0:
            await anyio.lowlevel.checkpoint()
    return results


async def read_cooperatively(
    read: Callable[[A | None, int], Awaitable[list[A]]], limit: int
) -> list[A]:
    """The first `limit` items of a list that is read some a turn.

    `read(last, n)` gives the next `n` items behind `last`, or behind nothing; fewer at the end.
    """
    items: list[A] = []
    while len(items) < limit:
        chunk_size = min(ITEMS_PER_YIELD, limit - len(items))
        some = await read(items[-1] if items else None, chunk_size)
        items += some
        if len(some) < chunk_size:
            break
        await anyio.lowlevel.checkpoint()
    return items
