"""The one catalogue of refusals, and the one exception that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from string import Formatter
from types import MappingProxyType
from typing import Any, Final

from domain.kind import Kind as Kind
from domain.next_steps import (
    AGENT,
    INDEX,
    OPERATOR,
    OWNER,
    OWNER_OR_AGENT,
    SKILL,
    WAIT,
    NextStep,
    Role,
    steps_for,
)
from domain.order_refusals import ORDER_KINDS
from domain.times import timestamp

_READ_MANDATE = NextStep(
    "Read the mandate", "mandate_get", "GET /wallet/mandates/{public_id}", OWNER_OR_AGENT
)
_READ_BALANCES = NextStep(
    "Read the balances",
    "agent_balances",
    "GET /wallet/agents/{agent_id}/balances",
    OWNER_OR_AGENT,
)
_LIST_MANDATES = NextStep(
    "List your mandates", "mandate_list", "GET /wallet/mandates", OWNER_OR_AGENT
)
_RECONCILE = NextStep(
    "Ask what happened before sending anything again",
    "mandate_reconcile",
    "GET /wallet/mandates/{public_id}/reconcile",
    OWNER_OR_AGENT,
)
_SMALLER = NextStep(
    "Ask again with an amount within limits.remaining",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
    needs_rest=True,
)
_AGAIN_RIGHT = NextStep(
    "Mend the call by detail.revert, and ask with dry_run=true first",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)
_SIGN_IN = NextStep("Sign in with a wallet", None, "POST /wallet/auth/challenge")
_SEND_KEY = NextStep(
    "Send the agent key in X-Service-User-Key, or set WALLET_SERVICE_USER_KEY on stdio"
)
_TERMS = NextStep("Ask for the terms again", None, "GET /wallet/mandates/{public_id}/terms", OWNER)
_APPROVALS = NextStep(
    "Read the approval items",
    "mandate_approvals",
    "GET /wallet/mandates/{public_id}/approvals",
    OWNER_OR_AGENT,
)
_LINK = NextStep(
    "Link a wallet: ask for a challenge and sign it",
    None,
    "POST /wallet/own/link/challenge",
    OWNER,
)
_OWN_STATUS = NextStep("Read what is linked and approved", None, "GET /wallet/own/status", OWNER)
_MARKETS = NextStep("Read the allowed targets and markets", "markets_list", "GET /wallet/markets")
_ROLES = NextStep("Read which role each route takes", None, "GET /openapi.json")


def _registry(*kinds: Kind) -> Mapping[str, Kind]:
    by_code = {k.code: k for k in kinds}
    if len(by_code) != len(kinds):
        raise ValueError("a refusal code is declared twice")
    return MappingProxyType(by_code)


REFUSALS: Final = _registry(
    Kind(
        code="invalid_request",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="The request does not have the form this operation takes.",
        next=(NextStep("Correct the named fields"),),
    ),
    Kind(
        code="invalid_number",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="{value} is not an amount: {why}.",
        next=(NextStep("Send a decimal string with at most 6 decimals, within ±1e12"),),
    ),
    Kind(
        code="secret_not_accepted",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="The field {field} looks like a secret. This service takes none.",
        next=(NextStep("Send the request without it, and rotate that secret"),),
    ),
    Kind(
        code="invalid_address",
        status=400,
        who_fixes="agent",
        retry_safe=False,
        sentence="{value} is not an address: {why}.",
        next=(NextStep("Send a 20-byte 0x address, in lower case or with its EIP-55 checksum"),),
    ),
    Kind(
        code="invalid_signature",
        status=400,
        who_fixes="owner",
        retry_safe=False,
        sentence="The signature does not prove that {signer} signed: {why}.",
        next=(_TERMS,),
    ),
    Kind(
        code="unauthenticated",
        status=401,
        who_fixes="agent",
        retry_safe=False,
        sentence="This operation needs {needs}.",
        next=(_SEND_KEY, _SIGN_IN, INDEX, SKILL),
    ),
    Kind(
        code="mandate_budget_exceeded",
        status=402,
        who_fixes="owner",
        retry_safe=False,
        sentence="The read costs {cost} credits, {remaining_credits} of today's {budget} are left.",
        next=(WAIT,),
    ),
    Kind(
        code="forbidden",
        status=403,
        who_fixes="agent",
        retry_safe=False,
        sentence="Your role may not do this: {why}.",
        next=(_ROLES,),
    ),
    Kind(
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
    Kind(
        code="not_found",
        status=404,
        who_fixes="agent",
        retry_safe=False,
        sentence="There is no {what} here that you may see.",
        next=(_LIST_MANDATES,),
    ),
    Kind(
        code="method_not_allowed",
        status=405,
        who_fixes="agent",
        retry_safe=False,
        sentence="{method} is not a method of this path.",
        next=(NextStep("Use one of the methods in the Allow header"),),
    ),
    Kind(
        code="conflict",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="{why}",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="mandate_signed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The mandate is {status}; its terms no longer change.",
        next=(NextStep("Create a new mandate", None, "POST /wallet/mandates", OWNER),),
    ),
    Kind(
        code="wrong_status",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The mandate is {status}; {action} is not possible from there.",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="not_paused",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The mandate is not paused.",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="duplicate_transfer",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="A transfer with hash {tx_hash} on chain {chain_id} is reported already.",
        next=(_READ_BALANCES,),
    ),
    Kind(
        code="insufficient_idle",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="Idle {asset} on chain {chain_id} is {idle}, the report moves {amount}.",
        next=(_READ_BALANCES,),
    ),
    Kind(
        code="idempotency_key_reused",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The idempotency key was used for another request.",
        next=(
            NextStep("Use a new key for a new request, the same key only to repeat the same one"),
        ),
    ),
    Kind(
        code="idempotency_in_flight",
        status=409,
        who_fixes="agent",
        retry_safe=True,
        sentence="The first call with this idempotency key still runs.",
        next=(WAIT,),
    ),
    Kind(
        code="mandate_not_accepted",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The mandate is not accepted yet.",
        next=(
            NextStep(
                "Accept the mandate",
                "mandate_accept",
                "POST /wallet/mandates/{public_id}/accept",
                AGENT,
            ),
        ),
    ),
    Kind(
        code="mandate_paused",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The owner has paused the mandate.",
        next=(
            NextStep(
                "Resume the mandate",
                None,
                "GET /wallet/mandates/{public_id}/resume-call",
                OWNER,
            ),
            _READ_MANDATE,
        ),
    ),
    Kind(
        code="mandate_stopped",
        status=409,
        who_fixes="nobody",
        retry_safe=False,
        sentence="The mandate is stopped; a stop is final.",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="mandate_ended",
        status=409,
        who_fixes="nobody",
        retry_safe=False,
        sentence="The mandate ended at {ends_at}.",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="target_not_allowed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="{target} with selector {selector} is not among the allowed targets.",
        next=(_MARKETS, _READ_MANDATE),
    ),
    Kind(
        code="over_per_tx_cap",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The action asks {attempted}, the cap per action is {allowed}{bound_by}.",
        next=(_SMALLER, _READ_MANDATE),
    ),
    Kind(
        code="over_daily_cap",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The action asks {attempted}, {used} of today's {allowed} are used or "
        "reserved{bound_by}.",
        next=(_SMALLER, WAIT),
    ),
    Kind(
        code="over_budget",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="{attempted} is above what the budget leaves: {allowed}.",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="below_stop_line",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="Worth {worth} stands at or below the stop line {floor}.",
        next=(_READ_MANDATE,),
    ),
    Kind(
        code="would_revert",
        status=409,
        who_fixes="agent",
        retry_safe=True,
        sentence="The chain says that the call would revert: {why}.",
        next=(_AGAIN_RIGHT, _READ_MANDATE),
    ),
    Kind(
        code="owner_declined",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The owner declined this action.",
        next=(_APPROVALS, WAIT),
    ),
    Kind(
        code="approval_expired",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The approval {approval_id} is no longer good.",
        next=(
            NextStep(
                "Ask execute-call again without approval_id",
                "mandate_execute_call",
                "GET /wallet/mandates/{public_id}/execute-call",
                AGENT,
            ),
        ),
    ),
    Kind(
        code="terms_expired",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The terms were asked for more than 24 hours ago.",
        next=(_TERMS,),
    ),
    Kind(
        code="draft_unclear",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The note behind this draft was not understood whole, and nobody has "
        "corrected it.",
        next=(
            NextStep(
                "Say in typed fields what is meant",
                None,
                "PUT /wallet/mandates/{public_id}",
                OWNER,
            ),
        ),
    ),
    Kind(
        code="withdraw_locked",
        status=409,
        who_fixes="nobody",
        retry_safe=False,
        sentence="Open positions hold the withdrawal back until {until} at the latest.",
        next=(
            NextStep(
                "Unwind the open positions",
                "mandate_unwind_call",
                "GET /wallet/mandates/{public_id}/unwind-call",
                OWNER_OR_AGENT,
            ),
        ),
    ),
    Kind(
        code="vault_mismatch",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The transaction does not belong to this mandate's vault: {why}.",
        next=(NextStep("Send the transaction that the call of this mandate made", by=OWNER),),
    ),
    Kind(
        code="not_configured",
        status=409,
        who_fixes="operator",
        retry_safe=False,
        sentence="{what} is not configured here.",
        next=(NextStep("Set what `wallet doctor` names", by=OPERATOR),),
    ),
    Kind(
        code="agent_not_accepting",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The agent's policy does not accept mandates.",
        next=(
            NextStep(
                "Set accepts_mandates in its policy",
                None,
                "PUT /wallet/agents/{agent_id}/policy",
                OWNER,
            ),
        ),
    ),
    Kind(
        code="not_linked",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="No own account is linked to you: {why}.",
        next=(_LINK,),
    ),
    Kind(
        code="already_linked",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="{why}",
        next=(NextStep("Ask the operator, who alone moves a link"), _OWN_STATUS),
    ),
    Kind(
        code="terms_changed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The terms are version {version} now, not the ones that were named.",
        next=(NextStep("Read the terms again", None, "GET /wallet/own/terms"),),
    ),
    Kind(
        code="challenge_spent",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The link challenge was used or is too old; each can be tried once.",
        next=(_LINK,),
    ),
    Kind(
        code="not_own_account",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The address is {what} at the venue, no account of a person's own.",
        next=(NextStep("Link the wallet that owns the account"), _LINK),
    ),
    Kind(
        code="agent_slots_full",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The account has as many named agents as the venue allows.",
        next=(NextStep("Revoke one at the venue, then approve the key again"), _OWN_STATUS),
    ),
    Kind(
        code="account_unfunded",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The venue does not know the account before its first deposit.",
        next=(NextStep("Deposit at the venue, then approve the key again"), _OWN_STATUS),
    ),
    Kind(
        code="body_too_large",
        status=413,
        who_fixes="agent",
        retry_safe=False,
        sentence="The body is larger than {limit} bytes.",
        next=(NextStep("Send less"),),
    ),
    Kind(
        code="rate_limited",
        status=429,
        who_fixes="agent",
        retry_safe=True,
        sentence="{why}",
        next=(WAIT,),
    ),
    Kind(
        code="internal",
        status=500,
        who_fixes="operator",
        retry_safe=False,
        sentence="Something failed inside the service. The request id finds it in the log.",
        next=(_RECONCILE,),
    ),
    Kind(
        code="chain_unavailable",
        status=503,
        who_fixes="operator",
        retry_safe=True,
        sentence="Chain {chain_id} gives no usable answer: {why}.",
        next=(WAIT,),
    ),
    Kind(
        code="outcome_unknown",
        status=504,
        who_fixes="nobody",
        retry_safe=False,
        sentence="{what} was begun, and nobody knows whether it happened. It is not begun again.",
        next=(NextStep("Find out what happened before you ask for it anew"),),
    ),
    Kind(
        code="venue_unavailable",
        status=503,
        who_fixes="venue",
        retry_safe=True,
        sentence="The venue gives no usable answer: {why}.",
        next=(WAIT,),
    ),
    *ORDER_KINDS,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal as it leaves the service.

    Source: spec 7 and contract 1 (refusal block). `remaining` and `retry_at` appear where they
    mean something.
    """

    kind: Kind
    reason: str
    remaining: Mapping[str, Any] | None = None
    retry_at: datetime | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    next: tuple[NextStep, ...] = ()
    retry_safe: bool | None = None

    def as_json(self, role: Role | None = None) -> dict[str, Any]:
        """Shape: the refusal block of contract 1, with the steps that `role` can take (all of them
        as they are where nobody in particular is told).
        """
        nothing_left = (self.remaining or {}).get("value") == "0.000000"
        steps = [s for s in (*self.next, *self.kind.next) if not (s.needs_rest and nothing_left)]
        if role is not None:
            steps = steps_for(role, steps, timed=self.retry_at is not None)
        by_agent = role == "agent" and self.kind.caller_fixes
        block: dict[str, Any] = {
            "error": self.kind.code,
            "reason": self.reason,
            "retry_safe": self.kind.retry_safe if self.retry_safe is None else self.retry_safe,
            "who_fixes": "agent" if by_agent else self.kind.who_fixes,
            "next": [n.as_json() for n in steps],
        }
        if self.remaining is not None:
            block["remaining"] = dict(self.remaining)
        if self.retry_at is not None:
            block["retry_at"] = timestamp(self.retry_at)
        return block | {"detail": dict(self.detail)}


