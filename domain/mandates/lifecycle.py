"""The mandate lifecycle: transitions between its states."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused, refusal


class LifecycleAction(StrEnum):
    """The actions that move a mandate, or need it in a certain state (contract 3)."""

    CORRECT = "correct"
    ASSIGN = "assign"
    ACCEPT = "accept"
    CANCEL = "cancel"
    SIGN = "sign"
    ATTACH = "attach a vault"
    FUND = "fund"
    DECIDE = "deciding an approval"
    STOP = "stop"
    SETTLE = "settle"


# Where an action leads to, by the state that it is taken in.
_MOVES: Final[Mapping[LifecycleAction, Mapping[Status, Status]]] = MappingProxyType(
    {
        LifecycleAction.CORRECT: {Status.DRAFT: Status.DRAFT},
        LifecycleAction.ASSIGN: {Status.DRAFT: Status.DRAFT},
        LifecycleAction.ACCEPT: {s: s for s in (Status.DRAFT, Status.SIGNED, Status.WORKING)},
        LifecycleAction.CANCEL: dict.fromkeys((Status.DRAFT, Status.SIGNED), Status.CANCELLED),
        LifecycleAction.SIGN: {Status.DRAFT: Status.SIGNED},
        LifecycleAction.ATTACH: {Status.SIGNED: Status.SIGNED},
        # A stop that only the record has does not keep USDC out of the vault; the deposit is a
        # fact.
        LifecycleAction.FUND: {
            Status.SIGNED: Status.WORKING,
            Status.WORKING: Status.WORKING,
            Status.STOPPED: Status.STOPPED,
        },
        LifecycleAction.DECIDE: {s: s for s in (Status.SIGNED, Status.WORKING)},
        LifecycleAction.STOP: dict.fromkeys((Status.SIGNED, Status.WORKING), Status.STOPPED),
        LifecycleAction.SETTLE: dict.fromkeys((Status.WORKING, Status.STOPPED), Status.SETTLED),
    }
)


def status_after(mandate: Mandate, action: LifecycleAction) -> Status:
    """Return the state that `action` leads to.

    Errors: `mandate_signed` for a correction after signing, `wrong_status` for every other pair
    that is not a move; a signed mandate without a vault cannot be stopped, one with a vault cannot
    be cancelled.
    Source: spec 3.1, contract 3.
    """
    status = mandate.status
    to = _MOVES[action].get(status)
    if to is None and action in (LifecycleAction.CORRECT, LifecycleAction.ASSIGN):
        raise Refused(refusal("mandate_signed", status=status.value))
    vaultless = mandate.vault_address is None
    blocked = status is Status.SIGNED and (
        (action is LifecycleAction.STOP and vaultless)
        or (action is LifecycleAction.CANCEL and not vaultless)
        or (action is LifecycleAction.FUND and vaultless)
    )
    if to is None or blocked:
        raise Refused(refusal("wrong_status", status=status.value, action=action.value))
    return to
