"""Drafts: from typed fields, corrected, assigned, proposed, accepted, cancelled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Literal

from pydantic import Field

from domain.mandates.clauses import Clause, clauses
from domain.mandates.mandate import (
    MAX_HORIZON_DAYS,
    Mandate,
    MandateAttributes,
    Status,
)
from domain.mandates.markets import from_config, named, resolve, validate_targets
from domain.mandates.states import Action, moved
from domain.mandates.targets import (
    DEFAULT_TARGETS,
    Target,
)
from domain.money import ZERO, Usdc
from domain.refusals import Refused, invalid, refusal
from domain.rules.exposure import Exposure, exposure
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found, seen_mandate, sees
from tools.call.approving import kept_for_drafts
from tools.call.case import load_case
from tools.call.fields import AgentId, Lines, OneMandate, PublicId
from tools.call.operation import Ask, Caller, Deps, Gives, Operation, Reply, Takes

NOTE_MAX: Final = 2_000


BUDGET_MAX: Final = Usdc(10**18)


class Propose(Takes):
    """The typed fields of a draft (contract 3); what is left out takes the Standard preset."""

    budget_usdc: Usdc
    purpose: Lines = Field(default="", max_length=NOTE_MAX, description="the owner's purpose note")
    per_tx_cap_usdc: Usdc | None = None
    daily_cap_usdc: Usdc | None = None
    stop_floor_bps: int = Field(
        default=2000, ge=0, le=10_000, description="how much of the budget may be lost, in 1/10000"
    )
    target_bps: int | None = Field(
        default=None, ge=1, le=1_000_000, description="gain hoped for, in 1/10000; binds nobody"
    )
    horizon_days: int = Field(
        default=30, ge=1, le=MAX_HORIZON_DAYS, description="days from signing to the end"
    )
    payout_rule: dict[str, Any] | None = Field(
        default=None, description="{kind: share_of_verified_gain, bps: 0..5000}"
    )
    allowed_targets: list[dict[str, Any]] | None = Field(
        default=None, max_length=64, description="entries of contract 3"
    )
    markets: list[str] | None = Field(
        default=None, max_length=24, description="market ids, resolved into allowed_targets"
    )
    approval_above_usdc: Usdc | None = None
    on_floor: Literal["keep", "close"] = Field(
        default="keep", description="at the stop line: keep positions, or close them"
    )
    chain_id: int | None = Field(
        default=None, ge=1, le=2**53, description="EIP-155 id; default: the service's own"
    )
    agent_id: str | None = Field(
        default=None, max_length=64, description="the agent that is to act; its policy must accept"
    )


class Terms(Propose):
    """An owner's typed fields; to open the board is the owner's alone (contract 3)."""

    open_board: bool = Field(
        default=False, description="offer it to every agent; only where no agent is named"
    )


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


def caps(terms: Propose) -> tuple[Usdc, Usdc]:
    """(per action, per day) with 0 < per action <= per day <= budget <= 1e12 (contract 3).

    The Standard preset takes 10% and 30% of the budget, or less where the other cap was given
    lower.
    """
    budget = terms.budget_usdc
    if not ZERO < budget <= BUDGET_MAX:
        raise invalid("budget_usdc", "it is above 0 and at most 1000000000000")
    per_tx, per_day = terms.per_tx_cap_usdc, terms.daily_cap_usdc
    if per_tx is None:
        per_tx = min(max(budget.share_down(1000), Usdc(1)), per_day or budget)
    if per_day is None:
        per_day = max(budget.share_down(3000), per_tx)
    if per_tx <= ZERO:
        raise invalid("per_tx_cap_usdc", "it is above 0")
    if per_tx > budget:
        raise invalid("per_tx_cap_usdc", "it is not above the budget")
    if per_tx > per_day:
        raise invalid("per_tx_cap_usdc", "it is not above the cap per day")
    if per_day > budget:
        raise invalid("daily_cap_usdc", "it is not above the budget")
    above = terms.approval_above_usdc
    if above is not None and above <= ZERO:
        raise invalid(
            "approval_above_usdc", "it is above 0, or null for an agent that acts on its own"
        )
    return per_tx, per_day


def payout(terms: Propose) -> tuple[str, int]:
    """(kind, bps) of the payout rule."""
    rule = terms.payout_rule
    if rule is None:
        return "share_of_verified_gain", 1000
    kind, bps = rule.get("kind", "share_of_verified_gain"), rule.get("bps", 1000)
    if kind != "share_of_verified_gain" or set(rule) - {"kind", "bps"}:
        raise invalid(
            "payout_rule", "its kind is share_of_verified_gain, its fields are kind and bps"
        )
    if type(bps) is not int or not 0 <= bps <= 5000:
        raise invalid("payout_rule.bps", "a whole number from 0 to 5000")
    return kind, bps


def targets(terms: Propose, ask: Ask[Any, Any], chain_id: int) -> tuple[Target, ...]:
    """The allowed targets: as given, and what the named markets stand for; their labels are the
    service's own.
    """
    listed: tuple[Target, ...] = ()
    markets = from_config(ask.config.markets)
    if terms.allowed_targets is not None:
        given = validate_targets(terms.allowed_targets, ask.chains.address)
        listed = named(given, markets, chain_id)
    if terms.markets:
        found = resolve(terms.markets, markets, chain_id)
        listed = tuple(dict.fromkeys((*(listed or DEFAULT_TARGETS), *found)))
    return listed if terms.allowed_targets is not None or terms.markets else DEFAULT_TARGETS


def _agent_in(uow: UnitOfWork, agent_id: str, chain_id: int) -> tuple[str, str | None]:
    """(name, address) of an agent that may be named.

    Errors: `not_found`, `agent_not_accepting`.
    """
    agent = uow.identities.agent(agent_id)
    if agent is None:
        raise not_found("agent")
    policy = uow.policies.get(agent_id)
    if policy is None or not policy.accepts_mandates:
        raise Refused(refusal("agent_not_accepting"))
    return agent.name, uow.addresses.address(agent_id, chain_id) or agent.address


def _checksummed(ask: Ask[Any, Any], address: str | None) -> str | None:
    return None if address is None else ask.chains.address(address)


def address_on_file(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate) -> str | None:
    """The wallet that the mandate's agent has on file for its chain now."""
    if m.agent_id is None:
        return None
    agent = uow.identities.agent(m.agent_id)
    return _checksummed(
        ask,
        uow.addresses.address(m.agent_id, m.chain_id) or (agent.address if agent else None),
    )


