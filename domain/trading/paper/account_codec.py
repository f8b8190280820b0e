"""The exact JSON form of a paper account: a cache of its replay, never its replacement."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

from domain.trading.paper.entries import Gap
from domain.trading.paper.replay import PaperAccount, PaperHolding

_PLAIN: Final = (
    "start", "realized", "fees", "builder_fees", "funding", "trades", "peak", "drawdown_bps",
    "gap_count", "seen",
)  # fmt: skip
_TIMES: Final = ("first_fill_at", "liquidated_at", "seen_at")


def to_json(account: PaperAccount) -> dict[str, object]:
    """The account in JSON values; a time as ISO text, a size as plain text."""
    raw: dict[str, object] = {name: getattr(account, name) for name in _PLAIN}
    raw |= {name: _iso(getattr(account, name)) for name in _TIMES}
    raw["gaps"] = [[g.since.isoformat(), g.until.isoformat()] for g in account.gaps]
    raw["holdings"] = {
        coin: [format(h.size, "f"), h.cost, h.leverage, h.maintenance_x]
        for coin, h in account.holdings.items()
    }
    return raw


def from_json(raw: Any) -> PaperAccount:
    """Read `to_json`'s form back. Errors: KeyError, ValueError, TypeError for what is none."""
    holdings = {
        coin: PaperHolding(
            size=Decimal(size), cost=cost, leverage=leverage, maintenance_x=maintenance
        )
        for coin, (size, cost, leverage, maintenance) in raw["holdings"].items()
    }
    gaps = tuple(
        Gap(since=datetime.fromisoformat(since), until=datetime.fromisoformat(until))
        for since, until in raw["gaps"]
    )
    values = {name: raw[name] for name in _PLAIN}
    for name in _TIMES:
        at = raw[name]
        values[name] = None if at is None else datetime.fromisoformat(at)
    return PaperAccount(**values, holdings=MappingProxyType(holdings), gaps=gaps)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
