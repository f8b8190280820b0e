"""Refusal kinds of a person's own account at the venue: linking and use."""

from __future__ import annotations

from typing import Final

from domain.next_steps import OWNER, NextStep
from domain.refusal_kinds.kind import kind

_LINK = NextStep(
    "Link a wallet: ask for a challenge and sign it",
    None,
    "POST /wallet/own/link/challenge",
    OWNER,
)
_OWN_STATUS = NextStep("Read what is linked and approved", None, "GET /wallet/own/status", OWNER)

KINDS: Final = (
    kind("not_linked", 409, "owner", _LINK).says("No own account is linked to you: {why}."),
    kind(
        "already_linked",
        409,
        "owner",
        NextStep("Ask the operator, who alone moves a link"),
        _OWN_STATUS,
    ).says("{why}"),
    kind(
        "terms_changed",
        409,
        "owner",
        NextStep("Read the terms again", None, "GET /wallet/own/terms"),
    ).says("The terms are version {version} now, not the ones that were named."),
    kind("challenge_spent", 409, "owner", _LINK).says(
        "The link challenge was used or is too old; each can be tried once."
    ),
    kind(
        "not_own_account",
        409,
        "owner",
        NextStep("Link the wallet that owns the account", by=OWNER),
        _LINK,
    ).says("The address is {what} at the venue, no account of a person's own."),
    kind(
        "agent_slots_full",
        409,
        "owner",
        NextStep("Revoke one at the venue, then approve the key again", by=OWNER),
        _OWN_STATUS,
    ).says("The account has as many named agents as the venue allows."),
    kind(
        "account_unfunded",
        409,
        "owner",
        NextStep("Deposit at the venue, then approve the key again", by=OWNER),
        _OWN_STATUS,
    ).says("The venue does not know the account before its first deposit."),
)
