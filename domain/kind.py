"""What a refusal is: one row of the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.next_steps import NextStep

WhoFixes = Literal["agent", "owner", "keeper", "operator", "venue", "nobody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One row of the registry (contract 1).

    `caller_fixes`: where an agent called, the agent mends it in the owner's place.
    """

    code: str
    status: int
    who_fixes: WhoFixes
    retry_safe: bool
    sentence: str
    next: tuple[NextStep, ...] = ()
    caller_fixes: bool = False
