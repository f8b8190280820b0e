"""Agents: registration, API keys and their authentication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from domain.mandates.mandate import Mandate, Status, StatusName
from domain.mandates.purse_entries import purse_of
from domain.money import Usdc
from domain.next_steps import OWNER, NextStep
from domain.refusals import Refused, refusal
from domain.times import Timestamp
from storage.repositories.identities import Agent, agent_after
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found, wallet_of
from tools.context.credentials import hashed
from tools.dispatch.idempotency import owner_scope
from tools.dispatch.storage_allowance import written
from tools.keeper.hall_rollup import refresh_row
from tools.keeper.held_keys import try_to_end_keys
from tools.model.fields import (
    Address,
    AgentId,
    Cursor,
    KeyId,
    Limit,
    Name,
    Nothing,
    OwnAgentId,
    Page,
)
from tools.model.name_policy import is_equal_to_one
from tools.model.operation import (
    AnyContext,
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.toolsets import ToolsetName

ME: Final = "me"
NAME_WORDS: Final = "the owner's name for the agent"
SHOWN_ONCE: Final = "shown this once; null where an Idempotency-Key is repeated"


class AgentIn(RequestModel):
    """An operation on one agent."""

    agent_id: AgentId


class OwnAgent(RequestModel):
    """An operation on one agent, which an agent need not name."""

    agent_id: OwnAgentId = ME


class Register(RequestModel):
    """A new agent."""

    name: Name = Field(description="what people and agents call it; the owner's words")
    address: Address | None = None


class Registered(ResponseModel):
    """The agent; its key is shown once."""

    agent_id: str
    name: str = Field(description=NAME_WORDS)
    key: str | None = Field(description=SHOWN_ONCE)
    key_id: str
    address: str | None


class AgentListIn(RequestModel):
    """A page of agents."""

    limit: Limit = 50
    cursor: Cursor = None


class NewKey(ResponseModel):
    """A key; it is shown once."""

    key_id: str
    key: str | None = Field(description=SHOWN_ONCE)
    created_at: Timestamp


class AgentKeyIn(AgentIn):
    """One key of an agent."""

    key_id: KeyId


class Revoked(ResponseModel):
    """The key no longer works."""

    key_id: str
    revoked_at: Timestamp


class KeyTold(ResponseModel):
    """A key without its secret."""

    key_id: str
    created_at: Timestamp
    revoked_at: Timestamp | None


class AgentTold(ResponseModel):
    """An agent with its keys; the name is its owner's."""

    agent_id: str
    name: str = Field(description=NAME_WORDS)
    address: str | None
    created_at: Timestamp
    accepts_mandates: bool
    keys: list[KeyTold]


class AgentPage(Page[AgentTold]):
    """A page of agents."""


class OwnerTold(ResponseModel):
    """The person who registered the agent."""

    address: str


class PolicyState(ResponseModel):
    """Whether there is a policy, and whether it accepts mandates."""

    exists: bool
    accepts_mandates: bool


class MandateShort(ResponseModel):
    """A mandate by its id and state."""

    public_id: str
    status: StatusName
    budget_usdc: Usdc
    accepted: bool
    agent_address: str | None = Field(
        description="the agent's address that its terms name, by which alone its vault is acted "
        "through; null while they name none"
    )


class Me(ResponseModel):
    """The caller; `agents` for an owner, `policy` for an agent."""

    agent_id: str | None
    name: str | None = Field(description=NAME_WORDS)
    owner: OwnerTold | None
    address: str | None = Field(
        description="the caller's address; an agent's is the one that terms signed from now on "
        "name on the service's own chain: of its held key, else the one on file"
    )
    agents: list[AgentTold] | None
    policy: PolicyState | None
    mandates: list[MandateShort]
    toolsets: list[ToolsetName] = Field(
        description="MCP tools that fit these mandates: for X-Wallet-Toolsets or /mcp/x/{sets}"
    )


def own_agent(uow: UnitOfWork, caller: Caller, agent_id: str, *, lock: bool = False) -> Agent:
    """The agent, if the caller is it or owns it; `me` is the agent that calls.

    Errors: `not_found`.
    """
    if agent_id == ME and caller.role == "agent":
        agent_id = caller.user_id or ""
    agent = uow.identities.agent(agent_id, lock=lock)
    mine = agent and {"agent": agent.agent_id, "owner": agent.owner_id}.get(caller.role)
    if agent is None or mine is None or mine != caller.user_id:
        raise not_found("agent")
    return agent


_THOSE: Final = NextStep(
    "Use one of the agents that there are, with a new key where it needs one",
    None,
    "GET /wallet/agents",
    OWNER,
)

_ANOTHER: Final = NextStep("Register it under another name", None, "POST /wallet/agents", OWNER)


