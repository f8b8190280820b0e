"""Refusals of calls that are not on the list of allowed targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.mandates.targets import TargetMismatch
from domain.next_steps import AGENT, NextStep
from domain.refusals import Refusal, refusal

ARGUMENT: Final = NextStep(
    "Put the vault's own address into the argument word that detail.argument names (counted from "
    "0), and ask with dry_run=true first",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)


def target_refusal(
    mismatch: TargetMismatch,
    target: str,
    selector: str,
    *,
    detail: Mapping[str, object] | None = None,
    step: NextStep = ARGUMENT,
) -> Refusal:
    """The refusal of a call that is none of the list; a wrong argument is the caller's to mend, by
    `step`, the list itself the owner's.
    """
    wrong = mismatch.argument is not None
    return refusal(
        "target_not_allowed",
        target=target,
        selector=selector,
        why=mismatch.reason,
        who_fixes="agent" if wrong else None,
        next=(step,) if wrong else (),
        detail=detail,
    )
