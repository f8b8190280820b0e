"""Ledger state: the three books of a mandate and its counters, from which all reads derive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import LedgerKind, Reporter
from domain.ledger.events.payloads import (
    Executed,
    LogReversed,
    PaymentUnexplained,
    RefusedAttempt,
    Stopped,
)
from domain.ledger.fast_copy import fast_constructor
from domain.ledger.state import claimed, journal, venue_book
from domain.ledger.state.claimed import ClaimedBook
from domain.ledger.state.journal import Journal, Past
from domain.ledger.state.measured import MeasuredBook
from domain.ledger.state.venue_book import VenueBook
from domain.times import day_of, timestamp

BREACHES_KEPT: Final = 50
CALLERS_KEPT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Breached:
    """Rules that one row broke; `at` as it is shown, `detail` the numbers by rule. `about` is the
    event id of another row by which it broke them: the breach goes with that one.
    """

    codes: tuple[str, ...]
    event_id: str
    at: str
    detail: Mapping[str, object]
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """A mandate's ledger after row `seq`.

    Shapes: `violations` counts broken rules by code; `breaches` are the newest, newest first;
    `callers` are the lower-case addresses whose calls the vault executed, sorted;
    `record_stop` is when the owner, or the keeper at the stop line, stopped the record; `bad` says
    that a stored value was unusable.
    """

    seq: int = 0
    journal: Journal = journal.NOTHING
    claimed: ClaimedBook = claimed.EMPTY
    violations: Mapping[str, int] = field(default_factory=dict)
    breaches: tuple[Breached, ...] = ()
    refusals_day: str | None = None
    refusals_count: int = 0
    record_stop: datetime | None = None
    bad: bool = False
    venue: VenueBook = venue_book.EMPTY
    callers: tuple[str, ...] = ()

    @property
    def measured(self) -> MeasuredBook:
        """The measured book."""
        return self.journal.now

    @property
    def fee_tools(self) -> int:
        """Fees of tools, micro-USDC: those that the agent told of, and the purse's payments."""
        return self.claimed.fee_tools + self.measured.purse.paid

    @property
    def fees(self) -> int:
        """All fees together, micro-USDC."""
        return self.claimed.fees + self.measured.purse.paid


EMPTY: Final = LedgerState()
_new_state: Final = fast_constructor(LedgerState)


def apply(
    state: LedgerState, event: Event, partner: Event | None = None, past: Past | None = None
) -> LedgerState:
    """The state after one more row. Pure and total.

    Shapes: `partner` is the earlier row that `event.pairs_with` names; `past` reads the rows before
    this one, needed where a reorganisation reaches further back than the journal's recent rows.
    Source: contract 5.
    """
    payload = event.content
    body, restates = payload.body, payload.restates
    if event.reported_by is Reporter.CHAIN:
        if isinstance(body, LogReversed):
            state = _remove_breaches(state, body.event_id, body.event_id)
        elif restates is not None:
            state = _remove_breaches(state, restates.event_id)
    state = _new_state(
        seq=event.seq,
        journal=journal.apply(state.journal, event, past),
        claimed=claimed.apply(state.claimed, event, partner),
        violations=state.violations,
        breaches=state.breaches,
        refusals_day=state.refusals_day,
        refusals_count=state.refusals_count,
        record_stop=state.record_stop,
        bad=state.bad or bool(payload.unusable) or _negative(event),
        venue=venue_book.apply(state.venue, event),
        callers=_with_caller(state.callers, event),
    )
    if payload.violation is not None and payload.violation.codes:
        state = _add_breach(state, event, partner)
    if isinstance(body, RefusedAttempt):
        day = day_of(event.created_at)
        count = state.refusals_count + 1 if state.refusals_day == day else 1
        state = replace(state, refusals_day=day, refusals_count=count)
    if isinstance(body, Stopped) and event.reported_by in (Reporter.OWNER, Reporter.KEEPER):
        state = replace(state, record_stop=event.occurred_at)
    return state


def _with_caller(callers: tuple[str, ...], event: Event) -> tuple[str, ...]:
    """The callers with the sender of an executed call. A reorganisation removes none of them: the
    key that signed is the agent's all the same.
    """
    body = event.content.body
    if not isinstance(body, Executed) or body.agent is None or len(callers) >= CALLERS_KEPT:
        return callers
    caller = body.agent.lower()
    return callers if caller in callers else tuple(sorted((*callers, caller)))


def _negative(event: Event) -> bool:
    """Only a result may be negative (spec 2.4)."""
    amount = event.amount_usdc
    return amount is not None and amount.micros < 0 and event.kind is not LedgerKind.RESOLVE


def _add_breach(state: LedgerState, event: Event, partner: Event | None) -> LedgerState:
    """The state with the rules that a row broke; one that both rows of a pair broke counts once."""
    partner_codes = partner.violation_codes if partner is not None else ()
    codes = [code for code in event.violation_codes if code not in partner_codes]
    violation = event.content.violation
    if not codes or violation is None:
        return state
    counts = dict(state.violations)
    for code in codes:
        counts[code] = counts.get(code, 0) + 1
    restates, body = event.content.restates, event.content.body
    row = Breached(
        codes=tuple(codes),
        event_id=event.event_id if restates is None else restates.event_id,
        at=timestamp(event.created_at),
        detail=violation.detail,
        about=body.event_id if isinstance(body, PaymentUnexplained) else None,
    )
    return replace(state, violations=counts, breaches=(row, *state.breaches)[:BREACHES_KEPT])


def _remove_breaches(state: LedgerState, event_id: str, about: str | None = None) -> LedgerState:
    """The state without a reversed row's breaches, its own and those `about` it; a row that moved
    is judged again at its new place.
    """
    gone = [
        b
        for b in state.breaches
        if b.event_id == event_id or (b.about is not None and b.about == about)
    ]
    if not gone:
        return state
    codes = [code for breach in gone for code in breach.codes]
    counts = {k: n - codes.count(k) for k, n in state.violations.items()}
    return replace(
        state,
        violations={k: n for k, n in counts.items() if n},
        breaches=tuple(b for b in state.breaches if b not in gone),
    )
