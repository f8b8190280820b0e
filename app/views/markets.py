"""The markets that an owner can allow, and the party that enforces the limit there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.replies import Json, Record
from app.words.chains import chain_name
from app.words.status import Pill
from app.words.text import _

STATUS: Final[Mapping[str, Pill]] = {
    "live": Pill(tone="good", text=_("Live")),
    "paper": Pill(tone="warn", text=_("Paper only")),
    "planned": Pill(tone="calm", text=_("Planned")),
}
KINDS: Final[Mapping[str, str]] = {
    "erc4626": _("a lending or savings vault (ERC-4626)"),
    "venue": _("a trading venue"),
    "x402": _("paid reads over HTTP (x402)"),
}
HOLDERS: Final[Mapping[str, str]] = {
    "contract": _("Vault contract"),
    "venue": _("Venue"),
    "guard": _("This service"),
}


def _market(row: Json, names: Mapping[int, str]) -> Record:
    """A market with its contract, and the symbols or hosts that it is about."""
    target, by = row["target"], row["enforced_by"]
    return Record(
        row,
        pill=STATUS[row["status"]],
        kind=KINDS.get(row["kind"], row["kind"]),
        by=HOLDERS.get(by, by),
        chain="" if row["chain_id"] is None else chain_name(names, row["chain_id"]),
        address=target.get("address"),
        listed_names=", ".join(target.get("symbols") or target.get("hosts") or ()),
    )


def view(raw: Json, names: Mapping[int, str]) -> tuple[Record, ...]:
    """`raw` of markets_list."""
    return tuple(_market(row, names) for row in raw["items"])
