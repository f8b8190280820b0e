"""The ten clauses, each with its enforcer; drawn by `macros/clause.html`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from app.replies import Json
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
    "x402": _("Paid reads (x402)"),
    "contract": _("A call that this service does not know"),
    "venue": _("A market that this service does not know"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedCallView:
    """One thing that the agent may deal with; `theirs` is what a person wrote, never ours."""

    name: str
    theirs: str
    address: str | None
    selector: str | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseView:
    """A sentence of the terms; `by` is the wire's `enforced_by`, `inactive` the reason for which
    nothing enforces it.
    """

    n: int
    key: str
    text: str
    by: str
    inactive: str
    calls: tuple[AllowedCallView, ...]


def _call(item: Json) -> AllowedCallView:
    kind = item["kind"]
    theirs = item.get("hosts") or item.get("symbols") or ()
    name = item.get("label")
    if kind == "venue" and name is None:
        if item["venue"] == VENUE:
            name = VENUE
        else:
            theirs = (item["venue"], *theirs)
    return AllowedCallView(
        name=name or KINDS[kind],
        theirs=", ".join(theirs),
        address=item.get("address"),
        selector=item.get("selector"),
        by=item["enforced_by"],
    )


def view(clauses: Iterable[Json]) -> tuple[ClauseView, ...]:
    """The clauses of a reply."""
    return tuple(
        ClauseView(
            n=c["n"],
            key=c["key"],
            text=c["text_en"],
            by=c["enforced_by"],
            inactive=INACTIVE.get(c["key"], ELSE) if c["status"] == "stored_pending" else "",
            calls=tuple(_call(i) for i in c["params"].get("items", ())),
        )
        for c in clauses
    )
