"""Hosted keys: an owner lets the service hold a key that signs for her agent, and ends it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import Field

from domain.agents.sent_calls import HostedKey
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc, total
from domain.refusals import Refused, SigningRefused, refusal
from domain.rules.exposure import exposure
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import AgentIn, own_agent
from tools.context.access import not_found
from tools.context.snapshot_loader import load_snapshot
from tools.dispatch.request_context import request_context
from tools.dispatch.storage_allowance import written
from tools.keeper.hall_rollup import refresh_row
from tools.keeper.held_keys import end_key, end_keys_that_are_over
from tools.model.operation import AnyContext, Caller, Deps, Operation, RequestContext, ResponseModel

MANDATES_MOST: Final = 50
# Each leaves a sealed file in the signer.
KEYS_MOST: Final = 50


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
    ends_with_apps: bool = Field(
        description="it was made at a consent, and ends with the last app that it is kept for"
    )
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
        ends_with_apps=key.ends_with_apps,
        mandates=len(named),
        worst_case_now_usdc=total(s.before_pause for s in stakes),
        worst_case_ever_usdc=total(s.ever for s in stakes),
    )


def _check_agent_is_free(
    uow: UnitOfWork, deps: AnyContext | Deps, agent_id: str, now: datetime
) -> HostedKey | None:
    """The agent's key, where there is one; else no live vault may name an address that is not held
    here. Errors: `conflict`.
    """
    key = uow.hosted_keys.get(agent_id, now)
    if key is not None and key.ended_at is None:
        return key
    for chain_id in deps.chains.ids():
        if uow.mandates.live_vault_naming(agent_id, chain_id):
            why = "A live vault names another address of the agent; stop it first."
            raise Refused(refusal("conflict", why=why))
    return key


async def ready_key(deps: Deps, agent_id: str, *, ends_with_apps: bool) -> HostedKey:
    """The key that the agent has, else its next one, which the signer has made and no row tells of
    yet. Errors: `not_configured`, `conflict`, `signer_refused`.
    """
    signer = deps.agent_signer
    if signer is None:
        raise Refused(refusal("not_configured", what="keys of agents that it holds"))
    await end_keys_that_are_over(deps, agent_id)
    now = deps.clock.now()
    kept = await deps.store.read(lambda uow: _check_agent_is_free(uow, deps, agent_id, now))
    if kept is not None and kept.ended_at is None:
        return kept
    number = 1 if kept is None else kept.number + 1
    if number > KEYS_MOST:
        why = f"An agent has {KEYS_MOST} held keys in its life; register another agent."
        raise Refused(refusal("conflict", why=why))
    key = HostedKey(
        agent_id=agent_id, number=number, address="", made_at=now, ends_with_apps=ends_with_apps
    )
    try:
        return replace(key, address=await signer.agent_address(key.name))
    except SigningRefused as refused:
        raise Refused(refusal("signer_refused", why=str(refused))) from None


def keep_key(uow: UnitOfWork, ctx: AnyContext, key: HostedKey) -> HostedKey:
    """Put the key's address on file: terms that are signed from now on name it. The agent's row is
    locked. Errors: `conflict`.
    """
    kept = _check_agent_is_free(uow, ctx, key.agent_id, ctx.now)
    if kept is not None and kept.ended_at is None:
        return kept
    if kept is not None and (kept.number >= key.number or kept.away_at is None):
        why = "The agent's key ended meanwhile; ask again."
        raise Refused(refusal("conflict", why=why, retry_safe=True))
    uow.hosted_keys.put(key)
    for chain_id in ctx.chains.ids():
        uow.addresses.put(key.agent_id, chain_id, key.address, ctx.now, nonce=None)
        # The signer made the key, and nobody else has it.
        uow.addresses.prove(key.agent_id, chain_id, key.address, ctx.now, signer_type="hosted")
    refresh_row(uow, key.agent_id, ctx)
    return key


async def make_key(deps: Deps, caller: Caller, request: AgentIn) -> HostedKey:
    """Let the signer make the agent's key. Errors: `not_configured`, `not_found`, `conflict`."""
    agent = await deps.store.read(lambda uow: own_agent(uow, caller, request.agent_id))
    return await ready_key(deps, agent.agent_id, ends_with_apps=False)


def host(uow: UnitOfWork, ctx: RequestContext[AgentIn, HostedKey]) -> HostedKeyOut:
    """Hold the key for the agent, until its owner ends it."""
    own_agent(uow, ctx.caller, ctx.request.agent_id, lock=True)
    return _shown(uow, ctx, keep_key(uow, ctx, ctx.facts))


async def read_key(deps: Deps, caller: Caller, request: AgentIn) -> HostedKeyOut:
    """The key, where there is one, and what is at stake with it."""
    now, is_offered = deps.clock.now(), deps.agent_signer is not None

    def shown(uow: UnitOfWork) -> HostedKeyOut:
        agent = own_agent(uow, caller, request.agent_id)
        key = uow.hosted_keys.get(agent.agent_id, now)
        if key is not None:
            ctx = request_context(uow, deps, caller, now, request=request)
            return _shown(uow, ctx, key, is_offered=is_offered)
        return HostedKeyOut(
            agent_id=agent.agent_id,
            is_offered=is_offered,
            address=None,
            made_at=None,
            ended_at=None,
            ends_with_apps=False,
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
        key = uow.hosted_keys.get(agent.agent_id, now)
        if key is None:
            raise not_found("hosted key")
        if key.ended_at is None:
            key = key.ended(now)
            end_key(uow, deps, key)
        return _shown(uow, request_context(uow, deps, caller, now, request=request), key)

    answer = await written(deps, caller, ended)
    await end_keys_that_are_over(deps, request.agent_id)
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
