"""How much of an answer a model is given unasked: 8 KB over MCP (contract 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any, Final

from tools.call.operation import Operation, Reply, Takes
from tools.call.wire import encoded

MOST: Final = 8_192

# What stands around the parts: braces, quotes, commas, and the list of what was left out.
AROUND: Final = 256


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
