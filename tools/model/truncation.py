"""Truncation: results within 8 KB unless the model chose a length (contract 5), and bounded
pages of rows that others write (contract 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from tools.model.operation import Operation, OperationResult, RenderedResult, RequestModel
from tools.model.serialization import encoded

MAX_CHARS: Final = 8_192

# A page of what strangers fill, so that nothing they write makes it grow beyond 64 KiB.
PAGE_BYTES: Final = 60_000
# A page of what parties to a mandate fill: pages of ordinary rows are far below it.
LONG_PAGE_BYTES: Final = 256_000

# What stands around the parts: braces, quotes, commas, and the list of what was left out.
AROUND: Final = 256

# What a part of several may take once something has to be cut.
PART_MOST: Final = 1_792

# (characters of a text, rows of a list) of what people, agents and strangers filled; the first pair
# with which an answer fits is taken.
LEVELS: Final = ((1_000, 100), (500, 50), (250, 25), (120, 12), (60, 6), (24, 3))
# Where they write texts, and where JSON of any shape: a piece of that is none, so it becomes null.
TEXTS: Final = frozenset(
    {"text", "why", "purpose", "note", "label", "market", "id", "side", "resource", "fee_kind"}
)
JSONS: Final = frozenset(
    {
        "preview", "attempted", "from", "to", "assets", "venues", "networks", "stop_conditions",
        "hold_ratio", "auto_vs_approval",
    }
)  # fmt: skip
# Lists that grow with what was done or written; of what is told by the day the newest stay.
LISTS: Final = frozenset(
    {
        "items", "balances", "allowed_targets", "hosts", "symbols", "markets", "mandates",
        "points", "changes",
        "books", "orders", "agents", "unclear", "understood", "assumed", "unrelated",
        "positions", "parts", "breaches", "could_be",
    }
)  # fmt: skip
NEWEST_LAST: Final = frozenset({"points"})
CUTS_TOLD: Final = 12
# What has parts, and by which name what has none may be cut: a body is looked at whole.
PARTED: Final = (dict, list, tuple)
BY_NAME: Final = TEXTS | JSONS


Row = TypeVar("Row")
AnyPage = TypeVar("AnyPage")


def rows_within(rows: Iterable[Row], limit: int = PAGE_BYTES) -> Iterator[Row]:
    """The first rows whose JSON fits into `limit` bytes together, and one in any case; rows come in
    their wire form, and those behind are not made.
    """
    room = limit
    for n, row in enumerate(rows):
        room -= len(encoded(row)) + 1
        if room < 0 and n:
            return
        yield row


def page_of(
    rows: Sequence[Row], limit: int, cursor: Callable[[Row], str]
) -> tuple[Sequence[Row], str | None]:
    """The rows of a page, and the cursor behind it; `rows` has one more where more follow."""
    page = rows[:limit]
    return page, cursor(page[-1]) if len(rows) > len(page) else None


def bounded_page(
    rows: Sequence[Row],
    bodies: Iterable[object],
    cursor: Callable[[Row], str],
    max_bytes: int = PAGE_BYTES,
) -> RenderedResult[AnyPage]:
    """A page that ends where `max_bytes` are full; `bodies` are the wire forms of the page's rows,
    and `rows` has one more where more follow.
    """
    items = list(rows_within(bodies, max_bytes))
    _, more = page_of(rows, len(items), cursor) if items else ((), None)
    return RenderedResult({"items": items, "next_cursor": more})


def smaller_page(
    op: Operation, request: RequestModel, arguments: Mapping[str, object], reply: OperationResult
) -> RequestModel | None:
    """A shorter page to ask for, where the caller gave no length and this one is too long for a
    model.
    """
    limit = vars(request).get("limit")
    if limit is None or "limit" in arguments or limit == 1 or reply.refused:
        return None
    size = len(encoded(reply.body))
    if size <= MAX_CHARS:
        return None
    items = reply.body.get("items")
    rows = min(limit, len(items) if isinstance(items, Sized) else 0) or limit
    return request.model_copy(update={"limit": max(1, min(limit - 1, rows * MAX_CHARS // size))})


def truncate_result(
    op: Operation, arguments: Mapping[str, object], reply: OperationResult
) -> OperationResult:
    """Cut the long lists of an answer, where the request named no length; `cut` says what.

    A refusal, and whatever has to be whole to be used (calldata, typed data), stays as it is.
    """
    name = {"limit", "parts"} & set(arguments)
    if reply.refused or name or len(encoded(reply.body)) <= MAX_CHARS:
        return reply
    less = truncate(reply.body, MAX_CHARS - AROUND)
    if less is None:
        return reply
    return replace(reply, body=less.values | less.as_item(full_read_hint(op)))


def full_read_hint(op: Operation) -> str:
    """The call that gets an answer with nothing cut."""
    for name in ("limit", "parts"):
        if name in op.request_model.model_fields:
            return f"Name {name}: then nothing is cut."
    if op.route is not None and not op.writes:
        return f"{' '.join(op.route)} answers it whole."
    return "Over HTTP nothing is cut, and what is stored is whole."


@dataclass(frozen=True, slots=True)
class Truncated:
    """Values with what was long in them cut, and the paths of what was."""

    values: dict[str, object]
    places: list[str]

    def fits(self, limit: int) -> bool:
        """True where the values and the paths take no more than `limit` bytes."""
        return len(encoded(self.values)) + len(encoded(self.places[:CUTS_TOLD])) <= limit

    def as_item(self, full_read: str) -> dict[str, object]:
        """The description of a cut beside the values."""
        shown, count = self.places[:CUTS_TOLD], len(self.places)
        return {"cut": {"fields": shown, "count": count, "whole": full_read}} if count else {}


def truncate(body: Mapping[str, object], limit: int) -> Truncated | None:
    """The values with what is long in them cut, so that they fit into `limit` bytes together, the
    paths included. None where they cannot be made to fit.
    """
    # What the last level does not make fit, none does: most of what is asked for is of that kind.
    minimum = _cut(body, *LEVELS[-1])
    if not minimum.fits(limit):
        return None
    wider = (_cut(body, *level) for level in LEVELS[:-1])
    return next((less for less in wider if less.fits(limit)), minimum)


def _cut(body: Mapping[str, object], text_most: int, rows_most: int) -> Truncated:
    places: list[str] = []

    def cut(name: str, value: object, path: str) -> object:
        """A value under its field's name, cut where it may be."""
        if name in JSONS and len(encoded(value)) > 2 * text_most:
            places.append(path)
            return None
        if isinstance(value, dict):
            return {
                n: cut(n, v, f"{path}.{n}") if n in BY_NAME or isinstance(v, PARTED) else v
                for n, v in value.items()
            }
        if isinstance(value, list | tuple):
            if name in LISTS and len(value) > rows_most:
                places.append(path)
                value = value[-rows_most:] if name in NEWEST_LAST else value[:rows_most]
            if name not in BY_NAME and not any(isinstance(row, PARTED) for row in value):
                return list(value)
            return [cut(name, row, f"{path}.{n}") for n, row in enumerate(value)]
        if isinstance(value, str) and name in TEXTS and len(value) > text_most:
            places.append(path)
            return value[:text_most] + "…"
        return value

    return Truncated({n: cut(n, v, n) for n, v in body.items()}, places)


def sections_within(
    names: Iterable[str], part: Callable[[str], object], full_read: str
) -> dict[str, object]:
    """The parts that fit, in their order. Where not all do, what is long in a large one is cut
    first: `cut` says what, and `left_out` names the parts that fit all the same not.
    """
    parts = {name: part(name) for name in names}
    sizes = {name: len(encoded(value)) + len(name) + 4 for name, value in parts.items()}
    cuts, room = Truncated({}, []), MAX_CHARS - AROUND
    if sum(sizes.values()) > room:
        for name in [n for n, size in sizes.items() if size > PART_MOST]:
            if (less := truncate({name: parts[name]}, PART_MOST)) is not None:
                parts[name] = less.values[name]
                sizes[name] = len(encoded(parts[name])) + len(name) + 4
                cuts.places.extend(less.places)
    raw = cuts.as_item(full_read)
    room -= len(encoded(raw))
    left_out: list[str] = []
    for name, value in parts.items():
        if sizes[name] > room:
            left_out.append(name)
            continue
        raw[name], room = value, room - sizes[name]
    return raw | ({"left_out": left_out} if left_out else {})
