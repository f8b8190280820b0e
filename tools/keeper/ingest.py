"""Log ingestion: turns chain logs into ledger rows and updates the mandate's status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from domain.chain_facts import PurseFacts, Receipt, VaultLog
from domain.ledger.events.chain_events import BY_LOG, IN_A_PURSE, PURSE_LOGS, observed
from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.pairing import (
    LogHistory,
    log_histories,
    place_of,
    purse_of,
    tells_same,
)
from domain.ledger.events.payload_codec import write, written
from domain.ledger.events.payloads import (
    CallTarget,
    EventPayload,
    Executed,
    LogMoved,
    Marked,
    Noted,
    PaidFee,
    Unwound,
)
from domain.mandates.approvals import Reservation
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.ports import Chain, Ids
from domain.rules.amount_rules import APPROVAL_MISSING
from domain.rules.snapshot import MandateSnapshot
from domain.rules.status_derivation import derive_status
from domain.rules.violations import violations, with_violation
from domain.settings import Config, Switches
from storage.unit_of_work import UnitOfWork
from tools.context.approval_keeping import close_pending
from tools.keeper.bills import bill_of, reopen_bill, settle_bills
from tools.keeper.reservations import approval_of, consume, executed_of, restore
from tools.keeper.reversals import reversal
from tools.keeper.vault_attachment import attach_created
from tools.model.operation import AnyContext, Deps
from tools.model.switches import switches


@dataclass(frozen=True, slots=True)
class IngestContext:
    """The transaction of log ingestion, and what else it depends on."""

    uow: UnitOfWork
    now: datetime
    ids: Ids
    config: Config
    switches: Switches

    @classmethod
    def of(cls, uow: UnitOfWork, deps: Deps, now: datetime | None = None) -> IngestContext:
        """The context of the keeper's own work."""
        on = switches(uow, deps.defaults)
        return cls(uow, deps.clock.now() if now is None else now, deps.ids, deps.config, on)

    def append(self, public_id: str, row: NewEvent) -> Event | None:
        """Append a row of a mandate; None where it stands in the ledger already."""
        event_id = self.ids.short("ev_")
        return self.uow.ledger.append(public_id, row, event_id=event_id, now=self.now)


def row_of(log: VaultLog, mandate: Mandate, purses: Sequence[PurseFacts] = ()) -> NewEvent | None:
    """The ledger row that a log of the vault or of its purse is; None for a log that is none
    (contract 5). `purses` are the mandate's.
    """
    event = BY_LOG.get(log.name)
    if event is None:
        return None
    body, amount = event.reads(log.args)
    if isinstance(body, (Executed, Unwound)):
        of_purse = (body.target.address or "").lower() in {p.hub for p in purses}
        body = replace(body, target=_label_of(mandate, body.target), purse=of_purse)
    keys, number = mandate.probe_keys, log.block.number
    state = None if type(body) in IN_A_PURSE else observed(log.args, number, keys)
    return NewEvent(
        kind=event.kind,
        reported_by=Reporter.CHAIN,
        occurred_at=log.block.at,
        amount_usdc=amount,
        tx_hash=log.tx_hash,
        chain_id=mandate.chain_id,
        log_index=log.log_index,
        block_number=log.block.number,
        payload=write(EventPayload(body=body, log_index=log.log_index, observed=state)),
    )


def _label_of(mandate: Mandate, target: CallTarget) -> CallTarget:
    entry = mandate.contract_target(target.address or "", target.selector or "")
    return target if entry is None else replace(target, market=entry.market, label=entry.label)


class ReorgSuspected(Exception):  # no error: a question that the chain has to answer
    """Rows stand in the ledger of which the logs at hand tell nothing: a reorganisation, or a node
    that left something out. The chain is asked for these transactions, vaults and blocks before
    anything is taken back.
    """

    def __init__(
        self,
        transactions: Collection[str] = (),
        vaults: Collection[str] = (),
        blocks: Collection[int] = (),
    ):
        super().__init__(f"{len(transactions)} transactions, {len(vaults)} vaults")
        self.transactions, self.vaults = frozenset(transactions), frozenset(vaults)
        self.blocks = frozenset(blocks)


