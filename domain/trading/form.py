"""From what somebody sent to the order that he wants, or to the field that is wrong.

Every field takes any JSON value here, so that a wrong one is refused as an order is (trading 00.5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, cast

from domain.money import Usdc
from domain.refusals import Refused
from domain.text import unfit
from domain.trading.gate import Fault
from domain.trading.modes import Mode
from domain.trading.orders import OrderType, Side, SignMode, Tif

WHY_AT_MOST: Final = 500
SLIPPAGE_BPS: Final = 50
_PRODUCT: Final = re.compile(r"([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}")
_FIGURE: Final = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,8})?")
_AMOUNT: Final = re.compile(r"(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?")
_ID: Final = re.compile(r"[A-Za-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An order as it was asked for. Units: `amount` USDC; one of it and `size` is set."""

    product: str
    side: Side
    type: OrderType
    size: Decimal | None
    amount: Usdc | None
    limit_px: Decimal | None
    tif: Tif
    slippage_bps: int | None
    reduce_only: bool
    book: str | None
    sign_mode: SignMode | None
    mode_seen: Mode | None
    mandate_id: str | None
    intent_id: str | None
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedClose:
    """A close as it was asked for; of the whole position where neither part nor size is told."""

    product: str
    mode_seen: Mode
    book: str | None
    fraction: Decimal
    size: Decimal | None
    slippage_bps: int


class _Wrong(Exception):
    def __init__(self, name: str, rule: str):
        super().__init__(name)
        self.fault = Fault(field=name, rule=rule)


def wanted(asked: Mapping[str, object], *, seen_required: bool) -> Wanted | Fault:
    """Read an order; the first wrong field in their order where several are."""
    try:
        return _wanted(asked, seen_required)
    except _Wrong as wrong:
        return wrong.fault


def wanted_close(asked: Mapping[str, object], slippage_bps: int) -> WantedClose | Fault:
    """Read a close; `slippage_bps` is what is taken where none is told, and the most."""
    try:
        mode = cast("Mode", _one_of(asked, "mode_seen", ("paper", "live")))
        book, size, part = _id(asked, "book"), _figure(asked, "size"), _part(asked)
        if book is not None and mode == "live":
            raise _Wrong("book", "a book is paper")
        if size is not None and part is not None:
            raise _Wrong("size", "a size or a fraction, not both")
        bps = _whole(asked, "slippage_bps", slippage_bps)
        return WantedClose(
            product=_product(asked),
            mode_seen=mode,
            book=book,
            fraction=Decimal(1) if part is None else part,
            size=size,
            slippage_bps=slippage_bps if bps is None else bps,
        )
    except _Wrong as wrong:
        return wrong.fault


def _wanted(asked: Mapping[str, object], seen_required: bool) -> Wanted:
    product = _product(asked)
    side = cast("Side", _one_of(asked, "side", ("buy", "sell")))
    kind = cast("OrderType", _one_of(asked, "type", ("market", "limit")))
    size, amount = _figure(asked, "size"), _usdc(asked, "notional_usdc")
    if (size is None) == (amount is None):
        raise _Wrong("size", "a size or a notional, one of the two")
    book = _id(asked, "book")
    seen = _may_be(asked, "mode_seen", ("paper", "live"))
    if seen is None and seen_required:
        raise _Wrong("mode_seen", "paper or live: what the screen showed")
    if book is not None and seen == "live":
        raise _Wrong("book", "a book is paper")
    limit_px, tif, bps = _limits(asked, kind)
    return Wanted(
        product=product,
        side=side,
        type=kind,
        size=size,
        amount=amount,
        limit_px=limit_px,
        tif=tif,
        slippage_bps=bps,
        reduce_only=_flag(asked, "reduce_only"),
        book=book,
        sign_mode=cast("SignMode | None", _may_be(asked, "sign_mode", ("none", "client"))),
        mode_seen=cast("Mode | None", seen),
        mandate_id=_id(asked, "mandate_id"),
        intent_id=_id(asked, "intent_id"),
        why=_words(asked),
    )


