"""Approval items: read by owner and agent, decided by the owner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import SignerCheck, VaultState
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import ApprovalDecided, CallTarget
from domain.mandates.approvals import Approval, ApprovalItem, decided, good_until, repeats
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.status_derivation import apply_newest_block
from domain.wire_fields import JsonObject
from storage.repositories.approvals import item_after
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, not_found, visible_mandate
from tools.context.approval_keeping import factory_of, vault_keeps_approvals
from tools.context.snapshot_loader import (
    chain_or_none,
    require_chain,
    signed_digest,
    staged_logs,
    vault_if_readable,
)
from tools.model.fields import ApprovalId, Cursor, Limit, Lines, OneMandate, Page, Signature
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    OperationResult,
    RequestContext,
    ResponseModel,
)
from tools.model.serialization import wire
from tools.model.truncation import rows_within


class ApprovalsIn(OneMandate):
    """Filters of approval items."""

    status: Literal["pending", "approved", "declined", "expired", "used"] | None = Field(
        default=None, description="only these"
    )
    approval_id: str | None = Field(default=None, max_length=64, description="this item alone")
    limit: Limit = 50
    cursor: Cursor = None


class Decision(OneMandate):
    """The owner's decision."""

    approval_id: ApprovalId
    decision: Literal["approve", "decline"]
    note: Lines | None = Field(default=None, max_length=1_000)
    signature: Signature | None = Field(
        default=None,
        description="of the owner over detail.typed_data of `signature_needed` (EOA, ERC-1271); "
        "needed to approve where clause 6 is enforced by `Contract`, not looked at otherwise",
    )


class Decided(ResponseModel):
    """The item after the decision."""

    approval: ApprovalItem


class ApprovalPage(Page[ApprovalItem]):
    """A page of items."""