def ingest_transaction(
    ctx: IngestContext,
    mandate: Mandate,
    tx_hash: str,
    logs: Sequence[VaultLog],
    *,
    sure: bool = True,
    purse: str | None = None,
) -> int:
    """Bring the ledger to what the chain says of one transaction; how many rows it took.

    Shapes: `logs` are all that the vault left in it, or those of `purse` (lower case) where it is
    given, in their order; none where it is in no block.
    A log that moved is the same log, and is restated where it stands now; what is gone is taken
    back, what is new is added, and the mandate follows. Every inlet ends here.
    Errors: `ReorgSuspected` where something had to be taken back and the caller is not `sure`.
    """
    of_tx = log_histories(ctx.uow.ledger.by_tx(mandate.public_id, tx_hash))
    histories = [t for t in of_tx if purse_of(t.now) == purse]
    purses = ctx.uow.chainlog.purses_of(mandate.public_id) if mandate.has_purse else ()
    news = [(log, new) for log in logs if (new := row_of(log, mandate, purses)) is not None]
    gone = [t for t in histories if t.is_standing]
    same: list[LogHistory | None] = []
    for _, new in news:
        same.append(next((t for t in gone if tells_same(t.now, new)), None))
        gone = [t for t in gone if t is not same[-1]]
    if gone and not sure:
        raise ReorgSuspected([tx_hash])
    rows: list[Event | None] = []
    for lost in gone:
        rows.append(ctx.append(mandate.public_id, reversal(lost, ctx.now, mandate.chain_id)))
        reopen_bill(ctx.uow, mandate.public_id, lost)
        if isinstance(lost.now.content.body, Executed):
            restore(ctx.uow, mandate, lost.now.content.body, tx_hash.lower())
    dead = [t for t in histories if not t.is_standing] + gone
    for (log, new), known in zip(news, same, strict=True):
        if known is None:
            returned = _find_returned(dead, new, log)
            dead = [t for t in dead if t is not returned]
            rows.append(_add(ctx, mandate, log, new, of_tx, returned))
        # With a part of the transaction gone, what is left of it is told anew: it was mined again.
        elif gone or _moved(known.now, log):
            moved = _with_cash(ctx, mandate, _restated(new, known, log), log)
            rows.append(ctx.append(mandate.public_id, moved))
            if rows[-1] is not None:
                settle_bills(ctx.uow, rows[-1])
    added = sum(row is not None for row in rows)
    if added:
        update_status(ctx.uow, mandate)
    return added


def _find_returned(dead: Sequence[LogHistory], new: NewEvent, log: VaultLog) -> LogHistory | None:
    """The log that was taken back and is here again; one index names one log of a transaction."""
    alike = [t for t in dead if tells_same(t.now, new)]
    there = [t for t in dead if t.first.log_index == log.log_index]
    return next(iter(alike or there), None)


def _moved(now: Event, log: VaultLog) -> bool:
    place = log.block.number, log.log_index
    return (place_of(now), now.occurred_at) != (place, log.block.at)


def _restated(new: NewEvent, of: LogHistory, log: VaultLog) -> NewEvent:
    """The row that tells a log anew; what it was judged to be does not change with its place."""
    moved = LogMoved(event_id=of.first.event_id, log_index=log.log_index, moved=of.is_standing)
    payload = replace(new.content, log_index=None, restates=moved)
    if of.is_standing and tells_same(of.now, new):
        payload = replace(payload, violation=of.now.content.violation)
    return replace(new, log_index=None, payload=write(payload))


def _add(
    ctx: IngestContext,
    mandate: Mandate,
    log: VaultLog,
    new: NewEvent,
    histories: Sequence[LogHistory],
    returned: LogHistory | None,
) -> Event | None:
    """Add the row of a log that does not stand in the ledger."""
    reservation = None
    if isinstance(new.content.body, Executed):
        # What this very call had used up was given back when it was taken away.
        known = (
            returned is not None
            and _same_call(returned.now, new)
            and APPROVAL_MISSING not in returned.now.violation_codes
        )
        reservation = executed_of(ctx.uow, mandate, log, known=known)
        new = judged(ctx, mandate, new, reservation)
    if isinstance(new.content.body, PaidFee):
        new = judged(ctx, mandate, _with_resource(ctx, new, new.content.body))
    if returned is not None:
        new = _restated(new, replace(returned, is_standing=False), log)
    elif any(t.first.log_index == log.log_index for t in histories):
        # A log that moved had this index before, and a ledger names a log by the index it had
        # first.
        new = replace(new, log_index=None)
    event = ctx.append(mandate.public_id, _with_cash(ctx, mandate, new, log))
    if event is not None and reservation is not None:
        consume(ctx.uow, mandate, reservation, log.tx_hash.lower())
    if event is not None:
        settle_bills(ctx.uow, event)
    return event


def _with_resource(ctx: IngestContext, new: NewEvent, paid: PaidFee) -> NewEvent:
    """The row of a payment with what it bought, where its bill was made here."""
    bill = bill_of(ctx.uow, paid, new.amount_usdc)
    if bill is None:
        return new
    body = replace(paid, resource=bill.resource)
    return replace(new, payload=write(replace(new.content, body=body)))


def _same_call(old: Event, new: NewEvent) -> bool:
    a, b = old.content.body, new.content.body
    if not isinstance(a, Executed) or not isinstance(b, Executed):
        return False
    calls = {(w.target.address, w.target.selector, w.data_hash, w.approved) for w in (a, b)}
    return len(calls) == 1


