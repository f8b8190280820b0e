"""One row of the registry of refusals, and the next steps that rows of several kinds name."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    retry_safe: bool = False
    sentence: str = ""
    next: tuple[NextStep, ...] = ()
    caller_fixes: bool = False

    def says(self, sentence: str) -> RefusalKind:
        """The kind with its sentence."""
        return replace(self, sentence=sentence)


def kind(
    code: str,
    status: int,
    who_fixes: WhoFixes,
    *next: NextStep,
    retry_safe: bool = False,
    caller_fixes: bool = False,
) -> RefusalKind:
    """A row before its sentence; without flags the same call is refused again."""
    return RefusalKind(
        code=code,
        status=status,
        who_fixes=who_fixes,
        next=next,
        retry_safe=retry_safe,
        caller_fixes=caller_fixes,
    )


READ_MANDATE = NextStep(
    "Read the mandate", "mandate_get", "GET /wallet/mandates/{public_id}", OWNER_OR_AGENT
)
TERMS = NextStep("Ask for the terms again", None, "GET /wallet/mandates/{public_id}/terms", OWNER)
