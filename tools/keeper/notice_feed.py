"""Notice feed: turns new ledger rows into notices of all owners."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.ledger.events.event import Event
from domain.reads.notices import may_tell, row_notices
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import enqueue_notice

LEASE: tuple[str, str] = ("notices", "ledger")


def enqueue_notices(
    uow: UnitOfWork, rows: Sequence[tuple[str, Event]], cursor: str, now: datetime
) -> int:
    """Queue what some rows are worth telling, and note how far was read; how many were new.

    Shapes: `rows` are (public_id, row), in the order of the record; a row that was taken before
    queues nothing again.
    """
    count = sum(_taken(uow, public_id, event, now) for public_id, event in rows)
    uow.webhooks.save_cursor(cursor)
    return count


def _taken(uow: UnitOfWork, public_id: str, event: Event, now: datetime) -> int:
    if not may_tell(event) or not uow.webhooks.listen_to(public_id):
        return 0
    mandate = uow.mandates.get(public_id)
    if mandate is None:
        return 0
    notices = row_notices(mandate, event, event.content.body, uow.ledger.state(public_id).measured)
    return sum(enqueue_notice(uow, mandate.owner_id, notice, now) for notice in notices)
