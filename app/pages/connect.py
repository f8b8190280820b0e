"""The page of consent: an app asks to act for an agent, and the owner answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from aiohttp import web

from app.components import refusal as refusals
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages.agents import held_key
from app.replies import Json, Record
from app.words.grants import MEANS
from app.words.text import _
from domain.money import ZERO, Usdc
from domain.refusals import invalid

# Mandates whose worst case is looked up now; of more than these the budget stands for it.
LOOKED_AT: Final = 20
WORKING: Final = ("signed", "working", "stopped")
NEW: Final = "new"
PAGES_MOST: Final = 5
# What is no ask, or none any more.
OVER: Final[Mapping[str, str]] = {
    "not_found": _("This request to connect has run out"),
    "conflict": _("This request to connect is answered"),
}
NO_MORE: Final = _("Nothing can be connected by this link any more.")


async def show_ask(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    """The page of an ask: which app, for what, where the answer goes, what could be lost; of one
    that is over, or answered, what became of it.
    """
    try:
        ask = await visit.run("owner_connect_read", ask=visit.path_part("ask"))
    except OperationRefused as over:
        if over.code not in OVER:
            raise
        return _over(visit, over)
    agents = [Record(a) for a in (await visit.run("owner_agents", limit=200))["items"]]
    worst, held = await _worst(visit), await _held(visit, agents)
    typed = visit.form if refused else {}
    chosen = typed.get("agent") or (agents[0]["agent_id"] if agents else NEW)
    view = Record(
        ask=ask,
        means=tuple(MEANS[scope] for scope in ask["scopes"]),
        agents=tuple(
            Record(
                a,
                worst=str(worst.get(a["agent_id"], ZERO)),
                chosen=chosen == a["agent_id"],
                signs="wallet:act" in ask["scopes"] and a["agent_id"] in held,
            )
            for a in agents
        ),
        new=chosen == NEW,
        # The operator lets keys of agents be held here.
        holds="wallet:act" in ask["scopes"] and visit.deps.agent_signer is not None,
        hold="hold" in typed,
        name=typed.get("name", ask["client_name"]),
        problem=refusals.view(refused and refused.block),
    )
    return visit.show("connect.html", view, refused=refused)


def _over(visit: PageRequest, refused: OperationRefused) -> web.Response:
    """The page of an ask that takes no answer: the same for one that is over and for one that there
    never was.
    """
    view = Record(refusals.view(refused.block) or {}, who_fixes="", title=_(OVER[refused.code]))
    sentences = (_(NO_MORE),) if refused.code == "not_found" else view["sentences"][-1:]
    agent_id = (refused.block.get("detail") or {}).get("agent_id")
    back = f"/app/agents/{agent_id}" if agent_id else "/app"
    view = Record(refusal=Record(view, sentences=sentences), back=back, lost=False)
    return visit.show("refused.html", view, refused=refused)


async def _held(visit: PageRequest, agents: Iterable[Json]) -> frozenset[str]:
    """The agents whose key this service holds: it signs for an app what the terms allow."""
    keys = [await held_key(visit, agent["agent_id"]) for agent in agents]
    return frozenset(key["agent_id"] for key in keys if key is not None)


async def _worst(visit: PageRequest) -> Mapping[str, Usdc]:
    """The most that the mandates of each agent could still lose, by the agent's id."""
    lost: dict[str, Usdc] = {}
    for n, mandate in enumerate(await _mandates(visit)):
        agent = mandate["mandate"]["agent_id"]
        amount = mandate["mandate"]["budget_usdc"]
        if n < LOOKED_AT:
            public_id = mandate["mandate"]["public_id"]
            read = await visit.run("mandate_get", public_id=public_id, parts="exposure")
            amount = read["exposure"]["ever"]
        lost[agent] = lost.get(agent, ZERO) + Usdc.parse(amount)
    return lost


async def _mandates(visit: PageRequest) -> Iterable[Json]:
    """The owner's mandates that an agent can act under."""
    listed: list[Json] = []
    for status in WORKING:
        cursor: str | None = None
        for _page in range(PAGES_MOST):
            page = await visit.run("mandate_list", status=status, limit=200, cursor=cursor)
            listed += [m for m in page["items"] if m["mandate"]["agent_id"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
    return listed


async def answer(visit: PageRequest) -> web.Response:
    """Take the owner's answer to the app: by a page that goes on by itself, because the policy of
    our pages, which browsers hold a redirect of a form to as well, lets forms go nowhere else.
    """
    allows, chosen = visit.field("decision") == "allow", visit.field("agent")
    if allows and chosen is None:
        raise OperationRefused(400, invalid("agent", _("choose one")).refusal.as_json("owner"))
    answered = await visit.run(
        "owner_connect_answer",
        ask=visit.path_part("ask"),
        decision="allow" if allows else "deny",
        agent_id=chosen if allows and chosen != NEW else None,
        agent_name=(visit.field("name") or "") if allows and chosen == NEW else None,
        hold_key=allows and "hold" in visit.form,
    )
    view = Record(to=answered["redirect"], allowed=allows)
    return visit.show("leaving.html", view)


PAGES: Final = (
    PageRoute("GET", "/app/connect/{ask}", show_ask),
    PageRoute("POST", "/app/connect/{ask}", answer, refused=show_ask),
)
