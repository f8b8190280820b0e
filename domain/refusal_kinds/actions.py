"""Refusal kinds of actions: reasons not to hand out an agent's calldata."""

from __future__ import annotations

from typing import Final

from domain.next_steps import AGENT, OWNER, OWNER_OR_AGENT, WAIT, NextStep
from domain.refusal_kinds.kind import READ_MANDATE, kind

SMALLER = NextStep(
    "Ask again with an amount within remaining",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
    needs_rest=True,
)
_READ_LIMITS = NextStep(
    "Read what is left", "mandate_limits", "GET /wallet/mandates/{public_id}/limits", OWNER_OR_AGENT
)
FIX_THE_CALL = NextStep(
    "Fix the call: see detail.revert; test it with dry_run=true",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)
ASK_ANEW = NextStep(
    "Ask execute-call again without approval_id",
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
_TARGETS = NextStep(
    "Read mandate.allowed_targets with parts=mandate",
    "mandate_get",
    "GET /wallet/mandates/{public_id}",
    OWNER_OR_AGENT,
)
_MARKETS = NextStep("Read the markets", "markets_list", "GET /wallet/markets")

_FUND = NextStep(
    "Put detail.fund.amount_usdc or more into the purse, with action detail.fund, and ask again",
    "mandate_act",
    "POST /wallet/mandates/{public_id}/act",
    AGENT,
)
_FUND_CALL = NextStep(
    "Or ask for that calldata by purse=fund and amount_usdc, and sign and send it yourself",
    "mandate_execute_call",
    "GET /wallet/mandates/{public_id}/execute-call",
    AGENT,
)

KINDS: Final = (
    kind("target_not_allowed", 409, "owner", _TARGETS, _MARKETS).says(
        "{target} with selector {selector} {why}."
    ),
    kind("over_per_tx_cap", 409, "agent", SMALLER, _READ_LIMITS).says(
        "{attempted:usdc} is above the limit per action, {allowed:usdc}{bound_by}."
    ),
    kind("over_daily_cap", 409, "agent", SMALLER, WAIT).says(
        "{attempted:usdc} is more than today leaves: {used:usdc} of {allowed:usdc} are used or "
        "reserved{bound_by}."
    ),
    kind("over_per_payment", 409, "agent", READ_MANDATE).says(
        "The payment is {attempted:usdc}; the most of one payment is {allowed:usdc}, by {bound_by}."
    ),
    kind("payee_not_allowed", 409, "owner", _TARGETS).says("{payee} {why}."),
    kind("purse_low", 409, "agent", _FUND, _FUND_CALL, retry_safe=True).says(
        "The purse has {balance:usdc}, and open bills wait for {reserved:usdc} of it; the payment "
        "is {attempted:usdc}."
    ),
    kind("over_budget", 409, "agent", _READ_LIMITS).says(
        "{attempted:usdc} is more than the budget leaves, {allowed:usdc}."
    ),
    kind("below_stop_line", 409, "owner", READ_MANDATE).says(
        "The vault's value, {worth:usdc}, is below its stop line of {floor:usdc}."
    ),
    kind(
        "no_recipe",
        409,
        "agent",
        NextStep(
            'Give the call itself: action {kind: "call", target, data, approve_amount}',
            "mandate_act",
            "POST /wallet/mandates/{public_id}/act",
            AGENT,
            needs_rest=True,
        ),
        _MARKETS,
    ).says("The market {market} has no recipe to {way} it by name."),
    kind("no_position", 409, "agent", READ_MANDATE, retry_safe=True).says(
        "The vault holds nothing in market {market}."
    ),
    kind(
        "gas_needed",
        409,
        "owner",
        NextStep("Send detail.amount_wei of the chain's own coin to detail.address, and repeat"),
        retry_safe=True,
    ).says(
        "{address} holds too little of the coin of chain {chain_id} to pay for gas: {amount_wei} "
        "wei are missing."
    ),
    kind("signer_refused", 409, "operator", READ_MANDATE).says(
        "The signer does not sign this call: {why}."
    ),
    kind("would_revert", 409, "agent", FIX_THE_CALL, READ_MANDATE, retry_safe=True).says(
        "This call would fail now: {why}."
    ),
    kind(
        "signature_needed",
        409,
        "owner",
        NextStep(
            "Sign detail.typed_data with the owner's wallet, and decide with signature", by=OWNER
        ),
        _APPROVALS,
    ).says(
        "The vault takes this action with the owner's signature alone: sign detail.typed_data "
        "(EIP-712) and send it as signature."
    ),
    kind("owner_declined", 409, "owner", _APPROVALS, WAIT).says("The owner declined this action."),
    kind(
        "approval_expired",
        409,
        "agent",
        ASK_ANEW,
    ).says("The approval {approval_id} has expired."),
)
