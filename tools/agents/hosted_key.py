"""Hosted keys: an owner lets the service hold a key that signs for her agent, and ends it."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.agents.sent_calls import HostedKey
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc, total
from domain.refusals import Refused, SigningRefused, refusal
from domain.rules.exposure import exposure
from domain.times import Timestamp
from storage.repositories.identities import Agent
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import AgentIn, own_agent
from tools.context.access import not_found
from tools.context.snapshot_loader import load_snapshot
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.keeper.hall_rollup import refresh_row
from tools.model.operation import AnyContext, Caller, Deps, Operation, RequestContext, ResponseModel

MANDATES_MOST: Final = 50


class HostedKeyOut(ResponseModel):
    """The key that the service holds for an agent, and what is at stake with it."""

    agent_id: str
    is_offered: bool = Field(description="whether this service holds keys of agents at all")
    address: str | None = Field(
        description="the agent's address in terms that are signed from now on; null where no key "
        "was made"
    )
    made_at: Timestamp | None
    ended_at: Timestamp | None
    mandates: int = Field(description="mandates that go on and name this address")
    worst_case_now_usdc: Usdc = Field(
        description="the most that could leave their vaults at once, before you pause them, if the "
        "service and its signer were taken over"
    )
    worst_case_ever_usdc: Usdc = Field(
        description="the most in their whole life, where nobody pauses them"
    )


def _shown(
    uow: UnitOfWork, ctx: AnyContext, key: HostedKey, *, is_offered: bool = True
) -> HostedKeyOut:
    mandates = uow.mandates.of_agent(key.agent_id, after=None, limit=MANDATES_MOST)
    named = [
        m
        for m in mandates
        if m.status in (Status.SIGNED, Status.WORKING)
        and (m.agent_address or "").lower() == key.address.lower()
    ]
    stakes = [exposure(load_snapshot(uow, ctx, m, events=0)) for m in named]
    return HostedKeyOut(
        agent_id=key.agent_id,
        is_offered=is_offered,
        address=key.address,
        made_at=key.made_at,
        ended_at=key.ended_at,
        mandates=len(named),
        worst_case_now_usdc=total(s.before_pause for s in stakes),
        worst_case_ever_usdc=total(s.ever for s in stakes),
    )


def _free_agent(uow: UnitOfWork, deps: Deps, caller: Caller, agent_id: str) -> Agent:
    """The caller's agent, where no live vault names an address that is not held here.

    Errors: `not_found`, `conflict`.
    """
    agent = own_agent(uow, caller, agent_id)
    key = uow.hosted_keys.get(agent_id)
    if key is not None and key.ended_at is None:
        return agent
    for chain_id in deps.chains.ids():
        if uow.mandates.live_vault_naming(agent_id, chain_id):
            why = "A live vault names another address of the agent; stop it first."
            raise Refused(refusal("conflict", why=why))
    return agent


async def make_key(deps: Deps, caller: Caller, request: AgentIn) -> str:
    """Let the signer make the agent's key. Errors: `not_configured`, `not_found`, `conflict`."""
    signer = deps.agent_signer
    if signer is None:
        what = "the holding of agents' keys (WALLET_HOSTED_AGENTS, WALLET_SIGNER_SOCKET)"
        raise Refused(refusal("not_configured", what=what))
    agent_id = request.agent_id
    await deps.store.read(lambda uow: _free_agent(uow, deps, caller, agent_id))
    kept = await deps.store.read(lambda uow: uow.hosted_keys.get(agent_id))
    try:
        address = await signer.agent_address(agent_id)
        if kept is not None and kept.ended_at is not None and kept.address == address:
            # The signer was away when this key was ended.
            await signer.agent_key_end(agent_id)
            address = await signer.agent_address(agent_id)
    except SigningRefused as refused:
        raise Refused(refusal("signer_refused", why=str(refused))) from None
    return address