def _with_cash(ctx: IngestContext, mandate: Mandate, new: NewEvent, log: VaultLog) -> NewEvent:
    """The row with the cash that the vault had after its log: by the log where it says so, for it
    may be read ahead of rows below it; else by the rows before its place.
    """
    payload, place = new.content, (log.block.number, log.log_index)
    if payload.observed is None:
        return new
    if isinstance(payload.body, Marked):
        cash = payload.body.cash
    else:
        journal = ctx.uow.ledger.state(mandate.public_id).journal
        cash = Usdc(max(0, journal.cash_after(place, new)))
    payload = replace(payload, observed=replace(payload.observed, cash=cash))
    return replace(new, payload=write(payload))


def update_status(uow: UnitOfWork, mandate: Mandate) -> None:
    """Store where the mandate stands by its ledger."""
    current = uow.mandates.get(mandate.public_id, lock=True) or mandate
    changed = derive_status(current, uow.ledger.state(mandate.public_id))
    if changed != current:
        uow.mandates.save(changed)
        close_pending(uow, changed)
    # The agent is paid whenever it is owed, also after the owner has left with withdrawAll; and a
    # node may hide that the owner left. `compare_vaults` finds both done.
    if changed.settled_at is not None:
        uow.work.owe_fee(mandate.public_id)
    elif current.settled_at is not None:
        uow.work.fee_paid(mandate.public_id)


def judged(
    ctx: IngestContext, mandate: Mandate, new: NewEvent, reservation: Reservation | None = None
) -> NewEvent:
    """The row with the rules that it breaks."""
    uow, item = ctx.uow, approval_of(ctx.uow, mandate, reservation)
    snapshot = MandateSnapshot(
        mandate,
        uow.ledger.state(mandate.public_id),
        ctx.now,
        ctx.config,
        ctx.switches,
        approvals=() if item is None else (item,),
        policy=uow.policies.get(mandate.agent_id) if mandate.agent_id else None,
    )
    broken = violations(snapshot, new, uow.ledger.by_tx(mandate.public_id, new.tx_hash or ""))
    return replace(new, payload=with_violation(new, broken))


def ingest_logs(
    ctx: IngestContext, chain: Chain, logs: Sequence[VaultLog], sure: Collection[str] = ()
) -> int:
    """Take logs of many vaults in, in chain order; how many rows they took.

    Shapes: `logs` hold every log that a vault left in a transaction, or none of them; `sure` names
    the transactions that the chain was asked for.
    Errors: `ReorgSuspected`.
    """
    groups = [
        (key, tuple(group))
        for key, group in groupby(logs_by_tx(logs), key=lambda g: (g.tx_hash, g.address))
    ]
    of: dict[str, list[str]] = {}
    added = 0
    with ctx.uow.together() as uow:
        ctx = replace(ctx, uow=uow)
        in_purses = {g.address for g in logs if g.name in PURSE_LOGS}
        purses = uow.chainlog.purses_at(chain.chain_id, in_purses) if in_purses else {}
        for (tx_hash, address), vault_logs in groups:
            if vault_logs[0].name == "MandateCreated":
                for created in vault_logs:
                    attach_created(uow, ctx.now, chain, created)
            else:
                of.setdefault(_vault_of(address, purses), []).append(tx_hash)
        # A vault is made before anything happens in it.
        mandates = uow.mandates.hold_vaults(chain.chain_id, of)
        uow.ledger.hold({m.public_id: of[(m.vault_address or "").lower()] for m in mandates})
        for (tx_hash, address), vault_logs in groups:
            vault, known = _vault_of(address, purses), tx_hash in sure
            if vault not in of:
                continue
            mandate = uow.mandates.by_vault(chain.chain_id, vault, lock=True)
            purse = address.lower() if address.lower() in purses else None
            if mandate is not None:
                added += ingest_transaction(
                    ctx, mandate, tx_hash, vault_logs, sure=known, purse=purse
                )
    return added


def _vault_of(address: str, purses: Mapping[str, PurseFacts]) -> str:
    """The vault, lower case, that a log is of: its own, or that of its purse."""
    purse = purses.get(address.lower())
    return address.lower() if purse is None else purse.vault


def logs_by_tx(logs: Iterable[VaultLog]) -> Iterator[VaultLog]:
    """The logs of each transaction together, those of one vault in it together, in chain order;
    the factory's come first, for a vault may be made and used at once.
    """
    there = {(g.block.number, g.log_index, g.address): g for g in logs}
    ordered = [there[k] for k in sorted(there)]
    first = {g.tx_hash: n for n, g in reversed(list(enumerate(ordered)))}

    def place(g: VaultLog) -> tuple[int, bool, str, int]:
        return first[g.tx_hash], g.name != "MandateCreated", g.address, g.log_index

    yield from sorted(ordered, key=place)


