"""Refusal kinds of orders: 13, in the order in which they are checked (trading 2)."""

from __future__ import annotations

from typing import Final

from domain.next_steps import OPERATOR, OWNER, OWNER_OR_AGENT, WAIT, NextStep
from domain.refusal_kinds.kind import kind

_PRODUCTS = NextStep("Read the products", "trade_products", "GET /app/trade/products")
_STATUS = NextStep(
    "Read whether orders go through, and what stands in the way",
    "agent_status",
    "GET /wallet/agent/status",
    OWNER_OR_AGENT,
)
_OWN = NextStep("Read what is linked and approved", None, "GET /wallet/own/status", OWNER)
_CAP = NextStep("Read the caps and what is used of them", None, "GET /app/trade/me", OWNER)
_ORDER = NextStep(
    "Read the order; do not send it again",
    "order_pending",
    "GET /wallet/order/pending",
    OWNER_OR_AGENT,
)
_POSITIONS = NextStep("Read your positions", None, "GET /app/trade/positions", OWNER)

KINDS: Final = (
    kind("wallet_rate_limited", 429, "nobody", WAIT, retry_safe=True).says(
        "More than {limit} orders and closes in one {span}."
    ),
    kind(
        "wallet_invalid_order",
        422,
        "owner",
        NextStep("Correct the field that remaining names"),
        _PRODUCTS,
        caller_fixes=True,
    ).says("The order cannot be taken: {field}: {rule}."),
    kind(
        "wallet_live_off",
        403,
        "operator",
        NextStep("Read the switches", None, "GET /wallet/admin/switches", OPERATOR),
    ).says("Live orders are off here: the {switch} switch is shut."),
    kind("wallet_not_allowlisted", 403, "operator", _STATUS).says(
        "Neither the person nor the linked wallet is on the list of those who trade live."
    ),
    kind(
        "wallet_mode_changed",
        409,
        "owner",
        NextStep("Reload, and decide again with the mode that is shown"),
        _STATUS,
        caller_fixes=True,
    ).says("The order was meant for {seen}, and orders are {mode} now. Nothing was sent."),
    kind("wallet_not_ready", 409, "owner", _OWN, _STATUS).says(
        "The account cannot trade live yet: {why}."
    ),
    kind(
        "wallet_over_cap",
        403,
        "owner",
        NextStep("Ask again for no more than remaining", needs_rest=True),
        _STATUS,
        caller_fixes=True,
    ).says(
        "The order is worth {attempted:usdc}; the {cap} limit is {limit:usdc}, and {used:usdc} of "
        "it is used."
    ),
    kind("wallet_limit_raise", 409, "operator", _CAP).says(
        "Limits are only lowered here: {field} stands at {limit:usdc}."
    ),
    kind("wallet_no_position", 409, "owner", _POSITIONS, _STATUS, caller_fixes=True).says(
        "There is nothing of {product} to close by that much."
    ),
    kind(
        "wallet_signature_invalid",
        422,
        "owner",
        NextStep("Prepare or open the order again, and sign what it gives", by=OWNER),
        _STATUS,
    ).says("The signature is not good for this order: {why}. Nothing was sent."),
    kind(
        "wallet_venue_rejected",
        422,
        "owner",
        NextStep("Prepare a new order that minds what the venue said"),
        _STATUS,
        caller_fixes=True,
    ).says("The venue refused: {words}"),
    kind("wallet_venue_unavailable", 503, "venue", WAIT, retry_safe=True).says(
        "The venue did not answer in time ({why}). Nothing was sent."
    ),
    kind("wallet_outcome_unknown", 504, "nobody", _ORDER).says(
        "Order {order_id} was sent, and the venue has not said what happened."
    ),
)
