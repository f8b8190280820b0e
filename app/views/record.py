"""The whole record of a mandate, a page at a time; the rows as they are stored beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from app.replies import Json
from app.words.status import Pill, pill
from app.words.steps import RecordLine, lines
from app.words.untrusted_text import AgentName, agent_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredView:
    """A ledger row, as it was written."""

    event_id: str
    kind: str
    at: str
    reported_by: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """A page of lines, or of rows; `older` is the cursor of the next."""

    public_id: str
    agent: AgentName | None
    pill: Pill
    lines: tuple[RecordLine, ...]
    rows: tuple[StoredView, ...]
    stored: bool
    older: str | None


def _stored(row: Json) -> StoredView:
    return StoredView(
        event_id=row["event_id"],
        kind=row["kind"],
        at=row["created_at"],
        reported_by=row["reported_by"],
        text=json.dumps(row, indent=1, ensure_ascii=True),
    )


def view(head: Json, page: Json, *, stored: bool) -> RecordView:
    """`head`: mandate and progress; `page`: of mandate_steps, or of mandate_events if `stored`."""
    m = head["mandate"]
    return RecordView(
        public_id=m["public_id"],
        agent=agent_of(m),
        pill=pill(m, head["progress"]),
        lines=() if stored else lines(page["items"]),
        rows=tuple(_stored(r) for r in page["items"]) if stored else (),
        stored=stored,
        older=page["next_cursor"],
    )