def _name_taken(reason: str, *steps: NextStep) -> Refused:
    """The refusal of a name that a reader takes for another agent's."""
    detail = {"fields": [{"loc": "name", "msg": reason}]}
    return Refused(refusal("conflict", why=reason, detail=detail, next=(_ANOTHER, *steps)))


def check_new_agent(uow: UnitOfWork, ctx: AnyContext, name: str) -> None:
    """Check that the calling owner can register an agent of this name.

    Errors: `rate_limited` above an owner's number of agents, `conflict` for a name that reads as
    another's.
    """
    limit, owner_id = ctx.config.agents_per_owner, ctx.caller.user_id or ""
    names = uow.identities.names_of(owner_id)
    if limit and len(names) >= limit:
        why = f"An owner has {limit} agents at the most."
        raise Refused(refusal("rate_limited", why=why, retry_safe=False, next=(_THOSE,)))
    if is_equal_to_one(name, names):
        raise _name_taken("You have an agent whose name reads the same.", _THOSE)
    if is_equal_to_one(name, uow.hall.ranked_names(owner_id)):
        # Whoever reads the Hall by its names would take one for the other.
        raise _name_taken("An agent that is ranked in the Hall has a name that reads the same.")


def new_agent(
    uow: UnitOfWork, ctx: AnyContext, agent_id: str, name: str, address: str | None = None
) -> Agent:
    """Register an agent of the calling owner, without a key. Errors: as `check_new_agent`."""
    owner_id = ctx.caller.user_id or ""
    uow.identities.user(owner_id, lock=True)
    check_new_agent(uow, ctx, name)
    own = None if address is None else wallet_of(ctx, address)
    agent = Agent(agent_id, owner_id, name, own, ctx.now)
    uow.identities.add_agent(agent)
    refresh_row(uow, agent.agent_id, ctx)
    return agent


def register(uow: UnitOfWork, ctx: RequestContext[Register, None]) -> HandlerResult[Registered]:
    """Register an agent and mint its first key."""
    agent = new_agent(uow, ctx, ctx.ids.short("u_"), ctx.request.name, ctx.request.address)
    key_id, key = ctx.ids.short("k_"), ctx.ids.token("ak_")
    uow.identities.add_key(key_id, agent.agent_id, hashed(key), ctx.now)
    answer = Registered(
        agent_id=agent.agent_id, name=agent.name, key=key, key_id=key_id, address=agent.address
    )
    return HandlerResult(answer, stored_body=answer.model_copy(update={"key": None}))


def _acting(uow: UnitOfWork, ctx: AnyContext, agent_id: str, own: str | None) -> str | None:
    """The address that terms signed from now on name: the one on file for the service's own chain,
    else the agent's `own`.
    """
    on_file = uow.addresses.address(agent_id, ctx.config.default_chain_id)
    return ctx.chains.address(on_file) if on_file else own


def _row(uow: UnitOfWork, ctx: AnyContext, agent: Agent) -> AgentTold:
    policy, keys = uow.policies.get(agent.agent_id), uow.identities.keys_of(agent.agent_id)
    return AgentTold(
        agent_id=agent.agent_id,
        name=agent.name,
        address=_acting(uow, ctx, agent.agent_id, agent.address),
        created_at=agent.created_at,
        accepts_mandates=bool(policy and policy.accepts_mandates),
        keys=[
            KeyTold(key_id=k.key_id, created_at=k.created_at, revoked_at=k.revoked_at) for k in keys
        ],
    )


def list_agents(uow: UnitOfWork, ctx: RequestContext[AgentListIn, None]) -> AgentPage:
    """Your agents, newest first, with their keys but not their secrets."""
    limit, owner_id = ctx.request.limit, ctx.caller.user_id or ""
    agents = uow.identities.agents_of(owner_id, after=ctx.request.cursor, limit=limit + 1)
    more = agent_after(agents[limit - 1]) if len(agents) > limit else None
    return AgentPage(items=[_row(uow, ctx, a) for a in agents[:limit]], next_cursor=more)


