"""Refusal kinds of orders: 13, in the order in which they are checked (trading 2)."""

from __future__ import annotations

from typing import Final

from domain.next_steps import OPERATOR, OWNER, OWNER_OR_AGENT, WAIT, NextStep
from domain.refusal_kinds.kind import RefusalKind

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
    RefusalKind(
        code="wallet_rate_limited",
        status=429,
        who_fixes="nobody",
        retry_safe=True,
        sentence="More than {limit} orders and closes in one {span}.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="wallet_invalid_order",
        status=422,
        who_fixes="owner",
        retry_safe=False,
        sentence="The order cannot be taken: {field}: {rule}.",
        next=(NextStep("Correct the field that remaining names"), _PRODUCTS),
        caller_fixes=True,
    ),
    RefusalKind(
        code="wallet_live_off",
        status=403,
        who_fixes="operator",
        retry_safe=False,
        sentence="Live orders are off here: the {switch} switch is shut.",
        next=(NextStep("Read the switches", None, "GET /wallet/admin/switches", OPERATOR),),
    ),
    RefusalKind(
        code="wallet_not_allowlisted",
        status=403,
        who_fixes="operator",
        retry_safe=False,
        sentence="Neither the person nor the linked wallet is on the list of those who trade live.",
        next=(_STATUS,),
    ),
    RefusalKind(
        code="wallet_mode_changed",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The order was meant for {seen}, and orders are {mode} now. Nothing was sent.",
        next=(NextStep("Reload, and decide again with the mode that is shown"), _STATUS),
        caller_fixes=True,
    ),
    RefusalKind(
        code="wallet_not_ready",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="The account cannot trade live yet: {why}.",
        next=(_OWN, _STATUS),
    ),
    RefusalKind(
        code="wallet_over_cap",
        status=403,
        who_fixes="owner",
        retry_safe=False,
        sentence="{attempted} is above the {cap} limit of {limit}; {used} of it is used.",
        next=(
            NextStep("Ask again for no more than remaining", needs_rest=True),
            _STATUS,
        ),
        caller_fixes=True,
    ),
    RefusalKind(
        code="wallet_limit_raise",
        status=409,
        who_fixes="operator",
        retry_safe=False,
        sentence="Limits are only lowered here: {field} stands at {limit}.",
        next=(_CAP,),
    ),
    RefusalKind(
        code="wallet_no_position",
        status=409,
        who_fixes="owner",
        retry_safe=False,
        sentence="There is nothing of {product} to close by that much.",
        next=(_POSITIONS, _STATUS),
        caller_fixes=True,
    ),
    RefusalKind(
        code="wallet_signature_invalid",
        status=422,
        who_fixes="owner",
        retry_safe=False,
        sentence="The signature is not good for this order: {why}. Nothing was sent.",
        next=(
            NextStep("Prepare or open the order again, and sign what it gives", by=OWNER),
            _STATUS,
        ),
    ),
    RefusalKind(
        code="wallet_venue_rejected",
        status=422,
        who_fixes="owner",
        retry_safe=False,
        sentence="The venue refused: {words}",
        next=(NextStep("Prepare a new order that minds what the venue said"), _STATUS),
        caller_fixes=True,
    ),
    RefusalKind(
        code="wallet_venue_unavailable",
        status=503,
        who_fixes="venue",
        retry_safe=True,
        sentence="The venue gives no fresh answer ({why}); nothing was sent.",
        next=(WAIT,),
    ),
    RefusalKind(
        code="wallet_outcome_unknown",
        status=504,
        who_fixes="nobody",
        retry_safe=False,
        sentence="Order {order_id} was sent, and the venue has not said what became of it.",
        next=(_ORDER,),
    ),
)
