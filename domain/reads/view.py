"""Every derivation of one mandate, put together once: the mandate read."""

from __future__ import annotations

from typing import Any

from domain.mandates.clauses import card_footer, card_header, clauses
from domain.reads.fees import fees
from domain.reads.limits import limits
from domain.reads.lock import chain_state, lock
from domain.reads.progress import progress
from domain.reads.steps import steps
from domain.rules.case import Book
from domain.rules.exposure import exposure


def mandate_view(book: Book) -> dict[str, Any]:
    """The body of GET /wallet/mandates/{public_id} (contract 3)."""
    return {
        "mandate": book.mandate.attributes(),
        "progress": progress(book),
        "events": [e.as_json() for e in book.events],
        "clauses": clauses(book.mandate, book.switches),
        "card_header": card_header(book.mandate),
        "card_footer": card_footer(book.mandate),
        "limits": limits(book),
        "fees": fees(book),
        "steps": steps(book),
        "lock": lock(book),
        "chain_state": chain_state(book),
        "exposure": exposure(book),
        "terms_status": dict(book.terms_status) if book.terms_status is not None else None,
    }


def summary(book: Book) -> dict[str, Any]:
    """A row of the mandate list: attributes and the figures that tell mandates apart."""
    told = progress(book)
    shown = ("worth_est", "realized", "cash", "floor", "status", "day", "horizon_days")
    m = book.mandate
    return {
        "public_id": m.public_id,
        "status": m.status.value,
        "mandate": m.attributes(),
        "progress": {n: told[n] for n in shown},
    }
