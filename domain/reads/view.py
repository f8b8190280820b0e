"""Every derivation of one mandate, put together once: the mandate read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.mandates.clauses import (
    CardFooter,
    CardHeader,
    Clause,
    card_footer,
    card_header,
    clauses,
)
from domain.mandates.mandate import MandateAttributes
from domain.mandates.terms import TermsStatus
from domain.money import Usdc
from domain.reads.fees import Fees, fees
from domain.reads.limits import Limits, limits
from domain.reads.lock import ChainState, Lock, chain_state, lock
from domain.reads.progress import Progress, ShownStatus, progress
from domain.reads.rows import ledger_row
from domain.reads.shapes import LedgerRow
from domain.reads.step import Step
from domain.reads.steps import steps
from domain.rules.case import Book
from domain.rules.exposure import Exposure, exposure


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateView:
    """Everything that is known of one mandate (contract 3); events and steps are the newest 50."""

    mandate: MandateAttributes
    progress: Progress
    events: tuple[LedgerRow, ...]
    clauses: tuple[Clause, ...]
    card_header: CardHeader
    card_footer: CardFooter
    limits: Limits
    fees: Fees
    steps: tuple[Step, ...]
    lock: Lock
    chain_state: ChainState
    exposure: Exposure
    terms_status: TermsStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSummary:
    """The figures that tell mandates apart."""

    worth_est: Usdc | None
    realized: Usdc
    cash: Usdc | None
    floor: Usdc
    status: ShownStatus
    day: int | None
    horizon_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateSummary:
    """A row of the mandate list."""

    public_id: str
    status: str
    mandate: MandateAttributes
    progress: ProgressSummary


PARTS: Final[Mapping[str, Callable[[Book], Any]]] = {
    "mandate": lambda book: book.mandate.attributes(),
    "progress": progress,
    "events": lambda book: tuple(ledger_row(e) for e in book.events),
    "clauses": lambda book: clauses(book.mandate, book.switches),
    "card_header": lambda book: card_header(book.mandate),
    "card_footer": lambda book: card_footer(book.mandate),
    "limits": limits,
    "fees": fees,
    "steps": steps,
    "lock": lock,
    "chain_state": chain_state,
    "exposure": exposure,
    "terms_status": lambda book: book.terms_status,
}
"""The derivation behind each key of the mandate read."""


def mandate_view(book: Book) -> MandateView:
    """The whole body of GET /wallet/mandates/{public_id}."""
    return MandateView(**{name: part(book) for name, part in PARTS.items()})


def summary(book: Book) -> MandateSummary:
    """A row of the mandate list: attributes and the figures that tell mandates apart."""
    told, m = progress(book), book.mandate
    return MandateSummary(
        public_id=m.public_id,
        status=m.status.value,
        mandate=m.attributes(),
        progress=ProgressSummary(
            worth_est=told.worth_est,
            realized=told.realized,
            cash=told.cash,
            floor=told.floor,
            status=told.status,
            day=told.day,
            horizon_days=told.horizon_days,
        ),
    )
