"""Next steps of an act: what a refusal or a held answer says of the call, said of the act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from domain.next_steps import AGENT, NextStep
from domain.refusal_kinds.actions import ASK_ANEW, FIX_THE_CALL, SMALLER
from domain.refusals import Refusal
from domain.rules.target_rules import ARGUMENT
from tools.actions.held_call import NEXT, NextTold


def _act(text: str, *, needs_rest: bool = False) -> NextStep:
    route = "POST /wallet/mandates/{public_id}/act"
    return NextStep(text, "mandate_act", route, AGENT, needs_rest=needs_rest)


_INSTEAD: Final[Mapping[NextStep, NextStep]] = {
    SMALLER: _act(
        "Act again with an amount within remaining, under a new idempotency_key", needs_rest=True
    ),
    FIX_THE_CALL: _act("Fix the call: see detail.revert; then act again"),
    ARGUMENT: _act(
        "Put the vault's own address into the argument word that detail.argument names (counted "
        "from 0), and act again"
    ),
    ASK_ANEW: _act("Act again under a new idempotency_key: the owner is asked anew"),
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
