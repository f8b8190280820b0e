"""Scopes of an app, and the end of its access, in an owner's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.words.text import _

MEANS: Final[Mapping[str, str]] = {
    "wallet:read": _("Read what this agent may read: its mandates, limits, balances and history."),
    "wallet:act": _(
        "Act as this agent within your mandates: accept one, prepare actions, ask for your "
        "approval, report what it did."
    ),
    "wallet:propose": _("Propose drafts of mandates, which are nothing until you sign them."),
}
SHORT: Final[Mapping[str, str]] = {
    "wallet:read": _("reads"),
    "wallet:act": _("acts"),
    "wallet:propose": _("proposes drafts"),
}
ENDED: Final[Mapping[str, str]] = {
    "owner": _("you disconnected the app"),
    "app": _("the app disconnected"),
    "key": _("ended with the agent’s last key"),
    "replaced": _("a newer connection took its place"),
    "reused": _("ended for safety: a code or token of it was used twice"),
    "expired": _("expired"),
}
HAPPENED: Final[Mapping[str, str]] = {
    "connected": _("App connected"),
    "used": _("App used its access"),
    "ended": _("App’s access ended"),
}
