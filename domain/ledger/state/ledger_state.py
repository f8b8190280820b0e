"""Ledger state: the three books of a mandate and its counters, from which all reads derive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import LedgerKind, Reporter
from domain.ledger.events.payloads import Executed, LogReversed, RefusedAttempt, Stopped
from domain.ledger.fast_copy import fast_constructor
from domain.ledger.state import claimed, journal, venue_book
from domain.ledger.state.claimed import ClaimedBook
from domain.ledger.state.journal import Journal, Past
from domain.ledger.state.measured import MeasuredBook
from domain.ledger.state.venue_book import VenueBook
from domain.times import day_of, timestamp
from domain.wire_fields import JsonObject

BREACHES_KEPT: Final = 50
CALLERS_KEPT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Breached:
    """Rules that one row broke; `at` as it is shown, `detail` the numbers by rule."""

    codes: tuple[str, ...]
    event_id: str
    at: str
    detail: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """A mandate's ledger after row `seq`.

    Shapes: `violations` counts broken rules by code; `breaches` are the newest, newest first;
    `callers` are the lower-case addresses whose calls the vault executed, in order of the alphabet;
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
        """What the house says."""
        return self.journal.now


EMPTY: Final = LedgerState()
_BOOKS: Final = fast_constructor(LedgerState)


def after(
    books: LedgerState, event: Event, partner: Event | None = None, past: Past | None = None
) -> LedgerState:
    """The books after one more row. Pure and total.

    Shapes: `partner` is the earlier row that `event.pairs_with` names; `past` gives the rows before
    this one, which a reorganisation asks for that reaches further back than the journal keeps.
    Source: contract 5.
    """
    payload = event.told
    what, restates = payload.what, payload.restates
    if event.reported_by is Reporter.CHAIN:
        if isinstance(what, LogReversed):
            books = _unbroken(books, what.event_id)
        elif restates is not None:
            books = _unbroken(books, restates.event_id)
    books = _BOOKS(
        seq=event.seq,
        journal=journal.apply(books.journal, event, past),
        claimed=claimed.after(books.claimed, event, partner),
        violations=books.violations,
        breaches=books.breaches,
        refusals_day=books.refusals_day,
        refusals_count=books.refusals_count,
        record_stop=books.record_stop,
        bad=books.bad or bool(payload.unusable) or _negative(event),
        venue=venue_book.after(books.venue, event),
        callers=_callers(books.callers, event),
    )
    if payload.violation is not None and payload.violation.codes:
        books = _broken(books, event, partner)
    if isinstance(what, RefusedAttempt):
        day = day_of(event.created_at)
        count = books.refusals_count + 1 if books.refusals_day == day else 1
        books = replace(books, refusals_day=day, refusals_count=count)
    if isinstance(what, Stopped) and event.reported_by in (Reporter.OWNER, Reporter.KEEPER):
        books = replace(books, record_stop=event.occurred_at)
    return books


def _callers(known: tuple[str, ...], event: Event) -> tuple[str, ...]:
    """With whoever made the call. A reorganisation takes none of them back: the key that sent it is
    its agent's.
    """
    what = event.told.what
    if not isinstance(what, Executed) or what.agent is None or len(known) >= CALLERS_KEPT:
        return known
    caller = what.agent.lower()
    return known if caller in known else tuple(sorted((*known, caller)))


def _negative(event: Event) -> bool:
    """Only a result may be negative (spec 2.4)."""
    amount = event.amount_usdc
    return amount is not None and amount.micros < 0 and event.kind is not LedgerKind.RESOLVE


def _broken(books: LedgerState, event: Event, partner: Event | None) -> LedgerState:
    """A rule that both rows of a pair say was broken counts once."""
    known = partner.violation_codes if partner is not None else ()
    codes = [code for code in event.violation_codes if code not in known]
    violation = event.told.violation
    if not codes or violation is None:
        return books
    counts = dict(books.violations)
    for code in codes:
        counts[code] = counts.get(code, 0) + 1
    restates = event.told.restates
    row = Breached(
        codes=tuple(codes),
        event_id=event.event_id if restates is None else restates.event_id,
        at=timestamp(event.created_at),
        detail=violation.detail,
    )
    return replace(books, violations=counts, breaches=(row, *books.breaches)[:BREACHES_KEPT])


def _unbroken(books: LedgerState, event_id: str) -> LedgerState:
    """A call that never happened broke no rule; one that moved is judged where it stands now."""
    row = next((b for b in books.breaches if b.event_id == event_id), None)
    if row is None:
        return books
    counts = {k: n - (k in row.codes) for k, n in books.violations.items()}
    return replace(
        books,
        violations={k: n for k, n in counts.items() if n},
        breaches=tuple(b for b in books.breaches if b is not row),
    )


_PLAIN: Final = ("seq", "violations", "refusals_day", "refusals_count", "bad")


def to_json(books: LedgerState) -> dict[str, object]:
    """An exact JSON form."""
    stop = books.record_stop
    # Left out while it is empty, so that states from before there were such fills stay what they
    # were.
    venue = {} if books.venue == venue_book.EMPTY else {"venue": venue_book.to_json(books.venue)}
    return (
        venue
        | {n: getattr(books, n) for n in _PLAIN}
        | {
            "measured": journal.to_json(books.journal),
            "claimed": claimed.to_json(books.claimed),
            "breaches": [
                {
                    "codes": list(b.codes),
                    "event_id": b.event_id,
                    "at": b.at,
                    "detail": dict(b.detail),
                }
                for b in books.breaches
            ],
            "record_stop": None if stop is None else stop.isoformat(),
            "callers": list(books.callers),
        }
    )


def from_json(raw: JsonObject) -> LedgerState:
    """Read `to_json`'s form back."""
    stop = raw["record_stop"]
    return LedgerState(
        journal=journal.from_json(raw["measured"]),
        claimed=claimed.from_json(raw["claimed"]),
        breaches=tuple(_breached(row) for row in raw["breaches"]),
        record_stop=None if stop is None else datetime.fromisoformat(stop),
        venue=venue_book.from_json(raw.get("venue")),
        callers=tuple(raw["callers"]),
        **{n: raw[n] for n in _PLAIN},
    )


def _breached(raw: JsonObject) -> Breached:
    return Breached(
        codes=tuple(raw["codes"]),
        event_id=raw["event_id"],
        at=raw["at"],
        detail=raw.get("detail") or {},
    )
