"""Venue keys: reads the venue's list of agents, stores it, and reports keys that ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from domain.refusals import Refused
from domain.trading.venue_account import AgentKey, Link, listed
from domain.trading.venue_values import ApprovedAgent, CachedValue
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps
from tools.trading.fields import venue_of

log = logging.getLogger("wallet.venue")
CHECK_EVERY: Final = timedelta(hours=1)
A_ROUND: Final = 5  # each costs 20 of the venue's weight
CLAIM: Final = timedelta(seconds=60)


def keys_of(uow: UnitOfWork, link: Link) -> tuple[AgentKey | None, AgentKey | None]:
    """The order key and the keeper key of a link that are in use."""
    return uow.venue.key_in_use(link.link_id, "order"), uow.venue.key_in_use(link.link_id, "keeper")


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
) -> tuple[AgentKey | None, AgentKey | None]:
    """The keys of a link, after what the venue said just now is kept; an old answer keeps
    nothing."""
    keys = await deps.store.read(lambda uow: keys_of(uow, link))
    if agents is None or agents.stale:
        return keys
    newer = [
        k for k in keys if k is not None and (k.checked_at is None or k.checked_at < agents.as_of)
    ]
    if not newer:
        return keys

    def work(uow: UnitOfWork) -> tuple[AgentKey | None, AgentKey | None]:
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
    request = 0
    for link in due:
        claim = partial(_claimed, link=link, holder=holder, now=now)
        if not await deps.store.write(claim):
            continue
        try:
            venue = venue_of(deps, link.network)
            agents = await venue.agents(link.wallet, max_age_s=0, fresh=True)
        except Refused as refused:
            log.info("approved keys are not checked: %s", refused.refusal.reason)
            return request
        await refresh_keys(deps, link, agents)
        request += 1
    return request


def _claimed(uow: UnitOfWork, *, link: Link, holder: str, now: datetime) -> bool:
    return uow.work.acquire("approved keys", link.link_id, holder, now, now + CLAIM)