def host(uow: UnitOfWork, ctx: RequestContext[AgentIn, str]) -> HostedKeyOut:
    """Put the key's address on file: terms that are signed from now on name it."""
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id, lock=True)
    address, kept = ctx.facts, uow.hosted_keys.get(agent.agent_id)
    if kept is not None and kept.ended_at is None and kept.address == address:
        return _shown(uow, ctx, kept)
    key = HostedKey(agent_id=agent.agent_id, address=address, made_at=ctx.now)
    uow.hosted_keys.put(key)
    for chain_id in ctx.chains.ids():
        uow.addresses.put(agent.agent_id, chain_id, address, ctx.now, nonce=None)
        # The signer made the key, and nobody else has it.
        uow.addresses.prove(agent.agent_id, chain_id, address, ctx.now, signer_type="hosted")
    refresh_row(uow, agent.agent_id, ctx)
    return _shown(uow, ctx, key)


async def read_key(deps: Deps, caller: Caller, request: AgentIn) -> HostedKeyOut:
    """The key, where there is one, and what is at stake with it."""
    now, is_offered = deps.clock.now(), deps.agent_signer is not None

    def shown(uow: UnitOfWork) -> HostedKeyOut:
        agent = own_agent(uow, caller, request.agent_id)
        key = uow.hosted_keys.get(agent.agent_id)
        if key is not None:
            ctx = request_context(uow, deps, caller, now, request=request)
            return _shown(uow, ctx, key, is_offered=is_offered)
        return HostedKeyOut(
            agent_id=agent.agent_id,
            is_offered=is_offered,
            address=None,
            made_at=None,
            ended_at=None,
            mandates=0,
            worst_case_now_usdc=ZERO,
            worst_case_ever_usdc=ZERO,
        )

    return await deps.store.read(shown)


async def end(deps: Deps, caller: Caller, request: AgentIn) -> HostedKeyOut:
    """End the key here, then in the signer: what cannot be reached is asked again by a repeat."""
    now = deps.clock.now()

    def ended(uow: UnitOfWork) -> HostedKeyOut:
        agent = own_agent(uow, caller, request.agent_id, lock=True)
        key = uow.hosted_keys.get(agent.agent_id)
        if key is None:
            raise not_found("hosted key")
        if key.ended_at is None:
            key = key.ended(now)
            uow.hosted_keys.put(key)
        return _shown(uow, request_context(uow, deps, caller, now, request=request), key)

    answer = await written(deps, caller, ended)
    if deps.agent_signer is None:
        raise Refused(refusal("not_configured", what="the signer, which keeps the key,"))
    await deps.agent_signer.agent_key_end(request.agent_id)
    return answer


OPERATIONS: Final = (
    Operation(
        name="owner_agent_hosted_key_make",
        title="Let the service hold a key for an agent",
        summary="A key of the agent's own in the sealed signer, which signs only calls of vaults "
        "whose signed terms name its address; mandates signed from now on name it, and "
        "mandate_act acts with it.",
        auth="owner",
        route=("POST", "/wallet/agents/{agent_id}/hosted-key"),
        request_model=AgentIn,
        response_model=HostedKeyOut,
        handler=host,
        gather=make_key,
        writes=True,
        idempotent=True,
        family="agents",
        statuses={201: "The key's address, and what is at stake"},
        refusals=("not_found", "conflict", "not_configured", "signer_refused"),
    ),
    Operation(
        name="owner_agent_hosted_key",
        title="Read the held key of an agent",
        summary="The address of the key that the service holds, and the worst case in USDC.",
        auth="owner",
        route=("GET", "/wallet/agents/{agent_id}/hosted-key"),
        request_model=AgentIn,
        response_model=HostedKeyOut,
        pass_through=read_key,
        family="agents",
        refusals=("not_found",),
    ),
    Operation(
        name="owner_agent_hosted_key_end",
        title="End the held key of an agent",
        summary="Nothing is signed with the key from now on; a new one has another address.",
        auth="owner",
        route=("DELETE", "/wallet/agents/{agent_id}/hosted-key"),
        request_model=AgentIn,
        response_model=HostedKeyOut,
        pass_through=end,
        writes=True,
        idempotent=True,
        destructive=True,
        family="agents",
        refusals=("not_found", "not_configured"),
    ),
)
