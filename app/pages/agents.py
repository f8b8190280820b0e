"""The agent console: registering agents; one agent with its keys, policy and balances."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from aiohttp import web

from app.components import refusal as refusals
from app.components import shown
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record
from app.words import policy as rules
from app.words.grants import ENDED, HAPPENED, SHORT
from app.words.status import Pill
from app.words.steps import CONFIRMED, SOURCES, TITLES, attempt, rank
from app.words.text import _, word
from domain.agents.policy import JSON_FIELDS
from domain.refusals import Refused, invalid, refusal

AMOUNTS: Final = ("per_tx_cap_usdc", "total_cap_usdc", "credit_budget_daily")
SHARES: Final = ("min_net_bps", "max_cost_bps", "slippage_bps")
NUMBERS: Final = (*AMOUNTS, *SHARES)
ACCEPTS: Final = "accepts_mandates"
TAKES: Final[Mapping[bool, Pill]] = {
    True: Pill("good", _("Takes mandates")),
    False: Pill("calm", _("Takes no mandates")),
}
SAID: Final[Mapping[str, str]] = {
    "move": _("Moved"),
    "resolve": _("Result"),
    "withdraw": _("Withdrawal"),
    "deposit": _("Deposit"),
    "signed": _("Terms signed"),
}

# A state of a balance, and the cause of its change, as they are stored.
STATES: Final[Mapping[str, str]] = {
    "idle": _("Available"),
    "reserved": _("Reserved"),
    "in_transit": _("On its way"),
    "delivered": _("Arrived"),
}
CAUSES: Final[Mapping[str, str]] = {
    "transfer_report": _("transfer reported"),
    "transfer_confirmed": _("transfer confirmed"),
    "transfer_failed": _("transfer failed"),
    "auction_bid": _("bid placed"),
    "auction_bid_close": _("bid closed"),
    "auction_bid_delivered": _("bid delivered"),
}


async def show_agents(
    visit: PageRequest, refused: OperationRefused | None = None, new: Record | None = None
) -> web.Response:
    """The owner's agents, and a form for one more: what was refused stays in it."""
    page = await visit.run("owner_agents", cursor=visit.query("cursor"))
    typed = visit.form if refused else {}
    view = Record(
        page,
        new=new,
        problem=refusals.view(refused and refused.block),
        name=typed.get("name", "").strip(),
        address=typed.get("address", "").strip(),
        accepts=not refused or "accepts_mandates" in typed,
    )
    return visit.show("agents.html", view, refused=refused)


async def register(visit: PageRequest) -> web.Response:
    """Register an agent; its key is on this answer and nowhere else."""
    name, address = visit.field("name") or "", visit.field("address")
    try:
        made = await visit.run_once("owner_agent_register", name=name, address=address)
        if made["key"] is not None and "accepts_mandates" in visit.form:
            agent_id = made["agent_id"]
            await visit.run("owner_agent_policy_put", agent_id=agent_id, accepts_mandates=True)
    except OperationRefused as refused:
        return await show_agents(visit, refused)
    return await show_agents(visit, new=_new_key(visit, made["agent_id"], made, name))


def _new_key(visit: PageRequest, agent_id: str, raw: Json, name: str) -> Record:
    """A key as it is shown once, None where its form came again, with how an agent's host takes it;
    `raw`: the operation's.
    """
    headers = {"X-Service-User-Key": raw["key"]}
    server = {"url": f"{visit.deps.config.base_url}/mcp", "headers": headers}
    snippet = json.dumps({"mcpServers": {"wallet": server}}, indent=2)
    return Record(agent_id=agent_id, name=name, key=raw["key"], snippet=snippet)


