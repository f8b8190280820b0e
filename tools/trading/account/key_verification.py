"""Key verification: reads whether the venue lists an approved key, and stores the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import anyio
from pydantic import Field

from domain.times import timestamp
from domain.trading.venue_account import AgentKey, Link, listed, usable
from domain.trading.venue_values import ApprovedAgent
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Nothing
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    Operation,
    OperationResult,
    RequestContext,
    ResponseModel,
)
from tools.trading.account.venue_keys import keys_of, note
from tools.trading.fields import (
    LOOK_AT_LINK,
    MaybeMoment,
    NetworkName,
    TimestampText,
    own_link,
    own_write,
    venue_of,
)


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


@dataclass(frozen=True, slots=True)
class _KeyLookup:
    """A link and the keys under it that are in use."""

    link: Link
    order: AgentKey | None
    keeper: AgentKey | None


def begin_verification(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> _KeyLookup:
    """The keys to look for. Errors: `not_linked`."""
    link = own_link(uow, ctx)
    return _KeyLookup(link, *keys_of(uow, link))


async def read_agents(deps: Deps, caller: Caller, started: _KeyLookup) -> tuple[ApprovedAgent, ...]:
    """The venue's list, asked once more after a moment where the order key is not in it.

    Errors: `venue_unavailable`.
    """
    venue, wallet = venue_of(deps, started.link.network), started.link.wallet
    agents = (await venue.agents(wallet, max_age_s=0, fresh=True, priority="order")).value
    order = started.order
    if order is not None and order.alive(deps.clock.now()) and listed(order, agents) is None:
        await anyio.sleep(deps.config.trading.verify_pause_s)
        agents = (await venue.agents(wallet, max_age_s=0, fresh=True, priority="order")).value
    return agents


def verified(
    uow: UnitOfWork,
    ctx: RequestContext[Nothing, None],
    started: _KeyLookup,
    agents: tuple[ApprovedAgent, ...],
) -> OperationResult:
    """Keep what the venue said of each key, and say whether the order key may sign now."""
    note(uow, (started.order, started.keeper), agents, ctx.now)
    order = uow.venue.key_in_use(started.link.link_id, "order")
    line = listed(order, agents) if order is not None and usable(order, agents, ctx.now) else None
    agent = None
    if line is not None and order is not None:
        until = min(order.valid_until, line.valid_until or order.valid_until)
        agent = {
            "address": ctx.chains.address(line.address),
            "name": line.name,
            "valid_until": timestamp(until),
        }
    body = {
        "enabled": line is not None,
        "agent": agent,
        "network": started.link.network,
        "checked_at": timestamp(ctx.now),
    }
    return OperationResult(200, body)


_WRITE: Final = (
    "not_linked",
    "venue_unavailable",
    "not_configured",
    "idempotency_key_reused",
    "idempotency_in_flight",
    "outcome_unknown",
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
        refusals=("secret_not_accepted", *_WRITE),
    ),
)
