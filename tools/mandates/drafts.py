"""Drafts: from typed fields, corrected, assigned, proposed, accepted, cancelled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from domain.mandates.acceptance import accepted, revised
from domain.mandates.clauses import Clause, clauses
from domain.mandates.mandate import (
    Mandate,
    MandateAttributes,
    Status,
)
from domain.mandates.states import Action, moved
from domain.refusals import Refused, invalid, refusal
from domain.rules.exposure import Exposure, exposure
from storage.rows.people import User
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found, seen_mandate, sees
from tools.call.approving import kept_for_drafts
from tools.call.case import keeper_key, load_case
from tools.call.fields import AgentId, OneMandate, PublicId
from tools.call.notices import acceptance_ended
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply
from tools.mandates.typed_fields import Propose, Terms, agent_in, applied, blank, checksummed


class Correct(Terms):
    """A whole new set of terms for a draft."""

    public_id: PublicId


class Assign(OneMandate):
    """Designate the agent."""

    agent_id: AgentId


class MandateOut(Gives):
    """A mandate's attributes with its clauses and worst case."""

    public_id: str
    mandate: MandateAttributes
    clauses: list[Clause]
    exposure: Exposure


class Accepted(Gives):
    """The accepted mandate; its clauses stand in the mandate read, where they were read before."""

    public_id: str
    mandate: MandateAttributes
    exposure: Exposure


async def gather_draft(deps: Deps, caller: Caller, asked: Propose) -> bool | None:
    """Who would keep the approvals of the draft."""
    own = caller.chain_id
    if caller.role == "agent":
        owner = await deps.store.read(lambda uow: uow.identities.user(caller.owner_id or ""))
        own = owner.chain_id if owner else None
    return await kept_for_drafts(deps, asked.chain_id or own)


def shown(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate) -> dict[str, object]:
    """A mandate's attributes with clauses and worst case."""
    case = load_case(uow, ask, m, events=0)
    return {
        "public_id": m.public_id,
        "mandate": m.attributes(),
        "clauses": clauses(m, ask.switches, keeper_key=keeper_key(uow, ask, m)),
        "exposure": exposure(case),
    }


def create(uow: UnitOfWork, ask: Ask[Terms, bool | None]) -> Reply:
    """Create a draft from typed fields."""
    m = new_draft(uow, ask, owner_of(ask.caller), ask.asked, kept=ask.facts)
    return Reply(201, shown(uow, ask, m))


def owner_of(caller: Caller) -> User:
    """The person behind an owner's session."""
    return User(caller.user_id or "", caller.address or "", caller.chain_id)


def new_draft(
    uow: UnitOfWork,
    ask: Ask[Any, Any],
    owner: User,
    terms: Terms,
    *,
    kept: bool | None,
    unclear_terms: tuple[str, ...] = (),
) -> Mandate:
    """Store a new draft; `unclear_terms` are those that its note leaves open."""
    _not_too_many(uow, ask, owner.user_id)
    m = blank(ask, ask.ids.short("m_"), owner.user_id, owner.address, terms)
    m = applied(uow, ask, m, terms, kept=kept, own_chain=owner.chain_id)
    m = replace(m, needs_review=bool(unclear_terms), unclear_terms=unclear_terms)
    uow.mandates.add(m)
    return m


