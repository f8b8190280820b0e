"""The seventeen signed values, line by line: what each means, and its value in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal

from app.words.money import amount, percent
from app.words.text import _
from domain.times import format_minute

Kind = Literal["text", "address", "usdc", "asked", "bps", "days", "time", "floor", "hash", "nonce"]

FIELDS: Final[Mapping[str, tuple[str, Kind, str]]] = {
    "publicId": (_("This mandate"), "text", "Mandate"),
    "owner": (_("You"), "address", "Owner"),
    "agent": (
        _("The agent’s wallet; all zeros: the one that accepts it"),
        "address",
        "Agent; 0: any",
    ),
    "budgetUsdc": (_("Budget"), "usdc", "Budget"),
    "perTxCap": (_("Limit per action"), "usdc", "Most in an action"),
    "dailyCap": (_("Limit per day (UTC)"), "usdc", "Most in a UTC day"),
    "stopFloor": (_("Stop line"), "usdc", "Stop line"),
    "stopFloorBps": (_("Stop line, as a loss of the budget"), "bps", "Stop line, loss"),
    "horizonDays": (_("How long"), "days", "How long"),
    "endsAt": (_("Ends"), "time", "Ends"),
    "agentFeeBps": (_("The agent’s share of the gain"), "bps", "Share of the gain"),
    "approvalAbove": (_("Asks you above"), "asked", "Asks above; 0: no"),
    "onFloor": (_("At the stop line"), "floor", "At the stop line"),
    "allowedTargetsHash": (
        _("Fingerprint of the contract calls in clause 5"),
        "hash",
        "Allowed calls",
    ),
    "guardTargetsHash": (_("Fingerprint of the other entries in clause 5"), "hash", "Other places"),
    "issuedAt": (_("Terms written at"), "time", "Made at"),
    "nonce": (_("Unique number of these terms"), "nonce", "Number"),
}
"""(its meaning, its kind, its label on a device, whose line is short: at most 20 characters)."""
# The clause that a value stands behind; the rest belongs to none.
CLAUSE_OF: Final[Mapping[str, int]] = {
    "budgetUsdc": 1, "perTxCap": 2, "dailyCap": 3, "stopFloor": 4, "stopFloorBps": 4,
    "allowedTargetsHash": 5, "guardTargetsHash": 5, "approvalAbove": 6, "onFloor": 7,
    "horizonDays": 8, "endsAt": 8, "issuedAt": 8, "agentFeeBps": 9,
    "owner": 10, "agent": 10, "nonce": 10,
}  # fmt: skip


def plain_value(kind: Kind, raw: str) -> str:
    """The value in words; empty where it says all that there is."""
    if kind == "usdc":
        return amount(int(raw))
    if kind == "asked":
        return amount(int(raw)) if int(raw) else _("never: it acts on its own")
    if kind == "bps":
        return percent(int(raw)) or ""
    if kind == "days":
        return _("{days} days").format(days=raw)
    if kind == "time":
        return format_minute(datetime.fromtimestamp(int(raw), UTC))
    if kind == "floor":
        return _("positions are closed") if int(raw) else _("positions are kept")
    return ""
