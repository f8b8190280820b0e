"""One row of the registry of refusals, and the next steps that rows of several kinds name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.next_steps import OWNER, OWNER_OR_AGENT, NextStep

WhoFixes = Literal["agent", "owner", "keeper", "operator", "venue", "nobody"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalKind:
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


READ_MANDATE = NextStep(
    "Read the mandate", "mandate_get", "GET /wallet/mandates/{public_id}", OWNER_OR_AGENT
)
TERMS = NextStep("Ask for the terms again", None, "GET /wallet/mandates/{public_id}/terms", OWNER)
