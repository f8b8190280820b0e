"""Reports of refused attempts: stored, and proven by a receipt where there is one."""

from __future__ import annotations

import json
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import Receipt
from domain.ledger.events.event import Event, LedgerKind, Reporter
from domain.ledger.events.payloads import RefusedAttempt
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.reads.event_rows import ledger_row
from domain.reads.row_models import LedgerRow
from domain.refusals import Refused, invalid, refusal
from domain.times import midnight
from storage.unit_of_work import UnitOfWork
from tools.context.access import agent_mandate, load_mandate
from tools.context.ledger_rows import append_row
from tools.context.snapshot_loader import GatheredFacts, chain_or_none, require_chain
from tools.keeper.reservations import release_reverted
from tools.model.fields import Line, OneMandate, TxHash
from tools.model.operation import (
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    ResponseModel,
)

ATTEMPTED_MAX: Final = 4_000


class RefusedIn(OneMandate):
    """A refused attempt (spec 2.5)."""

    reason: Literal[
        "TargetNotAllowed",
        "OverPerTxCap",
        "OverDailyCap",
        "MandateStopped",
        "MandateEnded",
        "server_guard",
    ] = Field(
        description="the vault's error; another one (NotAgent, ...) is server_guard, named in check"
    )
    source: Line | None = Field(
        default=None,
        max_length=200,
        description="where the refusal came from, for example execute-call",
    )
    check: Line | None = Field(
        default=None, max_length=200, description="the check or code that failed"
    )
    attempted: dict[str, object] | None = Field(
        default=None, description="what was attempted: target, selector, amount_usdc"
    )
    tx_hash: TxHash | None = None


class RefusedOut(ResponseModel):
    """The stored row; `proven` says that a reverted receipt proves it."""

    event: LedgerRow
    proven: bool
    known: bool
    vault_error: str | None = Field(
        description="the error that the reverted receipt gives; null where none proves one"
    )


async def gather_refusal(deps: Deps, caller: Caller, request: RefusedIn) -> GatheredFacts:
    """Read the receipt, where a transaction is named and the chain answers."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    if request.tx_hash is None or chain is None or not chain.rpc_set:
        return GatheredFacts()
    return GatheredFacts(receipt=await _receipt_if_readable(chain, request.tx_hash))


async def _receipt_if_readable(chain: Chain, tx_hash: str) -> Receipt | None:
    try:
        with chain.short_deadline():
            return await chain.receipt(tx_hash.lower())
    except Refused:
        return None


def proves(receipt: Receipt | None, mandate: Mandate) -> bool:
    """True only for a reverted call from the agent's wallet to the vault (spec 2.5)."""
    if receipt is None or receipt.ok:
        return False
    agent, vault = mandate.agent_address or "", mandate.vault_address or ""
    sent = bool(agent) and receipt.sender.lower() == agent.lower()
    return sent and bool(vault) and (receipt.to or "").lower() == vault.lower()


def _earlier_report(uow: UnitOfWork, mandate: Mandate, tx_hash: str) -> Event | None:
    rows = uow.ledger.by_tx(mandate.public_id, tx_hash)
    return next((e for e in rows if isinstance(e.content.body, RefusedAttempt)), None)


def _error_of(event: Event) -> str | None:
    """The vault's error that a receipt proved."""
    body = event.content.body
    proof = body.proof if isinstance(body, RefusedAttempt) else None
    return None if proof is None else str(proof["error"])


def _stored(event: Event, *, known: bool) -> RefusedOut:
    return RefusedOut(
        event=ledger_row(event),
        proven=event.reported_by is Reporter.CHAIN,
        known=known,
        vault_error=_error_of(event),
    )


def report_refusal(
    uow: UnitOfWork, ctx: RequestContext[RefusedIn, GatheredFacts]
) -> HandlerResult[RefusedOut]:
    """Store a refused attempt: at most 60 a day and mandate, one a transaction."""
    request = ctx.request
    mandate = agent_mandate(uow, ctx.caller, request.public_id, lock=True)
    known = _earlier_report(uow, mandate, request.tx_hash) if request.tx_hash else None
    if known is not None:
        return HandlerResult(_stored(known, known=True), 200)
    if request.attempted is not None and len(json.dumps(request.attempted)) > ATTEMPTED_MAX:
        raise invalid("attempted", f"at most {ATTEMPTED_MAX} characters of JSON")
    state = uow.ledger.state(mandate.public_id)
    day = ctx.now.date().isoformat()
    if state.refusals_day == day and state.refusals_count >= ctx.config.refusals_per_day:
        why = f"{ctx.config.refusals_per_day} refused attempts are recorded today."
        left = {"refusals": 0}
        raise Refused(refusal("rate_limited", why=why, retry_at=midnight(ctx.now), remaining=left))
    receipt = ctx.facts.receipt
    proven = proves(receipt, mandate)
    if proven and receipt is not None:
        release_reverted(uow, require_chain(ctx, mandate), mandate, receipt)
    revert = receipt.revert if proven and receipt is not None else None
    attempt = RefusedAttempt(
        reason=request.reason,
        source=request.source or "agent",
        check=request.check,
        attempted=request.attempted,
        proof=None if revert is None else {"error": revert.name, "args": dict(revert.args)},
    )
    reporter = Reporter.CHAIN if proven else Reporter.AGENT
    event = append_row(
        uow, ctx, mandate, LedgerKind.NOTE, reporter, attempt, tx_hash=request.tx_hash
    )
    return HandlerResult(_stored(event, known=False), 201)


OPERATIONS: Final = (
    Operation(
        name="mandate_report_refusal",
        title="Report a refused attempt",
        summary="Record an attempt that was refused. With tx_hash the receipt is read: a "
        "reverted call from your wallet to the vault proves it.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/refusals"),
        request_model=RefusedIn,
        response_model=RefusedOut,
        handler=report_refusal,
        gather=gather_refusal,
        writes=True,
        on_mcp=True,
        statuses={200: "This transaction was reported already", 201: "Stored"},
        refusals=("not_found", "mandate_not_accepted", "secret_not_accepted", "rate_limited"),
    ),
)
