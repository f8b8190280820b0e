"""Reorganisations: a row whose log is gone is answered by a row that takes it back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from domain.facts import VaultLog
from domain.ledger.events import Event, Kind, NewEvent, Reporter
from domain.ledger.pairing import log_of, stands
from domain.ledger.payloads import Reverses
from domain.ledger.written import written
from storage.unit_of_work import UnitOfWork
from tools.keeper.intake import Desk, follow, row_of


def compensate(
    uow: UnitOfWork,
    desk: Desk,
    chain_id: int,
    blocks: range,
    logs: Sequence[VaultLog],
    known: Collection[str] | None,
) -> int:
    """Compare the rows of some blocks with the logs that the chain has there; how many were taken
    back.

    Shapes: `logs` are all that the vaults `known` (lower case; None: all) left in `blocks`, which
    are deep enough to stand. A log that only moved is the same log: taking it in again gives it
    its place. A row that a receipt brought early is compared like the others, when the reader
    comes by.
    """
    there = {(g.tx_hash, g.log_index): g for g in logs}
    gone = 0
    for public_id, event in uow.ledger.chain_rows_in(chain_id, blocks.start, blocks.stop - 1):
        m = uow.mandates.get(public_id)
        if m is None or (known is not None and (m.vault_address or "").lower() not in known):
            continue
        rows = uow.ledger.by_tx(public_id, event.tx_hash or "")
        of, index = log_of(event, rows)
        if stands(rows, of) != event:
            continue
        log = there.get((event.tx_hash or "", -1 if index is None else index))
        new = None if log is None else row_of(log, m)
        if new is not None and _tells_same(event, new):
            continue
        row = NewEvent(
            kind=Kind.NOTE,
            reported_by=Reporter.CHAIN,
            occurred_at=desk.now,
            tx_hash=event.tx_hash,
            chain_id=chain_id,
            payload=written(reversal(event, of)),
        )
        uow.ledger.append(public_id, row, event_id=desk.ids.short("ev_"), now=desk.now)
        follow(uow, m)
        gone += 1
    return gone


def reversal(event: Event, of: str) -> Reverses:
    """What takes a chain row back; `of` is the row that told of its log first."""
    return Reverses(
        event_id=of,
        seq=event.seq,
        kind=event.kind,
        amount=event.amount_usdc if event.kind is not Kind.RESOLVE else None,
        tx_hash=event.tx_hash,
        occurred_at=event.occurred_at,
        what=event.told.what,
        text="The chain was reorganised; this row's log is gone.",
    )


def _tells_same(event: Event, row: NewEvent) -> bool:
    return row.kind is event.kind and row.amount_usdc == event.amount_usdc
