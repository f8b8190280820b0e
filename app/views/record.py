"""The whole record of a mandate, a page at a time; the rows as they are stored beside it."""

from __future__ import annotations

import json

from app.replies import Json, Record
from app.words.status import pill
from app.words.steps import lines


def view(head: Json, page: Json, *, stored: bool) -> Record:
    """`head`: mandate and progress; `page`: of mandate_steps, or of mandate_events if `stored`."""
    m, rows = head["mandate"], page["items"] if stored else ()
    return Record(
        mandate=m,
        pill=pill(m, head["progress"]),
        lines=() if stored else lines(page["items"]),
        rows=tuple(Record(r, text=json.dumps(r, indent=1, ensure_ascii=True)) for r in rows),
        stored=stored,
        older=page["next_cursor"],
    )
