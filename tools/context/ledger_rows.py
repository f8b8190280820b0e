"""Ledger rows of what owners and agents do through an operation."""

from __future__ import annotations

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import Payload
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from storage.unit_of_work import UnitOfWork
from tools.model.operation import AnyContext


def append_row(
    uow: UnitOfWork,
    ctx: AnyContext,
    mandate: Mandate,
    kind: LedgerKind,
    reported_by: Reporter,
    payload: Payload,
    *,
    amount_usdc: Usdc | None = None,
    tx_hash: str | None = None,
) -> Event:
    """Append a row that is no log of the chain: it has no block number and no log index, so that
    it never moves the chain reader's resume point.
    """
    row = NewEvent(
        kind=kind,
        reported_by=reported_by,
        occurred_at=ctx.now,
        amount_usdc=amount_usdc,
        tx_hash=tx_hash,
        chain_id=mandate.chain_id,
        payload=written(payload),
    )
    return append(uow, ctx, mandate, row)


def append(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate, row: NewEvent) -> Event:
    """Append a row to the mandate's ledger, now."""
    event = uow.ledger.append(mandate.public_id, row, event_id=ctx.ids.short("ev_"), now=ctx.now)
    if event is None:
        raise LookupError("only a log of the chain can be there already")
    return event
