"""Request models of the order routes.

A wrong field of an order is refused as an order is, and not as a malformed request (trading 00.5):
a model leaves it out, and names it with the rule that it breaks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from domain.refusals import Refused
from domain.text import text_problem
from domain.trading.modes import Mode
from domain.trading.order_gate import FieldProblem, invalid_order
from domain.trading.order_input import LIMIT_RULE, CloseRequest, OrderRequest, amount_of
from domain.trading.orders import OrderType, Side, Tif
from tools.model.operation import RequestModel
from tools.model.serialization import Schema

T = TypeVar("T")
SLIPPAGE_BPS: Final = 50
CLAIM_AT_MOST: Final = 8_192
STEP_TWO: Final = frozenset({"confirm_id", "signature"})


# -- each field: the rule that a wrong one breaks, and what is published of it


def _field(
    rule: str, kind: str | list[str], description: str, *examples: str, **more: object
) -> tuple[str, dict[str, object]]:
    named = {"examples": list(examples)} if examples else {}
    return rule, {"type": kind, "description": description, **more, **named}


def _choice(
    description: str, *options: str, examples: tuple[str, ...] = ()
) -> tuple[str, dict[str, object]]:
    return _field(" or ".join(options), "string", description, *examples, enum=list(options))


_FIGURE: Final = "a plain decimal string above zero, at most 8 decimals"
_USDC: Final = "USDC as a plain decimal string above zero, at most 6 decimals"
_BPS: Final = "a whole number of basis points, at most 10000"
_ID: Final = "an id that was given out here"
_GIVEN_OUT: Final = "the text that was given out"
_CLAIM: Final = "what the venue answered, kept as a claim; at most 8 kB"
_WHOLE: Final = "above 0, at most 1; the whole by default"
_NAME: Final = "the product's full name"
_SIGNED: Final = "{r, s, v} of the order key over to_sign"
_ONCE: Final = "shown once when it was prepared or opened"
_TIF: Final = "ioc where nothing is said; market is ioc"
_OR_NULL: Final = ["string", "null"]
_STOPS: Final = "USDC; 0 stops new orders, closes still work"
_FIELDS: Final = {
    "product": _field("a name of the products", "string", _NAME, "BTC", maxLength=24),
    "side": _choice("buy or sell", "buy", "sell", examples=("buy",)),
    "type": _choice("market or limit", "market", "limit", examples=("market",)),
    "size": _field(_FIGURE, "string", "size in the coin; this or a notional", "0.001"),
    "notional_usdc": _field(_USDC, "string", "USDC; this or a size", "20.000000"),
    "limit_px": _field(_FIGURE, "string", "limit orders: on the tick", "64000"),
    "tif": _choice(_TIF, "ioc", "gtc", "alo"),
    "slippage_bps": _field(_BPS, "integer", "basis points, default 50"),
    "reduce_only": _field("true or false", "boolean", "only shrink a position"),
    "book": _field(_ID, "string", "a paper book"),
    "sign_mode": _choice("client: the owner's order key signs", "none", "client"),
    "mode_seen": _choice("the mode that was shown", "paper", "live", examples=("paper",)),
    "mandate_id": _field(_ID, "string", "the mandate that it is for"),
    "intent_id": _field(_ID, "string", "an intent of the owner"),
    "why": _field("at most 500 legible characters", "string", "your reason", maxLength=500),
    "fraction": _field("a decimal string above 0, at most 1", "string", _WHOLE, "1"),
    "order_id": _field(_GIVEN_OUT, "string", "the order's id", "o_abcdefgh23", maxLength=64),
    "confirm_id": _field(_GIVEN_OUT, "string", _ONCE, maxLength=64),
    "signature": _field("an object with r, s and v", "object", _SIGNED),
    "venue_response": _field("an object", "object", _CLAIM),
    "oid": _field("the venue's whole number", "integer", "the venue's id of it"),
    "per_order_usdc": _field(LIMIT_RULE, _OR_NULL, _STOPS, "25.000000"),
    "per_day_usdc": _field(LIMIT_RULE, _OR_NULL, "USDC a UTC day", "50.000000"),
}


def _published(*required: str) -> ConfigDict:
    """The fields as the table publishes them, and those that there have to be."""

    def publish(schema: Schema) -> None:
        schema["properties"] |= {n: f[1] for n, f in _FIELDS.items() if n in schema["properties"]}
        if required:
            schema["required"] = list(required)

    return ConfigDict(json_schema_extra=publish)


def _holds(value: T, right: object) -> T:
    if not right:
        raise ValueError
    return value


def _above_zero(text: str) -> str:
    return _holds(text, Decimal(text) > 0)


Product = Annotated[str, Field(pattern="^([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}$")]
Figure = Annotated[
    str, Field(pattern=r"^(0|[1-9][0-9]{0,14})(\.[0-9]{1,8})?$"), AfterValidator(_above_zero)
]
Part = Annotated[Figure, AfterValidator(lambda text: _holds(text, Decimal(text) <= 1))]
WholePart = Annotated[int, Field(ge=1, le=1)]  # a Literal takes true and 1.0 for it
Amount = Annotated[
    str, Field(pattern=r"^(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?$"), AfterValidator(_above_zero)
]
Limit = Annotated[str, AfterValidator(lambda text: _holds(text, amount_of(text) is not None))]
Bps = Annotated[int, Field(ge=0, le=10_000)]
Id = Annotated[str, Field(pattern="^[A-Za-z0-9_]{1,64}$")]
GivenOut = Annotated[str, Field(min_length=1, max_length=64)]
Signature = Annotated[
    dict[str, object], AfterValidator(lambda raw: _holds(raw, set(raw) == {"r", "s", "v"}))
]
Legible = Annotated[
    str,
    Field(max_length=500),
    AfterValidator(lambda text: _holds(text, not text_problem(text, lines=True))),
]


class LenientRequest(RequestModel):
    """A request without its wrong fields, whose names it knows."""

    _sent: dict[str, object] = PrivateAttr(default_factory=dict)
    _wrong: set[str] = PrivateAttr(default_factory=set)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, raw: dict[str, object], handler: ModelWrapValidatorHandler[Self]) -> Self:
        wrong: set[str] = set()
        try:
            request = handler(raw)
        except ValidationError as error:
            errors = error.errors(include_url=False, include_input=False, include_context=False)
            optional = {n for n, field in cls.model_fields.items() if not field.is_required()}
            wrong = optional & {str(e["loc"][0]) for e in errors}
            if not wrong:
                raise
            request = handler({n: v for n, v in raw.items() if n not in wrong})
        request._sent = {n: v for n, v in raw.items() if v is not None}
        request._wrong = wrong
        return request

    def sent(self) -> dict[str, object]:
        """The fields that hold something, as the caller sent them."""
        return self._sent

    def wrong(self, *names: str, required: bool = False) -> Iterator[FieldProblem]:
        """Those of the fields that break their rule; none does too where it is `required`."""
        for name in names:
            if name in self._wrong or (required and getattr(self, name) is None):
                yield FieldProblem(field=name, rule=_FIELDS[name][0])


def refuse_first(problems: Iterable[FieldProblem]) -> None:
    """Refuse the first of some wrong fields. Errors: `wallet_invalid_order`."""
    for problem in problems:
        raise Refused(invalid_order(problem))


# -- an order

_ABSENT: Any = Field(default=None)  # of a field that there has to be: it is refused as a wrong one


class OrderFields(LenientRequest):
    """Terms of an order."""

    product: Product = _ABSENT
    side: Side = _ABSENT
    type: OrderType = _ABSENT
    size: Figure | None = None
    notional_usdc: Amount | None = None
    limit_px: Figure | None = None
    tif: Tif | None = None
    slippage_bps: Bps | None = None
    reduce_only: bool | None = None
    book: Id | None = None


class OrderIn(OrderFields):
    """An order."""

    model_config = _published("product", "side", "type")

    sign_mode: Literal["none", "client"] | None = None
    mode_seen: Mode | None = None
    mandate_id: Id | None = None
    intent_id: Id | None = None
    why: Legible | None = None


class DoorOrderIn(OrderFields):
    """An order at the door; with `confirm_id` and `signature` the second step of a live one."""

    model_config = _published("mode_seen")

    mode_seen: Mode | None = None
    mandate_id: Id | None = None
    intent_id: Id | None = None
    why: Legible | None = None
    confirm_id: GivenOut | None = None
    signature: Signature | None = None


def parse_order(request: OrderIn | DoorOrderIn) -> OrderRequest | FieldProblem:
    """The order, or the first wrong field in their order where several are."""
    problem = next(_order_problems(request), None)
    if problem is not None:
        return problem
    bps = request.slippage_bps
    return OrderRequest(
        **{name: getattr(request, name) for name in _AS_THEY_ARE},
        size=_decimal(request.size),
        notional_usdc=amount_of(request.notional_usdc),
        limit_px=_decimal(request.limit_px),
        tif=request.tif or "ioc",
        slippage_bps=SLIPPAGE_BPS if bps is None and request.type == "market" else bps,
        reduce_only=bool(request.reduce_only),
        sign_mode=request.sign_mode if isinstance(request, OrderIn) else None,
    )


_AS_THEY_ARE: Final = (
    "product", "side", "type", "book", "mode_seen", "mandate_id", "intent_id", "why",
)  # fmt: skip


def _order_problems(request: OrderIn | DoorOrderIn) -> Iterator[FieldProblem]:
    yield from request.wrong("product", "side", "type", required=True)
    yield from request.wrong("size", "notional_usdc")
    if request.notional_usdc is not None and amount_of(request.notional_usdc) is None:
        yield FieldProblem(field="notional_usdc", rule="an amount of USDC that there can be")
    if (request.size is None) == (request.notional_usdc is None):
        yield FieldProblem(field="size", rule="a size or a notional, one of the two")
    yield from request.wrong("book", "mode_seen")
    if request.mode_seen is None and isinstance(request, DoorOrderIn):
        yield FieldProblem(field="mode_seen", rule="paper or live: what the screen showed")
    yield from _book_of_live(request)
    yield from request.wrong("limit_px", "tif", "slippage_bps")
    if request.type == "limit" and request.limit_px is None:
        yield FieldProblem(field="limit_px", rule="a limit order has a limit price")
    if request.type == "limit" and request.slippage_bps is not None:
        yield FieldProblem(field="slippage_bps", rule="only a market order has it")
    if request.type == "market" and request.limit_px is not None:
        yield FieldProblem(field="limit_px", rule="a market order has none")
    if request.type == "market" and request.tif not in (None, "ioc"):
        yield FieldProblem(field="tif", rule="a market order is ioc")
    yield from request.wrong("reduce_only", "sign_mode", "mandate_id", "intent_id", "why")


def _book_of_live(request: OrderIn | DoorOrderIn | CloseIn) -> Iterator[FieldProblem]:
    if request.book is not None and request.mode_seen == "live":
        yield FieldProblem(field="book", rule="a book is paper")


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


# -- a close


class CloseIn(LenientRequest):
    """A close at the door; with `confirm_id` and `signature` the second step of a live one."""

    model_config = _published("product", "mode_seen")

    product: Product = _ABSENT
    mode_seen: Mode = _ABSENT
    book: Id | None = None
    fraction: Part | WholePart | None = None
    size: Figure | None = None
    slippage_bps: Bps | None = None
    confirm_id: GivenOut | None = None
    signature: Signature | None = None


def parse_close(request: CloseIn, most_bps: int) -> CloseRequest | FieldProblem:
    """The close, or the first wrong field; `most_bps` is the default and the maximum."""
    problem = next(_close_problems(request, most_bps), None)
    if problem is not None:
        return problem
    return CloseRequest(
        product=request.product,
        mode_seen=request.mode_seen,
        book=request.book,
        fraction=Decimal(request.fraction or 1),
        size=_decimal(request.size),
        slippage_bps=most_bps if request.slippage_bps is None else request.slippage_bps,
    )


def _close_problems(request: CloseIn, most_bps: int) -> Iterator[FieldProblem]:
    yield from request.wrong("mode_seen", required=True)
    yield from request.wrong("book", "size", "fraction")
    yield from _book_of_live(request)
    if request.size is not None and request.fraction is not None:
        yield FieldProblem(field="size", rule="a size or a fraction, not both")
    if any(request.wrong("slippage_bps")) or (request.slippage_bps or 0) > most_bps:
        rule = f"a whole number of basis points, at most {most_bps}"
        yield FieldProblem(field="slippage_bps", rule=rule)
    yield from request.wrong("product", required=True)


# -- what becomes of an order


class ExecuteIn(LenientRequest):
    """A prepared order to execute; a live one with what its owner signed."""

    model_config = _published("order_id")

    order_id: GivenOut = _ABSENT
    confirm_id: GivenOut | None = None
    signature: Signature | None = None


class RecordOrderIn(LenientRequest):
    """An order that the browser sent by itself."""

    model_config = _published("order_id")

    order_id: GivenOut = _ABSENT
    confirm_id: GivenOut | None = None
    venue_response: dict[str, object] | None = None
    oid: Annotated[int, Field(gt=0, lt=2**63)] | None = None

    def claim(self) -> dict[str, object]:
        """The venue's answer as a caller reports it; it moves no figure. Errors:
        `wallet_invalid_order`.
        """
        refuse_first(self.wrong("venue_response"))
        if self.venue_response is not None and len(json.dumps(self.venue_response)) > CLAIM_AT_MOST:
            refuse_first([FieldProblem(field="venue_response", rule="at most 8 kB")])
        refuse_first(self.wrong("oid"))
        claimed = {"venue_response": self.venue_response, "oid": self.oid}
        return {n: v for n, v in claimed.items() if v is not None}


OrderPathId = Annotated[
    str, Field(max_length=64, description="the order's id", examples=["o_abcdefgh23"])
]


class SingleOrderIn(RequestModel):
    """An order."""

    order_id: OrderPathId


class CancelIn(LenientRequest):
    """An order to cancel; one that rests at the venue with what its owner signed."""

    model_config = _published("order_id")

    order_id: OrderPathId
    confirm_id: GivenOut | None = None
    signature: Signature | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedConfirmation:
    """The owner's confirmation: the id that was shown once, and the signature."""

    confirm_id: str
    signature: Mapping[str, object]


def signed_of(request: DoorOrderIn | CloseIn | ExecuteIn | CancelIn) -> SignedConfirmation:
    """The signature of the owner. Errors: `wallet_invalid_order`."""
    refuse_first(request.wrong("signature", "confirm_id", required=True))
    if request.signature is None or request.confirm_id is None:
        raise TypeError("what is required is there")
    return SignedConfirmation(confirm_id=request.confirm_id, signature=request.signature)


class LimitsIn(LenientRequest):
    """New limits of one's own; they only fall. Null keeps one."""

    model_config = _published()

    per_order_usdc: Limit | None = None
    per_day_usdc: Limit | None = None


class StepIn(RequestModel):
    """The number of steps."""

    step: Literal[1] = Field(default=1, description="one step at a time")


class AgentQuery(RequestModel):
    """Names an agent; an agent's own where none is named."""

    agent_id: str | None = Field(
        default=None, max_length=64, description="an agent of yours; owners only"
    )
