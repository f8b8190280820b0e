"""The limit log: every change of permissions and amounts of live trading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from domain.times import Timestamp
from domain.trading.modes import TradingSurface
from domain.trading.order_caps import OrderLimits

Kind = Literal["allowlist", "switch", "limits"]
# Switches that decide whether real orders are placed (trading 00.1).
TRADING_SWITCHES: Final = ("live_terminal", "live_door", "venue_mainnet", "stop_line_dry_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChange:
    """One row of the limit log; it is never changed.

    Shapes: `subject` is the item of the allowlist, the name of the switch, or the user id of the
    limit; `changes` is `{field: {from, to}}`; `changed_by` is `settings`, `operator` (this
    machine), `admin` (an admin key) or a user id. Source: trading 00.1 and 1.
    """

    what: Kind
    subject: str
    changes: Mapping[str, object]
    changed_at: Timestamp
    changed_by: str
    why: str | None = None


def limits_change(
    user_id: str,
    surface: TradingSurface,
    was: OrderLimits,
    to: OrderLimits,
    now: Timestamp,
    *,
    by: str | None = None,
    why: str | None = None,
) -> LimitChange:
    """A change of a person's own limits on a surface; by that person where `by` names nobody."""
    pairs = {
        "per_order_usdc": (was.per_order, to.per_order),
        "per_day_usdc": (was.per_day, to.per_day),
    }
    return LimitChange(
        what="limits",
        subject=f"{user_id}:{surface}",
        changes={n: {"from": str(a), "to": str(b)} for n, (a, b) in pairs.items() if a != b},
        changed_at=now,
        changed_by=by or user_id,
        why=why,
    )