def add_key(uow: UnitOfWork, ctx: RequestContext[AgentIn, None]) -> HandlerResult[NewKey]:
    """Mint another key; two live ones at most, so that one can be rotated without a gap."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id)
    key_id, key = ctx.ids.short("k_"), ctx.ids.token("ak_")
    uow.identities.add_key(key_id, agent.agent_id, hashed(key), ctx.now)
    answer = NewKey(key_id=key_id, key=key, created_at=ctx.now)
    return HandlerResult(answer, stored_body=answer.model_copy(update={"key": None}))


async def revoke_key(deps: Deps, caller: Caller, request: AgentKeyIn) -> Revoked:
    """Revoke a key at once; with the last one every app's access to the agent ends."""
    now = deps.clock.now()

    def revoked(uow: UnitOfWork) -> Revoked:
        agent = own_agent(uow, caller, request.agent_id)
        if not uow.identities.revoke_key(agent.agent_id, request.key_id, now):
            raise not_found("live key")
        if all(key.revoked_at is not None for key in uow.identities.keys_of(agent.agent_id)):
            # Without a key the agent is retired: what apps may do in its name ends with the last.
            for grant in uow.grants.of_agent(agent.agent_id, lock=True):
                uow.grants.end(grant.grant_id, now, "key")
        return Revoked(key_id=request.key_id, revoked_at=now)

    answer = await written(deps, caller, revoked)
    await try_to_end_keys(deps, request.agent_id)
    return answer


def me(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Me:
    """The caller's identity, policy state and mandates."""
    caller, user_id = ctx.caller, ctx.caller.user_id or ""
    is_owner = caller.role == "owner"
    agents, state, acting = None, None, caller.address
    if is_owner:
        address = caller.address
        agents = [
            _row(uow, ctx, a) for a in uow.identities.agents_of(user_id, after=None, limit=50)
        ]
        mandates = uow.mandates.of_owner(user_id, after=None, limit=50)
    else:
        owner, policy = uow.identities.user(caller.owner_id or ""), uow.policies.get(user_id)
        address = owner.address if owner else None
        accepts = bool(policy and policy.accepts_mandates)
        state = PolicyState(exists=policy is not None, accepts_mandates=accepts)
        acting = _acting(uow, ctx, user_id, caller.address)
        mandates = uow.mandates.of_agent(user_id, after=None, limit=50)
    short = [
        MandateShort(
            public_id=m.public_id,
            status=m.status.value,
            budget_usdc=m.budget_usdc,
            accepted=m.accepted_at is not None,
            agent_address=m.agent_address,
        )
        for m in mandates
    ]
    return Me(
        agent_id=None if is_owner else user_id,
        name=None if is_owner else caller.name,
        owner=None if address is None else OwnerTold(address=address),
        address=acting,
        agents=agents,
        policy=state,
        mandates=short,
        toolsets=_fitting_toolsets(mandates),
    )


def _fitting_toolsets(mandates: Sequence[Mandate]) -> list[ToolsetName]:
    """The sets for what these mandates allow; who has none that goes on may propose one."""
    live = [m for m in mandates if m.status not in (Status.SETTLED, Status.CANCELLED)]
    trades = any(each.kind == "venue" for m in live for each in m.allowed_targets)
    fitting: list[ToolsetName] = ["core"]
    if any(purse_of(m.allowed_targets) for m in live):
        fitting.append("pay")
    if trades:
        fitting.append("trading")
    return fitting if live else [*fitting, "propose"]


OPERATIONS: Final = (
    Operation(
        name="owner_agent_register",
        title="Register an agent",
        summary="Register an agent; its key is shown once.",
        auth="owner",
        route=("POST", "/wallet/agents"),
        request_model=Register,
        response_model=Registered,
        handler=register,
        writes=True,
        family="agents",
        idempotency=owner_scope("agents"),
        statuses={201: "The agent and its key"},
        refusals=("invalid_address", "conflict"),
    ),
    Operation(
        name="owner_agents",
        title="List your agents",
        summary="Your agents with their keys, newest first.",
        auth="owner",
        route=("GET", "/wallet/agents"),
        request_model=AgentListIn,
        response_model=AgentPage,
        handler=list_agents,
        family="agents",
    ),
    Operation(
        name="owner_agent_key_add",
        title="Add a key",
        summary="Mint a key; two can live, so that one is rotated without a gap.",
        auth="owner",
        route=("POST", "/wallet/agents/{agent_id}/keys"),
        request_model=AgentIn,
        response_model=NewKey,
        handler=add_key,
        writes=True,
        family="agents",
        idempotency=owner_scope("agent_keys", "agent_id"),
        statuses={201: "The key, shown once"},
        refusals=("not_found", "conflict"),
    ),
    Operation(
        name="owner_agent_key_revoke",
        title="Revoke a key",
        summary="The key stops working at once; with the last one connected apps are cut off too.",
        auth="owner",
        route=("DELETE", "/wallet/agents/{agent_id}/keys/{key_id}"),
        request_model=AgentKeyIn,
        response_model=Revoked,
        pass_through=revoke_key,
        writes=True,
        destructive=True,
        family="agents",
        refusals=("not_found",),
    ),
    Operation(
        name="agents_me",
        title="Who am I",
        summary="Your agent identity, policy state and mandates.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/me"),
        request_model=Nothing,
        response_model=Me,
        handler=me,
        on_mcp=True,
        family="agents",
    ),
)
