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
# What the service knows of the position that a close is about; `none`: there is nothing that the
# close would reduce by its size.
PositionSeen = Literal["unasked", "open", "none", "unreadable"]
DIRECTLY: Final = NextStep("Close directly at the venue")
RETRY_KINDS: Final = frozenset({"no_liquidity", "price_band"})
_WHY: Final[Mapping[Step, str]] = {
    "link": "no wallet is linked",
    "enable": "no order key of the linked wallet may sign",
    "fund": "the account has no margin where the product is traded",
    "builder_fee": "the venue asks for an approval of the builder fee",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """What is wrong with an order as it was asked for; `nearest` is what would be taken."""

    field: str
    rule: str
    nearest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TooMany:
    """The throttle's word: the limit that is full, and until when."""

    limit: int
    period: Literal["minute", "hour"]
    retry_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What an account lacks to trade live."""

    step: Step
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """A limit that was asked to go up."""

    field: str
    limit: str
    limits: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueRejection:
    """The venue's own words of refusal, and our class of them."""

    words: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """Everything that is known when an order or a close is decided about.

    What is not known at a stage is left at its default, which stands in nobody's way.
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
    said: VenueRejection | None = None
    silent: str | None = None
    retry_at: datetime | None = None
    unknown: Mapping[str, str] | None = None
    action: Mapping[str, object] | None = None


def gate(a: GateInput) -> Mode | Refusal:
    """The mode in which it goes through, or the first refusal in the order of the 13."""
    if a.throttled is not None:
        return _throttled(a.throttled)
    if a.fault is not None:
        return invalid_order(a.fault)
    mode = _mode(a)
    if isinstance(mode, Refusal):
        return mode
    if mode == "live" and a.missing is not None:
        return not_ready(a.missing)
    if not verified_close(a, mode):
        for cap in a.caps:
            if not cap.holds:
                return cap.refused()
    return _later(a, mode) or mode


def verified_close(a: GateInput, mode: Mode) -> bool:
    """True for a live close of a position that the venue has just shown: no lock stops it."""
    return a.closing and mode == "live" and a.position == "open"


def _mode(a: GateInput) -> Mode | Refusal:
    """The mode that was meant, or why it cannot be that one. It never falls into the other."""
    now = effective_mode(a.switches, a.transport, allowed=a.allowed)
    if a.closing:
        meant: Mode = a.mode_seen or now
        if meant == "live" and a.closes_need_allowlist and not a.allowed:
            return refusal("wallet_not_allowlisted")
        return meant
    if a.prepared is not None:
        flipped = a.prepared != now and not (a.prepared == "paper" and a.names_book)
        return _changed(a.prepared, now) if flipped else a.prepared
    if a.names_book:
        return "paper"
    meant = a.mode_seen or now
    if meant == "live" and now == "paper":
        return _shut(a)
    return meant if meant == now else _changed(meant, now)


def _shut(a: GateInput) -> Refusal:
    """Which lock is shut, the outermost first."""
    if not (a.switches.live_terminal if a.transport == "terminal" else a.switches.live_door):
        return _off(a.transport)
    if a.transport == "door" and not a.switches.venue_mainnet:
        return _off("mainnet")
    return refusal("wallet_not_allowlisted")


def _off(switch: str) -> Refusal:
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
        why=_WHY[missing.step],
    )


def _later(a: GateInput, mode: Mode) -> Refusal | None:
    """What is found out last: the position, the signature, the venue's answer."""
    if a.raised is not None:
        return refusal(
            "wallet_limit_raise",
            remaining=a.raised.limits,
            field=a.raised.field,
            limit=a.raised.limit,
        )
    closes_live = a.closing and mode == "live"
    if a.closing and a.position == "none":
        detail = {"position": a.position_now}
        return refusal("wallet_no_position", remaining=detail, product=a.product or "that product")
    if a.bad_signature is not None:
        return refusal("wallet_signature_invalid", why=a.bad_signature)
    if a.said is not None:
        return rejected(a.said)
    unread = closes_live and a.position != "open"
    if a.silent is not None or unread:
        return _venue_down(a, closes_live)
    if a.unknown is not None:
        order_id = a.unknown["order_id"]
        return refusal("wallet_outcome_unknown", detail=dict(a.unknown), order_id=order_id)
    return None


def rejected(statement: VenueRejection) -> Refusal:
    """The venue's refusal, in its own words."""
    return refusal(
        "wallet_venue_rejected",
        remaining={"venue_kind": statement.kind},
        retry_safe=statement.kind in RETRY_KINDS,
        words=statement.words,
    )


def _venue_down(a: GateInput, closes_live: bool) -> Refusal:
    return refusal(
        "wallet_venue_unavailable",
        retry_at=a.retry_at,
        detail={"action": a.action} if closes_live else {},
        next=(DIRECTLY,) if closes_live else (),
        why=a.silent or "the position cannot be read",
    )