class Refused(Exception):
    """Raised anywhere to refuse the call; becomes the refusal block in one place."""

    def __init__(self, refusal: Refusal):
        super().__init__(refusal.kind.code)
        self.refusal = refusal

    @property
    def code(self) -> str:
        """The registry code."""
        return self.refusal.kind.code


class _Known(Formatter):
    """Formats a sentence; a value nobody gave is a mistake of ours and shows as such in the
    tests.
    """

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return (
            kwargs[key]
            if key in kwargs
            else args[key]
            if isinstance(key, int)
            else _missing(str(key))
        )


def _missing(name: str) -> str:
    raise KeyError(f"the sentence needs {name}")


def refusal(
    code: str,
    /,
    *,
    remaining: Mapping[str, Any] | None = None,
    retry_at: datetime | None = None,
    detail: Mapping[str, Any] | None = None,
    next: tuple[NextStep, ...] = (),
    retry_safe: bool | None = None,
    **words: Any,
) -> Refusal:
    """Make the refusal `code`; `words` fill its sentence and are repeated in `detail` where they
    are facts. `retry_safe` is said where this refusal differs from its kind.

    Errors: KeyError for a code that is not in the registry, or a sentence left with a hole.
    """
    kind = REFUSALS[code]
    return Refusal(
        kind,
        _Known().format(kind.sentence, **words),
        remaining,
        retry_at,
        detail or {},
        next,
        retry_safe,
    )


def invalid(loc: str, msg: str, *others: tuple[str, str]) -> Refused:
    """The refusal `invalid_request` for a field, and for `others` (contract 1)."""
    fields = [{"loc": where, "msg": why} for where, why in ((loc, msg), *others)]
    return Refused(refusal("invalid_request", detail={"fields": fields}))