def read(uow: UnitOfWork, ctx: RequestContext[ApprovalsIn, None]) -> OperationResult:
    """A mandate's approval items, newest first."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    if ctx.request.approval_id is not None:
        item = uow.approvals.get(mandate.public_id, ctx.request.approval_id)
        fits = item is not None and ctx.request.status in (None, item.status_at(ctx.now))
        return OperationResult(
            200,
            {
                "items": [item.as_item(ctx.now)] if item is not None and fits else [],
                "next_cursor": None,
            },
        )
    limit = ctx.request.limit
    items = uow.approvals.page(
        mandate.public_id,
        status=ctx.request.status,
        after=ctx.request.cursor,
        limit=limit + 1,
        now=ctx.now,
    )
    # The agent fills them, each with up to 64 KiB of calldata.
    rows = list(rows_within(wire(i.as_item(ctx.now)) for i in items[:limit]))
    more = item_after(items[len(rows) - 1]) if len(items) > len(rows) else None
    return OperationResult(200, {"items": rows, "next_cursor": more})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """The vault now, and whether it keeps approvals; then what is to be signed, its digest, and
    what the signature proved.
    """

    vault: VaultState | None
    vault_keeps_approvals: bool | None = None
    digest: str | None = None
    proof: SignerCheck | None = None


async def gather_decision(deps: Deps, caller: Caller, request: Decision) -> DecisionFacts:
    """Read the vault and check the signature before the transaction."""
    mandate = await load_mandate(deps, caller, request.public_id)
    chain = chain_or_none(deps, mandate)
    vault = await vault_if_readable(chain, mandate)
    if request.decision == "decline":
        return DecisionFacts(vault=vault)
    keeps_approvals = await vault_keeps_approvals(deps, mandate)
    if not keeps_approvals or chain is None or request.signature is None:
        return DecisionFacts(vault=vault, vault_keeps_approvals=keeps_approvals)

    def signable(uow: UnitOfWork) -> JsonObject | None:
        item = uow.approvals.get(mandate.public_id, request.approval_id)
        return None if item is None else _typed_data(uow, chain, mandate, item)

    data = await deps.store.read(signable)
    if data is None:
        return DecisionFacts(vault=vault, vault_keeps_approvals=keeps_approvals)
    digest = chain.digest(data)
    proof = await chain.check_signature(digest, request.signature, mandate.owner_address)
    return DecisionFacts(
        vault=vault, vault_keeps_approvals=keeps_approvals, digest=digest, proof=proof
    )


def _typed_data(
    uow: UnitOfWork, chain: Chain, signed: Mandate, item: Approval
) -> JsonObject | None:
    """The typed data that the owner signs to approve the item; None before the terms are signed."""
    mandate, factory = signed_digest(chain, signed), factory_of(chain, signed)
    if mandate is None or factory is None:
        return None
    until = good_until(item, uow.approvals.of_action(signed.public_id, item.action_hash))
    return chain.approve_action(factory, mandate, item.action_hash, until)


def _signed(
    uow: UnitOfWork, ctx: RequestContext[Decision, DecisionFacts], mandate: Mandate, item: Approval
) -> Approval:
    """The approved item with the owner's signature as the vault takes it.

    Errors: `signature_needed` with the typed data, `invalid_signature`, `conflict`.
    """
    chain, signature, proof = require_chain(ctx, mandate), ctx.request.signature, ctx.facts.proof
    data = _typed_data(uow, chain, mandate, item)
    if data is None:
        action = "approving an action on chain"
        raise Refused(refusal("wrong_status", status=mandate.status.value, action=action))
    digest = chain.digest(data)
    if signature is None:
        raise Refused(refusal("signature_needed", detail={"typed_data": data, "digest": digest}))
    if ctx.facts.digest != digest:
        raise Refused(refusal("conflict", why="Another approval was signed just now; ask again."))
    why = "it is not this wallet's over this action"
    if proof is not None and proof.signer_type == "erc6492":
        why = "the vault asks the wallet itself (ERC-1271), so it has to be deployed first"
    if proof is None or proof.signer_type == "erc6492":
        raise Refused(refusal("invalid_signature", signer=mandate.owner_address, why=why))
    form = chain.on_chain_form(signature) if proof.signer_type == "eoa" else signature.lower()
    return replace(item, until=int(data["message"]["until"]), signature=form)


def _goes_on(
    uow: UnitOfWork, ctx: RequestContext[Decision, DecisionFacts], mandate: Mandate
) -> None:
    """Refuse to decide anything under a mandate that is over, by the newest block too.

    Errors: `wrong_status`.
    """
    mandate = apply_newest_block(mandate, ctx.facts.vault, staged_logs(uow, mandate))
    status_after(mandate, LifecycleAction.DECIDE)
    if not mandate.is_open(ctx.now):
        raise Refused(refusal("wrong_status", status="ended", action=LifecycleAction.DECIDE.value))


def decide(uow: UnitOfWork, ctx: RequestContext[Decision, DecisionFacts]) -> OperationResult:
    """Approve or decline; twice the same way is one decision, the other way a conflict.

    Where the vault keeps approvals, approving takes the owner's signature over the very action: a
    session alone approves nothing. Declining takes none.
    """
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    item = uow.approvals.get(mandate.public_id, ctx.request.approval_id)
    if item is None:
        raise not_found("approval")
    if not repeats(item, ctx.request.decision, ctx.now):
        _goes_on(uow, ctx, mandate)
    after = decided(item, ctx.request.decision, ctx.request.note, ctx.now)
    if ctx.facts.vault_keeps_approvals and after.status == "approved" and after.signature is None:
        after = _signed(uow, ctx, mandate, after)
    if after is not item:
        uow.approvals.save(after)
        target = CallTarget(
            **{n: item.target.get(n) for n in ("market", "address", "selector", "label")}
        )
        payload = ApprovalDecided(
            approval_id=item.approval_id,
            status=after.status,
            reason="owner_declined" if after.status == "declined" else None,
            target=target,
            text=after.note,
        )
        row = NewEvent(
            kind=LedgerKind.NOTE,
            reported_by=Reporter.OWNER,
            occurred_at=ctx.now,
            amount_usdc=item.approve_amount_usdc,
            chain_id=mandate.chain_id,
            payload=written(payload),
        )
        uow.ledger.append(mandate.public_id, row, event_id=ctx.ids.short("ev_"), now=ctx.now)
    return OperationResult(200, {"approval": after.as_item(ctx.now)})


OPERATIONS: Final = (
    Operation(
        name="mandate_approvals",
        title="Read approval items",
        summary="Actions that were held for the owner, with their status.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/approvals"),
        request_model=ApprovalsIn,
        response_model=ApprovalPage,
        handler=read,
        on_mcp=True,
        refusals=("not_found",),
    ),
    Operation(
        name="owner_approval_decide",
        title="Decide an approval",
        summary="Approve or decline a held action. Where the vault keeps approvals, approving "
        "takes the owner's signature over it.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/approvals/{approval_id}"),
        request_model=Decision,
        response_model=Decided,
        handler=decide,
        gather=gather_decision,
        writes=True,
        idempotent=True,
        refusals=(
            "not_found",
            "conflict",
            "approval_expired",
            "signature_needed",
            "invalid_signature",
            "wrong_status",
            "not_configured",
            "chain_unavailable",
        ),
    ),
)
