"""A product and an order, as examples of their values; a test names what it is about."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from domain.money import ZERO
from domain.trading.orders import Order, OrderAction
from domain.trading.venue_values import Perp


def a_perp(coin: str = "BTC", **changes: Any) -> Perp:
    plain: dict[str, Any] = {
        "coin": coin, "dex": "", "asset_id": 0, "sz_decimals": 5, "max_leverage": 40, "margin_mode": "cross", "growth_mode": False, "collateral_token": 0,
        "delisted": False, "has_book": True, "mark_px": None, "oracle_px": None, "mid_px": None, "prev_day_px": None,
        "funding": None, "open_interest": None, "day_volume": None,
    }  # fmt: skip
    return Perp(**plain | changes)


def an_order(size: str | Decimal, cloid: str, at: datetime, **changes: Any) -> Order:
    """A live order of an owner; a negative size sells. `asset_id` and `limit_px` are its action's."""
    signed, is_buy = abs(Decimal(size)), Decimal(size) > 0
    action = OrderAction(
        asset_id=changes.pop("asset_id", 3), is_buy=is_buy, limit_px=Decimal(changes.pop("limit_px", 100)), size=signed,
        reduce_only=False, tif="ioc", cloid=cloid,
    )  # fmt: skip
    plain: dict[str, Any] = {
        "owner_id": "u_1", "agent_id": None, "source": "terminal", "closing": False, "mode": "live", "mode_seen": "live", "network": "testnet",
        "wallet": "0x1", "book": None, "product": "BTC", "side": "buy" if is_buy else "sell", "type": "market", "slippage_bps": 50, "leverage": 3,
        "notional": ZERO, "envelope": None, "sign_mode": "client", "status": "executed", "version": 1, "attempt": 1, "by": "owner", "mandate_id": None,
        "intent_id": None, "why": None, "asked": {}, "created_at": at, "expires_at": at, "counted": ZERO, "counted_day": None, "action": action,
    }  # fmt: skip
    return Order(**plain | changes)
