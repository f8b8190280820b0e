"""The order gate: decides refused, live or paper, for every route and screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from domain.next_steps import NextStep
from domain.refusals import Refusal, refusal
from domain.settings import Switches
from domain.trading.modes import Mode, TradingSurface, effective_mode
from domain.trading.order_caps import CapCheck

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
class Missing:
    """The step that an account lacks to trade live."""

    step: Step
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """A requested limit above the current one."""

    field: str
    limit: str
    limits: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueRejection:
    """The venue's own refusal sentence, and our class of it."""

    sentence: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """All input of the decision about an order or a close.

    An input that is unknown at a stage keeps its default, which blocks nothing.
    `prepared`: the mode it was prepared in, when it is decided a second time.
    Source: trading 1 and 2.
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
    missing: Missing | None = None
    caps: tuple[CapCheck, ...] = ()
    raised: Raise | None = None
    position: PositionSeen = "unasked"
    position_now: Mapping[str, object] | None = None
    bad_signature: str | None = None
    rejection: VenueRejection | None = None
    outage_reason: str | None = None
    retry_at: datetime | None = None
    unknown_order: Mapping[str, str] | None = None
    action: Mapping[str, object] | None = None


def gate(inputs: GateInput) -> Mode | Refusal:
    """The mode of the order, or the first of the 13 refusals in their order. Source: trading 2."""
    if inputs.throttled is not None:
        return _throttled(inputs.throttled)
    if inputs.fault is not None:
        return invalid_order(inputs.fault)
    mode = _mode(inputs)
    if isinstance(mode, Refusal):
        return mode
    if mode == "live" and inputs.missing is not None:
        return not_ready(inputs.missing)
    if not verified_close(inputs, mode):
        for cap in inputs.caps:
            if not cap.holds:
                return cap.refused()
    return _late_refusal(inputs, mode) or mode


def verified_close(inputs: GateInput, mode: Mode) -> bool:
    """True for a live close of a position that the venue has just shown: no lock stops it."""
    return inputs.closing and mode == "live" and inputs.position == "open"


def _mode(inputs: GateInput) -> Mode | Refusal:
    """The intended mode, or the refusal of it; an order never changes its mode."""
    now = effective_mode(inputs.switches, inputs.transport, allowed=inputs.allowed)
    if inputs.closing:
        intended: Mode = inputs.mode_seen or now
        if intended == "live" and inputs.closes_need_allowlist and not inputs.allowed:
            return refusal("wallet_not_allowlisted")
        return intended
    if inputs.prepared is not None:
        has_changed = inputs.prepared != now and not (
            inputs.prepared == "paper" and inputs.names_book
        )
        return _changed(inputs.prepared, now) if has_changed else inputs.prepared
    if inputs.names_book:
        return "paper"
    intended = inputs.mode_seen or now
    if intended == "live" and now == "paper":
        return _closed_lock(inputs)
    return intended if intended == now else _changed(intended, now)


def _closed_lock(inputs: GateInput) -> Refusal:
    """The refusal of the outermost closed lock."""
    if not (
        inputs.switches.live_terminal
        if inputs.transport == "terminal"
        else inputs.switches.live_door
    ):
        return _live_off(inputs.transport)
    if inputs.transport == "door" and not inputs.switches.venue_mainnet:
        return _live_off("mainnet")
    return refusal("wallet_not_allowlisted")


def _live_off(switch: str) -> Refusal:
    return refusal("wallet_live_off", remaining={"switch": switch}, switch=switch)


def _changed(expected: Mode, mode: Mode) -> Refusal:
    return refusal("wallet_mode_changed", remaining={"mode": mode}, seen=expected, mode=mode)


def _throttled(too_many: TooMany) -> Refusal:
    return refusal(
        "wallet_rate_limited",
        retry_at=too_many.retry_at,
        limit=too_many.limit,
        span=too_many.period,
    )


def invalid_order(fault: FieldProblem) -> Refusal:
    """The refusal of a field."""
    raw = {"field": fault.field, "rule": fault.rule}
    if fault.nearest is not None:
        raw["nearest"] = fault.nearest
    return refusal("wallet_invalid_order", remaining=raw, field=fault.field, rule=fault.rule)


def not_ready(missing: Missing) -> Refusal:
    """The refusal of an account that cannot trade live yet."""
    return refusal(
        "wallet_not_ready",
        remaining={"step": missing.step},
        detail=missing.detail,
        why=_STEP_REASONS[missing.step],
    )


def _late_refusal(inputs: GateInput, mode: Mode) -> Refusal | None:
    """The refusals of the last stage: position, signature, the venue's answer."""
    if inputs.raised is not None:
        return refusal(
            "wallet_limit_raise",
            remaining=inputs.raised.limits,
            field=inputs.raised.field,
            limit=inputs.raised.limit,
        )
    closes_live = inputs.closing and mode == "live"
    if inputs.closing and inputs.position == "none":
        detail = {"position": inputs.position_now}
        return refusal(
            "wallet_no_position", remaining=detail, product=inputs.product or "that product"
        )
    if inputs.bad_signature is not None:
        return refusal("wallet_signature_invalid", why=inputs.bad_signature)
    if inputs.rejection is not None:
        return rejected(inputs.rejection)
    unread = closes_live and inputs.position != "open"
    if inputs.outage_reason is not None or unread:
        return _venue_down(inputs, closes_live)
    if inputs.unknown_order is not None:
        order_id = inputs.unknown_order["order_id"]
        return refusal(
            "wallet_outcome_unknown", detail=dict(inputs.unknown_order), order_id=order_id
        )
    return None


def rejected(statement: VenueRejection) -> Refusal:
    """The venue's refusal, in its own words."""
    return refusal(
        "wallet_venue_rejected",
        remaining={"venue_kind": statement.kind},
        retry_safe=statement.kind in RETRY_KINDS,
        words=statement.sentence,
    )


def _venue_down(inputs: GateInput, closes_live: bool) -> Refusal:
    return refusal(
        "wallet_venue_unavailable",
        retry_at=inputs.retry_at,
        detail={"action": inputs.action} if closes_live else {},
        next=(DIRECTLY,) if closes_live else (),
        why=inputs.outage_reason or "the position cannot be read",
    )
