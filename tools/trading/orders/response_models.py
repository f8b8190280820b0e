"""Response models of orders."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from domain.money import Usdc
from domain.next_steps import OWNER, OWNER_OR_AGENT, NextStep
from domain.times import timestamp
from domain.trading.orders import UNSENT, Envelope, Order, OrderFill
from domain.trading.venue_port import Venue
from domain.trading.venue_values import ToSign
from tools.model.operation import ResponseModel
from tools.trading.fields import MaybeMoment, NetworkName, TimestampText

ModeName = Annotated[Literal["paper", "live"], Field(description="on paper, or at the venue")]
Px = Annotated[str, Field(description="price, the venue's decimal string")]
MaybePx = Annotated[str | None, Field(description="price; null where it is not known")]
Size = Annotated[str, Field(description="size in the coin, a decimal string")]
MaybeSize = Annotated[str | None, Field(description="size in the coin; null where nobody said it")]
MaybeFee = Annotated[
    str | None, Field(description="USDC as the venue counts it; null where nobody said it")
]
OrderIdText = Annotated[str, Field(description="the order's id")]


class OrderFillOut(ResponseModel):
    """One fill. Units: USDC to the venue's own decimals; `fee_usdc` includes the builder's."""

    px: Px
    size: Size
    fee_usdc: str
    builder_fee_usdc: str
    at: TimestampText
    tid: int | None
    snapshot: str | None = Field(description="the book that a paper order took it from")


class OrderBuilderOut(ResponseModel):
    """The builder that the order pays."""

    address: str
    fee_tenths_bps: int


class PreparedBy(ResponseModel):
    """The principal that prepared the order."""

    kind: Literal["owner", "agent", "keeper"]
    id: str


class OrderAtVenue(ResponseModel):
    """The order at the venue, by its last answer."""

    oid: int | None
    status: str
    checked_at: TimestampText


class RefusalShown(ResponseModel):
    """The reason for which the order ended without a fill: the refusal's code and sentence."""

    error: str
    reason: str = Field(description="our sentence; of a refusal there with the venue's own words")
    venue_kind: str | None = None


class OrderOut(ResponseModel):
    """One order, from its preparation to its end."""

    order_id: OrderIdText
    source: Literal["terminal", "door", "keeper"]
    mode: ModeName
    mode_seen: Literal["paper", "live"] | None
    network: NetworkName
    book: str | None
    product: str
    asset_id: int
    side: Literal["buy", "sell"]
    type: Literal["market", "limit"]
    tif: Literal["ioc", "gtc", "alo"]
    size: Size
    limit_px: Px
    notional_usdc: Usdc = Field(description="size x limit price, rounded up")
    reduce_only: bool
    slippage_bps: int | None
    leverage: int | None
    cloid: str
    builder: OrderBuilderOut | None
    sign_mode: Literal["none", "client", "keeper"]
    status: Literal[
        "prepared", "awaiting_owner", "awaiting_signature", "executing", "resting", "recorded",
        "unknown", "executed", "rejected", "expired", "cancelled",
    ]  # fmt: skip
    confirm_id: None = Field(description="shown once, where the order is prepared or opened")
    expires_at: TimestampText
    prepared_by: PreparedBy
    mandate_id: str | None
    intent_id: str | None
    created_at: TimestampText
    sent_at: MaybeMoment
    done_at: MaybeMoment
    filled_size: MaybeSize
    remaining_size: MaybeSize
    avg_px: MaybePx
    fee_usdc: MaybeFee
    builder_fee_usdc: MaybeFee
    closed_pnl_usdc: MaybeFee
    fills: list[OrderFillOut]
    partial: bool
    verified: bool = Field(description="true where the venue itself said what became of it")
    venue: OrderAtVenue | None
    refusal: RefusalShown | None
    est: bool = Field(description="true for paper: nobody traded")
    why: str | None = Field(description="own words of whoever prepared it")


class TypedDataOut(ResponseModel):
    """EIP-712 typed data, as a wallet takes it."""

    domain: dict[str, object]
    types: dict[str, list[dict[str, str]]]
    primaryType: str  # noqa: N815 - the name of EIP-712
    message: dict[str, str]


class ToSignOut(ResponseModel):
    """The action that an order key signs. `action` is JSON text in the one key order that the venue
    hashes.
    """

    scheme: Literal["l1_action"]
    network: NetworkName
    action: str
    action_msgpack: str
    nonce: int
    expires_after: int = Field(description="milliseconds since 1970")
    action_hash: str
    typed_data: TypedDataOut
    signer_must_be: list[str] = Field(description="the wallet, and its approved order key")


class CapTold(ResponseModel):
    """The limits of the order, and the rest of the day with it."""

    limit: Usdc
    used: Usdc
    reserved: Usdc
    remaining: Usdc


class PriceTold(ResponseModel):
    """The touch that it was priced by."""

    bid: MaybePx
    ask: MaybePx
    mark: MaybePx
    as_of: MaybeMoment


class OrderChecks(ResponseModel):
    """The values that were checked. The fees are estimates, rounded to the nearest millionth."""

    cap: CapTold | None
    price: PriceTold
    fee_est: Usdc
    builder_fee_est: Usdc
    liquidation_px_est: MaybePx


