"""The value that a vault judges exits by, beside the value of its open positions now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.replies import Json
from domain.money import Usdc

OFF_BPS: Final = 200
"""What a fair exit may lose: a record that stands off by more is worth renewing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedValueView:
    """Both values; `stale` where the positions lost so much since that no fair exit of them passes,
    `risen` where they gained as much. Units: USDC.
    """

    recorded: str
    now: str
    stale: bool
    risen: bool


def view(read: Json) -> RecordedValueView | None:
    """`read` of mandate_get; None where either value is not known."""
    raw = read["chain_state"]["recorded_value"]
    if raw is None:
        return None
    recorded, now = Usdc.parse(raw["recorded"]), Usdc.parse(raw["now"])
    risen = now > recorded + recorded.share_up(OFF_BPS)
    return RecordedValueView(
        recorded=raw["recorded"], now=raw["now"], stale=raw["stale"], risen=risen
    )