def _limits(asked: Mapping[str, object], kind: OrderType) -> tuple[Decimal | None, Tif, int | None]:
    """Limit price, time in force and slippage, as the type of the order has them."""
    limit_px = _figure(asked, "limit_px")
    tif = cast("Tif", _may_be(asked, "tif", ("ioc", "gtc", "alo")) or "ioc")
    bps = _whole(asked, "slippage_bps", 10_000)
    if kind == "limit":
        if limit_px is None:
            raise _Wrong("limit_px", "a limit order has a limit price")
        if bps is not None:
            raise _Wrong("slippage_bps", "only a market order has it")
        return limit_px, tif, None
    if limit_px is not None:
        raise _Wrong("limit_px", "a market order has none")
    if tif != "ioc":
        raise _Wrong("tif", "a market order is ioc")
    return None, tif, SLIPPAGE_BPS if bps is None else bps


def _product(asked: Mapping[str, object]) -> str:
    told = asked.get("product")
    if not isinstance(told, str) or not _PRODUCT.fullmatch(told):
        raise _Wrong("product", "a name of the products")
    return told


def _one_of(asked: Mapping[str, object], name: str, words: tuple[str, ...]) -> str:
    told = _may_be(asked, name, words)
    if told is None:
        raise _Wrong(name, " or ".join(words))
    return told


def _may_be(asked: Mapping[str, object], name: str, words: tuple[str, ...]) -> str | None:
    told = asked.get(name)
    if told is not None and told not in words:
        raise _Wrong(name, " or ".join(words))
    return told


def _figure(asked: Mapping[str, object], name: str) -> Decimal | None:
    told = asked.get(name)
    if told is None:
        return None
    if not isinstance(told, str) or not _FIGURE.fullmatch(told) or not Decimal(told):
        raise _Wrong(name, "a plain decimal string above zero, at most 8 decimals")
    return Decimal(told)


def _usdc(asked: Mapping[str, object], name: str) -> Usdc | None:
    told = asked.get(name)
    if told is None:
        return None
    if not isinstance(told, str) or not _AMOUNT.fullmatch(told) or not Decimal(told):
        raise _Wrong(name, "USDC as a plain decimal string above zero, at most 6 decimals")
    try:
        return Usdc.parse(told)
    except Refused:
        raise _Wrong(name, "an amount of USDC that there can be") from None


def limit_of(name: str, told: Any) -> Usdc | Fault | None:
    """A limit that somebody sets: None where he keeps it, 0 to stop new orders."""
    if told is None:
        return None
    if isinstance(told, str) and _AMOUNT.fullmatch(told):
        try:
            return Usdc.parse(told)
        except Refused:
            pass
    return Fault(field=name, rule="USDC as a plain decimal string from 0, at most 6 decimals")


def _part(asked: Mapping[str, object]) -> Decimal | None:
    told = asked.get("fraction")
    if told is None:
        return None
    text = str(told) if type(told) is int else told
    if not isinstance(text, str) or not _FIGURE.fullmatch(text) or not 0 < Decimal(text) <= 1:
        raise _Wrong("fraction", "a decimal string above 0, at most 1")
    return Decimal(text)


def _whole(asked: Mapping[str, object], name: str, most: int) -> int | None:
    told = asked.get(name)
    if told is None:
        return None
    if type(told) is not int or not 0 <= told <= most:
        raise _Wrong(name, f"a whole number of basis points, at most {most}")
    return told


def _flag(asked: Mapping[str, object], name: str) -> bool:
    told = asked.get(name)
    if told is not None and not isinstance(told, bool):
        raise _Wrong(name, "true or false")
    return bool(told)


def _id(asked: Mapping[str, object], name: str) -> str | None:
    told = asked.get(name)
    if told is not None and (not isinstance(told, str) or not _ID.fullmatch(told)):
        raise _Wrong(name, "an id that was given out here")
    return told


def _words(asked: Mapping[str, object]) -> str | None:
    told = asked.get("why")
    if told is None:
        return None
    if not isinstance(told, str) or len(told) > WHY_AT_MOST or unfit(told, lines=True):
        raise _Wrong("why", f"at most {WHY_AT_MOST} legible characters")
    return told
