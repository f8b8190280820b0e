"""Reduce order: the order with which the keeper closes a position."""

from __future__ import annotations

from datetime import datetime

from domain.money import ZERO
from domain.trading.orders import Envelope, Order, OrderAction
from domain.trading.precision import notional
from domain.trading.stop_line import CLOSE_VALID_FOR, LADDER_BPS, ReduceOrder
from tools.trading.orders.submit import LEFT_BEHIND
from tools.trading.stop_line.tracked_mandate import TrackedMandate


def close_action(cut: ReduceOrder, cloid: str) -> OrderAction:
    """A reduce-only, immediate order without a builder fee: a close never needs one."""
    return OrderAction(
        asset_id=cut.asset_id,
        is_buy=cut.is_buy,
        limit_px=cut.limit_px,
        size=cut.size,
        reduce_only=True,
        tif="ioc",
        cloid=cloid,
    )


def close_order(
    w: TrackedMandate,
    cut: ReduceOrder,
    action: OrderAction,
    envelope: Envelope,
    now: datetime,
    *,
    order_id: str,
    episode: int,
    attempt: int,
) -> Order:
    """The order as it is put on record before it is sent."""
    return Order(
        order_id=order_id,
        owner_id=w.mandate.owner_id,
        agent_id=None,
        source="keeper",
        closing=True,
        mode="live",
        mode_seen=None,
        network=w.link.network,
        wallet=w.link.wallet,
        book=None,
        product=cut.coin,
        side="buy" if cut.is_buy else "sell",
        type="market",
        slippage_bps=LADDER_BPS[cut.rung],
        leverage=None,
        notional=notional(cut.size, cut.limit_px),
        action=action,
        envelope=envelope,
        sign_mode="keeper",
        status="executing",
        version=1,
        attempt=attempt + 1,
        by="keeper",
        mandate_id=w.mandate.public_id,
        intent_id=None,
        why="the stop line",
        asked={"episode": episode, "rung": cut.rung},
        created_at=now,
        expires_at=now + CLOSE_VALID_FOR,
        counted=ZERO,
        counted_day=None,
        sent_at=now,
        next_check_at=now + LEFT_BEHIND,
    )
