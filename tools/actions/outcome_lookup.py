"""Outcome lookup: what became of a call whose answer was lost, so that it is not sent twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from domain.agents.sent_calls import SentCall
from domain.chain_facts import Receipt, SentTransactions
from domain.ledger.events.event import Event, Reporter
from domain.ledger.events.pairing import standing_row
from domain.ledger.events.payloads import RefusedAttempt
from domain.mandates.approvals import OPEN, Reservation
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.reads.event_rows import ledger_row
from domain.reads.row_models import LedgerRow
from domain.refusals import Refused, invalid
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.actions.event_reports import EventOut
from tools.context.access import load_mandate, visible_mandate
from tools.context.snapshot_loader import chain_or_none, signed_digest
from tools.keeper.ingest import purse_logs
from tools.keeper.reservations import release_reverted
from tools.model.fields import OneMandate, TxHash
from tools.model.operation import HEAVY, Caller, Deps, Operation, RequestContext, ResponseModel

Outcome = Literal["landed", "reverted", "pending", "not_seen", "unknown"]
UNASKED: Final = "The chain could not be asked."


class ReconcileIn(OneMandate):
    """Exactly one of the three."""

    tx_hash: TxHash | None = None
    idempotency_key: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._:-]{1,128}$",
        description="the key of an act or a report",
    )
    action_hash: str | None = Field(
        default=None,
        pattern=r"^0x[0-9a-fA-F]{64}$",
        description="the action_hash that came with calldata: this very call, the newest time it "
        "was handed out",
    )


class BlockTold(ResponseModel):
    """The block that the transaction is in; `depth` counts the blocks on top of it."""

    number: int | None
    hash: str | None = None
    depth: int | None = None


class FirstAnswer(ResponseModel):
    """The answer that the first call with the key got."""

    status: int
    body: EventOut


class ReconcileOut(ResponseModel):
    """The known outcome of a transaction, a key or an action."""

    outcome: Outcome = Field(
        description="landed and reverted are proven; unknown: it cannot be told, why says for "
        "what reason"
    )
    block: BlockTold | None
    events: list[LedgerRow]
    tx_hash: str | None = Field(default=None, description="the transaction that proves it")
    retry_safe: bool = Field(description="true only where nothing can have been sent")
    why: str | None = Field(default=None, description="what the outcome rests on")
    response: FirstAnswer | None = None
    reserved_until: Timestamp | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeEvidence:
    """The chain's evidence of an outcome: of a transaction, or of the transactions of an agent's
    wallet.

    `chain_read` is false where no node answered; `waits` is true for a transaction that is known
    and not mined yet.
    """

    chain_read: bool = False
    receipt: Receipt | None = None
    waits: bool = False
    sent: SentTransactions | None = None


async def gather(deps: Deps, caller: Caller, request: ReconcileIn) -> OutcomeEvidence:
    """Ask the chain, where a transaction or an action is named."""
    named = (request.tx_hash, request.idempotency_key, request.action_hash)
    if sum(v is not None for v in named) != 1:
        raise invalid("tx_hash", "name exactly one of tx_hash, idempotency_key, action_hash")
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    if chain is None or not chain.rpc_set:
        return OutcomeEvidence()
    try:
        if (key := request.idempotency_key) is not None:
            act = await deps.store.read(lambda uow: _act_of(uow, mandate, key))
            return OutcomeEvidence() if act is None else await _evidence_of_act(chain, act)
        if request.action_hash is not None:
            return await _evidence_of_action(deps, chain, mandate, request.action_hash.lower())
        return await _evidence_of_tx(chain, (request.tx_hash or "").lower())
    except Refused:
        return OutcomeEvidence()


async def _evidence_of_tx(chain: Chain, tx_hash: str) -> OutcomeEvidence:
    receipt = await chain.receipt(tx_hash)
    waits = receipt is None and await chain.is_pending(tx_hash)
    return OutcomeEvidence(chain_read=True, receipt=receipt, waits=waits)


async def _evidence_of_act(chain: Chain, act: SentCall) -> OutcomeEvidence:
    """Evidence by each transaction that was signed for it: one of a lower fee may be mined too."""
    waits = False
    for sent in reversed(act.sent):
        evidence = await _evidence_of_tx(chain, sent.tx_hash)
        if evidence.receipt is not None:
            return evidence
        waits = waits or evidence.waits
    return OutcomeEvidence(chain_read=True, waits=waits)


async def _evidence_of_action(
    deps: Deps, chain: Chain, mandate: Mandate, action_hash: str
) -> OutcomeEvidence:
    reservation = await deps.store.read(
        lambda uow: uow.reservations.of_action(mandate.public_id, action_hash)
    )
    if reservation is None or mandate.vault_address is None:
        return OutcomeEvidence(chain_read=True)
    if reservation.outcome == "landed" and reservation.tx_hash is not None:
        return await _evidence_of_tx(chain, reservation.tx_hash)
    if reservation.block is None:
        return OutcomeEvidence()
    return OutcomeEvidence(
        chain_read=True,
        sent=await chain.sent(reservation.sender, mandate.vault_address, reservation.block),
    )


def reconcile(uow: UnitOfWork, ctx: RequestContext[ReconcileIn, OutcomeEvidence]) -> ReconcileOut:
    """Say what is known of a transaction, a key or an action."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    if ctx.request.idempotency_key is not None:
        act = _act_of(uow, mandate, ctx.request.idempotency_key)
        if act is not None:
            return _outcome_by_act(uow, ctx, mandate, act)
        return _outcome_by_key(uow, ctx, mandate.agent_id or "")
    if ctx.request.action_hash is not None:
        return _outcome_by_action(uow, ctx, mandate, ctx.request.action_hash.lower())
    return _outcome_by_tx(uow, ctx, mandate, (ctx.request.tx_hash or "").lower())


