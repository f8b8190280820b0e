"""The agent console: one agent with its keys, policy and balances, and a key that is shown once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from app.replies import Json, Record
from app.views.components import refusal
from app.words.policy import FIELDS
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


def new_key(agent_id: str, raw: Json, name: str, base_url: str) -> Record:
    """A key as it is shown once, None where its form came again, with how an agent's host takes it;
    `raw`: the operation's.
    """
    key = raw["key"]
    server = {"url": f"{base_url}/mcp", "headers": {"X-Service-User-Key": key}}
    snippet = json.dumps({"mcpServers": {"wallet": server}}, indent=2)
    return Record(agent_id=agent_id, name=name, key=key, snippet=snippet)


def _typed(name: str, value: Any) -> str:
    """A value of the policy as it is typed."""
    if value is None:
        return ""
    whole = isinstance(value, str | int) and name in NUMBERS
    return str(value) if whole else json.dumps(value, ensure_ascii=False)


def _settings(names: Iterable[str], values: Mapping[str, str]) -> tuple[Record, ...]:
    return tuple(
        Record(name=n, label=FIELDS[n], hint=HINTS.get(n, ""), value=values.get(n, ""))
        for n in names
    )


def _feed_entry(item: Json) -> Record:
    if item["type"] == "balance":
        text = _("{asset} on chain {chain}: {state}, {cause}").format(
            asset=item["asset"],
            chain=item["chain_id"],
            state=item["state"].replace("_", " "),
            cause=item["ref_kind"].replace("_", " "),
        )
        return Record(at=item["at"], title=_("Balance"), text=text, amount=item["delta"], href=None)
    row = item["event"]
    kind, by = row["kind"], row["reported_by"]
    prepaid_cost = item["type"] == "paid_read"
    return Record(
        at=item["at"],
        title=TITLES["paid_read"] if prepaid_cost else SAID.get(kind) or TITLES.get(kind, kind),
        text=_("reported by the agent") if by == "agent" else SOURCES[by],
        amount=row["amount_usdc"],
        href=f"/app/mandates/{item['public_id']}",
    )


def view(agent: Json, policy: Json, balances: Json, offers: Json, feed: Json) -> Record:
    """`agent` a row of owner_agents, and the replies of the agent's own reads."""
    takes = Pill(tone="good", text=_("Takes mandates"))
    values = {n: _typed(n, policy[n]) for n in (*NUMBERS, *JSON_FIELDS)}
    return Record(
        agent=agent,
        policy=policy,
        numbers=_settings(NUMBERS, values),
        texts=_settings(JSON_FIELDS, values),
        balances=balances["balances"],
        offers=offers["items"],
        feed=tuple(_feed_entry(i) for i in feed["items"]),
        older=feed["next_cursor"],
        status=takes
        if agent["accepts_mandates"]
        else replace(PLAIN["draft"], text=_("Takes no mandates")),
        new=None,
        problem=None,
    )


def refused(view: Record, form: Mapping[str, str], block: Json) -> Record:
    """The console after a policy was refused: what was typed stays."""
    return Record(
        view,
        numbers=_settings(NUMBERS, form),
        texts=_settings(JSON_FIELDS, form),
        policy=Record(view["policy"], accepts_mandates="accepts_mandates" in form),
        problem=refusal.view(block, None),
    )
