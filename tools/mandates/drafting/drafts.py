"""Drafts: from typed fields, corrected, assigned, proposed, accepted, cancelled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from pydantic import Field

from domain.mandates.acceptance import record_acceptance, revise
from domain.mandates.clauses import Clause
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Mandate, MandateAttributes, Status
from domain.refusals import Refused, invalid, refusal
from domain.rules.exposure import Exposure, exposure
from storage.repositories.people import User
from storage.unit_of_work import UnitOfWork
from tools.context.access import can_see, not_found, visible_mandate, wrong_status
from tools.context.approval_keeping import draft_keeps_approvals
from tools.context.notice_outbox import acceptance_ended
from tools.context.snapshot_loader import load_snapshot
from tools.mandates.drafting.draft_fields import (
    DraftTermsIn,
    ProposeIn,
    agent_in,
    applied,
    clauses_now,
    draft_of,
)
from tools.model.fields import AgentId, OneMandate, PublicId
from tools.model.operation import (
    AnyContext,
    Caller,
    Deps,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)


class CorrectIn(DraftTermsIn):
    """A whole new set of terms for a draft."""

    public_id: PublicId


class AssignIn(OneMandate):
    """Designate the agent."""

    agent_id: AgentId


class DiscardIn(RequestModel):
    """Drafts to throw away."""

    public_ids: list[PublicId] = Field(
        min_length=1,
        max_length=50,
        description="drafts of yours; all of them or none",
        examples=[["m_abcdefgh23"]],
    )


class Discarded(ResponseModel):
    """The drafts that are cancelled now."""

    public_ids: list[str]


class MandateOut(ResponseModel):
    """A mandate's attributes with its clauses and worst case."""

    public_id: str
    mandate: MandateAttributes
    clauses: list[Clause]
    exposure: Exposure


class Accepted(ResponseModel):
    """The accepted mandate; its clauses stand in the mandate read, where they were read before."""

    public_id: str
    mandate: MandateAttributes
    exposure: Exposure


async def gather_draft(deps: Deps, caller: Caller, request: ProposeIn) -> bool | None:
    """Read from the chain whether the draft's vault would keep approvals."""
    own = caller.chain_id
    if caller.role == "agent":
        owner = await deps.store.read(lambda uow: uow.identities.user(caller.owner_id or ""))
        own = owner.chain_id if owner else None
    return await draft_keeps_approvals(deps, request.chain_id or own)


def show_draft(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate) -> MandateOut:
    """A mandate's attributes with clauses and worst case."""
    return MandateOut(
        public_id=mandate.public_id,
        mandate=mandate.attributes(),
        clauses=clauses_now(uow, ctx, mandate),
        exposure=exposure(load_snapshot(uow, ctx, mandate, events=0)),
    )


def create(uow: UnitOfWork, ctx: RequestContext[DraftTermsIn, bool | None]) -> MandateOut:
    """Create a draft from typed fields."""
    mandate = new_draft(uow, ctx, owner_of(ctx.caller), ctx.request, ctx.facts)
    return show_draft(uow, ctx, mandate)


def owner_of(caller: Caller) -> User:
    """The person behind an owner's session."""
    return User(caller.user_id or "", caller.address or "", caller.chain_id)


def new_draft(
    uow: UnitOfWork,
    ctx: AnyContext,
    owner: User,
    terms: ProposeIn,
    vault_keeps_approvals: bool | None,
    *,
    unclear_terms: tuple[str, ...] = (),
    proposed_by: str | None = None,
) -> Mandate:
    """Store a new draft; `unclear_terms` are those that its note leaves open, `proposed_by` is the
    agent that proposes it.
    """
    _not_too_many(uow, ctx, owner.user_id, proposed=proposed_by is not None)
    mandate = replace(
        draft_of(
            uow, ctx, ctx.ids.short("m_"), owner, terms, vault_keeps_approvals=vault_keeps_approvals
        ),
        needs_review=bool(unclear_terms),
        unclear_terms=unclear_terms,
        proposed_by_agent_id=proposed_by,
    )
    uow.mandates.add(mandate)
    return mandate


