"""The order gate: decides refused, live or paper, for every route and screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final, Literal

from domain.next_steps import NextStep
from domain.refusals import Refusal, refusal
from domain.settings import Switches
from domain.trading.modes import Mode, TradingSurface, effective_mode
from domain.trading.order_caps import CapCheck, OrderLimits

Step = Literal["link", "enable", "fund", "builder_fee"]
# The state of the position to close; `none`: there is no position that the close would reduce by
# its size.
PositionSeen = Literal["unasked", "open", "none", "unreadable"]
DIRECTLY: Final = NextStep("Close directly at the venue")
RETRY_KINDS: Final = frozenset({"no_liquidity", "price_band"})
_STEP_REASONS: Final[Mapping[Step, str]] = {
    "link": "no wallet is linked",
    "enable": "no order key of the linked wallet may sign",
    "fund": "the account has no margin where the product is traded",
    "builder_fee": "the venue asks for an approval of the builder fee",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """A field of an order that breaks a rule; `nearest` is a value that would pass."""

    field: str
    rule: str
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TooMany:
    """A throttle refusal: the limit that is full, and until when."""

    limit: int
    period: Literal["minute", "hour"]
    retry_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """All input of the decision about an order or a close.

    An input that is unknown at a stage keeps its default, which blocks nothing.
    `prepared`: the mode it was prepared in, when it is decided a second time; `missing`: what the
    account lacks to trade live. Source: trading 1 and 2.
    """

    transport: TradingSurface
    switches: Switches
    allowed: bool
    mode_seen: Mode | None
    closing: bool = False
    names_book: bool = False
    prepared: Mode | None = None
    closes_need_allowlist: bool = False
    product: str = ""
    throttled: TooMany | None = None
    fault: FieldProblem | None = None
    missing: Refusal | None = None
    caps: tuple[CapCheck, ...] = ()
    raised: Refusal | None = None
    position: PositionSeen = "unasked"
    position_now: Mapping[str, object] | None = None
    bad_signature: str | None = None
    rejection: Refusal | None = None
    outage_reason: str | None = None
    retry_at: datetime | None = None
    unknown_order: Refusal | None = None
    action: Mapping[str, object] | None = None


def gate(inputs: GateInput) -> Mode | Refusal:
    """The mode of the order, or the first of the 13 refusals in their order. Source: trading 2."""
    mode = _mode(inputs)
    if isinstance(mode, Refusal):
        return next(_early(inputs), mode)
    return next(chain(_early(inputs), _late(inputs, mode)), mode)


def _early(inputs: GateInput) -> Iterator[Refusal]:
    if (full := inputs.throttled) is not None:
        yield refusal(
            "wallet_rate_limited", retry_at=full.retry_at, limit=full.limit, span=full.period
        )
    if inputs.fault is not None:
        yield invalid_order(inputs.fault)


def _late(inputs: GateInput, mode: Mode) -> Iterator[Refusal]:
    """The refusals of what the mode does not decide."""
    closes_live = inputs.closing and mode == "live"
    if mode == "live" and inputs.missing is not None:
        yield inputs.missing
    if not verified_close(inputs, mode):
        yield from (cap.refused() for cap in inputs.caps if not cap.holds)
    if inputs.raised is not None:
        yield inputs.raised
    if inputs.closing and inputs.position == "none":
        yield refusal(
            "wallet_no_position",
            remaining={"position": inputs.position_now},
            product=inputs.product or "that product",
        )
    if inputs.bad_signature is not None:
        yield refusal("wallet_signature_invalid", why=inputs.bad_signature)
    if inputs.rejection is not None:
        yield inputs.rejection
    if inputs.outage_reason is not None or (closes_live and inputs.position != "open"):
        yield refusal(
            "wallet_venue_unavailable",
            retry_at=inputs.retry_at,
            detail={"action": inputs.action} if closes_live else {},
            next=(DIRECTLY,) if closes_live else (),
            why=inputs.outage_reason or "the position cannot be read",
        )
    if inputs.unknown_order is not None:
        yield inputs.unknown_order


def verified_close(inputs: GateInput, mode: Mode) -> bool:
    """True for a live close of a position that the venue has just shown: no lock stops it."""
    return inputs.closing and mode == "live" and inputs.position == "open"


def _mode(inputs: GateInput) -> Mode | Refusal:
    """The intended mode, or the refusal of it; an order never changes its mode."""
    now = effective_mode(inputs.switches, inputs.transport, allowed=inputs.allowed)
    intended = inputs.mode_seen or now
    if inputs.closing:
        if intended == "live" and inputs.closes_need_allowlist and not inputs.allowed:
            return refusal("wallet_not_allowlisted")
        return intended
    if inputs.prepared is not None:
        stays = inputs.prepared == now or (inputs.prepared == "paper" and inputs.names_book)
        return inputs.prepared if stays else _changed(inputs.prepared, now)
    if inputs.names_book:
        return "paper"
    if intended == "live" and now == "paper":
        return _closed_lock(inputs)
    return intended if intended == now else _changed(intended, now)


def _closed_lock(inputs: GateInput) -> Refusal:
    """The refusal of the outermost closed lock."""
    on, surface = inputs.switches, inputs.transport
    if not (on.live_terminal if surface == "terminal" else on.live_door):
        return _live_off(surface)
    if surface == "door" and not on.venue_mainnet:
        return _live_off("mainnet")
    return refusal("wallet_not_allowlisted")


def _live_off(switch: str) -> Refusal:
    return refusal("wallet_live_off", remaining={"switch": switch}, switch=switch)


def _changed(expected: Mode, mode: Mode) -> Refusal:
    return refusal("wallet_mode_changed", remaining={"mode": mode}, seen=expected, mode=mode)


def invalid_order(fault: FieldProblem) -> Refusal:
    """The refusal of a field."""
    near = {} if fault.nearest is None else {"nearest": fault.nearest}
    remaining = {"field": fault.field, "rule": fault.rule, **near}
    return refusal("wallet_invalid_order", remaining=remaining, field=fault.field, rule=fault.rule)


def not_ready(step: Step, detail: Mapping[str, object] | None = None) -> Refusal:
    """The refusal of an account that cannot trade live yet."""
    remaining = {"step": step}
    return refusal("wallet_not_ready", remaining=remaining, detail=detail, why=_STEP_REASONS[step])


def limit_raise(field: str, own: OrderLimits) -> Refusal:
    """The refusal of a limit above the one that stands."""
    stands = {"per_order_usdc": str(own.per_order), "per_day_usdc": str(own.per_day)}
    return refusal("wallet_limit_raise", remaining=stands, field=field, limit=stands[field])


def rejected(sentence: str | None, kind: str | None) -> Refusal:
    """The venue's refusal, in its own words, with our class of it."""
    kind = kind or "other"
    return refusal(
        "wallet_venue_rejected",
        remaining={"venue_kind": kind},
        retry_safe=kind in RETRY_KINDS,
        words=sentence or "it gave no words",
    )
