"""The ten clauses as `macros/clause.html` draws them: why one is not active, what one allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.replies import Json, Record
from app.words.text import _
from domain.mandates.targets import VENUE

INACTIVE: Final[Mapping[str, str]] = {
    "at_stop": _(
        "Stored with your signature but not active: the keeper runs in dry-run mode here, so "
        "nothing is closed by itself."
    ),
    "asking": _(
        "Stored with your signature but not active: the approval gate is switched off here, so "
        "nothing is held for you."
    ),
}
ELSE: Final = _("Stored with your signature but not active on this service.")
KINDS: Final[Mapping[str, str]] = {
    "vault": _("The vault itself"),
    "x402": _("Paid information"),
    "contract": _("A call that this service does not know"),
    "venue": _("A market that this service does not know"),
}

PAYMENTS: Final = _("Payments for web services")


def inactive(clause: Json) -> str:
    """The reason for which nothing enforces a clause; empty where something does."""
    return INACTIVE.get(clause["key"], ELSE) if clause["status"] == "stored_pending" else ""


def allowed_calls(clause: Json) -> tuple[Record, ...]:
    """The calls that the agent may make; `theirs` is what a person wrote, never ours."""
    return tuple(map(_call, clause["params"].get("items", ())))


def _call(item: Json) -> Record:
    name, theirs = item.get("label"), tuple(item.get("hosts") or item.get("symbols") or ())
    if (purse := item.get("purse")) is not None:
        name, theirs = PAYMENTS, (*theirs, *purse["payees"])
    if item["kind"] == "venue" and name is None:
        if item["venue"] == VENUE:
            name = VENUE
        else:
            theirs = (item["venue"], *theirs)
    return Record(
        name=name or KINDS[item["kind"]],
        theirs=", ".join(theirs),
        address=item.get("address"),
        selector=item.get("selector"),
        by=item["enforced_by"],
        pays=purse is not None,
    )
