"""The agent console: registering, keys, policy."""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json, Record
from app.views import agents
from app.views.agents import NUMBERS
from app.views.components import refusal as refusals
from domain.agents.policy import JSON_FIELDS
from domain.refusals import Refused, invalid, refusal

WHOLE: Final = frozenset(NUMBERS) - {"per_tx_cap_usdc", "total_cap_usdc"}


async def show_agents(visit: PageRequest) -> web.Response:
    """The owner's agents, and a form for one more."""
    return visit.show("agents.html", await _agents_view(visit))


async def _agents_view(visit: PageRequest) -> Record:
    page = await visit.run("owner_agents", cursor=visit.query("cursor"))
    return Record(page, new=None, problem=None, name="", address="")


async def register(visit: PageRequest) -> web.Response:
    """Register an agent; its key is on this answer and nowhere else."""
    name, address = visit.field("name") or "", visit.field("address")
    try:
        response = await visit.run_once("owner_agent_register", name=name, address=address)
    except OperationRefused as refused:
        problem = refusals.view(refused.block, None)
        typed = Record(await _agents_view(visit), problem=problem, name=name, address=address or "")
        return visit.show("agents.html", typed, status=refused.status)
    key = agents.new_key(response["agent_id"], response, name, visit.deps.config.base_url)
    return visit.show("agents.html", Record(await _agents_view(visit), new=key))


async def show_agent(visit: PageRequest) -> web.Response:
    """One agent."""
    return visit.show("agent.html", await _agent_view(visit))


async def _agent_view(visit: PageRequest) -> Record:
    agent_id = visit.path_part("agent")
    feed = await visit.run("agent_activity", agent_id=agent_id, cursor=visit.query("cursor"))
    return agents.view(
        await _row(visit, agent_id),
        await visit.run("agent_policy", agent_id=agent_id),
        await visit.run("agent_balances", agent_id=agent_id),
        await visit.run("agent_offers", agent_id=agent_id, limit=20),
        feed,
    )


async def _row(visit: PageRequest, agent_id: str) -> Json:
    """The agent in the list of the owner's own. Errors: `not_found`."""
    cursor: str | None = None
    while True:
        page = await visit.run("owner_agents", limit=200, cursor=cursor)
        for row in page["items"]:
            if row["agent_id"] == agent_id:
                return Record(row)
        cursor = page["next_cursor"]
        if cursor is None:
            raise Refused(refusal("not_found", what="agent"))


async def add_key(visit: PageRequest) -> web.Response:
    """Mint another key; two live ones at most, so that one can be rotated without a gap."""
    agent_id = visit.path_part("agent")
    try:
        response = await visit.run_once("owner_agent_key_add", agent_id=agent_id)
    except OperationRefused as refused:
        return await _show_refusal(visit, refused)
    view = await _agent_view(visit)
    key = agents.new_key(agent_id, response, view["agent"]["name"], visit.deps.config.base_url)
    return visit.show("agent.html", Record(view, new=key))


async def revoke_key(visit: PageRequest) -> web.Response:
    """End a key at once."""
    agent_id = visit.path_part("agent")
    await visit.run("owner_agent_key_revoke", agent_id=agent_id, key_id=visit.path_part("key"))
    return visit.go(f"/app/agents/{agent_id}#keys")


async def write_policy(visit: PageRequest) -> web.Response:
    """Replace the whole policy; an unchanged save writes nothing."""
    agent_id = visit.path_part("agent")
    try:
        fields = _fields(visit)
        await visit.run("owner_agent_policy_put", agent_id=agent_id, **fields)
    except OperationRefused as refused:
        return await _show_refusal(visit, refused)
    return visit.go(f"/app/agents/{agent_id}#policy")


async def _show_refusal(visit: PageRequest, refused: OperationRefused) -> web.Response:
    view = agents.refused(await _agent_view(visit), visit.form, refused.block)
    return visit.show("agent.html", view, status=refused.status)


def _fields(visit: PageRequest) -> Json:
    """The form as the operation takes it. Errors: NotDone naming the field that cannot be read."""
    fields: dict[str, object] = {"accepts_mandates": "accepts_mandates" in visit.form}
    for name in (*NUMBERS, *JSON_FIELDS):
        typed = visit.field(name)
        if typed is None:
            continue
        try:
            fields[name] = json.loads(typed) if name in JSON_FIELDS else _number(name, typed)
        except (ValueError, RecursionError):
            problem = "JSON is needed" if name in JSON_FIELDS else "a whole number is needed"
            raise OperationRefused(400, invalid(name, problem).refusal.as_json("owner")) from None
    return fields


def _number(name: str, typed: str) -> int | str:
    if name not in WHOLE:
        return typed
    if not (typed.isascii() and typed.isdigit() and len(typed) < 17):
        raise ValueError(name)
    return int(typed)


PAGES: Final = (
    PageRoute(method="GET", path="/app/agents", show=show_agents),
    PageRoute(method="POST", path="/app/agents", show=register),
    PageRoute(method="GET", path="/app/agents/{agent}", show=show_agent),
    PageRoute(method="POST", path="/app/agents/{agent}/keys", show=add_key),
    PageRoute(method="POST", path="/app/agents/{agent}/keys/{key}/revoke", show=revoke_key),
    PageRoute(method="POST", path="/app/agents/{agent}/policy", show=write_policy),
)