# -- an act, whose key names what was stored before it was sent


def _act_of(uow: UnitOfWork, mandate: Mandate, key: str) -> SentCall | None:
    return uow.sent_calls.find(mandate.agent_id or "", mandate.public_id, key)


def _tx_of(act: SentCall) -> str:
    """The transaction that has its outcome, else the one that was signed last."""
    return act.tx_hash or act.newest.tx_hash


def _outcome_by_act(
    uow: UnitOfWork,
    ctx: RequestContext[ReconcileIn, OutcomeEvidence],
    mandate: Mandate,
    act: SentCall,
) -> ReconcileOut:
    """The outcome of its transaction. What is stored may be sent at any time: it is never called
    not seen, and no other act is safe in its place.
    """
    receipt = ctx.facts.receipt
    tx_hash = _tx_of(act) if receipt is None else receipt.tx_hash
    result = _outcome_by_tx(uow, ctx, mandate, tx_hash)
    if result.outcome in ("landed", "reverted"):
        return result
    why = "The act is stored and its outcome is open: repeat it with the SAME key."
    return _outcome_body("pending", reason=why, tx_hash=_tx_of(act))


# -- a transaction


def _outcome_by_tx(
    uow: UnitOfWork,
    ctx: RequestContext[ReconcileIn, OutcomeEvidence],
    mandate: Mandate,
    tx_hash: str,
) -> ReconcileOut:
    """The outcome by the chain; where the chain gave no answer or forgot the transaction, by the
    ledger's rows that no reorganisation reversed.
    """
    rows = uow.ledger.by_tx(mandate.public_id, tx_hash)
    receipt, chain = ctx.facts.receipt, chain_or_none(ctx, mandate)
    if receipt is not None and chain is not None:
        if not receipt.ok:
            release_reverted(uow, chain, mandate, receipt)
            return _outcome_body("reverted", rows, receipt=receipt)
        of_purse = purse_logs(uow, chain, mandate, receipt)
        if of_purse or _is_of_mandate(chain, mandate, receipt) or _landed(rows):
            return _outcome_body("landed", rows, receipt=receipt)
        why = "It succeeded, and nothing in it is of this mandate's vault or purse."
        return _outcome_body("unknown", rows, receipt=receipt, reason=why)
    if ctx.facts.waits:
        why = "The node knows it, and no block holds it yet."
        return _outcome_body("pending", rows, reason=why)
    if _landed(rows):
        return _outcome_body("landed", rows, reason="By the ledger.")
    if any(e.reported_by is Reporter.CHAIN and _refused(e) for e in rows):
        return _outcome_body("reverted", rows, reason="By the ledger.")
    if not ctx.facts.chain_read:
        return _outcome_body("unknown", rows, reason=UNASKED)
    return _outcome_body("not_seen", rows, reason="The node knows no such transaction.")


