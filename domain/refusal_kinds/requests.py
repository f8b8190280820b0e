"""Refusal kinds of requests: refusals that any caller can get."""

from __future__ import annotations

from typing import Final

from domain.next_steps import INDEX, OPERATOR, OWNER_OR_AGENT, SKILL, WAIT, NextStep
from domain.refusal_kinds.kind import READ_MANDATE, TERMS, RefusalKind

_LIST_MANDATES = NextStep(
    "List your mandates", "mandate_list", "GET /wallet/mandates", OWNER_OR_AGENT
)
_RECONCILE = NextStep(
    "Ask what happened before sending anything again",
    "mandate_reconcile",
    "GET /wallet/mandates/{public_id}/reconcile",
    OWNER_OR_AGENT,
)
_SIGN_IN = NextStep("Sign in with a wallet", None, "POST /wallet/auth/challenge")
_SEND_KEY = NextStep(
    "Send the agent key in X-Service-User-Key, or set WALLET_SERVICE_USER_KEY on stdio"
)
_ROLES = NextStep("Read which role each route takes", None, "GET /openapi.json")

KINDS: Final = (
    RefusalKind(
        code="invalid_request",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="The request does not have the form this operation takes.",
        next=(NextStep("Correct the named fields"),),
    ),
    RefusalKind(
        code="invalid_number",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="{value} is not an amount: {why}.",
        next=(NextStep("Send a decimal string with at most 6 decimals, within ±1e12"),),
    ),
    RefusalKind(
        code="secret_not_accepted",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="The field {field} looks like a secret. This service takes none.",
        next=(NextStep("Send the request without it, and rotate that secret"),),
    ),
    RefusalKind(
        code="invalid_address",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="{value} is not an address: {why}.",
        next=(NextStep("Send a 20-byte 0x address, in lower case or with its EIP-55 checksum"),),
    ),
    RefusalKind(
        code="invalid_signature",
        status=400,
        who_fixes="owner",
        retry_safe=False,
        sentence="The signature does not prove that {signer} signed: {why}.",
        next=(TERMS,),
    ),
    RefusalKind(
        code="unauthenticated",
        status=401,
        who_fixes="agent",
        retry_safe=False,
        sentence="This operation needs {needs}.",
        next=(_SEND_KEY, _SIGN_IN, INDEX, SKILL),
    ),
    RefusalKind(
        code="forbidden",
        status=403,
        who_fixes="agent",
        retry_safe=False,
        sentence="Your role may not do this: {why}.",
        next=(_ROLES,),
    ),
    RefusalKind(
        code="door_off",
        status=404,
        who_fixes="operator",
        retry_safe=False,
        sentence="The bot door is off.",
        next=(
            NextStep("Open the door: `wallet switch set door on`", by=OPERATOR),
            INDEX,
        ),
    ),
    RefusalKind(
        code="not_found",
        status=404,
        who_fixes="agent",
        retry_safe=False,
        sentence="There is no {what} here that you may see.",
        next=(_LIST_MANDATES,),
    ),
    RefusalKind(
        code="method_not_allowed",
        status=405,
        who_fixes="agent",
        retry_safe=False,
        sentence="{method} is not a method of this path.",
        next=(NextStep("Use one of the methods in the Allow header"),),
    ),
    RefusalKind(
        code="conflict",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="{why}",
        next=(READ_MANDATE,),
    ),
    RefusalKind(
        code="idempotency_key_reused",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The idempotency key was used for another request.",
        next=(
            NextStep("Use a new key for a new request, the same key only to repeat the same one"),
        ),
    ),
    RefusalKind(
        code="idempotency_in_flight",
        status=409,
        who_fixes="agent",
        retry_safe=True,
        sentence="The first call with this idempotency key still runs.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="body_too_large",
        status=413,
        who_fixes="agent",
        retry_safe=False,
        sentence="The body is larger than {limit} bytes.",
        next=(NextStep("Send less"),),
    ),
    RefusalKind(
        code="rate_limited",
        status=429,
        who_fixes="agent",
        retry_safe=True,
        sentence="{why}",
        next=(WAIT,),
    ),
    RefusalKind(
        code="not_configured",
        status=409,
        who_fixes="operator",
        retry_safe=False,
        sentence="{what} is not configured here.",
        next=(NextStep("Set what `wallet doctor` names", by=OPERATOR),),
    ),
    RefusalKind(
        code="internal",
        status=500,
        who_fixes="operator",
        retry_safe=False,
        sentence="Something failed inside the service. The request id finds it in the log.",
        next=(_RECONCILE,),
    ),
    RefusalKind(
        code="storage_unavailable",
        status=503,
        who_fixes="operator",
        retry_safe=True,
        sentence="The database gives no answer: {why}. Nothing was stored, or the same key finds "
        "what was.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="chain_unavailable",
        status=503,
        who_fixes="operator",
        retry_safe=True,
        sentence="Chain {chain_id} gives no usable answer: {why}.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="outcome_unknown",
        status=504,
        who_fixes="nobody",
        retry_safe=False,
        sentence="{what} was begun, and nobody knows whether it happened. It is not begun again.",
        next=(NextStep("Find out what happened before you ask for it anew"),),
    ),
    RefusalKind(
        code="venue_unavailable",
        status=503,
        who_fixes="venue",
        retry_safe=True,
        sentence="The venue gives no usable answer: {why}.",
        next=(WAIT,),
    ),
)
