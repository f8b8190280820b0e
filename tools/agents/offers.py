"""Mandates that wait for an agent to accept."""

from __future__ import annotations

from typing import Any, Final

from domain.mandates.mandate import Mandate, MandateAttributes
from domain.rules.exposure import Exposure, exposure
from storage.rows.mandates import after_offer
from storage.unit_of_work import UnitOfWork
from tools.agents.registry import OwnAgent, own_agent
from tools.call.case import load_case
from tools.call.fields import Cursor, Limit, Page
from tools.call.fit import fitting_rows
from tools.call.operation import Ask, Gives, Operation, Written
from tools.call.wire import told


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


def offers(uow: UnitOfWork, ask: Ask[OffersIn, None]) -> Written:
    """Mandates waiting for this agent to accept; those that name it come first. Strangers write
    them: a page ends at 64 KiB.
    """
    agent = own_agent(uow, ask.caller, ask.asked.agent_id)
    most = ask.asked.limit
    found = uow.mandates.offers(agent.agent_id, after=ask.asked.cursor, limit=most + 1)
    rows = list(fitting_rows(_offer(uow, ask, m) for m in found[:most]))
    more = after_offer(found[len(rows) - 1]) if len(found) > len(rows) else None
    return Written({"items": rows, "next_cursor": more})


def _offer(uow: UnitOfWork, ask: Ask[Any, Any], m: Mandate) -> Any:
    worst = exposure(load_case(uow, ask, m, events=0))
    return told(Offer(mandate=m.attributes(), exposure=worst), Offer)


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