def _is_of_mandate(chain: Chain, mandate: Mandate, receipt: Receipt) -> bool:
    """True for a transaction to this mandate's vault, or with a log of it or of its creation."""
    vault, digest = (mandate.vault_address or "").lower(), signed_digest(chain, mandate)
    ours = {vault, (chain.factory or "").lower()} - {""}
    called = bool(vault) and (receipt.to or "").lower() == vault
    return called or any(g.address.lower() in ours and g.mandate == digest for g in receipt.logs)


def _landed(rows: Sequence[Event]) -> bool:
    logs = [e for e in rows if e.reported_by is Reporter.CHAIN and e.log_index is not None]
    return any(standing_row(rows, e.event_id) is not None for e in logs)


def _refused(event: Event) -> bool:
    return isinstance(event.content.body, RefusedAttempt)


def _outcome_body(
    outcome: Outcome,
    rows: Sequence[Event] = (),
    *,
    receipt: Receipt | None = None,
    reason: str | None = None,
    tx_hash: str | None = None,
    retry_safe: bool = False,
) -> ReconcileOut:
    block = None
    if receipt is not None:
        at = receipt.block
        block = BlockTold(number=at.number, hash=at.hash, depth=receipt.depth)
    elif outcome == "landed":
        block = BlockTold(number=next((e.block_number for e in rows if e.block_number), None))
    return ReconcileOut(
        outcome=outcome,
        block=block,
        events=[ledger_row(e) for e in rows],
        tx_hash=tx_hash or (receipt.tx_hash if receipt else None),
        retry_safe=retry_safe,
        why=reason,
    )


# -- the key of a report


def _outcome_by_key(
    uow: UnitOfWork, ctx: RequestContext[ReconcileIn, OutcomeEvidence], agent_id: str
) -> ReconcileOut:
    scope = f"{agent_id}:event:{ctx.request.public_id}"
    claim = uow.idempotency.find(scope, ctx.request.idempotency_key or "")
    if claim is None:
        why = "No call with this key was stored."
        return _outcome_body("not_seen", reason=why, retry_safe=True)
    if claim.status is None:
        return _outcome_body("pending", reason="The first call with this key still runs.")
    stored = dict(claim.response or {})
    return ReconcileOut.model_validate(
        {
            "outcome": "landed",
            "block": None,
            "events": [stored["event"]] if "event" in stored else [],
            "retry_safe": False,
            "response": {"status": claim.status, "body": stored},
        }
    )


# -- an action