async def show_agent(
    visit: PageRequest, refused: OperationRefused | None = None, made: Json | None = None
) -> web.Response:
    """One agent. After a refusal what was typed stays; `made`: a key, which is shown once."""
    agent_id = visit.path_part("agent")
    feed = await visit.run("agent_activity", agent_id=agent_id, cursor=visit.query("cursor"))
    agent = await _row(visit, agent_id)
    policy = await visit.run("agent_policy", agent_id=agent_id)
    balances = await visit.run("agent_balances", agent_id=agent_id)
    offers = await visit.run("agent_offers", agent_id=agent_id, limit=20)
    grants = await visit.run("owner_agent_grants", agent_id=agent_id)
    hosted = await visit.run("owner_agent_hosted_key", agent_id=agent_id)
    stored = _typed_policy(policy)
    # The forms of keys are refused on this page too, and hold nothing of the policy.
    is_typed = not visit.form.keys().isdisjoint(NUMBERS)
    values: Mapping[str, str] = visit.form if is_typed else stored
    view = Record(
        agent=agent,
        status=TAKES[agent["accepts_mandates"]],
        accepts="accepts_mandates" in visit.form if is_typed else policy["accepts_mandates"],
        changes=policy["changes"],
        numbers=_settings(NUMBERS, values),
        texts=_settings(JSON_FIELDS, values),
        shown=visit.form.get("shown", "") if is_typed else shown.marks(stored),
        balances=tuple(
            Record(b, chain=visit.chain_name(b["chain_id"])) for b in balances["balances"]
        ),
        offers=offers["items"],
        apps=tuple(map(_app, grants["items"])),
        held=_live_key(hosted),
        holds_keys=hosted["is_offered"],
        feed=_feed(visit, feed["items"]),
        older=feed["next_cursor"],
        new=made and _new_key(visit, agent_id, made, agent["name"]),
        problem=refusals.view(refused and refused.block),
    )
    return visit.show("agent.html", view, refused=refused)


def _typed_policy(policy: Json) -> dict[str, str]:
    """A policy as its form sends it."""
    fields = {n: rules.typed(n, policy[n]) for n in (*NUMBERS, *JSON_FIELDS)}
    return fields | {ACCEPTS: "1" if policy[ACCEPTS] else ""}


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


def _settings(names: Iterable[str], values: Mapping[str, str]) -> tuple[Record, ...]:
    return tuple(
        Record(name=n, label=rules.RULES[n][0], hint=rules.RULES[n][1], value=values.get(n, ""))
        for n in names
    )


async def held_key(visit: PageRequest, agent_id: str) -> Json | None:
    """The key that this service holds for an agent of the owner; None where it holds none."""
    return _live_key(await visit.run("owner_agent_hosted_key", agent_id=agent_id))


def _live_key(key: Json) -> Json | None:
    return key if key["address"] is not None and key["ended_at"] is None else None


def _app(grant: Json) -> Record:
    """A connected app, or one that was."""
    may = ", ".join(SHORT[scope] for scope in grant["scopes"])
    return Record(grant, may=may, ended=grant["ended_by"] and ENDED[grant["ended_by"]])


def _feed(visit: PageRequest, items: Iterable[Json]) -> tuple[Record, ...]:
    """The activity of an agent, newest first as it came: one line a transaction."""
    groups: dict[object, list[Json]] = {}
    for n, item in enumerate(items):
        tx_hash = item["event"]["tx_hash"] if "event" in item else None
        key = (item["public_id"], tx_hash) if tx_hash else n
        groups.setdefault(key, []).append(item)
    return tuple(_feed_entry(visit, group) for group in groups.values())


def _feed_entry(visit: PageRequest, group: list[Json]) -> Record:
    item = group[0]
    if item["type"] == "app":
        who = item["client_host"] or item["client_name"] or item["redirect_host"]
        return Record(
            at=item["at"], title=HAPPENED[item["happened"]], text=who, amount=None, href=None
        )
    if item["type"] == "balance":
        text = _("{asset} on {chain}: {state}, {cause}").format(
            asset=item["asset"],
            chain=visit.chain_name(item["chain_id"]),
            state=word(item["state"], STATES),
            cause=word(item["ref_kind"], CAUSES),
        )
        return Record(at=item["at"], title=_("Balance"), text=text, amount=item["delta"], href=None)
    return _transaction(group)


def _transaction(group: list[Json]) -> Record:
    """The rows of one transaction as a line: the agent's own row leads, the chain's confirms it."""
    lead = min(group, key=lambda item: rank(item["event"]["kind"]))
    row, tellers = lead["event"], {item["event"]["reported_by"] for item in group}
    kind, by = row["kind"], row["reported_by"]
    text = _("reported by the agent") if by == "agent" else SOURCES[by]
    if {"agent", "chain"} <= tellers:
        text = CONFIRMED
    title = TITLES["paid_read"] if lead["type"] == "paid_read" else SAID.get(kind)
    if title is None:
        tried = row["payload"].get("refusal")
        title = TITLES.get(kind, kind) if tried is None else attempt(tried)
    return Record(
        at=group[0]["at"],
        title=title,
        text=text,
        amount=row["amount_usdc"],
        href=f"/app/mandates/{lead['public_id']}",
    )


