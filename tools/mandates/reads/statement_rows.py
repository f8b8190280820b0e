"""The rows behind statements, for books that are kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import anyio.lowlevel
from pydantic import Field

from domain.ledger.events.event import Event
from domain.ledger.events.pairing import can_pair
from domain.ledger.state.ledger_state import LedgerState
from domain.mandates.mandate import Mandate
from domain.reads.statement import figures
from domain.reads.statement_rows import StatementRow, StatementRows, statement_rows
from domain.refusals import invalid
from domain.times import day_of, midnight
from storage.cursors import cursor_of, keys_of
from storage.sql import micros, moment
from storage.unit_of_work import UnitOfWork
from tools.context.access import visible_mandate
from tools.model.cooperative import map_cooperatively
from tools.model.fields import Cursor, Limit, OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RenderedResult
from tools.model.serialization import to_json

# More than one moment holds of a chain; what is beyond stands in an adjustment.
AT_ONCE: Final = 2_000
_EDGE: Final = timedelta(microseconds=1)
Day = Annotated[str | None, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2026-01-01"])]


class StatementRowsIn(OneMandate):
    """Names a period in UTC days, and a page of its rows."""

    since: Day = Field(default=None, description="first UTC day; default: the mandate's first")
    until: Day = Field(default=None, description="UTC day after the last; default: tomorrow")
    limit: Limit = 50
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class _FoldedPage:
    """Events of a page with the folds before, after each of them, and at its end; `twins` are the
    other sides of those that were told twice, by `seq`.
    """

    before: LedgerState
    events: tuple[Event, ...]
    twins: Mapping[int, Event]
    states: tuple[LedgerState, ...]
    after: LedgerState
    more: str | None


def _midnight_of(day: str, loc: str) -> datetime:
    """00:00 UTC of a day. Errors: `invalid_request`."""
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC)
    except ValueError:
        raise invalid(loc, "there is no such day") from None


def _period(request: StatementRowsIn, mandate: Mandate, now: datetime) -> tuple[datetime, datetime]:
    since = _midnight_of(request.since or day_of(mandate.created_at), "since")
    until = _midnight_of(request.until, "until") if request.until else midnight(now)
    if until <= since:
        raise invalid("until", "it is later than since")
    return since, until


def _page(uow: UnitOfWork, of: str, start: datetime, until: datetime, limit: int) -> _FoldedPage:
    """A page ends between two moments, so that its folds are those of statements."""
    ledger = uow.ledger
    events, end, more = ledger.happened(of, start, until, limit + 1), until, None
    if len(events) > limit:
        end = events[limit].occurred_at
        if end == events[0].occurred_at:
            end += _EDGE
            events = ledger.happened(of, start, end, AT_ONCE)
        events = [e for e in events if e.occurred_at < end]
        more = cursor_of(micros(end))
    before = ledger.state_before(of, start)
    states = tuple(ledger.states_after(of, before, events, until))
    twins = dict(_twins(uow, of, events))
    return _FoldedPage(before, tuple(events), twins, states, ledger.state_before(of, end), more)


def _twins(uow: UnitOfWork, of: str, events: Sequence[Event]) -> Iterator[tuple[int, Event]]:
    """The other sides, wherever in the record they are."""
    by_seq, later = {e.seq: e for e in events}, {e.pairs_with: e for e in events}
    for event in events:
        if not can_pair(event) or event.tx_hash is None:
            continue
        twin = later.get(event.seq) or by_seq.get(event.pairs_with or 0)
        if twin is None:
            same = uow.ledger.by_tx(of, event.tx_hash)
            twin = next((e for e in same if _is_pair(e, event)), None)
        if twin is not None:
            yield event.seq, twin


def _is_pair(a: Event, b: Event) -> bool:
    return a.pairs_with == b.seq or b.pairs_with == a.seq


async def read_rows(
    deps: Deps, caller: Caller, request: StatementRowsIn
) -> RenderedResult[StatementRows]:
    """A page of rows of a period, the oldest first, under the sums of the period."""
    of = request.public_id
    mandate = await deps.store.read(lambda uow: visible_mandate(uow, caller, of))
    since, until = _period(request, mandate, deps.clock.now())
    start = since
    if request.cursor:
        (at,) = keys_of(request.cursor, (int,))
        start = min(max(since, moment(at)), until)
    page = await deps.store.read(lambda uow: _page(uow, of, start, until, request.limit))
    await anyio.lowlevel.checkpoint()
    first = await deps.store.read(lambda uow: uow.ledger.state_before(of, since))
    await anyio.lowlevel.checkpoint()
    last = await deps.store.read(lambda uow: uow.ledger.state_before(of, until))
    head = StatementRows(
        public_id=of,
        chain_id=mandate.chain_id,
        since=day_of(since),
        until=day_of(until),
        sums=figures(first, last),
        rows=(),
        next_cursor=page.more,
    )
    claimed = await deps.store.read(lambda uow: uow.ledger.state(of).claimed)
    rows = statement_rows(page.before, page.states, page.events, page.twins, page.after, claimed)
    rendered = await map_cooperatively(rows, lambda row: to_json(row, StatementRow))
    return RenderedResult(to_json(head, StatementRows) | {"rows": rendered})


OPERATIONS: Final = (
    Operation(
        name="owner_statement_rows",
        may_lag=True,
        title="Read the rows behind statements",
        summary="Every row of a period with its transaction, its counter-value and what it "
        "changes: flows, result, fees by type. All pages sum up to the statements.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/statement/rows"),
        request_model=StatementRowsIn,
        response_model=StatementRows,
        weight=HEAVY,
        pass_through=read_rows,
        family="statements",
        refusals=("not_found",),
    ),
)
