"""Refusal kinds of a person's own account at the venue: linking and use."""

from __future__ import annotations

from typing import Final

from domain.next_steps import OWNER, NextStep
from domain.refusal_kinds.kind import RefusalKind

_LINK = NextStep(
    "Link a wallet: ask for a challenge and sign it",
    None,
    "POST /wallet/own/link/challenge",
    OWNER,
)
_OWN_STATUS = NextStep("Read what is linked and approved", None, "GET /wallet/own/status", OWNER)

KINDS: Final = (
    RefusalKind(
        code="not_linked",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="No own account is linked to you: {why}.",
        next=(_LINK,),
    ),
    RefusalKind(
        code="already_linked",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="{why}",
        next=(NextStep("Ask the operator, who alone moves a link"), _OWN_STATUS),
    ),
    RefusalKind(
        code="terms_changed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The terms are version {version} now, not the ones that were named.",
        next=(NextStep("Read the terms again", None, "GET /wallet/own/terms"),),
    ),
    RefusalKind(
        code="challenge_spent",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The link challenge was used or is too old; each can be tried once.",
        next=(_LINK,),
    ),
    RefusalKind(
        code="not_own_account",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The address is {what} at the venue, no account of a person's own.",
        next=(NextStep("Link the wallet that owns the account", by=OWNER), _LINK),
    ),
    RefusalKind(
        code="agent_slots_full",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The account has as many named agents as the venue allows.",
        next=(
            NextStep("Revoke one at the venue, then approve the key again", by=OWNER),
            _OWN_STATUS,
        ),
    ),
    RefusalKind(
        code="account_unfunded",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The venue does not know the account before its first deposit.",
        next=(NextStep("Deposit at the venue, then approve the key again", by=OWNER), _OWN_STATUS),
    ),
)
