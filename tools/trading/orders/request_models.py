"""Request models of the order routes.

Their fields accept any JSON value, so that a wrong one is refused as an order is and not as a
malformed request (trading 00.5); what they should be is said in the published schema, and
`domain.trading.order_input` reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from tools.model.operation import RequestModel


def any_json_field(kind: str, description: str, *examples: Any, **more: Any) -> Any:
    """A field of any JSON value, described as the one that it should be."""
    raw = {"type": kind, **more} | ({"examples": list(examples)} if examples else {})
    return Field(default=None, description=description, json_schema_extra=raw)


def _required(*names: str) -> ConfigDict:
    return ConfigDict(json_schema_extra={"required": list(names)})


Product = Annotated[
    object, any_json_field("string", "the product's full name", "BTC", maxLength=24)
]
SideIn = Annotated[object, any_json_field("string", "buy or sell", "buy", enum=["buy", "sell"])]
TypeIn = Annotated[
    object, any_json_field("string", "market or limit", "market", enum=["market", "limit"])
]
SizeIn = Annotated[
    object, any_json_field("string", "size in the coin; this or a notional", "0.001")
]
Notional = Annotated[object, any_json_field("string", "USDC; this or a size", "20.000000")]
LimitPx = Annotated[object, any_json_field("string", "limit orders: on the tick", "64000")]
TifIn = Annotated[
    object,
    any_json_field(
        "string", "ioc where nothing is said; market is ioc", enum=["ioc", "gtc", "alo"]
    ),
]
Slippage = Annotated[object, any_json_field("integer", "basis points, default 50")]
ReduceOnly = Annotated[object, any_json_field("boolean", "only shrink a position")]
BookIn = Annotated[object, any_json_field("string", "a paper book")]
SignModeIn = Annotated[
    object, any_json_field("string", "client: the owner's order key signs", enum=["none", "client"])
]
SeenIn = Annotated[
    object,
    any_json_field("string", "the mode that was shown", "paper", enum=["paper", "live"]),
]
MandateIdIn = Annotated[object, any_json_field("string", "the mandate that it is for")]
IntentIdIn = Annotated[object, any_json_field("string", "an intent of the owner")]
WhyIn = Annotated[object, any_json_field("string", "your reason", maxLength=500)]
ConfirmIn = Annotated[
    object, any_json_field("string", "shown once when it was prepared or opened", maxLength=64)
]
SignedIn = Annotated[object, any_json_field("object", "{r, s, v} of the order key over to_sign")]
OrderIdIn = Annotated[
    object, any_json_field("string", "the order's id", "o_abcdefgh23", maxLength=64)
]

STEP_TWO: Final = frozenset({"confirm_id", "signature"})


class LenientRequest(RequestModel):
    """A request as the caller sent it, not validated yet."""

    def sent(self) -> dict[str, object]:
        """The fields that hold something."""
        values = {n: getattr(self, n) for n in type(self).model_fields}
        return {n: v for n, v in values.items() if v is not None}


class OrderIn(LenientRequest):
    """An order."""

    model_config = _required("product", "side", "type")

    product: Product = None
    side: SideIn = None
    type: TypeIn = None
    size: SizeIn = None
    notional_usdc: Notional = None
    limit_px: LimitPx = None
    tif: TifIn = None
    slippage_bps: Slippage = None
    reduce_only: ReduceOnly = None
    book: BookIn = None
    sign_mode: SignModeIn = None
    mode_seen: SeenIn = None
    mandate_id: MandateIdIn = None
    intent_id: IntentIdIn = None
    why: WhyIn = None


class DoorOrderIn(LenientRequest):
    """An order at the door; with `confirm_id` and `signature` the second step of a live one."""

    model_config = _required("mode_seen")

    product: Product = None
    side: SideIn = None
    type: TypeIn = None
    size: SizeIn = None
    notional_usdc: Notional = None
    limit_px: LimitPx = None
    tif: TifIn = None
    slippage_bps: Slippage = None
    reduce_only: ReduceOnly = None
    book: BookIn = None
    mode_seen: SeenIn = None
    mandate_id: MandateIdIn = None
    intent_id: IntentIdIn = None
    why: WhyIn = None
    confirm_id: ConfirmIn = None
    signature: SignedIn = None


class CloseIn(LenientRequest):
    """A close at the door; with `confirm_id` and `signature` the second step of a live one."""

    model_config = _required("product", "mode_seen")

    product: Product = None
    mode_seen: SeenIn = None
    book: BookIn = None
    fraction: Annotated[
        object, any_json_field("string", "above 0, at most 1; the whole by default", "1")
    ] = None
    size: SizeIn = None
    slippage_bps: Slippage = None
    confirm_id: ConfirmIn = None
    signature: SignedIn = None


class ExecuteIn(LenientRequest):
    """A prepared order to execute; a live one with what its owner signed."""

    model_config = _required("order_id")

    order_id: OrderIdIn = None
    confirm_id: ConfirmIn = None
    signature: SignedIn = None


class RecordOrderIn(LenientRequest):
    """An order that the browser sent by itself."""

    model_config = _required("order_id")

    order_id: OrderIdIn = None
    confirm_id: ConfirmIn = None
    venue_response: Annotated[
        object, any_json_field("object", "what the venue answered, kept as a claim; at most 8 kB")
    ] = None
    oid: Annotated[object, any_json_field("integer", "the venue's id of it")] = None


OrderPathId = Annotated[
    str, Field(max_length=64, description="the order's id", examples=["o_abcdefgh23"])
]


class SingleOrderIn(RequestModel):
    """An order."""

    order_id: OrderPathId


class CancelIn(LenientRequest):
    """An order to cancel; one that rests at the venue with what its owner signed."""

    order_id: OrderPathId
    confirm_id: ConfirmIn = None
    signature: SignedIn = None


class AgentQuery(RequestModel):
    """Names an agent; an agent's own where none is named."""

    agent_id: str | None = Field(
        default=None, max_length=64, description="an agent of yours; owners only"
    )


class StepIn(RequestModel):
    """The number of steps."""

    step: Literal[1] = Field(default=1, description="one step at a time")
