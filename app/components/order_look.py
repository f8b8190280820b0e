"""An order before it is placed: what it would cost now, and what would be left of each limit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Final

from app.replies import Json, Record
from app.words.text import _
from domain.money import MICROS, ZERO, Usdc
from domain.trading.pricing import fee_est

# What an order may be written as; anything longer is refused by the door.
_FIGURE: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")


def product_of(products: Json, name: str) -> Record | None:
    """The product of a name, with whether its prices are `stale`; None where there is none."""
    matches = (p for p in products["products"] if p["product"] == name)
    return next((Record(p, stale=products["stale"]) for p in matches), None)


def smallest_size(product: Json) -> str:
    """The least size of an order: a whole lot, and worth the least notional."""
    lot = Decimal(1).scaleb(-product["sz_decimals"])
    if product["mark_px"] is None:
        return f"{lot:f}"
    lots = Decimal(product["min_notional_usdc"]) / Decimal(product["mark_px"]) / lot
    return f"{max(Decimal(1), lots.to_integral_value(ROUND_CEILING)) * lot:f}"


def _figure(text: str | None) -> Decimal | None:
    return Decimal(text) if text is not None and _FIGURE.fullmatch(text) else None


def _price(order: Json, product: Json) -> tuple[Decimal | None, str]:
    """(the price, where it is from): its own limit, else the other side of the book."""
    if order.get("limit_px") is not None:
        return _figure(order["limit_px"]), _("your price")
    side = "ask_px" if order["side"] == "buy" else "bid_px"
    if product["stale"]:
        return None, _("the venue does not answer")
    if product[side] is not None:
        return Decimal(product[side]), _("the best price in the book")
    mark = product["mark_px"]
    return None if mark is None else Decimal(mark), _("the mark price; no book is at hand")


def _notional(order: Json, price: Decimal | None) -> Usdc | None:
    typed = _figure(order.get("notional_usdc"))
    if typed is None:
        size = _figure(order.get("size"))
        typed = None if size is None or price is None else size * price
    if typed is None:
        return None
    return Usdc(int((typed * MICROS).quantize(Decimal(1), ROUND_HALF_UP)))


def _limits(me: Json, notional: Usdc, *, is_live: bool) -> Iterable[Record]:
    """Each limit with what is left of it after the order; live and paper orders count apart."""
    use = me["used_today"]
    per_order = Usdc.parse(use["per_order"]["limit"])
    yield _limit(_("Limit per order"), per_order, per_order - notional)
    day = use["per_day"]
    limit, used = Usdc.parse(day["limit"]), Usdc.parse(use["paper"]["used"]["value"])
    if is_live:
        used = Usdc.parse(day["used"]["value"]) + Usdc.parse(day["reserved"]["value"])
    yield _limit(_("Limit per day"), limit, limit - used - notional)


def _limit(title: str, limit: Usdc, left: Usdc) -> Record:
    return Record(title=title, limit=str(limit), left=str(max(ZERO, left)), over=left < ZERO)


def look(order: Json, product: Json | None, me: Json, *, mode: str) -> Record:
    """Estimate an order at this moment's price; nothing is reserved or promised.

    `order` has `side`, `limit_px`, and `size` or `notional_usdc`; a figure that cannot be read, or
    is not known yet, is None.
    """
    if product is None:
        return Record(product=None, mode=mode)
    price, source = _price(order, product)
    notional = _notional(order, price)
    bps = Decimal(product["fee_taker_bps"]) + Decimal(product["builder_fee_bps"])
    size = _figure(order.get("size"))
    if size is None and notional is not None and price:
        lot = Decimal(1).scaleb(-product["sz_decimals"])
        size = (Decimal(notional.micros) / MICROS / price / lot).to_integral_value() * lot
    return Record(
        product=product["product"],
        mode=mode,
        side=order["side"],
        price=None if price is None else f"{price:f}",
        source=source,
        size=None if size is None else f"{size:f}",
        notional=None if notional is None else str(notional),
        fee=None if notional is None else str(fee_est(notional, bps * 10)),
        limits=() if notional is None else tuple(_limits(me, notional, is_live=mode == "live")),
    )
