"""Order statuses in the answer to an action."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final


class Named(TypedDict):
    """An order by its ids."""

    oid: int
    cloid: NotRequired[str]


@final
class Rests(TypedDict):
    """It stands in the book."""

    resting: Named


class Traded(Named):
    """The size of an order that traded, and its average price."""

    totalSz: str
    avgPx: str


@final
class Filled(TypedDict):
    """It traded at once."""

    filled: Traded


@final
class Failed(TypedDict):
    """It was refused, in the venue's words."""

    error: str


Placed = Rests | Filled | Failed
# A child of a bracket, and an order that waits for the mark, are told as what they wait for.
Status = Placed | Literal["waitingForTrigger", "waitingForFill"]
Cancelled = Literal["success"] | Failed
