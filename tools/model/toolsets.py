"""Toolsets: the tools that an MCP client is shown; any other can still be called by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from domain.refusals import invalid

HEADER: Final = "X-Wallet-Toolsets"
CORE: Final = "core"
ALL: Final = "all"
# A set that is not `all` stays short: every tool costs each agent tokens in each session.
TOOLSETS: Final[Mapping[str, frozenset[str]]] = {
    CORE: frozenset(
        {
            "agents_me",
            "agent_offers",
            "agent_balances",
            "markets_list",
            "mandate_accept",
            "mandate_act",
            "mandate_get",
            "mandate_limits",
            "mandate_execute_call",
            "mandate_unwind_call",
            "mandate_forfeit",
            "mandate_report_event",
            "mandate_report_refusal",
            "mandate_approvals",
            "mandate_reconcile",
        }
    ),
    "pay": frozenset({"mandate_pay", "mandate_act", "mandate_limits", "agents_me"}),
    "trading": frozenset(
        {
            "order_prepare",
            "order_execute",
            "order_pending",
            "agent_status",
            "trade_products",
            "agent_balances",
            "agent_deposit_address",
            "transfer_report",
        }
    ),
    "public": frozenset({"hall_list", "hall_agent", "markets_list", "mandate_draft"}),
    "propose": frozenset(
        {"mandate_propose", "mandate_draft", "mandate_list", "agent_policy", "markets_list"}
    ),
}
NAMES: Final = (*TOOLSETS, ALL)
ToolsetName = Literal["core", "pay", "trading", "public", "propose"]


def parse_toolsets(text: str) -> frozenset[str]:
    """Read a comma list of sets; an empty one means `core`.

    Errors: `invalid_request` for a set that there is not.
    """
    sets = frozenset(name for each in text.split(",") if (name := each.strip().lower()))
    if sets - set(NAMES):
        raise invalid("toolsets", f"a comma list of {', '.join(NAMES)}")
    return sets or frozenset({CORE})


def is_listed(tool: str, sets: frozenset[str]) -> bool:
    """Whether a tool is in one of the sets."""
    return ALL in sets or any(tool in TOOLSETS[name] for name in sets)


def toolsets_of(tool: str) -> list[str]:
    """The sets that a tool is in, without `all`."""
    return [name for name, tools in TOOLSETS.items() if tool in tools]