def _not_too_many(
    uow: UnitOfWork, ask: Ask[Any, Any], owner_id: str, *, proposed: bool = False
) -> None:
    """Refuse a draft beyond what an owner may make in an hour, over every process (contract 1).

    Agents' proposals take at most half of it, so that no agent keeps its owner from drafting.
    """
    most, hour = ask.config.drafts_per_hour, timedelta(hours=1)
    if not most:
        return
    uow.identities.user(owner_id, lock=True)
    limits = [(most, "drafts and proposals", False)]
    if proposed:
        limits.append((max(1, most // 2), "proposals", True))
    for limit, what, of_agents in limits:
        made = uow.mandates.created_since(owner_id, ask.now - hour, limit, proposed_only=of_agents)
        if len(made) >= limit:
            why = f"More than {limit} {what} an hour for one owner."
            raise Refused(refusal("rate_limited", why=why, retry_at=made[-1] + hour))


def propose(uow: UnitOfWork, ask: Ask[Propose, bool | None]) -> Reply:
    """An agent proposes a draft to the owner who registered it."""
    owner = uow.identities.user(ask.caller.owner_id or "")
    if owner is None:
        raise not_found("owner")
    _not_too_many(uow, ask, owner.user_id, proposed=True)
    m = applied(
        uow,
        ask,
        blank(ask, ask.ids.short("m_"), owner.user_id, owner.address, ask.asked),
        ask.asked,
        kept=ask.facts,
        own_chain=owner.chain_id,
    )
    m = replace(m, proposed_by_agent_id=ask.caller.user_id)
    uow.mandates.add(m)
    return Reply(201, shown(uow, ask, m))


def correct(uow: UnitOfWork, ask: Ask[Correct, bool | None]) -> Reply:
    """Replace a draft's terms; terms that were asked for before are void."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    moved(m, Action.CORRECT)
    # Typed fields say what was meant, whatever a note left open.
    own = ask.caller.chain_id
    changed = applied(uow, ask, m, ask.asked, kept=ask.facts, own_chain=own)
    changed = replace(changed, needs_review=False, unclear_terms=())
    return Reply(200, shown(uow, ask, _saved(uow, ask, m, changed)))


def _saved(uow: UnitOfWork, ask: Ask[Any, Any], before: Mandate, changed: Mandate) -> Mandate:
    """Store changed terms; the owner is told where they end an acceptance."""
    uow.mandates.save(changed)
    if changed.accepted_at is None:
        acceptance_ended(uow, before, ask.now)
    return changed


def assign(uow: UnitOfWork, ask: Ask[Assign, None]) -> Reply:
    """Designate the agent on a draft; it leaves the open board."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    moved(m, Action.ASSIGN)
    name, address = agent_in(uow, ask.asked.agent_id, m.chain_id)
    same = ask.asked.agent_id == m.agent_id
    changed = replace(
        m,
        agent_id=ask.asked.agent_id,
        agent_name=name,
        agent_address=checksummed(ask, address),
        open_board=False,
        from_board=m.from_board and same,
        frame=None,
    )
    return Reply(200, shown(uow, ask, _saved(uow, ask, m, revised(m, changed))))


def cancel(uow: UnitOfWork, ask: Ask[OneMandate, None]) -> Reply:
    """Cancel a draft, or a signed mandate without a vault; its nonce is burnt."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    if m.status is Status.CANCELLED:
        return Reply(200, shown(uow, ask, m))
    changed = replace(m, status=moved(m, Action.CANCEL), cancelled_at=ask.now, frame=None)
    uow.mandates.save(changed)
    return Reply(200, shown(uow, ask, changed))


def accept(uow: UnitOfWork, ask: Ask[OneMandate, None]) -> Reply:
    """Accept a mandate that names the caller, or one of the open board, which closes it; of two
    racing agents one wins.
    """
    m = uow.mandates.get(ask.asked.public_id, lock=True)
    me = ask.caller.user_id
    if m is not None and m.from_board and m.agent_id not in (None, me):
        raise Refused(refusal("conflict", why="Another agent has accepted this mandate."))
    if m is None or not sees(ask.caller, m):
        raise not_found()
    if m.accepted_at is not None:
        return Reply(200, _accepted(uow, ask, m))
    moved(m, Action.ACCEPT)
    name, address = (
        agent_in(uow, me or "", m.chain_id)
        if m.agent_id is None
        else (m.agent_name, m.agent_address)
    )
    if address is None and m.signed is not None:
        raise invalid(
            "agent_id",
            f"you have no address on chain {m.chain_id}: POST your deposit-address first",
        )
    # Terms that name nobody are signed for the zero address; a draft's must be signed for this
    # agent.
    frame = m.frame if m.agent_id is not None or m.status is not Status.DRAFT else None
    taken = replace(
        m,
        agent_id=me,
        agent_name=name,
        agent_address=checksummed(ask, address),
        open_board=False,
        from_board=m.from_board or m.open_board,
        frame=frame,
        paused_at=ask.now if m.agent_id is None and m.vault_address else m.paused_at,
    )
    changed = accepted(taken, ask.now)
    uow.mandates.save(changed)
    return Reply(200, _accepted(uow, ask, changed))


def _accepted(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate) -> dict[str, object]:
    worst = exposure(load_case(uow, ask, m, events=0))
    return {"public_id": m.public_id, "mandate": m.attributes(), "exposure": worst}


BAD_TERMS: Final = ("invalid_number", "not_found", "agent_not_accepting", "invalid_address")


OPERATIONS: Final = (
    Operation(
        name="owner_mandate_create",
        title="Create a draft",
        summary="Create a draft mandate from typed fields.",
        auth="owner",
        route=("POST", "/wallet/mandates"),
        takes=Terms,
        gives=MandateOut,
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
        takes=Propose,
        gives=MandateOut,
        handler=propose,
        gather=gather_draft,
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
        takes=Correct,
        gives=MandateOut,
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
        takes=Assign,
        gives=MandateOut,
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
        takes=OneMandate,
        gives=MandateOut,
        handler=cancel,
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
        takes=OneMandate,
        gives=Accepted,
        handler=accept,
        writes=True,
        idempotent=True,
        on_mcp=True,
        refusals=("not_found", "conflict", "wrong_status", "agent_not_accepting"),
    ),
)
