"""Where a mandate stands by its ledger: what its vault's rows say, whenever they arrived."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from domain.ledger.books import Books
from domain.mandates.mandate import OPEN_AGENT, Mandate, Status

FOLLOWS: Final = frozenset({Status.SIGNED, Status.WORKING, Status.STOPPED, Status.SETTLED})


def standing(m: Mandate, books: Books) -> Mandate:
    """The mandate after its ledger's newest rows.

    The row with the highest place in the chain says whether the agent is paused, the mandate
    stopped or settled; a stop of the record holds whatever the chain says. What a reorganisation
    took away is taken back here too.
    Source: contract 5, "Chain rows act by their place in the chain".
    """
    told = books.measured
    if m.status not in FOLLOWS:
        return m
    on_chain = told.stopped.at if told.stopped is not None else None
    stops = [at for at in (on_chain, books.record_stop) if at is not None]
    if told.settled is not None:
        status = Status.SETTLED
    elif stops:
        status = Status.STOPPED
    else:
        status = Status.WORKING if told.deposits else Status.SIGNED
    # Until the vault says who is agent, one whose terms name nobody has none.
    nobody = m.signed is not None and m.signed.message.get("agent") == OPEN_AGENT
    return replace(
        m,
        status=status,
        stopped_at=min(stops, default=None),
        settled_at=told.settled.at if told.settled is not None else None,
        paused_at=told.paused_at if told.paused is not None or not nobody else m.paused_at,
    )
