"""Fields of an agent's policy, and their values before and after a change, as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from app.replies import Json
from app.words.text import _

FIELDS: Final[Mapping[str, str]] = {
    "accepts_mandates": _("Takes mandates"),
    "per_tx_cap_usdc": _("Most per action, USDC"),
    "total_cap_usdc": _("Most at once, USDC"),
    "credit_budget_daily": _("Paid reads a day, credits of 0.01 USDC"),
    "min_net_bps": _("Least net result, 1/10000"),
    "max_cost_bps": _("Most cost, 1/10000"),
    "slippage_bps": _("Most slippage, 1/10000"),
    "assets": _("Assets"),
    "venues": _("Venues"),
    "networks": _("Networks"),
    "stop_conditions": _("Stop conditions"),
    "hold_ratio": _("Share held back"),
    "auto_vs_approval": _("On its own, or asking"),
}


def _shown(value: object) -> str:
    if value is None:
        return _("not set")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def side(change: Json, name: str) -> str:
    """One side of a change, `from` or `to`; "not set" for no value."""
    cut = name in (change.get("cut") or {})
    return _("too long to show") if cut else _shown(change.get(name))
