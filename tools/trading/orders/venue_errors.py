"""Venue errors: maps the venue's messages for a refused order to refusals."""

from __future__ import annotations

from typing import Final

from domain.refusals import Refusal, refusal
from domain.trading.order_gate import Step, not_ready, rejected
from domain.trading.venue_values import Placed

_STEPS: Final[dict[str, Step]] = {"builder": "builder_fee", "signer": "enable", "unfunded": "fund"}


def refusal_for(placed: Placed) -> Refusal:
    """The refusal for what the venue refused. Some of its words say what the account lacks."""
    kind, words = placed.kind or "other", placed.words or "it gave no words"
    if kind in _STEPS:
        return not_ready(_STEPS[kind], {"venue": words})
    if kind == "reduce_only":
        return refusal("wallet_no_position", detail={"venue": words}, product="that product")
    if kind in ("nonce", "expired"):
        why = "the venue does not take its nonce or its time any more"
        return refusal("wallet_signature_invalid", detail={"venue": words}, why=why)
    return rejected(words, kind)


def kind_of(status: str) -> str:
    """Our class of a status that is a refusal."""
    known = {
        "iocCancelRejected": "no_liquidity",
        "marketOrderNoLiquidityRejected": "no_liquidity",
        "perpMarginRejected": "margin",
        "oracleRejected": "price_band",
        "badAloPxRejected": "post_only",
        "minTradeNtlRejected": "min_notional",
        "tickRejected": "tick",
    }
    return known.get(status, "oi_cap" if "OpenInterest" in status else "other")
