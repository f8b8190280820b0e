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


_MOVES: Final[Mapping[tuple[Status, LifecycleAction], Status]] = MappingProxyType(
    {
        (Status.DRAFT, LifecycleAction.CORRECT): Status.DRAFT,
        (Status.DRAFT, LifecycleAction.ASSIGN): Status.DRAFT,
        (Status.DRAFT, LifecycleAction.ACCEPT): Status.DRAFT,
        (Status.DRAFT, LifecycleAction.CANCEL): Status.CANCELLED,
        (Status.DRAFT, LifecycleAction.SIGN): Status.SIGNED,
        (Status.SIGNED, LifecycleAction.ACCEPT): Status.SIGNED,
        (Status.SIGNED, LifecycleAction.CANCEL): Status.CANCELLED,
        (Status.SIGNED, LifecycleAction.ATTACH): Status.SIGNED,
        (Status.SIGNED, LifecycleAction.FUND): Status.WORKING,
        (Status.SIGNED, LifecycleAction.DECIDE): Status.SIGNED,
        (Status.SIGNED, LifecycleAction.STOP): Status.STOPPED,
        (Status.WORKING, LifecycleAction.ACCEPT): Status.WORKING,
        (Status.WORKING, LifecycleAction.FUND): Status.WORKING,
        (Status.WORKING, LifecycleAction.DECIDE): Status.WORKING,
        (Status.WORKING, LifecycleAction.STOP): Status.STOPPED,
        (Status.WORKING, LifecycleAction.SETTLE): Status.SETTLED,
        (Status.STOPPED, LifecycleAction.SETTLE): Status.SETTLED,
        # A stop that only the record has does not keep USDC out of the vault; the deposit is a
        # fact.
        (Status.STOPPED, LifecycleAction.FUND): Status.STOPPED,
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
    to = _MOVES.get((status, action))
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
