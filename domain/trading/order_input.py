"""Order input: parses a raw request into an order, or into the field that is wrong.

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
from domain.text import text_problem
from domain.trading.modes import Mode
from domain.trading.order_gate import FieldProblem
from domain.trading.orders import OrderType, Side, SignMode, Tif

MAX_WHY_CHARS: Final = 500
SLIPPAGE_BPS: Final = 50
_PRODUCT: Final = re.compile(r"([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}")
_FIGURE: Final = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,8})?")
_AMOUNT: Final = re.compile(r"(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?")
_ID: Final = re.compile(r"[A-Za-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRequest:
    """An order as requested. Units: `amount` USDC; one of it and `size` is set."""

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
class CloseRequest:
    """A close as requested; of the whole position where neither fraction nor size is given."""

    product: str
    mode_seen: Mode
    book: str | None
    fraction: Decimal
    size: Decimal | None
    slippage_bps: int


class _FieldError(Exception):
    def __init__(self, name: str, rule: str):
        super().__init__(name)
        self.fault = FieldProblem(field=name, rule=rule)


def parse_order(
    request: Mapping[str, object], *, mode_required: bool
) -> OrderRequest | FieldProblem:
    """Read an order; the first wrong field in their order where several are."""
    try:
        return _parse_order(request, mode_required)
    except _FieldError as wrong:
        return wrong.fault


def parse_close(request: Mapping[str, object], slippage_bps: int) -> CloseRequest | FieldProblem:
    """Read a close; `slippage_bps` is the default and the maximum."""
    try:
        mode = cast("Mode", _choice(request, "mode_seen", ("paper", "live")))
        book, size, part = _id(request, "book"), _figure(request, "size"), _part(request)
        if book is not None and mode == "live":
            raise _FieldError("book", "a book is paper")
        if size is not None and part is not None:
            raise _FieldError("size", "a size or a fraction, not both")
        bps = _parse_bps(request, "slippage_bps", slippage_bps)
        return CloseRequest(
            product=_product(request),
            mode_seen=mode,
            book=book,
            fraction=Decimal(1) if part is None else part,
            size=size,
            slippage_bps=slippage_bps if bps is None else bps,
        )
    except _FieldError as wrong:
        return wrong.fault


def _parse_order(request: Mapping[str, object], mode_required: bool) -> OrderRequest:
    product = _product(request)
    side = cast("Side", _choice(request, "side", ("buy", "sell")))
    kind = cast("OrderType", _choice(request, "type", ("market", "limit")))
    size, amount = _figure(request, "size"), _usdc(request, "notional_usdc")
    if (size is None) == (amount is None):
        raise _FieldError("size", "a size or a notional, one of the two")
    book = _id(request, "book")
    mode = _optional_choice(request, "mode_seen", ("paper", "live"))
    if mode is None and mode_required:
        raise _FieldError("mode_seen", "paper or live: what the screen showed")
    if book is not None and mode == "live":
        raise _FieldError("book", "a book is paper")
    limit_px, tif, bps = _limits(request, kind)
    return OrderRequest(
        product=product,
        side=side,
        type=kind,
        size=size,
        amount=amount,
        limit_px=limit_px,
        tif=tif,
        slippage_bps=bps,
        reduce_only=_flag(request, "reduce_only"),
        book=book,
        sign_mode=cast(
            "SignMode | None", _optional_choice(request, "sign_mode", ("none", "client"))
        ),
        mode_seen=cast("Mode | None", mode),
        mandate_id=_id(request, "mandate_id"),
        intent_id=_id(request, "intent_id"),
        why=_why_text(request),
    )


def _limits(
    request: Mapping[str, object], kind: OrderType
) -> tuple[Decimal | None, Tif, int | None]:
    """Limit price, time in force and slippage, as the type of the order has them."""
    limit_px = _figure(request, "limit_px")
    tif = cast("Tif", _optional_choice(request, "tif", ("ioc", "gtc", "alo")) or "ioc")
    bps = _parse_bps(request, "slippage_bps", 10_000)
    if kind == "limit":
        if limit_px is None:
            raise _FieldError("limit_px", "a limit order has a limit price")
        if bps is not None:
            raise _FieldError("slippage_bps", "only a market order has it")
        return limit_px, tif, None
    if limit_px is not None:
        raise _FieldError("limit_px", "a market order has none")
    if tif != "ioc":
        raise _FieldError("tif", "a market order is ioc")
    return None, tif, SLIPPAGE_BPS if bps is None else bps


def _product(request: Mapping[str, object]) -> str:
    raw = request.get("product")
    if not isinstance(raw, str) or not _PRODUCT.fullmatch(raw):
        raise _FieldError("product", "a name of the products")
    return raw


def _choice(request: Mapping[str, object], name: str, options: tuple[str, ...]) -> str:
    option = _optional_choice(request, name, options)
    if option is None:
        raise _FieldError(name, " or ".join(options))
    return option


def _optional_choice(
    request: Mapping[str, object], name: str, options: tuple[str, ...]
) -> str | None:
    raw = request.get(name)
    if raw is not None and raw not in options:
        raise _FieldError(name, " or ".join(options))
    return raw


def _figure(request: Mapping[str, object], name: str) -> Decimal | None:
    raw = request.get(name)
    if raw is None:
        return None
    if not isinstance(raw, str) or not _FIGURE.fullmatch(raw) or not Decimal(raw):
        raise _FieldError(name, "a plain decimal string above zero, at most 8 decimals")
    return Decimal(raw)


def _usdc(request: Mapping[str, object], name: str) -> Usdc | None:
    raw = request.get(name)
    if raw is None:
        return None
    if not isinstance(raw, str) or not _AMOUNT.fullmatch(raw) or not Decimal(raw):
        raise _FieldError(name, "USDC as a plain decimal string above zero, at most 6 decimals")
    try:
        return Usdc.parse(raw)
    except Refused:
        raise _FieldError(name, "an amount of USDC that there can be") from None


def limit_of(name: str, raw: Any) -> Usdc | FieldProblem | None:
    """A limit to set: None to keep the stored one, 0 to stop new orders."""
    if raw is None:
        return None
    if isinstance(raw, str) and _AMOUNT.fullmatch(raw):
        try:
            return Usdc.parse(raw)
        except Refused:
            pass
    return FieldProblem(
        field=name, rule="USDC as a plain decimal string from 0, at most 6 decimals"
    )


def _part(request: Mapping[str, object]) -> Decimal | None:
    raw = request.get("fraction")
    if raw is None:
        return None
    text = str(raw) if type(raw) is int else raw
    if not isinstance(text, str) or not _FIGURE.fullmatch(text) or not 0 < Decimal(text) <= 1:
        raise _FieldError("fraction", "a decimal string above 0, at most 1")
    return Decimal(text)


def _parse_bps(request: Mapping[str, object], name: str, limit: int) -> int | None:
    raw = request.get(name)
    if raw is None:
        return None
    if type(raw) is not int or not 0 <= raw <= limit:
        raise _FieldError(name, f"a whole number of basis points, at most {limit}")
    return raw


def _flag(request: Mapping[str, object], name: str) -> bool:
    raw = request.get(name)
    if raw is not None and not isinstance(raw, bool):
        raise _FieldError(name, "true or false")
    return bool(raw)


def _id(request: Mapping[str, object], name: str) -> str | None:
    raw = request.get(name)
    if raw is not None and (not isinstance(raw, str) or not _ID.fullmatch(raw)):
        raise _FieldError(name, "an id that was given out here")
    return raw


def _why_text(request: Mapping[str, object]) -> str | None:
    raw = request.get("why")
    if raw is None:
        return None
    if not isinstance(raw, str) or len(raw) > MAX_WHY_CHARS or text_problem(raw, lines=True):
        raise _FieldError("why", f"at most {MAX_WHY_CHARS} legible characters")
    return raw