def reverse_blocks(
    ctx: IngestContext,
    chain_id: int,
    blocks: range,
    logs: Sequence[VaultLog],
    sure: Collection[str],
) -> int:
    """Take back what stands in the ledger of some blocks and is not in them; how many rows.

    Shapes: `logs` are all that the chain has there, and `blocks` are deep enough to stand. Rows
    that a receipt brought early are looked at like all others, when the reader comes by.
    Errors: `ReorgSuspected`.
    """
    lost = orphaned_transactions(ctx.uow, chain_id, blocks, logs)
    doubt = {tx_hash for _, tx_hash, _ in lost} - set(sure)
    if doubt:
        raise ReorgSuspected(doubt)
    return sum(
        ingest_transaction(ctx, m, tx_hash, (), purse=purse)
        for (_, tx_hash, purse), m in lost.items()
    )


def orphaned_transactions(
    uow: UnitOfWork,
    chain_id: int,
    blocks: range,
    logs: Iterable[VaultLog],
    only: str | None = None,
) -> dict[tuple[str, str, str | None], Mandate]:
    """The transactions that stand in the ledger of some blocks and left none of these logs: by
    mandate, hash, and the purse whose logs they were; those of one mandate where it is named.
    """
    there = {(g.address.lower(), g.tx_hash) for g in logs}
    lost: dict[tuple[str, str, str | None], Mandate] = {}
    for public_id, event in uow.ledger.chain_rows_in(chain_id, blocks.start, blocks.stop - 1):
        if only not in (None, public_id):
            continue
        mandate, tx_hash = uow.mandates.get(public_id), event.tx_hash or ""
        purse = purse_of(event)
        address = purse or ((mandate and mandate.vault_address) or "").lower()
        if mandate is None or (address, tx_hash) in there:
            continue
        histories = log_histories(uow.ledger.by_tx(public_id, tx_hash))
        if any(t.is_standing and t.now == event for t in histories):
            lost[public_id, tx_hash, purse] = mandate
    return lost


def purse_logs(uow: UnitOfWork, chain: Chain, mandate: Mandate, receipt: Receipt) -> list[VaultLog]:
    """The logs of the mandate's purses in a transaction, those of each together, in their order."""
    purses = uow.chainlog.purses_of(mandate.public_id) if mandate.has_purse else ()
    logs = chain.purse_logs(receipt, {p.address: p for p in purses})
    return sorted(logs, key=lambda log: (_address(log), log.log_index))


def _address(log: VaultLog) -> str:
    return log.address.lower()


def ingest_receipt(
    uow: UnitOfWork, ctx: AnyContext, chain: Chain, mandate: Mandate, receipt: Receipt
) -> Mandate:
    """Take the logs of one transaction in at once, the vault's and its purse's, if they are deep
    enough; the reader brings them otherwise.

    A node may still tell of a block that the reader knows to be gone: nothing is taken from there.
    """
    if mandate.vault_address is None or receipt.depth < chain.confirmations:
        return mandate
    known = uow.chainlog.block_hash(mandate.chain_id, receipt.block.number)
    if known is not None and known != receipt.block.hash:
        return mandate
    of = mandate.vault_address.lower()
    logs = [g for g in receipt.logs if g.address.lower() == of]
    logs.sort(key=lambda g: g.log_index)
    ingest = IngestContext(uow, ctx.now, ctx.ids, ctx.config, ctx.switches)
    ingest_transaction(ingest, mandate, receipt.tx_hash, logs)
    for purse, of_purse in groupby(purse_logs(uow, chain, mandate, receipt), _address):
        ingest_transaction(ingest, mandate, receipt.tx_hash, tuple(of_purse), purse=purse)
    return uow.mandates.get(mandate.public_id) or mandate


def detach_vault(ctx: IngestContext, mandate: Mandate) -> None:
    """A reorganisation took the vault's creation away, and with it all that happened in it: the
    terms stand signed, and their vault can be made again.
    """
    uow = ctx.uow
    purses = [None, *(p.address for p in uow.chainlog.purses_of(mandate.public_id))]
    for tx_hash in uow.ledger.chain_transactions(mandate.public_id):
        for purse in purses:
            ingest_transaction(ctx, mandate, tx_hash, (), purse=purse)
    current = uow.mandates.get(mandate.public_id, lock=True) or mandate
    uow.mandates.save(replace(current, vault_address=None, paused_at=None))
    text = "The chain was reorganised; the vault's creation is gone."
    note = NewEvent(
        kind=LedgerKind.NOTE,
        reported_by=Reporter.CHAIN,
        occurred_at=ctx.now,
        chain_id=mandate.chain_id,
        payload=written(Noted(text=text)),
    )
    ctx.append(mandate.public_id, note)
    update_status(uow, mandate)