def _outcome_by_action(
    uow: UnitOfWork,
    ctx: RequestContext[ReconcileIn, OutcomeEvidence],
    mandate: Mandate,
    action_hash: str,
) -> ReconcileOut:
    """The outcome of this very call since its calldata was last handed out."""
    reservation = uow.reservations.of_action(mandate.public_id, action_hash)
    if reservation is None:
        request = uow.approvals.of_action(mandate.public_id, action_hash)
        if any(a.status_at(ctx.now) in OPEN for a in request):
            why = "It waits for the owner; its calldata was not handed out."
            return _outcome_body("pending", reason=why, retry_safe=True)
        return _outcome_body("not_seen", reason="Its calldata was not handed out.", retry_safe=True)
    chain, facts = chain_or_none(ctx, mandate), ctx.facts
    if reservation.outcome == "landed":
        return _executed(uow, mandate, reservation, facts)
    mine = _calls_of(chain, mandate, reservation, facts.sent)
    if (ran := next((c for c in mine if c.ok), None)) is not None:
        rows = uow.ledger.by_tx(mandate.public_id, ran.tx_hash)
        return _outcome_body("landed", rows, receipt=ran)
    if mine and chain is not None:
        release_reverted(uow, chain, mandate, mine[-1])
        rows = uow.ledger.by_tx(mandate.public_id, mine[-1].tx_hash)
        return _outcome_body("reverted", rows, receipt=mine[-1])
    if reservation.outcome == "reverted" and (tx_hash := reservation.tx_hash) is not None:
        rows = uow.ledger.by_tx(mandate.public_id, tx_hash)
        return _outcome_body("reverted", rows, reason="By its receipt.", tx_hash=tx_hash)
    return _open(ctx, reservation)


def _executed(
    uow: UnitOfWork, mandate: Mandate, reservation: Reservation, facts: OutcomeEvidence
) -> ReconcileOut:
    """The ledger holds its execution, unless a reorganisation took it away since."""
    rows = uow.ledger.by_tx(mandate.public_id, reservation.tx_hash or "")
    if _landed(rows):
        return _outcome_body("landed", rows, receipt=facts.receipt, tx_hash=reservation.tx_hash)
    why = "It was executed, and a reorganisation of the chain took that away."
    outcome: Outcome = "pending" if facts.waits else "unknown"
    return _outcome_body(outcome, rows, reason=why, tx_hash=reservation.tx_hash)


def _calls_of(
    chain: Chain | None, mandate: Mandate, reservation: Reservation, sent: SentTransactions | None
) -> list[Receipt]:
    """The transactions of the agent's wallet since then that are this very call."""
    if chain is None or sent is None or mandate.vault_address is None:
        return []
    name = [(c, chain.action_called(mandate.vault_address, c.data or "")) for c in sent.calls]
    action_hash = reservation.action.action_hash
    return [c for c, a in name if a is not None and a.action_hash == action_hash]


def _open(
    ctx: RequestContext[ReconcileIn, OutcomeEvidence], reservation: Reservation
) -> ReconcileOut:
    """Handed out, and no proof of what became of it."""
    sent = ctx.facts.sent
    if sent is None or sent.unknown is not None or sent.as_of is None:
        return _outcome_body("unknown", reason=UNASKED if sent is None else sent.unknown)
    until = reservation.expires_at if ctx.now < reservation.expires_at else None
    why = f"No transaction of the agent's wallet up to block {sent.as_of.number} is this call"
    if sent.waits:
        why = "A transaction of the agent's wallet waits to be mined; it may be this one."
    elif until is not None:
        why = f"{why}; it may still be sent."
    else:
        return _outcome_body("not_seen", reason=f"{why}.")
    return _outcome_body("pending", reason=why).model_copy(update={"reserved_until": until})


OPERATIONS: Final = (
    Operation(
        name="mandate_reconcile",
        title="Ask what happened",
        summary="After a lost answer: was the transaction, key or action landed, reverted, "
        "pending, not seen, or can it not be told? An act can be repeated with its SAME key. "
        "Ask this before you send calldata again.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/reconcile"),
        request_model=ReconcileIn,
        response_model=ReconcileOut,
        handler=reconcile,
        gather=gather,
        writes=True,
        idempotent=True,
        weight=HEAVY,
        on_mcp=True,
        refusals=("not_found",),
    ),
)
