"""Venue keys: reads the venue's list of agents, stores it, and reports keys that ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import anyio
from pydantic import Field

from domain.ports import Venue
from domain.refusals import Refused
from domain.trading.venue_account import AgentKey, Link, listed, usable
from domain.trading.venue_values import ApprovedAgent, CachedValue
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Nothing
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    Operation,
    RequestContext,
    ResponseModel,
)
from tools.trading.fields import (
    KEYED,
    LOOK_AT_LINK,
    MaybeMoment,
    NetworkName,
    TimestampText,
    own_link,
    own_write,
    venue_of,
)

log = logging.getLogger("wallet.venue")
CHECK_EVERY: Final = timedelta(hours=1)
A_ROUND: Final = 5  # each costs 20 of the venue's weight
CLAIM: Final = timedelta(seconds=60)
Keys = tuple[AgentKey | None, AgentKey | None]
_Started = tuple[Link, AgentKey | None, AgentKey | None]


class VerifiedAgent(ResponseModel):
    """The key as the venue names it."""

    address: str
    name: str = Field(description="as the venue tells it")
    valid_until: TimestampText


class VerifyOut(ResponseModel):
    """Whether the order key may sign now."""

    enabled: bool
    agent: VerifiedAgent | None
    network: NetworkName
    checked_at: MaybeMoment


def keys_of(uow: UnitOfWork, link: Link) -> Keys:
    """The order key and the keeper key of a link that are in use."""
    return uow.venue.key_in_use(link.link_id, "order"), uow.venue.key_in_use(link.link_id, "keeper")


async def agents_now(venue: Venue, wallet: str) -> tuple[ApprovedAgent, ...]:
    """The venue's list of a wallet's agents, read fresh. Errors: `venue_unavailable`."""
    return (await venue.agents(wallet, max_age_s=0, fresh=True, priority="order")).value


def note(
    uow: UnitOfWork,
    keys: Sequence[AgentKey | None],
    agents: Sequence[ApprovedAgent],
    at: datetime,
) -> None:
    """Keep what the venue said of keys; one that it named before and names no more is logged."""
    for key in keys:
        if key is None:
            continue
        there = listed(key, agents) is not None
        if key.listed and not there:
            log.warning("the venue names the %s key %s no more", key.kind, key.approval_id)
        uow.venue.check_key(key.approval_id, listed=there, now=at)


async def refresh_keys(
    deps: Deps, link: Link, agents: CachedValue[tuple[ApprovedAgent, ...]] | None
) -> Keys:
    """The keys of a link, after a fresh answer of the venue about them is stored."""
    keys = await deps.store.read(lambda uow: keys_of(uow, link))
    if agents is None or agents.stale:
        return keys
    newer = [
        k for k in keys if k is not None and (k.checked_at is None or k.checked_at < agents.as_of)
    ]
    if not newer:
        return keys

    def work(uow: UnitOfWork) -> Keys:
        note(uow, newer, agents.value, agents.as_of)
        return keys_of(uow, link)

    return await deps.store.write(work)


async def check_due(deps: Deps, holder: str) -> int:
    """Ask anew about the keys of links with a keeper key, each once an hour and by one process;
    how many were asked.

    A venue that is silent ends the round: what is kept stands, and the next round asks.
    """
    now = deps.clock.now()
    due = await deps.store.read(
        lambda uow: uow.venue.links_to_check(now, now - CHECK_EVERY, A_ROUND)
    )
    checked = 0
    for link in due:
        claim = partial(_claimed, link=link, holder=holder, now=now)
        if not await deps.store.write(claim):
            continue
        try:
            venue = venue_of(deps, link.network)
            agents = await venue.agents(link.wallet, max_age_s=0, fresh=True)
        except Refused as refused:
            log.info("approved keys are not checked: %s", refused.refusal.reason)
            return checked
        await refresh_keys(deps, link, agents)
        checked += 1
    return checked


def _claimed(uow: UnitOfWork, *, link: Link, holder: str, now: datetime) -> bool:
    return uow.work.acquire("approved keys", link.link_id, holder, now, now + CLAIM)


# -- an owner asks


def begin_verification(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> _Started:
    """The link, and its keys to look for. Errors: `not_linked`."""
    link = own_link(uow, ctx)
    return (link, *keys_of(uow, link))


async def read_agents(deps: Deps, caller: Caller, started: _Started) -> tuple[ApprovedAgent, ...]:
    """The venue's list, read again after a moment where the order key is not in it."""
    link, order, _ = started
    venue = venue_of(deps, link.network)
    agents = await agents_now(venue, link.wallet)
    if order is not None and order.alive(deps.clock.now()) and listed(order, agents) is None:
        await anyio.sleep(deps.config.trading.verify_pause_s)
        agents = await agents_now(venue, link.wallet)
    return agents


def verified(
    uow: UnitOfWork,
    ctx: RequestContext[Nothing, None],
    started: _Started,
    agents: tuple[ApprovedAgent, ...],
) -> HandlerResult[VerifyOut]:
    """Keep what the venue said of each key, and say whether the order key may sign now."""
    link, *keys = started
    note(uow, keys, agents, ctx.now)
    order, agent = uow.venue.key_in_use(link.link_id, "order"), None
    line = listed(order, agents) if order is not None and usable(order, agents, ctx.now) else None
    if line is not None and order is not None:
        agent = VerifiedAgent(
            address=ctx.chains.address(line.address),
            name=line.name,
            valid_until=min(order.valid_until, line.valid_until or order.valid_until),
        )
    return HandlerResult(
        VerifyOut(enabled=agent is not None, agent=agent, network=link.network, checked_at=ctx.now)
    )


OPERATIONS: Final = (
    Operation(
        name="own_enable_verify",
        title="Check the order key",
        summary="Ask the venue whether it names your order key, and keep its answer.",
        auth="owner",
        route=("POST", "/wallet/own/enable/verify"),
        request_model=Nothing,
        response_model=VerifyOut,
        effect=ExternalEffect(
            begin=begin_verification, act=read_agents, finish=verified, reconcile=(LOOK_AT_LINK,)
        ),
        writes=True,
        idempotent=True,
        family="own account",
        open_world=True,
        idempotency=own_write("/wallet/own/enable/verify"),
        refusals=("not_linked", "venue_unavailable", "not_configured", *KEYED, "outcome_unknown"),
    ),
)
