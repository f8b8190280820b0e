"""Policy log of an agent: each change and its time; drawn by `macros/policy.html`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChangeView:
    """One field before and after, as the owner wrote it."""

    name: str
    was: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """One save that changed something."""

    at: str
    fields: tuple[FieldChangeView, ...]


def to_display(value: Any) -> str:
    """A value of a policy as text; "not set" for none."""
    if value is None:
        return _("not set")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _side(change: Json, side: str) -> str:
    if side in (change.get("cut") or {}):
        return _("too long to show")
    return to_display(change.get(side))


def changes(log: Iterable[Json]) -> tuple[ChangeView, ...]:
    """The log of a reply, newest first."""
    return tuple(
        ChangeView(
            at=entry["changed_at"],
            fields=tuple(
                FieldChangeView(name=FIELDS.get(n, n), was=_side(c, "from"), now=_side(c, "to"))
                for n, c in entry["changes"].items()
            ),
        )
        for entry in log
    )
