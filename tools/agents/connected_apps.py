"""The apps that may act for an agent: their grants, listed and ended by its owner."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from domain.agents.grants import Ending, Grant, Scope
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import AgentIn, own_agent
from tools.context.access import not_found
from tools.dispatch.storage_allowance import written
from tools.keeper.held_keys import try_to_end_keys
from tools.model.fields import Page
from tools.model.operation import Caller, Deps, Operation, RequestContext, ResponseModel

OWN_WORDS: Final = "own words of the app; nobody has checked them"

GrantId = Annotated[
    str, Field(max_length=64, description="the grant's id", examples=["g_abcdefgh23"])
]


class GrantTold(ResponseModel):
    """An app's access to an agent. `ended_by`: its owner, the app itself, the agent's last key, a
    newer grant in its place, a token that was used twice, or time.
    """

    grant_id: str
    client_host: str | None = Field(
        description="host of the app's id; null for an app that registered itself and proved none"
    )
    client_name: str = Field(description=OWN_WORDS)
    redirect_host: str
    scopes: list[Scope]
    created_at: Timestamp
    used_at: Timestamp | None = Field(description="its last use, to the hour")
    ended_at: Timestamp | None
    ended_by: Ending | None
    holds_key: bool = Field(
        description="the signer holds a key for it, which ends with the last such app of the agent"
    )


class GrantPage(Page[GrantTold]):
    """An agent's connected apps, newest first, all on one page."""


class GrantIn(AgentIn):
    """One grant of an agent."""

    grant_id: GrantId


class GrantEnded(ResponseModel):
    """The app's access is over."""

    grant_id: str
    ended_at: Timestamp


def list_grants(uow: UnitOfWork, ctx: RequestContext[AgentIn, None]) -> GrantPage:
    """An agent's grants; those whose code was never redeemed are none."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id)
    grants = [g for g in uow.grants.of_agent(agent.agent_id) if g.redeemed_at is not None]
    return GrantPage(items=[_row(g, ctx.now) for g in grants], next_cursor=None)


def _row(grant: Grant, now: datetime) -> GrantTold:
    expired = grant.ended_at is None and not grant.lasts(now)
    return GrantTold(
        grant_id=grant.grant_id,
        client_host=grant.client_host,
        client_name=grant.client_name,
        redirect_host=grant.redirect_host,
        scopes=list(grant.scopes),
        created_at=grant.created_at,
        used_at=grant.used_at,
        ended_at=grant.refresh_until if expired else grant.ended_at,
        ended_by="expired" if expired else grant.ended_by,
        holds_key=grant.held_key is not None,
    )


async def end_grant(deps: Deps, caller: Caller, request: GrantIn) -> GrantEnded:
    """End an app's access at once, with every token that it has, and with the key that is held for
    it alone.
    """
    now = deps.clock.now()

    def ended(uow: UnitOfWork) -> GrantEnded:
        agent = own_agent(uow, caller, request.agent_id)
        grants = {g.grant_id: g for g in uow.grants.of_agent(agent.agent_id, lock=True)}
        grant = grants.get(request.grant_id)
        if grant is None or not grant.lasts(now):
            raise not_found("live grant")
        uow.grants.end(grant.grant_id, now, "owner")
        return GrantEnded(grant_id=grant.grant_id, ended_at=now)

    answer = await written(deps, caller, ended)
    await try_to_end_keys(deps, request.agent_id)
    return answer


OPERATIONS: Final = (
    Operation(
        name="owner_agent_grants",
        title="List connected apps",
        summary="The apps that may act for an agent, and those that could.",
        auth="owner",
        route=("GET", "/wallet/agents/{agent_id}/grants"),
        request_model=AgentIn,
        response_model=GrantPage,
        handler=list_grants,
        family="agents",
        refusals=("not_found",),
    ),
    Operation(
        name="owner_agent_grant_end",
        title="Disconnect an app",
        summary="The app's access ends at once, with every token that it has.",
        auth="owner",
        route=("DELETE", "/wallet/agents/{agent_id}/grants/{grant_id}"),
        request_model=GrantIn,
        response_model=GrantEnded,
        pass_through=end_grant,
        writes=True,
        destructive=True,
        family="agents",
        refusals=("not_found",),
    ),
)