def _not_too_many(uow: UnitOfWork, ctx: AnyContext, owner_id: str, *, proposed: bool) -> None:
    """Refuse a draft beyond what an owner may make in an hour, over every process (contract 1).

    Agents' proposals take at most half of it, so that no agent keeps its owner from drafting.
    """
    most, hour = ctx.config.drafts_per_hour, timedelta(hours=1)
    if not most:
        return
    uow.identities.user(owner_id, lock=True)
    limits = [(most, "drafts and proposals", False)]
    if proposed:
        limits.append((max(1, most // 2), "proposals", True))
    for limit, subject, of_agents in limits:
        created = uow.mandates.created_since(
            owner_id, ctx.now - hour, limit, proposed_only=of_agents
        )
        if len(created) >= limit:
            why = f"More than {limit} {subject} an hour for one owner."
            raise Refused(refusal("rate_limited", why=why, retry_at=created[-1] + hour))


def propose(uow: UnitOfWork, ctx: RequestContext[ProposeIn, bool | None]) -> MandateOut:
    """An agent proposes a draft to the owner who registered it."""
    owner = uow.identities.user(ctx.caller.owner_id or "")
    if owner is None:
        raise not_found("owner")
    mandate = new_draft(uow, ctx, owner, ctx.request, ctx.facts, proposed_by=ctx.caller.user_id)
    return show_draft(uow, ctx, mandate)


def correct(uow: UnitOfWork, ctx: RequestContext[CorrectIn, bool | None]) -> MandateOut:
    """Replace a draft's terms; terms that were asked for before are void."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    status_after(mandate, LifecycleAction.CORRECT)
    # Typed fields say what was meant, whatever a note left open.
    own = ctx.caller.chain_id
    changed = applied(
        uow, ctx, mandate, ctx.request, vault_keeps_approvals=ctx.facts, own_chain=own
    )
    changed = replace(changed, needs_review=False, unclear_terms=())
    return _saved(uow, ctx, mandate, changed)


def _saved(uow: UnitOfWork, ctx: AnyContext, before: Mandate, changed: Mandate) -> MandateOut:
    """Store changed terms; the owner is told where they end an acceptance."""
    uow.mandates.save(changed)
    if changed.accepted_at is None:
        acceptance_ended(uow, before, ctx.now)
    return show_draft(uow, ctx, changed)


def assign(uow: UnitOfWork, ctx: RequestContext[AssignIn, None]) -> MandateOut:
    """Designate the agent on a draft; it leaves the open board."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    status_after(mandate, LifecycleAction.ASSIGN)
    name, address = agent_in(uow, ctx, ctx.request.agent_id, mandate.chain_id)
    same = ctx.request.agent_id == mandate.agent_id
    changed = replace(
        mandate,
        agent_id=ctx.request.agent_id,
        agent_name=name,
        agent_address=address,
        open_board=False,
        from_board=mandate.from_board and same,
        frame=None,
    )
    return _saved(uow, ctx, mandate, revise(mandate, changed))


def cancel(uow: UnitOfWork, ctx: RequestContext[OneMandate, None]) -> MandateOut:
    """Cancel a draft, or a signed mandate without a vault; its nonce is burnt."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id, lock=True)
    if mandate.status is not Status.CANCELLED:
        mandate = _cancelled(ctx, mandate)
        uow.mandates.save(mandate)
    return show_draft(uow, ctx, mandate)


def discard(uow: UnitOfWork, ctx: RequestContext[DiscardIn, None]) -> Discarded:
    """Cancel several drafts, all or none; terms that were signed meanwhile are no draft."""
    ids = sorted(set(ctx.request.public_ids))  # in one order, so that no two wait for each other
    for public_id in ids:
        mandate = visible_mandate(uow, ctx.caller, public_id, lock=True)
        if mandate.status is Status.CANCELLED and mandate.signed is None:
            continue
        if mandate.status is not Status.DRAFT:
            raise wrong_status(mandate, "throwing a draft away")
        uow.mandates.save(_cancelled(ctx, mandate))
    return Discarded(public_ids=ids)


def _cancelled(ctx: AnyContext, mandate: Mandate) -> Mandate:
    status = status_after(mandate, LifecycleAction.CANCEL)
    return replace(mandate, status=status, cancelled_at=ctx.now, frame=None)


def accept(uow: UnitOfWork, ctx: RequestContext[OneMandate, None]) -> Accepted:
    """Accept a mandate that names the caller, or one of the open board, which closes it; of two
    racing agents one wins.
    """
    mandate = uow.mandates.get(ctx.request.public_id, lock=True)
    me = ctx.caller.user_id
    if mandate is not None and mandate.from_board and mandate.agent_id not in (None, me):
        raise Refused(refusal("conflict", why="Another agent has accepted this mandate."))
    if mandate is None or not can_see(ctx.caller, mandate):
        raise not_found()
    if mandate.accepted_at is not None:
        return _accepted(uow, ctx, mandate)
    status_after(mandate, LifecycleAction.ACCEPT)
    name, address = (
        agent_in(uow, ctx, me or "", mandate.chain_id)
        if mandate.agent_id is None
        else (mandate.agent_name, mandate.agent_address)
    )
    if address is None and mandate.signed is not None:
        why = f"you have no address on chain {mandate.chain_id}: POST your deposit-address first"
        raise invalid("agent_id", why)
    # Terms that name nobody are signed for the zero address; a draft's must be signed for this
    # agent.
    unnamed = mandate.agent_id is None
    taken = replace(
        mandate,
        agent_id=me,
        agent_name=name,
        agent_address=None if address is None else ctx.chains.address(address),
        open_board=False,
        from_board=mandate.from_board or mandate.open_board,
        frame=None if unnamed and mandate.status is Status.DRAFT else mandate.frame,
        paused_at=ctx.now if unnamed and mandate.vault_address else mandate.paused_at,
    )
    changed = record_acceptance(taken, ctx.now)
    uow.mandates.save(changed)
    return _accepted(uow, ctx, changed)


def _accepted(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate) -> Accepted:
    worst = exposure(load_snapshot(uow, ctx, mandate, events=0))
    return Accepted(public_id=mandate.public_id, mandate=mandate.attributes(), exposure=worst)


BAD_TERMS: Final = ("invalid_number", "not_found", "agent_not_accepting", "invalid_address")


OPERATIONS: Final = (
    Operation(
        name="owner_mandate_create",
        title="Create a draft",
        summary="Create a draft mandate from typed fields.",
        auth="owner",
        route=("POST", "/wallet/mandates"),
        request_model=DraftTermsIn,
        response_model=MandateOut,
        handler=create,
        gather=gather_draft,
        writes=True,
        statuses={201: "The draft"},
        refusals=BAD_TERMS,
    ),
    Operation(
        name="mandate_propose",
        title="Propose a mandate",
        summary="Propose a draft to the owner who registered you; the owner decides.",
        auth="agent",
        route=("POST", "/wallet/mandates/propose"),
        request_model=ProposeIn,
        response_model=MandateOut,
        handler=propose,
        gather=gather_draft,
        scope="wallet:propose",
        writes=True,
        on_mcp=True,
        statuses={201: "The draft, for the owner to read"},
        refusals=BAD_TERMS,
    ),
    Operation(
        name="owner_mandate_correct",
        title="Correct a draft",
        summary="Replace the terms of a draft; refused once it is signed.",
        auth="owner",
        route=("PUT", "/wallet/mandates/{public_id}"),
        request_model=CorrectIn,
        response_model=MandateOut,
        handler=correct,
        gather=gather_draft,
        writes=True,
        idempotent=True,
        refusals=(*BAD_TERMS, "mandate_signed", "wrong_status", "conflict"),
    ),
    Operation(
        name="owner_mandate_assign",
        title="Designate the agent",
        summary="Name the agent on a draft.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/assign"),
        request_model=AssignIn,
        response_model=MandateOut,
        handler=assign,
        writes=True,
        idempotent=True,
        refusals=("not_found", "agent_not_accepting", "mandate_signed", "wrong_status", "conflict"),
    ),
    Operation(
        name="owner_mandate_cancel",
        title="Cancel a mandate",
        summary="Cancel a draft, or a signed mandate that has no vault yet.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/cancel"),
        request_model=OneMandate,
        response_model=MandateOut,
        handler=cancel,
        writes=True,
        destructive=True,
        idempotent=True,
        refusals=("not_found", "wrong_status", "conflict"),
    ),
    Operation(
        name="owner_drafts_discard",
        title="Throw drafts away",
        summary="Cancel several drafts at once, all of them or none.",
        auth="owner",
        route=("POST", "/wallet/mandates/discard"),
        request_model=DiscardIn,
        response_model=Discarded,
        handler=discard,
        writes=True,
        destructive=True,
        idempotent=True,
        refusals=("not_found", "wrong_status", "conflict"),
    ),
    Operation(
        name="mandate_accept",
        title="Accept a mandate",
        summary="Accept a mandate that names you, or one of the open board.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/accept"),
        request_model=OneMandate,
        response_model=Accepted,
        handler=accept,
        writes=True,
        idempotent=True,
        on_mcp=True,
        refusals=("not_found", "conflict", "wrong_status", "agent_not_accepting"),
    ),
)
