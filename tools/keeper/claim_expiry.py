"""Claim expiry: closes claims that no chain row will confirm."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from domain.chain_facts import Receipt
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import ClaimEnded, Outcome
from domain.ledger.state.claimed import PendingClaim
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.shares import round_robin
from storage.unit_of_work import UnitOfWork
from tools.keeper.ingest import IngestContext
from tools.keeper.reservations import release_reverted
from tools.model.operation import Deps

log = logging.getLogger("wallet.claims")
CLAIMS_A_ROUND = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaim:
    """A claim that waits, and where."""

    mandate: Mandate
    event_id: str
    claim: PendingClaim


def pending_claims(uow: UnitOfWork, mandates: Sequence[Mandate]) -> list[OpenClaim]:
    """The pending claims of some mandates, each owner's first before any owner's second."""
    claims = (
        OpenClaim(mandate=m, event_id=event_id, claim=claim)
        for m in mandates
        for event_id, claim in uow.ledger.state(m.public_id).claimed.pending.items()
    )
    return round_robin(claims, lambda one: one.mandate.owner_id, CLAIMS_A_ROUND)


async def expire_claims(deps: Deps, chain: Chain, mandates: Sequence[Mandate]) -> int:
    """Look for what became of each pending claim, and note those that ended without a chain row;
    how many.

    Errors: `chain_unavailable`.
    """
    claims = await deps.store.read(lambda uow: pending_claims(uow, mandates))
    if not claims:
        return 0
    read_to, wait = await _read_to(deps, chain), timedelta(seconds=deps.config.claim_ttl_s)
    receipts = await chain.receipts([one.claim.tx_hash for one in claims])
    ended = 0
    for one in claims:
        if one.claim.tx_hash.lower() not in receipts:
            # What a node tells of it is nonsense, or its nodes do not tell the same: nobody knows.
            log.warning("%s: no agreed receipt of %s", one.mandate.public_id, one.claim.tx_hash)
            continue
        receipt = receipts[one.claim.tx_hash.lower()]
        outcome = outcome_of(one, receipt, chain.confirmations)
        if outcome is None and read_to is not None and read_to >= one.claim.at + wait:
            outcome = "not_found"
        if outcome is not None:
            ended += await deps.store.write(partial(_end, deps, chain, one, outcome, receipt))
    return ended


async def _read_to(deps: Deps, chain: Chain) -> datetime | None:
    """The time of the newest block that the reader has read, at most our own: a claim ends by no
    time that has not come.
    """
    cursor = await deps.store.read(lambda uow: uow.chainlog.cursor(chain.chain_id))
    stamp = None if cursor is None else await chain.block(cursor.block)
    return None if stamp is None else min(stamp.at, deps.clock.now())


def outcome_of(one: OpenClaim, receipt: Receipt | None, confirmations: int) -> Outcome | None:
    """The outcome by a receipt that is deep enough; None while the chain's row may still come."""
    if receipt is None or receipt.depth < confirmations:
        return None
    if not receipt.ok:
        return "reverted"
    vault = (one.mandate.vault_address or "").lower()
    return None if any(g.address.lower() == vault for g in receipt.logs) else "elsewhere"


def _end(
    deps: Deps,
    chain: Chain,
    one: OpenClaim,
    outcome: Outcome,
    receipt: Receipt | None,
    uow: UnitOfWork,
) -> bool:
    ended = close_claim(IngestContext.of(uow, deps), one, outcome)
    if ended and receipt is not None:
        release_reverted(uow, chain, one.mandate, receipt)
    return ended


def close_claim(ctx: IngestContext, one: OpenClaim, outcome: Outcome) -> bool:
    """Write the note, once; a chain row may have come first."""
    uow = ctx.uow
    mandate = uow.mandates.get(one.mandate.public_id, lock=True)
    if mandate is None or one.event_id not in uow.ledger.state(mandate.public_id).claimed.pending:
        return False
    row = NewEvent(
        kind=LedgerKind.NOTE,
        reported_by=Reporter.KEEPER,
        occurred_at=ctx.now,
        tx_hash=one.claim.tx_hash,
        chain_id=mandate.chain_id,
        payload=written(ClaimEnded(event_id=one.event_id, outcome=outcome)),
    )
    ctx.append(mandate.public_id, row)
    return True
