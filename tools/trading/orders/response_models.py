"""Response models of orders, and how an order becomes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field

from domain.money import ZERO, Usdc
from domain.next_steps import OWNER, OWNER_OR_AGENT, NextStep
from domain.ports import Venue
from domain.trading.indices import text
from domain.trading.order_caps import Counter, DayUse
from domain.trading.orders import (
    UNSENT,
    CancelAction,
    Envelope,
    Order,
    OrderAction,
    OrderFill,
)
from domain.trading.pricing import Priced, fee_est, taker_tenths_bps
from domain.trading.venue_account import AgentKey
from domain.trading.venue_values import Perp
from tools.model.operation import ResponseModel
from tools.model.serialization import to_json
from tools.trading.fields import MaybeMoment, NetworkName, TimestampText

T = TypeVar("T")
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


class DoorOrderOut(ResponseModel):
    """An order at the door; the first step of a live one carries what is to be signed."""

    order: OrderOut
    mode: Literal["paper", "live"]
    mode_seen: Literal["paper", "live"] | None
    network: Literal["mainnet", "testnet"]
    confirm_id: str | None = None
    to_sign: ToSignOut | None = None
    checks: OrderChecks | None = None
    next: list[OrderStep] = Field(default_factory=list)


PreparedT = TypeVar("PreparedT", PreparedOut, DoorOrderOut)


def order_out(order: Order, now: datetime) -> OrderOut:
    """An order as it leaves the service."""
    action, fills, builder, seen = order.action, order.fills, order.action.builder, order.seen
    is_whole = order.mode == "paper" or order.fills_whole
    has_fees = is_whole and (bool(fills) or order.filled_size is not None)
    left = None if order.filled_size is None else action.size - order.filled_size
    refused = order.refusal
    return OrderOut(
        **{name: getattr(order, name) for name in _AS_THEY_ARE},
        asset_id=action.asset_id,
        tif=action.tif,
        size=plain(action.size),
        limit_px=plain(action.limit_px),
        notional_usdc=order.notional,
        reduce_only=action.reduce_only,
        cloid=action.cloid,
        builder=None if builder is None else OrderBuilderOut(**asdict(builder)),
        status=order.shown_status(now),
        confirm_id=None,
        prepared_by=PreparedBy(kind=order.by, id=order.agent_id or order.owner_id),
        filled_size=_maybe(order.filled_size),
        remaining_size=_maybe(left),
        avg_px=_maybe(order.avg_px),
        fee_usdc=_sum(f.fee for f in fills) if has_fees else None,
        builder_fee_usdc=_sum(f.builder_fee for f in fills) if has_fees else None,
        closed_pnl_usdc=_sum(f.closed_pnl for f in fills) if has_fees else None,
        fills=[_fill(f) for f in fills],
        venue=None if seen is None else OrderAtVenue(**asdict(seen)),
        refusal=None if refused is None else RefusalShown.model_validate(refused),
        est=order.mode == "paper",
    )


_AS_THEY_ARE: Final = (
    "order_id", "source", "mode", "mode_seen", "network", "book", "product", "side", "type",
    "slippage_bps", "leverage", "sign_mode", "expires_at", "mandate_id", "intent_id",
    "created_at", "sent_at", "done_at", "partial", "verified", "why",
)  # fmt: skip


def order_json(order: Order, now: datetime) -> dict[str, object]:
    """An order as a refusal's detail shows it."""
    shown: dict[str, object] = to_json(order_out(order, now), OrderOut)
    return shown


def plain(figure: Decimal) -> str:
    """A figure as the venue writes it: without trailing zeros, without an exponent."""
    return format(figure.normalize() + Decimal(0), "f")


def _maybe(figure: Decimal | None) -> str | None:
    return None if figure is None else plain(figure)


def _sum(figures: Iterable[Decimal]) -> str:
    return plain(sum(figures, Decimal(0)))


def _fill(fill: OrderFill) -> OrderFillOut:
    return OrderFillOut(
        px=plain(fill.px),
        size=plain(fill.size),
        fee_usdc=plain(fill.fee),
        builder_fee_usdc=plain(fill.builder_fee),
        at=fill.at,
        tid=fill.tid,
        snapshot=fill.snapshot,
    )


def prepared_out(
    order: Order,
    now: datetime,
    *,
    confirm: str | None = None,
    signing: ToSignOut | None = None,
    checks: OrderChecks | None = None,
) -> PreparedOut:
    """An order with what is to be signed of it."""
    return PreparedOut(
        order=order_out(order, now),
        confirm_id=confirm,
        to_sign=signing,
        checks=checks,
        next=steps(order),
    )


def to_sign(
    venue: Venue,
    order: Order,
    action: OrderAction | CancelAction,
    envelope: Envelope,
    key: AgentKey | None,
) -> ToSignOut:
    """An action that the owner signs, and the keys that may sign it."""
    written, signers = venue.to_sign(action, envelope), (order.wallet, key.agent if key else None)
    return ToSignOut(
        scheme="l1_action",
        network=venue.network,
        action=written.action_json,
        action_msgpack=written.action_msgpack,
        nonce=envelope.nonce,
        expires_after=envelope.expires_after,
        action_hash=written.action_hash,
        typed_data=TypedDataOut.model_validate(dict(written.typed_data)),
        signer_must_be=[s for s in signers if s is not None],
    )


def checks_out(
    order: Order, figures: Priced, perp: Perp, cap: CapTold | None, liquidation: Decimal | None
) -> OrderChecks:
    """The values that were checked. `liquidation` is shown of paper: the end of a live account
    rests on all its positions, and the venue shows it.
    """
    builder, quote = order.action.builder, figures.quote
    return OrderChecks(
        cap=cap,
        price=PriceTold(
            bid=text(quote.bid),
            ask=text(quote.ask),
            mark=text(perp.mark_px),
            as_of=quote.at,
        ),
        fee_est=fee_est(order.notional, taker_tenths_bps(perp)),
        builder_fee_est=fee_est(order.notional, Decimal(builder.fee_tenths_bps if builder else 0)),
        liquidation_px_est=text(liquidation),
    )


def cap_told(order: Order, counters: Mapping[Counter, DayUse]) -> CapTold | None:
    """The day's counter that leaves the least, with this order in it."""
    if not counters:
        return None
    own = order.counted if order.counted_day else ZERO
    tight = min(counters, key=lambda c: c.limit - counters[c].total)
    use = counters[tight]
    return CapTold(
        limit=tight.limit,
        used=use.used,
        reserved=use.reserved + own,
        remaining=max(ZERO, tight.limit - use.total - own),
    )


_STEPS: Final = {
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
_OPENS: Final = NextStep(
    "Open the order for a new confirm_id and what to sign",
    None,
    "POST /wallet/order/{order_id}/open",
    OWNER,
)


def steps(order: Order) -> list[OrderStep]:
    """The next steps, by the order's state."""
    step = _STEPS.get(order.status)
    return [] if step is None else [OrderStep.model_validate(step.as_json())]


def shown_once(shown: PreparedT) -> PreparedT:
    """The answer to a repeat, without the values that are shown once."""
    opens = shown.order.status in UNSENT
    steps = [OrderStep.model_validate(_OPENS.as_json())] if opens else []
    return shown.model_copy(update={"confirm_id": None, "to_sign": None, "next": steps})
