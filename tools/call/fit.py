"""How long an answer gets: 8 KB for a model that named no length (contract 5), and for everybody a
page of rows that others fill (contract 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, Final, TypeVar

from tools.call.operation import Operation, Reply, Takes
from tools.call.wire import encoded

MOST: Final = 8_192

# A page of what strangers fill, so that nothing they write makes it grow beyond 64 KiB.
PAGE_BYTES: Final = 60_000
# A page of what parties to a mandate fill: pages of ordinary rows are far below it.
LONG_PAGE_BYTES: Final = 256_000

# What stands around the parts: braces, quotes, commas, and the list of what was left out.
AROUND: Final = 256


Row = TypeVar("Row")


def fitting_rows(rows: Iterable[Row], most: int = PAGE_BYTES) -> Iterator[Row]:
    """The first rows whose JSON fits into `most` bytes together, and one in any case; rows come in
    their wire form, and those behind are not made.
    """
    room = most
    for n, row in enumerate(rows):
        room -= len(encoded(row)) + 1
        if room < 0 and n:
            return
        yield row


def shorter(
    op: Operation, asked: Takes, arguments: Mapping[str, object], reply: Reply
) -> Takes | None:
    """A shorter page to ask for, where nobody named a length and this one is too long for a
    model.
    """
    limit = getattr(asked, "limit", None)
    if limit is None or "limit" in arguments or limit == 1 or reply.refused:
        return None
    told = len(encoded(reply.body))
    if told <= MOST:
        return None
    items = reply.body.get("items")
    rows = min(limit, len(items) if isinstance(items, Sized) else 0) or limit
    return asked.model_copy(update={"limit": max(1, min(limit - 1, rows * MOST // told))})


def fitting(names: Iterable[str], part: Callable[[str], Any]) -> dict[str, object]:
    """The parts that fit, in their order; `left_out` names those that do not."""
    told: dict[str, object] = {}
    left_out, room = [], MOST - AROUND
    for name in names:
        value = part(name)
        needed = len(encoded(value)) + len(name) + 4
        if needed > room:
            left_out.append(name)
            continue
        told[name], room = value, room - needed
    return told | ({"left_out": left_out} if left_out else {})
