"""Agent policies, written by the owner alone, and the log of their changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final

from domain.money import Usdc
from domain.wire_fields import described

# Bytes of one JSON field, and of the displayed log of changes.
FIELD_BYTES: Final = 16_384
LOG_BYTES: Final = 16_384
OPEN_LOG_BYTES: Final = 8_192
# Bytes of a value in the append-only log; of a larger one it stores size and hash.
KEPT_BYTES: Final = 1_024

JSON_FIELDS: Final = (
    "assets",
    "venues",
    "networks",
    "stop_conditions",
    "hold_ratio",
    "auto_vs_approval",
)

SIDES: Final = ("from", "to")
OWNERS_WORDS: Final = described("the owner's own words, as JSON")
Changes = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFields:
    """A policy as a PUT takes it (spec 2.13); JSON settings are the owner's own, kept as given.

    Caps in USDC, `*_bps` ten-thousandths, `credit_budget_daily` credits of 0.01 USDC; null is not
    set.
    """

    assets: object = field(metadata=OWNERS_WORDS)
    venues: object = field(metadata=OWNERS_WORDS)
    networks: object = field(metadata=OWNERS_WORDS)
    stop_conditions: object = field(metadata=OWNERS_WORDS)
    per_tx_cap_usdc: Usdc | None
    total_cap_usdc: Usdc | None
    hold_ratio: object = field(metadata=OWNERS_WORDS)
    min_net_bps: int | None
    max_cost_bps: int | None
    slippage_bps: int | None
    credit_budget_daily: int | None
    auto_vs_approval: object = field(metadata=OWNERS_WORDS)
    accepts_mandates: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """Spec 2.13. JSON fields are kept as given; None is "not set".

    Units: caps USDC, *_bps ten-thousandths, `credit_budget_daily` credits of 0.01 USDC.
    """

    assets: object = None
    venues: object = None
    networks: object = None
    stop_conditions: object = None
    per_tx_cap_usdc: Usdc | None = None
    total_cap_usdc: Usdc | None = None
    hold_ratio: object = None
    min_net_bps: int | None = None
    max_cost_bps: int | None = None
    slippage_bps: int | None = None
    credit_budget_daily: int | None = None
    auto_vs_approval: object = None
    accepts_mandates: bool = False
    updated_at: datetime | None = None

    @property
    def allow_overdraft(self) -> bool:
        """True where `auto_vs_approval.allow_overdraft` is exactly true."""
        return (
            isinstance(self.auto_vs_approval, Mapping)
            and self.auto_vs_approval.get("allow_overdraft") is True
        )

    def as_json(self) -> dict[str, object]:
        """The fields but `updated_at`, amounts as 6-decimal strings."""
        return {
            f.name: to_wire(getattr(self, f.name)) for f in fields(self) if f.name != "updated_at"
        }


def to_wire(value: object) -> object:
    """Text of an amount; everything else as it is."""
    return str(value) if isinstance(value, Usdc) else value


def changes(before: Policy | None, after: Policy) -> dict[str, dict[str, object]]:
    """The changes of a save: `{field: {from, to}}`; amounts compare by value, a first policy lists
    every field it sets.

    Source: spec 2.13 (policy change log).
    """
    old = before or Policy()
    return {
        f.name: {"from": to_wire(getattr(old, f.name)), "to": to_wire(getattr(after, f.name))}
        for f in fields(after)
        if f.name != "updated_at" and not _same(getattr(old, f.name), getattr(after, f.name))
    }


def logged_changes(changed: Changes) -> dict[str, dict[str, object]]:
    """The stored form of changes: of a large value `cut`, its size, and `sha256` alone."""
    return {name: _logged_change(change) for name, change in changed.items()}


def _logged_change(change: Mapping[str, object]) -> dict[str, object]:
    large = {side: text for side in change if len(text := _text(change[side])) > KEPT_BYTES}
    if not large:
        return dict(change)
    return {side: None if side in large else value for side, value in change.items()} | {
        "cut": {side: len(text) for side, text in large.items()},
        "sha256": {side: hashlib.sha256(text).hexdigest() for side, text in large.items()},
    }


def size(value: object) -> int:
    """Bytes of a value's JSON, compact and in UTF-8."""
    return len(_text(value))


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def log_entries(log: Iterable[tuple[datetime, Changes]], limit: int) -> list[dict[str, object]]:
    """The log's entries, newest first, with the values that fit into `limit` bytes together.

    Shapes: `{changed_at, changes: {field: {from, to}}}`; a value that is cut is null there, and its
    field says under `cut` how many bytes it has: `{from?, to?}`.
    """
    room, entries = limit, []
    for at, changed in log:
        fields_: dict[str, dict[str, object]] = {}
        for name, change in changed.items():
            fields_[name], room = _fit_change(change, room)
        entries.append({"changed_at": at, "changes": fields_})
    return entries


def _fit_change(change: Mapping[str, object], room: int) -> tuple[dict[str, object], int]:
    raw = {name: value for name, value in change.items() if name not in SIDES}
    cut = dict[str, object]()
    for side in SIDES:
        value = change[side]
        bytes_ = size(value)
        if bytes_ <= room:
            raw[side], room = value, room - bytes_
        else:
            raw[side], cut[side] = None, bytes_
    before = change.get("cut")
    if isinstance(before, Mapping):  # the log has cut them already
        cut |= before
    return raw | ({"cut": cut} if cut else {}), room


def _same(a: object, b: object) -> bool:
    """True for equal values of equal types, at any depth: `1` is not `true` in a JSON setting."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, bool) is isinstance(b, bool) and a == b
