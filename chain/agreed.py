"""What more than half of a chain's nodes say alike: nothing is believed of one among several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from chain.nodes import Nodes
from domain.refusals import Refused

T = TypeVar("T")
V = TypeVar("V")
View = TypeVar("View", covariant=True)


class Seen(Protocol[View]):
    """A chain through each of its nodes alone."""

    @property
    def views(self) -> Sequence[View]:
        """One for each configured node, in the order of the settings."""
        ...

    def node(self) -> Nodes:
        """All of them as one."""
        ...


async def agreed(chain: Seen[V], of: str, ask: Callable[[V], Awaitable[T]]) -> T:
    """Put a question to each configured node until enough of them answered alike, those with a
    fault last; one node by itself is believed.

    Errors: `chain_unavailable` where no answer is that of enough nodes; `of` says of what.
    """
    views, told, refused = chain.views, list[T](), list[Refused]()
    for n in sorted(range(len(views)), key=lambda n: bool(chain.node().faults[n])):
        try:
            told.append(await ask(views[n]))
        except Refused as error:
            refused.append(error)
        for said in told:
            if told.count(said) > len(views) // 2:
                return said
    if not told:
        raise refused[0]
    raise chain.node().unavailable(f"its nodes do not say the same of {of}")
