"""The value that a vault judges exits by, beside the value of its open positions now."""

from __future__ import annotations

from dataclasses import dataclass

from app.replies import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Both values; `stale` where no fair exit of all positions passes. Units: USDC."""

    recorded: str
    now: str
    stale: bool


def view(read: Json) -> Record | None:
    """`read` of mandate_get; None where either value is not known."""
    told = read["chain_state"]["recorded_value"]
    if told is None:
        return None
    return Record(recorded=told["recorded"], now=told["now"], stale=told["stale"])
