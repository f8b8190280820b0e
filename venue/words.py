"""Refusal sentences of the venue, and their kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import orjson

from domain.text import escape_unfit

# The sentences often end in ` asset=N`, an amount or an address, so they are known by how they
# begin.
_KINDS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"price must be divisible by tick size", "tick"),
        (r"order must have minimum value", "min_notional"),
        (r"insufficient (spot )?(margin|balance)", "margin"),
        (r"reduce only order would increase", "reduce_only"),
        (r"post only order would have immediately matched", "post_only"),
        (r"only post-only orders allowed", "post_only_phase"),
        (r"order could not immediately match|no liquidity available", "no_liquidity"),
        (r"order price (cannot be more than|too far)", "price_band"),
        (r"order has (invalid (size|price)|zero size)", "size"),
        (r"builder fee has not been approved", "builder"),
        (r"user or api wallet .* does not exist", "signer"),
        (r"must deposit before performing actions", "unfunded"),
        (r"invalid nonce: duplicate nonce", "duplicate_nonce"),
        (r"invalid nonce", "nonce"),
        (r"too many cumulative requests", "address_rate"),
        (r"action already expired", "expired"),
        (r"too many extra agents", "agent_slots"),
        (r"extra agent already used", "agent_used"),
        (r"agent valid_until already expired", "agent_valid_until"),
        (r"user has pending agent removal", "agent_removal"),
        (r".*open interest", "oi_cap"),
        (r"order was never placed, already canceled, or filled", "no_order"),
    )
)


OTHER: Final = "other"
MAX_TEXT: Final = 500


def kind_of(sentence: str) -> str:
    """Classify a refusal sentence; `other` for an unknown one."""
    return next((kind for pattern, kind in _KINDS if pattern.match(sentence.strip())), OTHER)


def readable(sentence: str) -> str:
    """Sanitise the venue's text for display: bounded, without invisible characters."""
    return escape_unfit(sentence[:MAX_TEXT])[:MAX_TEXT]


def parse_answer(raw: bytes) -> str | Mapping[str, object] | None:
    """The refusal sentence, or the response of an accepted action; None for another form."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict):
        return None
    status, response = body.get("status"), body.get("response")
    if status == "err" and isinstance(response, str):
        return response
    return response if status == "ok" and isinstance(response, dict) else None


# Order statuses (the venue's reference); another one is neither final nor filled.
_CANCELED: Final = """margin vaultWithdrawal openInterestCap selfTrade reduceOnly siblingFilled
    delisted liquidated outcomeSettled"""
_REJECTED: Final = """tick minTradeNtl perpMargin reduceOnly badAloPx iocCancel badTriggerPx
    marketOrderNoLiquidity positionIncreaseAtOpenInterestCap positionFlipAtOpenInterestCap
    tooAggressiveAtOpenInterestCap openInterestIncrease insufficientSpotBalance oracle
    perpMaxPosition tooManyOpenOrders"""
ORDER_STATUSES: Final = frozenset(
    ["open", "filled", "canceled", "triggered", "rejected", "scheduledCancel", "internalCancel"]
    + [f"{cause}Canceled" for cause in _CANCELED.split()]
    + [f"{cause}Rejected" for cause in _REJECTED.split()]
)
