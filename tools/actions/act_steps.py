"""Next steps of an act: what a refusal or a held answer says of the call, said of the act; and the
signer's refusal of an act or a bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from domain.next_steps import AGENT, WAIT, NextStep
from domain.refusal_kinds.actions import ASK_ANEW, FIX_THE_CALL, SMALLER
from domain.refusals import Refusal, SigningRefused, refusal
from domain.rules.target_rules import ARGUMENT
from tools.actions.held_call import NEXT, NextTold

_INSTEAD: Final[Mapping[NextStep, NextStep]] = {
    SMALLER: NextStep(
        "Act again with an amount within remaining, under a new idempotency_key",
        "mandate_act",
        "POST /wallet/mandates/{public_id}/act",
        AGENT,
        needs_rest=True,
    ),
    FIX_THE_CALL: NextStep(
        "Fix the call: see detail.revert; then act again",
        "mandate_act",
        "POST /wallet/mandates/{public_id}/act",
        AGENT,
    ),
    ARGUMENT: NextStep(
        "Put the vault's own address into the argument word that detail.argument names (counted "
        "from 0), and act again",
        "mandate_act",
        "POST /wallet/mandates/{public_id}/act",
        AGENT,
    ),
    ASK_ANEW: NextStep(
        "Act again under a new idempotency_key: the owner is asked anew",
        "mandate_act",
        "POST /wallet/mandates/{public_id}/act",
        AGENT,
    ),
}
HELD_NEXT: Final[tuple[NextTold, ...]] = tuple(
    step.model_copy(
        update={
            "text": "Show the owner approval_url, where she decides. Read the item, and once it is "
            "approved repeat the act with the same idempotency_key"
        }
    )
    for step in NEXT
)


def act_steps(refused: Refusal) -> Refusal:
    """The refusal, with `mandate_act` in each step that leads back to the call."""
    steps, own = refused.kind.next, refused.next
    kind = replace(refused.kind, next=tuple(_INSTEAD.get(step, step) for step in steps))
    return replace(refused, kind=kind, next=tuple(_INSTEAD.get(step, step) for step in own))


def signer_refuses(refused: SigningRefused, now: datetime) -> Refusal:
    """The signer's own reason; what passes with time says when."""
    if refused.retry_s is None:
        return refusal("signer_refused", why=str(refused))
    return refusal(
        "signer_refused",
        why=str(refused),
        retry_at=now + timedelta(seconds=refused.retry_s),
        retry_safe=True,
        who_fixes="agent",
        next=(WAIT,),
    )
