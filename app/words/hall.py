"""The Hall's codes in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.words.text import _

NEEDS: Final[Mapping[str, str]] = {
    "days_live": _("days live"),
    "trades_measured": _("measured actions"),
    "funded_mandates": _("funded mandates"),
    "foreign_capital_usdc": _("USDC of other people"),
}
"""A condition of the ranking."""
STATUS: Final[Mapping[str, str]] = {
    "signed": _("signed"),
    "working": _("working"),
    "stopped": _("stopped"),
    "settled": _("settled"),
    "cancelled": _("cancelled"),
    "draft": _("draft"),
}
"""The status of a mandate that an agent works under."""