class OrderStep(ResponseModel):
    """A possible next step of the order."""

    text: str = Field(description="the service's own words")
    tool: str | None = None
    route: str | None = None


class PreparedOut(ResponseModel):
    """A prepared order. A repeat with the same key shows neither `confirm_id` nor `to_sign`."""

    order: OrderOut
    confirm_id: str | None
    to_sign: ToSignOut | None
    checks: OrderChecks | None
    next: list[OrderStep]


def order_json(order: Order, now: datetime) -> dict[str, object]:
    """An order as it leaves the service."""
    action, fills = order.action, order.fills
    fills_complete = order.mode == "paper" or order.fills_whole
    fees_known = bool(fills) or (fills_complete and order.filled_size is not None)
    left = None if order.filled_size is None else action.size - order.filled_size
    return {
        **{n: getattr(order, n) for n in _AS_THEY_ARE},
        "asset_id": action.asset_id,
        "tif": action.tif,
        "size": plain(action.size),
        "limit_px": plain(action.limit_px),
        "notional_usdc": order.notional,
        "reduce_only": action.reduce_only,
        "cloid": action.cloid,
        "builder": _builder(order),
        "status": order.shown_status(now),
        "confirm_id": None,
        "expires_at": timestamp(order.expires_at),
        "prepared_by": {"kind": order.by, "id": order.agent_id or order.owner_id},
        "created_at": timestamp(order.created_at),
        "sent_at": _maybe(order.sent_at),
        "done_at": _maybe(order.done_at),
        "filled_size": _maybe_plain(order.filled_size),
        "remaining_size": _maybe_plain(left),
        "avg_px": _maybe_plain(order.avg_px),
        "fee_usdc": _sum(fills, "fee") if fees_known and fills_complete else None,
        "builder_fee_usdc": _sum(fills, "builder_fee") if fees_known and fills_complete else None,
        "closed_pnl_usdc": _sum(fills, "closed_pnl") if fees_known and fills_complete else None,
        "fills": [_fill(f) for f in fills],
        "venue": _venue_state(order),
        "refusal": order.refusal,
        "est": order.mode == "paper",
    }


_AS_THEY_ARE = (
    "order_id", "source", "mode", "mode_seen", "network", "book", "product", "side", "type",
    "slippage_bps", "leverage", "sign_mode", "mandate_id", "intent_id", "partial", "verified",
    "why",
)  # fmt: skip


def plain(figure: Decimal) -> str:
    """A figure as the venue writes it: without trailing zeros, without an exponent."""
    return format(figure.normalize() + Decimal(0), "f")


def _maybe_plain(figure: Decimal | None) -> str | None:
    return None if figure is None else plain(figure)


def _maybe(at: datetime | None) -> str | None:
    return None if at is None else timestamp(at)


def _sum(fills: tuple[OrderFill, ...], name: str) -> str:
    return plain(sum((getattr(f, name) for f in fills), Decimal(0)))


def _builder(order: Order) -> dict[str, object] | None:
    prepaid_cost = order.action.builder
    if prepaid_cost is None:
        return None
    return {"address": prepaid_cost.address, "fee_tenths_bps": prepaid_cost.fee_tenths_bps}


def _venue_state(order: Order) -> dict[str, object] | None:
    state = order.seen
    if state is None:
        return None
    return {"oid": state.oid, "status": state.status, "checked_at": timestamp(state.checked_at)}


def _fill(fill: OrderFill) -> dict[str, object]:
    return {
        "px": plain(fill.px),
        "size": plain(fill.size),
        "fee_usdc": plain(fill.fee),
        "builder_fee_usdc": plain(fill.builder_fee),
        "at": timestamp(fill.at),
        "tid": fill.tid,
        "snapshot": fill.snapshot,
    }


def to_sign(
    venue: Venue, order: Order, signing: ToSign, envelope: Envelope, key: str | None
) -> dict[str, object]:
    """The action that the owner signs, and the keys that may sign it."""
    signers = [order.wallet, key]
    return {
        "scheme": "l1_action",
        "network": venue.network,
        "action": signing.action_json,
        "action_msgpack": signing.action_msgpack,
        "nonce": envelope.nonce,
        "expires_after": envelope.expires_after,
        "action_hash": signing.action_hash,
        "typed_data": dict(signing.typed_data),
        "signer_must_be": [s for s in signers if s is not None],
    }


def steps(order: Order) -> list[dict[str, str]]:
    """The next steps, by the order's state."""
    names: dict[str, NextStep] = {
        "prepared": NextStep(
            "Execute it", "order_execute", "POST /wallet/order/execute", OWNER_OR_AGENT
        ),
        "awaiting_owner": NextStep("Tell the owner: the order waits for a signature"),
        "awaiting_signature": NextStep(
            "Sign to_sign and execute, or open it again for a new price",
            None,
            "POST /wallet/order/{order_id}/open",
            OWNER,
        ),
        "unknown": NextStep("Read the order; do not send it again", "order_pending"),
    }
    step = names.get(order.status)
    return [] if step is None else [step.as_json()]


def opens(order: Order) -> list[dict[str, str]]:
    """The answer to a repeat, without the values that are shown once."""
    step = NextStep(
        "Open the order for a new confirm_id and what to sign",
        None,
        "POST /wallet/order/{order_id}/open",
        OWNER,
    )
    return [step.as_json()] if order.status in UNSENT else []