async def add_key(visit: PageRequest) -> web.Response:
    """Mint another key; two live ones at most, so that one can be rotated without a gap."""
    try:
        made = await visit.run_once("owner_agent_key_add", agent_id=visit.path_part("agent"))
    except OperationRefused as refused:
        return await show_agent(visit, refused)
    return await show_agent(visit, made=made)


async def revoke_key(visit: PageRequest) -> web.Response:
    """End a key at once."""
    agent_id = visit.path_part("agent")
    await visit.run("owner_agent_key_revoke", agent_id=agent_id, key_id=visit.path_part("key"))
    return visit.go(f"/app/agents/{agent_id}#keys")


async def hold_key(visit: PageRequest) -> web.Response:
    """Let the service hold a key for the agent."""
    agent_id = visit.path_part("agent")
    try:
        await visit.run("owner_agent_hosted_key_make", agent_id=agent_id)
    except OperationRefused as refused:
        return await show_agent(visit, refused)
    return visit.go(f"/app/agents/{agent_id}#held")


async def disconnect(visit: PageRequest) -> web.Response:
    """End an app's access at once."""
    agent_id, grant_id = visit.path_part("agent"), visit.path_part("grant")
    await visit.run("owner_agent_grant_end", agent_id=agent_id, grant_id=grant_id)
    return visit.go(f"/app/agents/{agent_id}#apps")


async def end_held_key(visit: PageRequest) -> web.Response:
    """End the key that this service holds: nothing is signed with it from now on."""
    agent_id = visit.path_part("agent")
    await visit.run("owner_agent_hosted_key_end", agent_id=agent_id)
    return visit.go(f"/app/agents/{agent_id}#apps")


async def write_policy(visit: PageRequest) -> web.Response:
    """Replace the whole policy; an unchanged save writes nothing. What the form left as it showed
    it stays as it is now: an older page takes no limit back that was set on a newer one.
    """
    agent_id = visit.path_part("agent")
    policy = await visit.run("agent_policy", agent_id=agent_id)
    fields = dict(_fields(visit))
    values = {name: visit.field(name) or "" for name in (ACCEPTS, *NUMBERS, *JSON_FIELDS)}
    kept = {n: policy[n] for n in shown.untouched(values, visit.form.get("shown", ""))}
    await visit.run("owner_agent_policy_put", agent_id=agent_id, **{**fields, **kept})
    return visit.go(f"/app/agents/{agent_id}#policy")


def _fields(visit: PageRequest) -> Iterator[tuple[str, object]]:
    """The form as the operation takes it. Errors: OperationRefused naming the field that cannot be
    read.
    """
    yield ACCEPTS, ACCEPTS in visit.form
    for name in (*NUMBERS, *JSON_FIELDS):
        typed = visit.field(name)
        if typed is None:
            continue
        try:
            yield name, _read(name, typed)
        except (ValueError, RecursionError):
            block = invalid(name, _problem(name)).refusal.as_json("owner")
            raise OperationRefused(400, block) from None


def _problem(name: str) -> str:
    if name in JSON_FIELDS:
        return _("This is not valid JSON: check quotes and commas.")
    if name in SHARES:
        return _("a percentage with at most two decimals")
    return _("an amount in USDC with at most two decimals")


def _read(name: str, typed: str) -> object:
    if name in JSON_FIELDS:
        return json.loads(typed)
    if name == "credit_budget_daily" or name in SHARES:
        read = rules.read_percent if name in SHARES else rules.read_credits
        if (number := read(typed)) is None:
            raise ValueError(name)
        return number
    return typed.replace(",", "")


PAGES: Final = (
    PageRoute("GET", "/app/agents", show_agents),
    PageRoute("POST", "/app/agents", register),
    PageRoute("GET", "/app/agents/{agent}", show_agent),
    PageRoute("POST", "/app/agents/{agent}/keys", add_key),
    PageRoute("POST", "/app/agents/{agent}/keys/{key}/revoke", revoke_key),
    PageRoute("POST", "/app/agents/{agent}/held-key", hold_key),
    PageRoute("POST", "/app/agents/{agent}/apps/{grant}/disconnect", disconnect),
    PageRoute("POST", "/app/agents/{agent}/held-key/end", end_held_key, refused=show_agent),
    PageRoute("POST", "/app/agents/{agent}/policy", write_policy, refused=show_agent),
)
