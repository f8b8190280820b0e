"""Every derivation of one mandate, put together once: the mandate read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from domain.ledger.events import Event
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
from domain.reads.steps import ReportedBy, Step, steps
from domain.rules.case import Book
from domain.rules.exposure import Exposure, exposure
from domain.times import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One row of the ledger as it is shown (spec 2.4)."""

    event_id: str
    kind: str
    amount_usdc: Usdc | None
    tx_hash: str | None
    chain_id: int | None
    payload: Mapping[str, Any]
    reported_by: ReportedBy
    created_at: Timestamp
    occurred_at: Timestamp


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


@lru_cache(maxsize=16_384)  # a row never changes, and is shown again and again
def ledger_row(event: Event) -> LedgerRow:
    """A row as it is shown."""
    return LedgerRow(
        event_id=event.event_id,
        kind=event.kind.value,
        amount_usdc=event.amount_usdc,
        tx_hash=event.tx_hash,
        chain_id=event.chain_id,
        payload=event.payload,
        reported_by=event.reported_by.value,
        created_at=event.created_at,
        occurred_at=event.occurred_at,
    )


def mandate_view(book: Book) -> MandateView:
    """The body of GET /wallet/mandates/{public_id}."""
    return MandateView(
        mandate=book.mandate.attributes(),
        progress=progress(book),
        events=tuple(ledger_row(e) for e in book.events),
        clauses=clauses(book.mandate, book.switches),
        card_header=card_header(book.mandate),
        card_footer=card_footer(book.mandate),
        limits=limits(book),
        fees=fees(book),
        steps=steps(book),
        lock=lock(book),
        chain_state=chain_state(book),
        exposure=exposure(book),
        terms_status=book.terms_status,
    )


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
