"""What more than half of a chain's nodes say alike: nothing is believed of one among several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from chain.evm import EvmChain
from domain.refusals import Refused

T = TypeVar("T")


async def agreed(chain: EvmChain, of: str, ask: Callable[[EvmChain], Awaitable[T]]) -> T:
    """Put a question to each configured node until enough of them answered alike; one node by
    itself is believed.

    Errors: `chain_unavailable` where no answer is that of enough nodes; `of` says of what.
    """
    views, told, refused = chain.views, list[T](), list[Refused]()
    for view in views:
        try:
            told.append(await ask(view))
        except Refused as error:
            refused.append(error)
        for said in told:
            if told.count(said) > len(views) // 2:
                return said
    if not told:
        raise refused[0]
    raise chain.node().unavailable(f"its nodes do not say the same of {of}")
