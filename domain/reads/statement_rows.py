"""The rows behind a statement: what each of them changes, so that they sum up to its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from domain.ledger.events.chain_events import StepKind
from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import Reporter
from domain.ledger.state.claimed import ClaimedBook
from domain.ledger.state.ledger_state import LedgerState
from domain.mandates.payment_requests import host_of
from domain.money import Usdc
from domain.reads.purse import bought
from domain.reads.row_models import ReportedBy
from domain.reads.statement import NOTHING, Figures, figures
from domain.reads.step import TOLD_BY, Step, to_step
from domain.times import Timestamp
from domain.wire_fields import LEFT_OUT, copy_fields, described

ADJUSTMENT: Final = "adjustment"
NO_ENTRIES: Final = ("mark", "unexplained")  # of a value, and of a payment that has its own row
_TELLERS: Final = {repeated: telling for telling, repeated in TOLD_BY.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRow(Figures):
    """One row of the record with what it changes of the statement's figures.

    An action that its agent reported and the chain shows is one row, the chain's, under the
    report's code and in the agent's words: its amount counts once. So does that of a call which a
    purse logs too: where the purse's own row stands apart from the call's, it has no amount.

    `counter_value` is the change of what the open positions are worth: what a buy got, what a sale
    gave. A row of code `adjustment` names no event: it holds what rows of earlier days change that
    were read later than these.
    """

    event_id: str | None
    at: Timestamp
    kind: StepKind
    code: str
    reported_by: ReportedBy
    confirmed_on_chain: bool
    amount_usdc: Usdc | None
    counter_value: Usdc | None = field(
        metadata=described("null where a position is open that nobody valued")
    )
    tx_hash: str | None
    market: str | None = field(metadata=described("as the agent told it"))
    payee: str | None = field(
        default=None,
        metadata=LEFT_OUT | described("address that a payment out of the purse went to"),
    )
    host: str | None = field(
        default=None,
        metadata=LEFT_OUT | described("where such a payment bought, as the agent told it"),
    )
    why: str | None = field(metadata=described("the agent's own words"))
    note: str | None = field(metadata=described("own words of whoever reported the row"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRows:
    """Rows of a period, from, inclusive, until, exclusive, the oldest first, and their sums.

    The sums are those of the whole period and of the statements in it; the rows of all pages
    together come to them to the last digit.
    """

    public_id: str
    chain_id: int
    since: str = field(metadata=described("UTC day, YYYY-MM-DD, inclusive"))
    until: str = field(metadata=described("UTC day, YYYY-MM-DD, exclusive"))
    sums: Figures
    rows: tuple[StatementRow, ...]
    next_cursor: str | None = None


def _positions(state: LedgerState) -> int | None:
    book = state.measured
    if book.opened and book.seen is None:
        return None
    return sum(p.value for p in book.opened.values())


def _counter_value(before: LedgerState, after: LedgerState) -> Usdc | None:
    a, b = _positions(before), _positions(after)
    return None if a is None or b is None else Usdc(b - a)


def _row(
    step: Step, words: Step, before: LedgerState, after: LedgerState, resource: str | None
) -> StatementRow:
    """A row of the ledger; `words` is the step that tells of it: its own, or its report's, and
    `resource` what a payment out of the purse bought.
    """
    return copy_fields(
        StatementRow,
        figures(before, after),
        event_id=step.id,
        at=step.at,
        kind=words.kind,
        code=words.code,
        reported_by=words.reported_by,
        confirmed_on_chain=step.confirmed_on_chain,
        amount_usdc=step.amount_usdc,
        counter_value=_counter_value(before, after),
        tx_hash=step.tx_hash,
        market=words.target.market,
        payee=step.params.payee if step.params.purse is not None else None,
        host=host_of(resource) if resource else None,
        why=words.why,
        note=words.note,
    )


def _adjustment(folded: LedgerState, known: LedgerState, at: datetime) -> StatementRow:
    return copy_fields(
        StatementRow,
        figures(folded, known),
        event_id=None,
        at=at,
        kind="note",
        code=ADJUSTMENT,
        reported_by="keeper",
        confirmed_on_chain=False,
        amount_usdc=None,
        counter_value=_counter_value(folded, known),
        tx_hash=None,
        market=None,
        why=None,
        note=None,
    )


def changes_nothing(row: StatementRow) -> bool:
    """True where a row leaves every figure as it was."""
    moved = (row.flows, row.fees, row.spent, row.result.realized)
    same = (NOTHING.flows, NOTHING.fees, NOTHING.spent, NOTHING.result.realized)
    return moved == same and row.worth.start == row.worth.end


def _steps(events: Sequence[Event], twins: Mapping[int, Event]) -> Iterator[Step]:
    for event in events:
        twin = twins.get(event.seq)
        yield to_step(event, matched=twin is not None, twin=twin)


def _teller(steps: Sequence[Step], n: int) -> int | None:
    """The place of the step that tells what another of its transaction repeats, one beside it
    first; None where the step repeats nothing.
    """
    step, code = steps[n], _TELLERS.get(steps[n].code)
    if code is None or step.tx_hash is None:
        return None
    tells = (m for m, s in enumerate(steps) if s.code == code and s.tx_hash == step.tx_hash)
    return min(tells, key=lambda m: abs(m - n), default=None)


def statement_rows(
    before: LedgerState,
    states: Sequence[LedgerState],
    events: Sequence[Event],
    twins: Mapping[int, Event],
    after: LedgerState,
    claimed: ClaimedBook,
) -> Iterator[StatementRow]:
    """The rows of some events, which come to `after` - `before` whatever order they were read in.

    Shapes: `events` are oldest first, and `states` the folds after each; `twins` are the other
    sides of those that were told twice, by `seq`; `after` is the fold of everything that happened
    before the end of theirs, `claimed` the agents' reports by now, which say what was bought. A
    mark, the note that a payment is unexplained, a report beside the chain's row, and what another
    row of the transaction tells is left out where it changes nothing.
    """
    steps = tuple(_steps(events, twins))
    told_by = {n: teller for n in range(len(steps)) if (teller := _teller(steps, n)) is not None}
    last = before
    for n, (event, step) in enumerate(zip(events, steps, strict=True)):
        if told_by.get(n) in (n - 1, n + 1):  # the row beside this one tells what both change
            continue
        event_state = states[n + 1] if told_by.get(n + 1) == n else states[n]
        twin = twins.get(event.seq)
        by_agent = event.reported_by is Reporter.AGENT
        words = step if twin is None or by_agent else to_step(twin, matched=True, twin=event)
        resource, _ = bought(event, claimed) if step.params.purse is not None else (None, None)
        row = _row(step, words, last, event_state, resource)
        last = event_state
        if n in told_by:
            row = replace(row, amount_usdc=None)
        is_told_elsewhere = (
            step.code in NO_ENTRIES or n in told_by or (by_agent and twin is not None)
        )
        if not is_told_elsewhere or not changes_nothing(row):
            yield row
    if events and not changes_nothing(late := _adjustment(last, after, events[-1].occurred_at)):
        yield late
