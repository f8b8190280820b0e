"""Refusal kinds of actions: reasons not to hand out an agent's calldata."""

from __future__ import annotations

from typing import Final

from domain.next_steps import AGENT, OWNER, OWNER_OR_AGENT, WAIT, NextStep
from domain.refusal_kinds.kind import READ_MANDATE, RefusalKind

_SMALLER = NextStep(
    "Ask again with an amount within limits.remaining",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
    needs_rest=True,
)
_READ_LIMITS = NextStep(
    "Read what is left", "mandate_limits", "GET /wallet/mandates/{public_id}/limits", OWNER_OR_AGENT
)
_AGAIN_RIGHT = NextStep(
    "Mend the call by detail.revert, and ask with dry_run=true first",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)
_APPROVALS = NextStep(
    "Read the approval items",
    "mandate_approvals",
    "GET /wallet/mandates/{public_id}/approvals",
    OWNER_OR_AGENT,
)
_MARKETS = NextStep("Read the allowed targets and markets", "markets_list", "GET /wallet/markets")

KINDS: Final = (
    RefusalKind(
        code="target_not_allowed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="{target} with selector {selector} {why}.",
        next=(_MARKETS, READ_MANDATE),
    ),
    RefusalKind(
        code="over_per_tx_cap",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The action asks {attempted}, the cap per action is {allowed}{bound_by}.",
        next=(_SMALLER, _READ_LIMITS),
    ),
    RefusalKind(
        code="over_daily_cap",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="The action asks {attempted}, {used} of today's {allowed} are used or "
        "reserved{bound_by}.",
        next=(_SMALLER, WAIT),
    ),
    RefusalKind(
        code="over_budget",
        status=409,
        who_fixes="agent",
        retry_safe=False,
        sentence="{attempted} is above what the budget leaves: {allowed}.",
        next=(_READ_LIMITS,),
    ),
    RefusalKind(
        code="below_stop_line",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="Worth {worth} stands below the stop line {floor}.",
        next=(READ_MANDATE,),
    ),
    RefusalKind(
        code="would_revert",
        status=409,
        who_fixes="agent",
        retry_safe=True,
        sentence="The chain says that the call would revert: {why}.",
        next=(_AGAIN_RIGHT, READ_MANDATE),
    ),
    RefusalKind(
        code="signature_needed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The vault takes this action with the owner's signature alone: sign "
        "detail.typed_data (EIP-712) and send it as signature.",
        next=(
            NextStep(
                "Sign detail.typed_data with the owner's wallet, and decide with signature",
                by=OWNER,
            ),
            _APPROVALS,
        ),
    ),
    RefusalKind(
        code="owner_declined",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The owner declined this action.",
        next=(_APPROVALS, WAIT),
    ),
    RefusalKind(
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
)
