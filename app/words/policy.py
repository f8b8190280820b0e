"""An agent's policy in an owner's words: its rules as sentences, its values as they are typed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from app.replies import Json
from app.words import money
from app.words.text import _
from domain.money import Usdc

FIELDS: Final[Mapping[str, str]] = {
    "accepts_mandates": _("Takes mandates"),
    "per_tx_cap_usdc": _("Limit per action"),
    "total_cap_usdc": _("Limit for all its money at once"),
    "credit_budget_daily": _("Paid information per day"),
    "min_net_bps": _("Least net result"),
    "max_cost_bps": _("Largest cost"),
    "slippage_bps": _("Largest slippage"),
    "assets": _("Assets"),
    "venues": _("Venues"),
    "networks": _("Networks"),
    "stop_conditions": _("Stop conditions"),
    "hold_ratio": _("Part held back"),
    "auto_vs_approval": _("When the agent asks"),
}
RULES: Final[Mapping[str, tuple[str, str]]] = {
    "per_tx_cap_usdc": (_("No action takes more than"), _("in USDC; empty: as the mandate says")),
    "total_cap_usdc": (
        _("All its money together is never more than"),
        _("in USDC; empty: no such limit"),
    ),
    "credit_budget_daily": (
        _("In one day the agent pays for information at most"),
        _("in USDC; empty: no such limit"),
    ),
    "min_net_bps": (_("An action has to bring at least"), _("in percent; empty: no such limit")),
    "max_cost_bps": (_("An action may cost at most"), _("in percent; empty: no such limit")),
    "slippage_bps": (
        _("The price of an action may be worse by at most"),
        _("in percent; empty: no such limit"),
    ),
    "assets": (_("The agent deals in these assets alone"), _('for example ["USDC"]')),
    "venues": (_("The agent trades at these venues alone"), _('for example ["hyperliquid"]')),
    "networks": (_("The agent works on these networks alone"), _('for example ["Base"]')),
    "stop_conditions": (
        _("The agent stops by itself where this happens"),
        _('for example {"losses_in_a_row": 3}'),
    ),
    "hold_ratio": (_("The agent holds back this part"), _('for example "0.2"')),
    "auto_vs_approval": (
        _("A report may exceed the available balance: yes or no"),
        _('yes: {"allow_overdraft": true}'),
    ),
}
"""A rule as a sentence that its field completes, and how the field is filled in."""
_PERCENT: Final = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,2}))?\s*%?")
_CREDIT: Final = 10_000  # micro-USDC


def typed(name: str, value: object) -> str:
    """A stored value as it is typed: percent, USDC, or JSON."""
    if value is None:
        return ""
    if name.endswith("_bps"):
        return (money.percent(int(str(value))) or "").removesuffix("%")
    if name == "credit_budget_daily":
        return money.typed(str(Usdc(int(str(value)) * _CREDIT)))
    return (
        money.typed(str(value)) if name.endswith("_usdc") else json.dumps(value, ensure_ascii=False)
    )


def read_percent(text: str) -> int | None:
    """Ten-thousandths of a percentage with at most two decimals; None for what is none."""
    match = _PERCENT.fullmatch(text)
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0")) if match else None


def read_credits(text: str) -> int | None:
    """Credits of an amount in whole cents; None for what is none."""
    match = re.fullmatch(r"([0-9]{1,7})(?:\.([0-9]{1,2}))?", text.replace(",", ""))
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0")) if match else None


def _shown(name: str, value: object) -> str:
    if value is None:
        return _("not set")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if name.endswith("_bps") and isinstance(value, int):
        return money.percent(value) or ""
    if name == "credit_budget_daily" and isinstance(value, int):
        return money.amount(value * _CREDIT)
    if name.endswith("_usdc") and isinstance(value, str):
        return money.sentence_amount(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def side(change: Json, name: str, field: str) -> str:
    """One side of a change of a field, `from` or `to`; "not set" for no value."""
    cut = name in (change.get("cut") or {})
    return _("too long to show") if cut else _shown(field, change.get(name))
