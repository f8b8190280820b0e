"""Reasons for which a call would fail, in words; the name of the error is a technical detail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.replies import Json
from app.words.text import _

WHY: Final[Mapping[str, str]] = {
    "ApprovalExpired": _("your approval has expired"),
    "ApprovalNeeded": _("the action needs your approval"),
    "ApprovalUsed": _("your approval was used already"),
    "BadSignature": _("the signature is not yours"),
    "BadTarget": _("a call on the list cannot be allowed"),
    "BadTerms": _("the vault factory does not accept these terms"),
    "ERC20InsufficientAllowance": _("the approved amount is too small"),
    "ERC20InsufficientBalance": _("there is not enough USDC"),
    "FailedDeployment": _("the vault exists already"),
    "Locked": _("open positions hold the money for now"),
    "MandateActive": _("the mandate is still active"),
    "MandateEnded": _("the mandate has ended"),
    "MandateSettled": _("the mandate is settled"),
    "MandateStopped": _("the mandate is stopped"),
    "NotAgent": _("the agent may not act at present"),
    "NotOwner": _("only the owner of the vault may do this"),
    "OverBudget": _("the amount is above the budget"),
    "OverCash": _("the vault does not hold enough USDC"),
    "OverDailyCap": _("the amount is above what is left of the limit per day"),
    "OverPerTxCap": _("the amount is above the limit per action"),
    "TargetNotAllowed": _("the call is not on your list"),
    "TargetReverted": _("the market refuses the call"),
    "UnfairExit": _("the exit would bring back too little"),
    "UsdcLeft": _("USDC would leave the vault"),
}
ELSE: Final = _("the contract refuses the call")


def reason(revert: Json | None) -> str:
    """The reason in words."""
    return WHY.get((revert or {}).get("name") or "", ELSE)


def error_name(revert: Json | None) -> str:
    """The error's own name; empty where it has none that can be read."""
    return (revert or {}).get("name") or ""
