"""The agent console: an owner's agents, and one of them with its keys, policy and balances."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from app.replies import Json
from app.views.components import refusal
from app.views.components.policy_log import FIELDS, ChangeView, changes
from app.views.components.refusal import RefusalView
from app.words.status import PLAIN, Pill
from app.words.steps import SOURCES, TITLES
from app.words.text import _
from domain.agents.policy import JSON_FIELDS

NUMBERS: Final = (
    "per_tx_cap_usdc",
    "total_cap_usdc",
    "credit_budget_daily",
    "min_net_bps",
    "max_cost_bps",
    "slippage_bps",
)
HINTS: Final[Mapping[str, str]] = {
    "per_tx_cap_usdc": _("binds where it is stricter than a mandate"),
    "total_cap_usdc": _("of all its money at once"),
    "credit_budget_daily": _("empty: no budget of its own"),
    "auto_vs_approval": _("allow_overdraft: true lets a report go below what is idle"),
}
SAID: Final[Mapping[str, str]] = {
    "move": _("Moved"),
    "resolve": _("Result"),
    "withdraw": _("Taken out"),
    "deposit": _("Put in"),
    "signed": _("Terms signed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyView:
    """A key without its secret."""

    key_id: str
    created_at: str
    revoked_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRowView:
    """An agent; the name is its owner's."""

    agent_id: str
    name: str
    address: str | None
    created_at: str
    accepts: bool
    keys: tuple[ApiKeyView, ...]
    live_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKeyView:
    """A key, shown this once; None where its form came again."""

    agent_id: str
    name: str
    key: str | None
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsView:
    """The list, and the form of a new one; `name` and `address` are what was typed."""

    agents: tuple[AgentRowView, ...]
    older: str | None
    new: NewKeyView | None = None
    problem: RefusalView | None = None
    name: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingView:
    """A field of the policy's form, as it is or as it was typed."""

    name: str
    label: str
    hint: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceView:
    """An agent's balance of an asset on a chain."""

    chain_id: int
    asset: str
    idle: str
    reserved: str
    in_transit: str
    delivered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferView:
    """A mandate that waits for the agent."""

    public_id: str
    purpose: str
    budget: str
    ever: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEventView:
    """A line of the feed."""

    at: str
    title: str
    text: str
    amount: str | None
    href: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConsoleView:
    """One agent's console."""

    agent: AgentRowView
    accepts: bool
    exists: bool
    numbers: tuple[SettingView, ...]
    texts: tuple[SettingView, ...]
    changes: tuple[ChangeView, ...]
    balances: tuple[BalanceView, ...]
    offers: tuple[OfferView, ...]
    feed: tuple[AgentEventView, ...]
    older: str | None
    status: Pill
    new: NewKeyView | None = None
    problem: RefusalView | None = None


def _row(raw: Json) -> AgentRowView:
    keys = tuple(
        ApiKeyView(**{n: k[n] for n in ("key_id", "created_at", "revoked_at")}) for k in raw["keys"]
    )
    return AgentRowView(
        agent_id=raw["agent_id"],
        name=raw["name"],
        address=raw["address"],
        created_at=raw["created_at"],
        accepts=raw["accepts_mandates"],
        keys=keys,
        live_keys=sum(k.revoked_at is None for k in keys),
    )


def agents_view(page: Json) -> AgentsView:
    """`page` of owner_agents."""
    rows = tuple(_row(a) for a in page["items"])
    return AgentsView(agents=rows, older=page["next_cursor"])


def not_registered(view: AgentsView, block: Json, name: str, address: str) -> AgentsView:
    """The list after a name or an address was refused."""
    return replace(view, problem=refusal.view(block, None), name=name, address=address)


def new_key(agent_id: str, raw: Json, name: str, base_url: str) -> NewKeyView:
    """A key as it is shown once, with how an agent's host takes it; `raw`: the operation's."""
    key = raw["key"]
    server = {"url": f"{base_url}/mcp", "headers": {"X-Service-User-Key": key}}
    snippet = json.dumps({"mcpServers": {"wallet": server}}, indent=2)
    return NewKeyView(agent_id=agent_id, name=name, key=key, snippet=snippet)


def _to_input(value: Any) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, (str, int)) else json.dumps(value, ensure_ascii=False)


def _setting(name: str, value: str) -> SettingView:
    return SettingView(name=name, label=FIELDS[name], hint=HINTS.get(name, ""), value=value)


def _feed_entry(item: Json) -> AgentEventView:
    if item["type"] == "balance":
        text = _("{asset} on chain {chain}: {state}, {cause}")
        return AgentEventView(
            at=item["at"],
            title=_("Balance"),
            text=text.format(
                asset=item["asset"],
                chain=item["chain_id"],
                state=item["state"].replace("_", " "),
                cause=item["ref_kind"].replace("_", " "),
            ),
            amount=item["delta"],
            href=None,
        )
    row = item["event"]
    kind, by = row["kind"], row["reported_by"]
    prepaid_cost = item["type"] == "paid_read"
    return AgentEventView(
        at=item["at"],
        title=TITLES["paid_read"] if prepaid_cost else SAID.get(kind) or TITLES.get(kind, kind),
        text=_("reported by the agent") if by == "agent" else SOURCES[by],
        amount=row["amount_usdc"],
        href=f"/app/mandates/{item['public_id']}",
    )


def agent_view(
    agent: Json, policy: Json, balances: Json, offers: Json, feed: Json
) -> AgentConsoleView:
    """`agent` a row of owner_agents, and the replies of the agent's own reads."""
    row = _row(agent)
    takes = Pill(tone="good", text=_("Takes mandates"))
    return AgentConsoleView(
        agent=row,
        accepts=policy["accepts_mandates"],
        exists=policy["exists"],
        numbers=tuple(_setting(n, _to_input(policy[n])) for n in NUMBERS),
        texts=tuple(
            _setting(n, "" if policy[n] is None else json.dumps(policy[n], ensure_ascii=False))
            for n in JSON_FIELDS
        ),
        changes=changes(policy["changes"]),
        balances=tuple(
            BalanceView(**{n: b[n] for n in BalanceView.__dataclass_fields__})
            for b in balances["balances"]
        ),
        offers=tuple(
            OfferView(
                public_id=o["mandate"]["public_id"],
                purpose=o["mandate"]["purpose"],
                budget=o["mandate"]["budget_usdc"],
                ever=o["exposure"]["ever"],
            )
            for o in offers["items"]
        ),
        feed=tuple(_feed_entry(i) for i in feed["items"]),
        older=feed["next_cursor"],
        status=takes if row.accepts else replace(PLAIN["draft"], text=_("Takes no mandates")),
    )


def typed(view: AgentConsoleView, form: Mapping[str, str], block: Json) -> AgentConsoleView:
    """The console after a policy was refused: what was typed stays."""

    def with_refusal(settings: tuple[SettingView, ...]) -> tuple[SettingView, ...]:
        return tuple(replace(s, value=form.get(s.name, "")) for s in settings)

    return replace(
        view,
        numbers=with_refusal(view.numbers),
        texts=with_refusal(view.texts),
        accepts="accepts_mandates" in form,
        problem=refusal.view(block, None),
    )