async def gather_draft(deps: Deps, caller: Caller, asked: Propose) -> bool | None:
    """Who would keep the approvals of the draft."""
    return await kept_for_drafts(deps, asked.chain_id)


def applied(
    uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate, terms: Propose, *, kept: bool | None
) -> Mandate:
    """The draft with a whole new set of terms; `kept` says whether the vault keeps approvals."""
    opens = isinstance(terms, Terms) and terms.open_board
    if terms.agent_id is not None and opens:
        raise invalid("open_board", "a named agent and the open board exclude each other")
    per_tx, per_day = caps(terms)
    kind, bps = payout(terms)
    chain_id = terms.chain_id or ask.config.default_chain_id
    name = address = None
    if terms.agent_id is not None:
        name, address = _agent_in(uow, terms.agent_id, chain_id)
    return replace(
        m,
        budget_usdc=terms.budget_usdc,
        purpose=terms.purpose,
        per_tx_cap_usdc=per_tx,
        daily_cap_usdc=per_day,
        stop_floor_bps=terms.stop_floor_bps,
        target_bps=terms.target_bps,
        horizon_days=terms.horizon_days,
        payout_kind=kind,
        payout_bps=bps,
        allowed_targets=targets(terms, ask, chain_id),
        approval_above_usdc=terms.approval_above_usdc,
        approvals_on_chain=kept,
        on_floor=terms.on_floor,
        chain_id=chain_id,
        agent_id=terms.agent_id,
        agent_name=name,
        agent_address=_checksummed(ask, address),
        open_board=opens,
        from_board=m.from_board and terms.agent_id == m.agent_id,
        accepted_at=m.accepted_at if terms.agent_id == m.agent_id else None,
        frame=None,
    )


def blank(
    ask: Ask[Any, Any], public_id: str, owner_id: str, owner_address: str, terms: Propose
) -> Mandate:
    """A draft of nobody's terms yet: `applied` fills it in."""
    return Mandate(
        public_id,
        owner_id,
        owner_address,
        terms.budget_usdc,
        terms.horizon_days,
        terms.stop_floor_bps,
        ask.now,
    )


def shown(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate) -> dict[str, Any]:
    """A mandate's attributes with clauses and worst case."""
    case = load_case(uow, ask, m, events=0)
    return {
        "public_id": m.public_id,
        "mandate": m.attributes(),
        "clauses": clauses(m, ask.switches),
        "exposure": exposure(case),
    }


