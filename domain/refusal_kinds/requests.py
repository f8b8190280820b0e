"""Refusal kinds of requests: refusals that any caller can get."""

from __future__ import annotations

from typing import Final

from domain.next_steps import INDEX, OPERATOR, OWNER_OR_AGENT, SKILL, WAIT, NextStep
from domain.refusal_kinds.kind import READ_MANDATE, TERMS, kind

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
_CONNECT_AGAIN = NextStep(
    "Connect again with the scopes of the WWW-Authenticate header; the owner is asked for them",
    None,
    "GET /.well-known/oauth-authorization-server",
)
_ROLES = NextStep("Read which role each route takes", None, "GET /openapi.json")

KINDS: Final = (
    kind("invalid_request", 400, "agent", NextStep("Correct the named fields")).says(
        "The request does not have the form this operation takes."
    ),
    kind(
        "invalid_number",
        400,
        "agent",
        NextStep("Send a decimal string with at most 6 decimals, within ±1e12"),
    ).says("{value} is not an amount: {why}."),
    kind(
        "secret_not_accepted",
        400,
        "agent",
        NextStep("Send the request without it, and rotate that secret"),
    ).says("The field {field} looks like a secret. This service takes none."),
    kind(
        "invalid_address",
        400,
        "agent",
        NextStep("Send a 20-byte 0x address, in lower case or with its EIP-55 checksum"),
    ).says("{value} is not an address: {why}."),
    kind("invalid_signature", 400, "owner", TERMS).says(
        "The signature does not prove that {signer} signed: {why}."
    ),
    kind("unauthenticated", 401, "agent", _SEND_KEY, _SIGN_IN, INDEX, SKILL).says(
        "This operation needs {needs}."
    ),
    kind("forbidden", 403, "agent", _ROLES).says("Your role may not do this: {why}."),
    kind("insufficient_scope", 403, "owner", _CONNECT_AGAIN).says(
        "The owner let this app connect without {scope}, which this operation needs."
    ),
    kind(
        "door_off",
        404,
        "operator",
        NextStep("Open the door: `wallet switch set door on`", by=OPERATOR),
        INDEX,
    ).says("The bot door is off."),
    kind("not_found", 404, "agent", _LIST_MANDATES).says(
        "There is no {what} here that you may see."
    ),
    kind(
        "method_not_allowed", 405, "agent", NextStep("Use one of the methods in the Allow header")
    ).says("{method} is not a method of this path."),
    kind("conflict", 409, "agent", READ_MANDATE).says("{why}"),
    kind(
        "idempotency_key_reused",
        409,
        "agent",
        NextStep("Use a new key for a new request, the same key only to repeat the same one"),
    ).says("The idempotency key was used for another request."),
    kind("idempotency_in_flight", 409, "agent", WAIT, retry_safe=True).says(
        "The first call with this idempotency key still runs."
    ),
    kind("body_too_large", 413, "agent", NextStep("Send less")).says(
        "The body is larger than {limit} bytes."
    ),
    kind("rate_limited", 429, "agent", WAIT, retry_safe=True).says("{why}"),
    kind(
        "not_configured", 409, "operator", NextStep("Set what `wallet doctor` names", by=OPERATOR)
    ).says("This service is not set up for {what}."),
    kind("internal", 500, "operator", _RECONCILE).says(
        "Something failed inside the service. The request id finds it in the log."
    ),
    kind("storage_unavailable", 503, "operator", WAIT, retry_safe=True).says(
        "The database did not answer: {why}. Nothing was stored, or the same key finds what was."
    ),
    kind("chain_unavailable", 503, "operator", WAIT, retry_safe=True).says(
        "The network (chain {chain_id}) did not answer correctly: {why}."
    ),
    kind(
        "outcome_unknown",
        504,
        "nobody",
        NextStep("Find out what happened before you ask for it anew"),
    ).says("{what}: the outcome is unknown. It will not be started again."),
    kind("venue_unavailable", 503, "venue", WAIT, retry_safe=True).says(
        "The venue did not answer correctly: {why}."
    ),
)
