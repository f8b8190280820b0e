"""Approval items: read by owner and agent, of one mandate or of all, decided by the owner."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from domain.chain_facts import SignerCheck, VaultState
from domain.ledger.events.event import LedgerKind, Reporter
from domain.ledger.events.payloads import ApprovalDecided, CallTarget
from domain.mandates.approvals import Approval, ApprovalItem, decided, good_until, repeats
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Mandate
from domain.ports import Chain
from domain.refusals import Refused, refusal
from domain.rules.status_derivation import apply_newest_block
from domain.wire_fields import JsonObject, described
from storage.repositories.approvals import item_after, item_of_owner_after
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, not_found, visible_mandate, wrong_status
from tools.context.approval_keeping import factory_of, vault_keeps_approvals
from tools.context.ledger_rows import append_row
from tools.context.snapshot_loader import (
    chain_or_none,
    require_chain,
    signed_digest,
    staged_logs,
    vault_if_readable,
)
from tools.model.cooperative import read_cooperatively
from tools.model.fields import ApprovalId, Cursor, Limit, Lines, OneMandate, Page, Signature
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RenderedResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.serialization import wire
from tools.model.truncation import bounded_page


class ApprovalsIn(OneMandate):
    """Filters of approval items."""

    status: Literal["pending", "approved", "declined", "expired", "used"] | None = Field(
        default=None, description="only these"
    )
    approval_id: str | None = Field(default=None, max_length=64, description="this item alone")
    limit: Limit = 50
    cursor: Cursor = None


class OwnerApprovalsIn(RequestModel):
    """Filters of approval items over all mandates."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedItem(ApprovalItem):
    """An item, and whose action it is."""

    agent_id: str | None
    agent_name: str | None = field(metadata=described("the owner's name for the agent"))


class OwnerApprovals(Page[NamedItem]):
    """A page of items."""


def read(uow: UnitOfWork, ctx: RequestContext[ApprovalsIn, None]) -> RenderedResult[ApprovalPage]:
    """A mandate's approval items, newest first."""
    request, now = ctx.request, ctx.now
    mandate = visible_mandate(uow, ctx.caller, request.public_id)
    if request.approval_id is None:
        items = uow.approvals.page(
            mandate.public_id,
            status=request.status,
            after=request.cursor,
            limit=request.limit + 1,
            now=now,
        )
    else:
        item = uow.approvals.get(mandate.public_id, request.approval_id)
        fits = item is not None and request.status in (None, item.status_at(now))
        items = [item] if item is not None and fits else []
    # The agent fills them, each with up to 64 KiB of calldata.
    bodies = (wire(i.as_item(now)) for i in items[: request.limit])
    return bounded_page(items, bodies, item_after)


async def read_all(
    deps: Deps, caller: Caller, request: OwnerApprovalsIn
) -> RenderedResult[OwnerApprovals]:
    """Held actions of all your mandates, some items a turn."""
    now, owner = deps.clock.now(), caller.user_id or ""

    async def read_some(last: _AgentApproval | None, limit: int) -> list[_AgentApproval]:
        after = item_of_owner_after(last.item) if last is not None else request.cursor

        def some(uow: UnitOfWork) -> list[_AgentApproval]:
            items = uow.approvals.of_owner(
                owner,
                status=request.status,
                approval_id=request.approval_id,
                after=after,
                limit=limit,
                now=now,
            )
            return [_AgentApproval(i, uow.mandates.get(i.public_id)) for i in items]

        return await deps.store.read(some)

    items = await read_cooperatively(read_some, request.limit + 1)
    # Agents fill them, each with up to 64 KiB of calldata.
    bodies = (wire(i.as_item(now)) for i in items[: request.limit])
    return bounded_page(items, bodies, lambda i: item_of_owner_after(i.item))


@dataclass(frozen=True, slots=True)
class _AgentApproval:
    item: Approval
    mandate: Mandate | None

    def as_item(self, now: datetime) -> NamedItem:
        """The item with the agent whose action it is."""
        item, mandate = self.item.as_item(now), self.mandate
        return NamedItem(
            **{x.name: getattr(item, x.name) for x in fields(item)},
            agent_id=mandate.agent_id if mandate else None,
            agent_name=mandate.agent_name if mandate else None,
        )


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
    facts = DecisionFacts(vault=await vault_if_readable(chain, mandate))
    if request.decision == "decline":
        return facts
    facts = replace(facts, vault_keeps_approvals=await vault_keeps_approvals(deps, mandate))
    if not facts.vault_keeps_approvals or chain is None or request.signature is None:
        return facts

    def signable(uow: UnitOfWork) -> JsonObject | None:
        item = uow.approvals.get(mandate.public_id, request.approval_id)
        return None if item is None else _typed_data(uow, chain, mandate, item)

    data = await deps.store.read(signable)
    if data is None:
        return facts
    digest = chain.digest(data)
    proof = await chain.check_signature(digest, request.signature, mandate.owner_address)
    return replace(facts, digest=digest, proof=proof)


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
        raise wrong_status(mandate, "approving an action on chain")
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


def decide(uow: UnitOfWork, ctx: RequestContext[Decision, DecisionFacts]) -> Decided:
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
        names = ("market", "address", "selector", "label")
        payload = ApprovalDecided(
            approval_id=item.approval_id,
            status=after.status,
            reason="owner_declined" if after.status == "declined" else None,
            target=CallTarget(**{n: item.target.get(n) for n in names}),
            text=after.note,
        )
        amount = item.approve_amount_usdc
        append_row(uow, ctx, mandate, LedgerKind.NOTE, Reporter.OWNER, payload, amount_usdc=amount)
    return Decided(approval=after.as_item(ctx.now))


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
    Operation(
        name="owner_approvals",
        title="Read all approval items",
        summary="Held actions of all your mandates, those that are good the longest first.",
        auth="owner",
        route=("GET", "/wallet/approvals"),
        request_model=OwnerApprovalsIn,
        response_model=OwnerApprovals,
        pass_through=read_all,
    ),
)