def create(uow: UnitOfWork, ask: Ask[Terms, bool | None]) -> Reply:
    """Create a draft from typed fields."""
    owner = ask.caller.user_id or "", ask.caller.address or ""
    m = new_draft(uow, ask, *owner, ask.asked, kept=ask.facts)
    return Reply(201, shown(uow, ask, m))


def new_draft(
    uow: UnitOfWork,
    ask: Ask[Any, Any],
    owner_id: str,
    owner_address: str,
    terms: Terms,
    *,
    kept: bool | None,
    needs_review: bool = False,
) -> Mandate:
    """Store a new draft; `needs_review` where a note was not understood whole."""
    _not_too_many(uow, ask, owner_id)
    m = blank(ask, ask.ids.short("m_"), owner_id, owner_address, terms)
    m = applied(uow, ask, m, terms, kept=kept)
    m = replace(m, needs_review=needs_review)
    uow.mandates.add(m)
    return m


def _not_too_many(uow: UnitOfWork, ask: Ask[Any, Any], owner_id: str) -> None:
    """Refuse a draft beyond what an owner may make in an hour, over every process (contract 1)."""
    most, hour = ask.config.drafts_per_hour, timedelta(hours=1)
    if not most:
        return
    uow.identities.user(owner_id, lock=True)
    made = uow.mandates.created_since(owner_id, ask.now - hour, most)
    if len(made) >= most:
        why = f"More than {most} drafts and proposals an hour for one owner."
        raise Refused(refusal("rate_limited", why=why, retry_at=made[-1] + hour))


def propose(uow: UnitOfWork, ask: Ask[Propose, bool | None]) -> Reply:
    """An agent proposes a draft to the owner who registered it."""
    owner = uow.identities.user(ask.caller.owner_id or "")
    if owner is None:
        raise not_found("owner")
    _not_too_many(uow, ask, owner.user_id)
    m = applied(
        uow,
        ask,
        blank(ask, ask.ids.short("m_"), owner.user_id, owner.address, ask.asked),
        ask.asked,
        kept=ask.facts,
    )
    m = replace(m, proposed_by_agent_id=ask.caller.user_id)
    uow.mandates.add(m)
    return Reply(201, shown(uow, ask, m))


def correct(uow: UnitOfWork, ask: Ask[Correct, bool | None]) -> Reply:
    """Replace a draft's terms; terms that were asked for before are void."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    moved(m, Action.CORRECT)
    # Typed fields say what was meant, whatever a note left open.
    changed = replace(applied(uow, ask, m, ask.asked, kept=ask.facts), needs_review=False)
    uow.mandates.save(changed)
    return Reply(200, shown(uow, ask, changed))


def assign(uow: UnitOfWork, ask: Ask[Assign, None]) -> Reply:
    """Designate the agent on a draft; it leaves the open board."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id, lock=True)
    moved(m, Action.ASSIGN)
    name, address = _agent_in(uow, ask.asked.agent_id, m.chain_id)
    same = ask.asked.agent_id == m.agent_id
    changed = replace(
        m,
        agent_id=ask.asked.agent_id,
        agent_name=name,
        agent_address=_checksummed(ask, address),
        open_board=False,
        from_board=m.from_board and same,
        accepted_at=m.accepted_at if same else None,
        frame=None,
    )
    uow.mandates.save(changed)
    return Reply(200, shown(uow, ask, changed))


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
        return Reply(200, shown(uow, ask, m))
    moved(m, Action.ACCEPT)
    name, address = (
        _agent_in(uow, me or "", m.chain_id)
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
    changed = replace(
        m,
        agent_id=me,
        agent_name=name,
        agent_address=_checksummed(ask, address),
        open_board=False,
        from_board=m.from_board or m.open_board,
        accepted_at=ask.now,
        frame=frame,
        paused_at=ask.now if m.agent_id is None and m.vault_address else m.paused_at,
    )
    uow.mandates.save(changed)
    return Reply(200, shown(uow, ask, changed))


_BAD: Final = ("invalid_number", "not_found", "agent_not_accepting", "invalid_address")


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
        refusals=_BAD,
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
        refusals=_BAD,
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
        refusals=(*_BAD, "mandate_signed", "wrong_status", "conflict"),
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
        gives=MandateOut,
        handler=accept,
        writes=True,
        idempotent=True,
        on_mcp=True,
        refusals=("not_found", "conflict", "wrong_status", "agent_not_accepting"),
    ),
)
