"""The one catalogue of refusals, and the one exception that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from string import Formatter
from types import MappingProxyType
from typing import Any, Final, Literal

from domain.times import timestamp

WhoFixes = Literal["agent", "owner", "keeper", "operator", "venue", "nobody"]


@dataclass(frozen=True, slots=True)
class NextStep:
    """What the caller can do next: a sentence, and the tool and route that do it, where there is one."""

    text: str
    tool: str | None = None
    route: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Shape `{text, tool, route}`; the two names are left out where there is none."""
        named = {"tool": self.tool, "route": self.route}
        return {"text": self.text} | {k: v for k, v in named.items() if v}


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the registry (contract 1)."""

    code: str
    status: int
    who_fixes: WhoFixes
    retry_safe: bool
    sentence: str
    next: tuple[NextStep, ...] = ()


_READ_MANDATE = NextStep("Read the mandate", "mandate_get", "GET /wallet/mandates/{public_id}")


_READ_BALANCES = NextStep("Read the balances", "agent_balances", "GET /wallet/agents/{agent_id}/balances")


_LIST_MANDATES = NextStep("List your mandates", "mandate_list", "GET /wallet/mandates")


_RECONCILE = NextStep(
    "Ask what happened before sending anything again", "mandate_reconcile", "GET /wallet/mandates/{public_id}/reconcile"
)


_SMALLER = NextStep(
    "Ask again with an amount within limits.remaining",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
)


_SIGN_IN = NextStep("Sign in with a wallet", None, "POST /wallet/auth/challenge")


_SEND_KEY = NextStep("Send the agent key in X-Service-User-Key, or set WALLET_SERVICE_USER_KEY on stdio")


_TERMS = NextStep("Ask for the terms again", None, "GET /wallet/mandates/{public_id}/terms")


_APPROVALS = NextStep("Read the approval items", "mandate_approvals", "GET /wallet/mandates/{public_id}/approvals")


_OFFERS = NextStep("Read the offers", "agent_offers", "GET /wallet/agents/{agent_id}/offers")


_WAIT = NextStep("Wait until retry_at, then ask again")


_LINK = NextStep("Link a wallet: ask for a challenge and sign it", None, "POST /wallet/own/link/challenge")
_OWN_STATUS = NextStep("Read what is linked and approved", None, "GET /wallet/own/status")
_MARKETS = NextStep("Read the allowed targets and markets", "markets_list", "GET /wallet/markets")


def _registry(*kinds: Kind) -> Mapping[str, Kind]:
    by_code = {k.code: k for k in kinds}
    if len(by_code) != len(kinds):
        raise ValueError("a refusal code is declared twice")
    return MappingProxyType(by_code)


REFUSALS: Final = _registry(
    Kind(
        "invalid_request",
        400,
        "agent",
        False,
        "The request does not have the form this operation takes.",
        (NextStep("Correct the named fields"),),
    ),
    Kind(
        "invalid_number",
        400,
        "agent",
        False,
        "{value} is not an amount: {why}.",
        (NextStep("Send a decimal string with at most 6 decimals, within ±1e12"),),
    ),
    Kind(
        "secret_not_accepted",
        400,
        "agent",
        False,
        "The field {field} looks like a secret. This service takes none.",
        (NextStep("Send the request without it, and rotate that secret"),),
    ),
    Kind(
        "invalid_address",
        400,
        "agent",
        False,
        "{value} is not an address: {why}.",
        (NextStep("Send a 20-byte 0x address, in lower case or with its EIP-55 checksum"),),
    ),
    Kind("invalid_signature", 400, "owner", False, "The signature does not prove that {signer} signed: {why}.", (_TERMS,)),
    Kind("unauthenticated", 401, "agent", False, "This operation needs {needs}.", (_SEND_KEY, _SIGN_IN)),
    Kind(
        "mandate_budget_exceeded",
        402,
        "owner",
        False,
        "The read costs {cost} credits, {remaining_credits} of today's {budget} are left.",
        (_WAIT,),
    ),
    Kind("forbidden", 403, "agent", False, "Your role may not do this: {why}."),
    Kind("door_off", 404, "operator", False, "The bot door is off.", (NextStep("Ask the operator to open the door"),)),
    Kind("not_found", 404, "agent", False, "There is no {what} here that you may see.", (_LIST_MANDATES,)),
    Kind(
        "method_not_allowed",
        405,
        "agent",
        False,
        "{method} is not a method of this path.",
        (NextStep("Use one of the methods in the Allow header"),),
    ),
    Kind("conflict", 409, "agent", False, "{why}", (_READ_MANDATE,)),
    Kind(
        "mandate_signed",
        409,
        "owner",
        False,
        "The mandate is {status}; its terms no longer change.",
        (NextStep("Create a new mandate", None, "POST /wallet/mandates"),),
    ),
    Kind(
        "wrong_status",
        409,
        "owner",
        False,
        "The mandate is {status}; {action} is not possible from there.",
        (_READ_MANDATE,),
    ),
    Kind("not_paused", 409, "owner", False, "The mandate is not paused.", (_READ_MANDATE,)),
    Kind(
        "duplicate_transfer",
        409,
        "agent",
        False,
        "A transfer with hash {tx_hash} on chain {chain_id} is reported already.",
        (_READ_BALANCES,),
    ),
    Kind(
        "insufficient_idle",
        409,
        "agent",
        False,
        "Idle {asset} on chain {chain_id} is {idle}, the report moves {amount}.",
        (_READ_BALANCES,),
    ),
    Kind(
        "idempotency_key_reused",
        409,
        "agent",
        False,
        "The idempotency key was used for another request.",
        (NextStep("Use a new key for a new request, the same key only to repeat the same one"),),
    ),
    Kind("idempotency_in_flight", 409, "agent", True, "The first call with this idempotency key still runs.", (_WAIT,)),
    Kind(
        "mandate_not_accepted",
        409,
        "agent",
        False,
        "The mandate is not accepted yet.",
        (NextStep("Accept the mandate", "mandate_accept", "POST /wallet/mandates/{public_id}/accept"),),
    ),
    Kind(
        "mandate_paused",
        409,
        "owner",
        False,
        "The owner has paused the mandate.",
        (NextStep("Ask the owner to resume", None, "GET /wallet/mandates/{public_id}/resume-call"), _READ_MANDATE),
    ),
    Kind("mandate_stopped", 409, "nobody", False, "The mandate is stopped; a stop is final.", (_READ_MANDATE,)),
    Kind("mandate_ended", 409, "nobody", False, "The mandate ended at {ends_at}.", (_READ_MANDATE,)),
    Kind(
        "target_not_allowed",
        409,
        "owner",
        False,
        "{target} with selector {selector} is not among the allowed targets.",
        (_MARKETS, _READ_MANDATE),
    ),
    Kind(
        "over_per_tx_cap",
        409,
        "agent",
        False,
        "The action asks {attempted}, the cap per action is {allowed}{bound_by}.",
        (_SMALLER,),
    ),
    Kind(
        "over_daily_cap",
        409,
        "agent",
        False,
        "The action asks {attempted}, {used} of today's {allowed} are used or reserved{bound_by}.",
        (_SMALLER, _WAIT),
    ),
    Kind("over_budget", 409, "agent", False, "{attempted} is above what the budget leaves: {allowed}.", (_READ_MANDATE,)),
    Kind(
        "below_stop_line",
        409,
        "owner",
        False,
        "Worth {worth} stands at or below the stop line {floor}.",
        (_READ_MANDATE,),
    ),
    Kind("owner_declined", 409, "owner", False, "The owner declined this action.", (_APPROVALS, _WAIT)),
    Kind(
        "approval_expired",
        409,
        "agent",
        False,
        "The approval {approval_id} is no longer good.",
        (NextStep("Ask execute-call again without approval_id", "mandate_execute_call"),),
    ),
    Kind("terms_expired", 409, "owner", False, "The terms were asked for more than 24 hours ago.", (_TERMS,)),
    Kind(
        "withdraw_locked",
        409,
        "nobody",
        False,
        "Open positions hold the withdrawal back until {until} at the latest.",
        (NextStep("Unwind the open positions", None, "GET /wallet/mandates/{public_id}/unwind-call"),),
    ),
    Kind(
        "vault_mismatch",
        409,
        "owner",
        False,
        "The transaction does not belong to this mandate's vault: {why}.",
        (NextStep("Send the transaction that the call of this mandate made"),),
    ),
    Kind(
        "not_configured",
        409,
        "operator",
        False,
        "{what} is not configured here.",
        (NextStep("Ask the operator; `wallet doctor` names the setting"),),
    ),
    Kind(
        "agent_not_accepting",
        409,
        "owner",
        False,
        "The agent's policy does not accept mandates.",
        (NextStep("Set accepts_mandates in its policy", None, "PUT /wallet/agents/{agent_id}/policy"),),
    ),
    Kind("not_linked", 409, "owner", False, "No own account is linked to you: {why}.", (_LINK,)),
    Kind(
        "already_linked",
        409,
        "owner",
        False,
        "{why}",
        (NextStep("Ask the operator, who alone moves a link"), _OWN_STATUS),
    ),
    Kind(
        "terms_changed",
        409,
        "owner",
        False,
        "The terms are version {version} now, not the ones that were named.",
        (NextStep("Read the terms again", None, "GET /wallet/own/terms"),),
    ),
    Kind("challenge_spent", 409, "owner", False, "The link challenge was used or is too old; each can be tried once.", (_LINK,)),
    Kind(
        "not_own_account",
        409,
        "owner",
        False,
        "The address is {what} at the venue, no account of a person's own.",
        (NextStep("Link the wallet that owns the account"), _LINK),
    ),
    Kind(
        "agent_slots_full",
        409,
        "owner",
        False,
        "The account has as many named agents as the venue allows.",
        (NextStep("Revoke one at the venue, then approve the order key again"), _OWN_STATUS),
    ),
    Kind(
        "account_unfunded",
        409,
        "owner",
        False,
        "The venue does not know the account before its first deposit.",
        (NextStep("Deposit at the venue, then approve the order key again"), _OWN_STATUS),
    ),
    Kind("body_too_large", 413, "agent", False, "The body is larger than {limit} bytes.", (NextStep("Send less"),)),
    Kind("rate_limited", 429, "agent", True, "{why}", (_WAIT,)),
    Kind(
        "internal",
        500,
        "operator",
        False,
        "Something failed inside the service. The request id finds it in the log.",
        (_RECONCILE,),
    ),
    Kind("chain_unavailable", 503, "operator", True, "Chain {chain_id} gives no usable answer: {why}.", (_WAIT,)),
    Kind("venue_unavailable", 503, "venue", True, "The venue gives no usable answer: {why}.", (_WAIT,)),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal as it leaves the service.

    Source: spec 7 and contract 1 (refusal block). `remaining` and `retry_at` appear where they mean something.
    """

    kind: Kind
    reason: str
    remaining: Mapping[str, Any] | None = None
    retry_at: datetime | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    next: tuple[NextStep, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Shape: the refusal block of contract 1."""
        block: dict[str, Any] = {
            "error": self.kind.code,
            "reason": self.reason,
            "retry_safe": self.kind.retry_safe,
            "who_fixes": self.kind.who_fixes,
            "next": [n.as_json() for n in (*self.next, *self.kind.next)],
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
    """Formats a sentence; a value nobody gave is a mistake of ours and shows as such in the tests."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return kwargs[key] if key in kwargs else args[key] if isinstance(key, int) else _missing(str(key))


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
    **words: Any,
) -> Refusal:
    """Make the refusal `code`; `words` fill its sentence and are repeated in `detail` where they are facts.

    Errors: KeyError for a code that is not in the registry, or a sentence left with a hole.
    """
    kind = REFUSALS[code]
    return Refusal(kind, _Known().format(kind.sentence, **words), remaining, retry_at, detail or {}, next)


def invalid(loc: str, msg: str, *others: tuple[str, str]) -> Refused:
    """The refusal `invalid_request` for a field, and for `others` (contract 1)."""
    fields = [{"loc": where, "msg": why} for where, why in ((loc, msg), *others)]
    return Refused(refusal("invalid_request", detail={"fields": fields}))


def with_detail(refused: Refused, **detail: Any) -> Refused:
    """Return the same refusal with more detail."""
    return Refused(replace(refused.refusal, detail={**refused.refusal.detail, **detail}))
