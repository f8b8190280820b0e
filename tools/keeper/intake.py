"""Chain logs become ledger rows, and move the mandate they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from domain.facts import Receipt, VaultLog
from domain.ledger.chain_events import BY_LOG
from domain.ledger.events import Event, NewEvent, Reporter
from domain.ledger.pairing import stands
from domain.ledger.payloads import Executed, Place, Restates, Told, Unwound
from domain.ledger.written import write
from domain.mandates.approvals import Reservation
from domain.mandates.mandate import Mandate
from domain.ports import Chain, Ids
from domain.rules.case import Case
from domain.rules.standing import standing
from domain.rules.violations import flagged, violations
from domain.settings import Config, Switches
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Ask
from tools.keeper.handed import executed_of

APPROVAL_MISSING: Final = "approval_missing"


@dataclass(frozen=True, slots=True)
class Desk:
    """What taking logs in needs besides the transaction."""

    now: datetime
    ids: Ids
    config: Config
    switches: Switches


def row_of(log: VaultLog, m: Mandate) -> NewEvent | None:
    """The ledger row that a vault's log is; None for a log that is none (contract 5)."""
    event = BY_LOG.get(log.name)
    if event is None:
        return None
    what, amount = event.reads(log.args)
    if isinstance(what, (Executed, Unwound)):
        what = replace(what, place=_named(m, what.place))
    return NewEvent(
        kind=event.kind,
        reported_by=Reporter.CHAIN,
        occurred_at=log.block.at,
        amount_usdc=amount,
        tx_hash=log.tx_hash,
        chain_id=m.chain_id,
        log_index=log.log_index,
        block_number=log.block.number,
        payload=write(Told(what=what, log_index=log.log_index)),
    )


def _named(m: Mandate, place: Place) -> Place:
    entry = m.contract_target(place.address or "", place.selector or "")
    return place if entry is None else replace(place, market=entry.market, label=entry.label)


def take_log(uow: UnitOfWork, desk: Desk, m: Mandate, log: VaultLog) -> Event | None:
    """Add a log's row and let the mandate follow; None where it stands there already.

    An executed call that breaks a rule is stored and flagged like a reported one. Both inlets, the
    reader and a receipt that somebody named, end here.
    """
    new = row_of(log, m)
    if new is None:
        return None
    rows = uow.ledger.by_tx(m.public_id, log.tx_hash)
    first = next((e for e in rows if _same_log(e, log)), None)
    held = executed_of(uow, m, log) if log.name == "Executed" and first is None else None
    if isinstance(new.told.what, Executed):
        new = _judged(uow, desk, new, rows, first, m, held)
    if first is not None:
        now = stands(rows, first.event_id)
        if now is not None and now.block_number == log.block.number:
            return None
        # The log moved, or was gone and came back: one log is one row, so what it says is
        # restated, at the place where the chain has it now.
        new = _restated(new, first.event_id, log.log_index)
    event = uow.ledger.append(m.public_id, new, event_id=desk.ids.short("ev_"), now=desk.now)
    if event is None:
        return None
    if held is not None:
        _released(uow, m, held, log)
    follow(uow, m)
    return event


def _same_log(event: Event, log: VaultLog) -> bool:
    return event.reported_by is Reporter.CHAIN and event.log_index == log.log_index


def _restated(new: NewEvent, of: str, log_index: int) -> NewEvent:
    told = replace(new.told, log_index=None, restates=Restates(event_id=of, log_index=log_index))
    return replace(new, log_index=None, payload=write(told))


def follow(uow: UnitOfWork, m: Mandate) -> None:
    """Store where the mandate stands by its ledger."""
    current = uow.mandates.get(m.public_id, lock=True) or m
    books = uow.ledger.state(m.public_id)
    changed = standing(current, books)
    if changed != current:
        uow.mandates.save(changed)
    # The agent is paid whenever it is owed, also after the owner has left with withdrawAll.
    if books.measured.fee_owed:
        uow.work.owe_fee(m.public_id)
    elif changed.settled_at is not None:
        uow.work.fee_paid(m.public_id)


def _judged(
    uow: UnitOfWork,
    desk: Desk,
    new: NewEvent,
    rows: Sequence[Event],
    first: Event | None,
    m: Mandate,
    held: Reservation | None,
) -> NewEvent:
    """The row with the rules that it breaks; a log that only moved keeps the item that it used."""
    item = uow.approvals.get(m.public_id, held.approval_id) if held and held.approval_id else None
    case = Case(
        m,
        uow.ledger.state(m.public_id),
        desk.now,
        desk.config,
        desk.switches,
        approvals=() if item is None else (item,),
        policy=uow.policies.get(m.agent_id) if m.agent_id else None,
    )
    broken = violations(case, new, rows)
    if first is not None and APPROVAL_MISSING not in first.violation_codes:
        broken = [b for b in broken if b.code != APPROVAL_MISSING]
    return replace(new, payload=flagged(new, broken))


def _released(uow: UnitOfWork, m: Mandate, held: Reservation, log: VaultLog) -> None:
    """An execution ends the reservation of its very call and uses its approval up."""
    uow.reservations.end(m.public_id, held.action.action_hash, "landed", log.tx_hash.lower())
    if held.approval_id:
        _use(uow, m, held.approval_id)


def _use(uow: UnitOfWork, m: Mandate, approval_id: str) -> None:
    item = uow.approvals.get(m.public_id, approval_id)
    if item is not None and item.status == "approved":
        uow.approvals.save(replace(item, status="used"))


def ingest(uow: UnitOfWork, desk: Desk, chain_id: int, logs: Iterable[VaultLog]) -> int:
    """Take logs of many vaults in, in chain order; returns how many rows were added."""
    added = 0
    for log in logs:
        m = uow.mandates.by_vault(chain_id, log.address, lock=True)
        if m is None:
            continue
        added += take_log(uow, desk, m, log) is not None
    return added


def take_receipt(
    uow: UnitOfWork, ask: Ask[Any, Any], chain: Chain, m: Mandate, receipt: Receipt
) -> Mandate:
    """Take the vault's logs of one transaction in at once, if they are deep enough; the reader
    brings them otherwise.
    """
    if m.vault_address is None or receipt.depth < chain.confirmations:
        return m
    desk = Desk(ask.now, ask.ids, ask.config, ask.switches)
    for log in receipt.logs:
        if log.address.lower() == m.vault_address.lower():
            take_log(uow, desk, m, log)
            m = uow.mandates.get(m.public_id) or m
    return m
