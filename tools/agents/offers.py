"""Offers: mandates that an agent can accept."""

from __future__ import annotations

from typing import Final

from domain.mandates.mandate import Mandate, MandateAttributes
from domain.rules.exposure import Exposure, exposure
from storage.repositories.mandates import after_offer
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OwnAgent, own_agent
from tools.context.snapshot_loader import load_snapshot
from tools.model.fields import Cursor, Limit, Page
from tools.model.operation import (
    AnyContext,
    Operation,
    RenderedResult,
    RequestContext,
    ResponseModel,
)
from tools.model.serialization import to_json
from tools.model.truncation import bounded_page


class OffersIn(OwnAgent):
    """A page of offers."""

    limit: Limit = 50
    cursor: Cursor = None


class Offer(ResponseModel):
    """A mandate that waits for an agent, and what could be lost in it."""

    mandate: MandateAttributes
    exposure: Exposure


class OfferPage(Page[Offer]):
    """A page of offers."""


def offers(uow: UnitOfWork, ctx: RequestContext[OffersIn, None]) -> RenderedResult[OfferPage]:
    """Mandates waiting for this agent to accept; those that name it come first. Strangers write
    them: a page ends at 64 KiB.
    """
    agent = own_agent(uow, ctx.caller, ctx.request.agent_id)
    limit = ctx.request.limit
    mandates = uow.mandates.offers(agent.agent_id, after=ctx.request.cursor, limit=limit + 1)
    return bounded_page(mandates, (_offer(uow, ctx, m) for m in mandates[:limit]), after_offer)


def _offer(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate) -> object:
    worst = exposure(load_snapshot(uow, ctx, mandate, events=0))
    return to_json(Offer(mandate=mandate.attributes(), exposure=worst), Offer)


OPERATIONS: Final = (
    Operation(
        name="agent_offers",
        title="Read offers",
        summary="Mandates waiting for you to accept: those that name you, then open-board ones.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/offers"),
        request_model=OffersIn,
        response_model=OfferPage,
        handler=offers,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
)
