"""The limit log: every change of permissions and amounts of live trading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from domain.times import Timestamp

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
