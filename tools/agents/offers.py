"""Mandates that wait for an agent to accept."""

from __future__ import annotations

from typing import Any, Final

from domain.mandates.mandate import MandateAttributes
from domain.rules.exposure import Exposure, exposure
from storage.rows.mandates import after_offer
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OwnAgent, own_agent
from tools.call.case import load_case
from tools.call.fields import Cursor, Limit, Page
from tools.call.operation import Ask, Gives, Operation, Reply


class OffersIn(OwnAgent):
    """A page of offers."""

    limit: Limit = 50
    cursor: Cursor = None


class Offer(Gives):
    """A mandate that waits for an agent, and what could be lost in it."""

    mandate: MandateAttributes
    exposure: Exposure


class OfferPage(Page[Offer]):
    """A page of offers."""


def offers(uow: UnitOfWork, ask: Ask[OffersIn, None]) -> Reply:
    """Mandates waiting for this agent to accept; those that name it come first."""
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    most = ask.asked.limit
    found = uow.mandates.offers(agent.agent_id, after=ask.asked.cursor, limit=most + 1)
    rows = [{"mandate": m.attributes(), "exposure": _worst(uow, ask, m)} for m in found[:most]]
    return Reply(
        200,
        {
            "items": rows,
            "next_cursor": after_offer(found[most - 1]) if len(found) > most else None,
        },
    )


def _worst(uow: UnitOfWork, ask: Ask[Any, Any], m: Any) -> Exposure:
    return exposure(load_case(uow, ask, m, events=0))


OPERATIONS: Final = (
    Operation(
        name="agent_offers",
        title="Read offers",
        summary="Mandates waiting for you to accept: those that name you, then open-board ones.",
        auth="owner_or_agent",
        route=("GET", "/wallet/agents/{agent_id}/offers"),
        takes=OffersIn,
        gives=OfferPage,
        handler=offers,
        on_mcp=True,
        family="agents",
        refusals=("not_found",),
    ),
)
