"""Vault marks: stores each vault's value at a block, and finds those below their stop line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from domain.chain_facts import VaultState
from domain.ledger.events.chain_events import observed
from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.pairing import LogHistory
from domain.ledger.events.payload_codec import write
from domain.ledger.events.payloads import EventPayload, Marked
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.rules.stop_line import is_below_floor, latched, worth_marking
from tools.keeper.ingest import IngestContext, ReorgSuspected
from tools.keeper.reversals import BLOCK_GONE, reversal

DUST = Usdc(1_000_000)


def mark_vaults(
    ctx: IngestContext, mandates: Sequence[Mandate], vaults: Mapping[str, VaultState]
) -> set[str]:
    """Note when each vault was read, and add a mark of those of which one tells anything; gives the
    ids of those that stand below their stop line, now and on two marks in a row.

    Seeing is no act: the marks are the same with the stop line's dry run on and off, and with or
    without a key of the house. A vault worth less than 1 USDC costs the house no gas.
    """
    uow, fresh_s = ctx.uow, ctx.config.mark_fresh_s
    uow.mandates.refreshed([m.public_id for m in mandates], ctx.now)
    low: set[str] = set()
    for mandate in mandates:
        vault = vaults.get(mandate.vault_address or "")
        if vault is None or not vault.exists or mandate.vault_address is None:
            continue
        if mandate.status not in (Status.WORKING, Status.STOPPED):
            continue
        known = uow.chainlog.block_hash(mandate.chain_id, vault.block.number)
        if known not in (None, vault.block.hash):
            continue  # the chain was reorganised since it was read, or the reader has to go back
        book = uow.ledger.state(mandate.public_id).measured
        if worth_marking(mandate, book, vault, fresh_s):
            ctx.append(mandate.public_id, _mark(mandate, vault))
            book = uow.ledger.state(mandate.public_id).measured
        at_line = is_below_floor(vault) and latched(book, fresh_s)
        if at_line and mandate.status is Status.WORKING and vault.cash + vault.positions >= DUST:
            low.add(mandate.public_id)
    return low


def _mark(mandate: Mandate, vault: VaultState) -> NewEvent:
    """The row of what the vault said at one block: by the chain, and no log of it."""
    block = vault.block.number
    body = Marked(
        cash=vault.cash,
        positions=vault.positions,
        floor=vault.floor,
        block=block,
        block_hash=vault.block.hash,
    )
    probed = [-1 if v is None else v.micros for v in vault.values]
    observation = observed({"values": probed}, block, mandate.probe_keys)
    observation = replace(observation, cash=vault.cash + vault.fee_owed)
    return NewEvent(
        kind=LedgerKind.NOTE,
        reported_by=Reporter.CHAIN,
        occurred_at=vault.block.at,
        chain_id=mandate.chain_id,
        block_number=block,
        payload=write(EventPayload(body=body, observed=observation)),
    )


def take_back_marks(
    ctx: IngestContext, chain_id: int, blocks: range, hashes: Mapping[int, str | None]
) -> int:
    """Take back the marks that were read at some blocks of a branch that is gone; how many.

    Shapes: `blocks` are deep enough to stand; `hashes` are what the chain was asked for.
    Errors: `ReorgSuspected` for a block whose hash the reader has not read so.
    """
    gone: list[tuple[str, Event]] = []
    doubt, uow = set[int](), ctx.uow
    for public_id, event in uow.ledger.marks_in(chain_id, blocks.start, blocks.stop - 1):
        body = event.content.body
        if not isinstance(body, Marked) or body.block is None or body.block_hash is None:
            continue
        if body.block_hash == uow.chainlog.block_hash(chain_id, body.block):
            continue
        if event.event_id in uow.ledger.state(public_id).journal.undone:
            continue
        if body.block not in hashes:
            doubt.add(body.block)
        elif hashes[body.block] != body.block_hash:
            gone.append((public_id, event))
    if doubt:
        raise ReorgSuspected(blocks=doubt)
    for public_id, event in gone:
        lost = LogHistory(first=event, now=event, is_standing=True)
        ctx.append(public_id, reversal(lost, ctx.now, chain_id, BLOCK_GONE))
    return len(gone)
