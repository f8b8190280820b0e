"""Orders and their life cycle: one table of all transitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal

from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.trading.modes import Mode
from domain.trading.venue_values import Network

Status = Literal[
    "prepared", "awaiting_owner", "awaiting_signature", "executing", "resting", "recorded",
    "unknown", "executed", "rejected", "expired", "cancelled",
]  # fmt: skip
# What can happen to an order. `void`: the venue does not know it and cannot execute it any more;
# `find`: it was given up, and the venue has it after all.
OrderTransition = Literal[
    "open", "execute", "record", "fill", "rest", "refuse", "lose", "void", "expire", "cancel",
    "find",
]  # fmt: skip
Source = Literal["terminal", "door", "keeper"]
Side = Literal["buy", "sell"]
OrderType = Literal["market", "limit"]
Tif = Literal["ioc", "gtc", "alo"]
SignMode = Literal["none", "client", "keeper"]
By = Literal["owner", "agent", "keeper"]

# Every pair that is not here is refused (trading 3).
BECOMES: Final[Mapping[tuple[Status, OrderTransition], Status]] = MappingProxyType({
    ("prepared", "execute"): "executing",
    ("prepared", "expire"): "expired",
    ("prepared", "cancel"): "cancelled",
    ("awaiting_owner", "open"): "awaiting_signature",
    ("awaiting_owner", "expire"): "expired",
    ("awaiting_owner", "cancel"): "cancelled",
    ("awaiting_signature", "open"): "awaiting_signature",
    ("awaiting_signature", "execute"): "executing",
    ("awaiting_signature", "record"): "recorded",
    ("awaiting_signature", "expire"): "expired",
    ("awaiting_signature", "cancel"): "cancelled",
    ("executing", "fill"): "executed",
    ("executing", "rest"): "resting",
    ("executing", "refuse"): "rejected",
    ("executing", "cancel"): "cancelled",
    ("executing", "lose"): "unknown",
    ("executing", "void"): "rejected",
    ("unknown", "fill"): "executed",
    ("unknown", "rest"): "resting",
    ("unknown", "refuse"): "rejected",
    ("unknown", "cancel"): "cancelled",
    ("unknown", "void"): "rejected",
    ("recorded", "fill"): "executed",
    ("recorded", "rest"): "resting",
    ("recorded", "refuse"): "rejected",
    ("recorded", "cancel"): "cancelled",
    ("recorded", "lose"): "unknown",
    ("resting", "fill"): "executed",
    ("resting", "cancel"): "cancelled",
    ("resting", "refuse"): "rejected",
    ("resting", "lose"): "unknown",
    ("rejected", "find"): "unknown",
    ("cancelled", "find"): "unknown",
    ("expired", "find"): "unknown",
})  # fmt: skip
DONE: Final[frozenset[Status]] = frozenset({"executed", "rejected", "expired", "cancelled"})
UNSENT: Final[frozenset[Status]] = frozenset({"prepared", "awaiting_owner", "awaiting_signature"})
PENDING: Final[frozenset[Status]] = frozenset({"awaiting_owner", "awaiting_signature", "unknown"})
# Orders that were sent and are not over: at the venue, on their way there, or of unknown state.
UNDER_WAY: Final[frozenset[Status]] = frozenset({"executing", "resting", "recorded", "unknown"})
OWNER_HAS: Final = timedelta(hours=24)
PENDING_AN_AGENT: Final = 10
# An order that can no longer execute is given up this long after the end of its bytes.
VOID_AFTER: Final = timedelta(minutes=2)
# An order given up before its bytes ended is looked for from this long after their end on.
LATE: Final = timedelta(seconds=5)
# An order that the venue listed once and no longer does is given up after so many polls in a row.
FORGOTTEN_AFTER: Final = 5
UNSEEN_RECORD_HOLDS: Final = timedelta(minutes=10)
_POLL_AFTER_S: Final = (1, 3, 10, 30)
_POLL_EVERY_S: Final = 60


def next_status(status: Status, transition: OrderTransition) -> Status:
    """The status after a transition. Errors: `conflict` for a pair that is not in `BECOMES`."""
    following = BECOMES.get((status, transition))
    if following is None:
        raise Refused(
            refusal("conflict", why=f"The order is {status}; it cannot {transition} from there.")
        )
    return following


def is_reduce_only(order: Order) -> bool:
    """An order that may only shrink a position."""
    return order.action.reduce_only or order.closing


def first_status(mode: Mode, by: By) -> Status:
    """The first status: a paper order needs no signature, an agent's live order its owner."""
    if mode == "paper":
        return "prepared"
    return "awaiting_owner" if by == "agent" else "awaiting_signature"


def next_poll_at(tries: int, now: datetime) -> datetime:
    """The time of the next venue poll: after 1 s, 3 s, 10 s, 30 s, then every minute."""
    pause = _POLL_AFTER_S[tries] if tries < len(_POLL_AFTER_S) else _POLL_EVERY_S
    return now + timedelta(seconds=pause)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFill:
    """One fill. Units: fees and result in USDC as the venue counts them, to its own decimals.

    `fee` includes `builder_fee`; `tid` names the trade at the venue, `snapshot` the book that a
    paper order took it from.
    """

    px: Decimal
    size: Decimal
    fee: Decimal
    builder_fee: Decimal
    closed_pnl: Decimal
    at: datetime
    tid: int | None = None
    snapshot: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidBuilder:
    """The builder that is paid for an order. Units: tenths of a basis point."""

    address: str
    fee_tenths_bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAction:
    """One order as the venue hashes it; the bytes are always rebuilt from these."""

    asset_id: int
    is_buy: bool
    limit_px: Decimal
    size: Decimal
    reduce_only: bool
    tif: Tif
    cloid: str
    builder: PaidBuilder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAction:
    """A cancellation by the id that the order was sent with."""

    asset_id: int
    cloid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Nonce and expiry, signed with the action. Units: ms since 1970."""

    nonce: int
    expires_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAtVenue:
    """The venue's last status of an order."""

    oid: int | None
    status: str
    checked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One order of a person, on paper or live.

    Shapes: `owner_id` is whose account it is; `agent_id` the agent that prepared it, if one did.
    `action` and `envelope` are what is signed; `cancelling` the envelope of a cancellation that
    waits for its signature. `counted` is what counts against the day `counted_day`: reserved while
    it is open, traded once it is done. `former` are earlier pricings, whose bytes may still be
    about; all pricings have one nonce, so that one of them can act. `confirm_hash` stands for the
    id that the owner has to bring. Units: USDC; prices in the dex's collateral, sizes in the coin.
    """

    order_id: str
    owner_id: str
    agent_id: str | None
    source: Source
    closing: bool
    mode: Mode
    mode_seen: Mode | None
    network: Network
    wallet: str | None
    book: str | None
    product: str
    side: Side
    type: OrderType
    slippage_bps: int | None
    leverage: int | None
    notional: Usdc
    action: OrderAction
    envelope: Envelope | None
    sign_mode: SignMode
    status: Status
    version: int
    attempt: int
    by: By
    mandate_id: str | None
    intent_id: str | None
    why: str | None
    asked: Mapping[str, object]
    created_at: datetime
    expires_at: datetime
    counted: Usdc
    counted_day: str | None
    confirm_hash: str | None = None
    former: tuple[OrderAction, ...] = ()
    cancelling: Envelope | None = None
    cancel_hash: str | None = None
    sent_at: datetime | None = None
    done_at: datetime | None = None
    filled_size: Decimal | None = None
    avg_px: Decimal | None = None
    seen: SeenAtVenue | None = None
    verified: bool = False
    refusal: Mapping[str, str] | None = None
    claimed: Mapping[str, object] | None = None
    fills_whole: bool = False
    next_check_at: datetime | None = None
    tries: int = 0
    fills: tuple[OrderFill, ...] = field(default=())

    @property
    def partial(self) -> bool:
        """True where it ended filled in part: above nothing, below its size."""
        filled = self.filled_size
        return self.status in DONE and filled is not None and 0 < filled < self.action.size

    def shown_status(self, now: datetime) -> Status:
        """The status; an unsent order past its end is expired before a sweep stores that."""
        return "expired" if self.status in UNSENT and now >= self.expires_at else self.status


def unproved(order: Order) -> bool:
    """True for an order that ended without proof while its bytes could act: cancelled or expired
    here, or refused by one answer or its own status alone.
    """
    if order.envelope is None or order.verified:
        return False
    taken_back = order.status == "cancelled" and order.sent_at is None
    return taken_back or order.status in ("expired", "rejected")


def proof_due(order: Order, now: datetime) -> datetime | None:
    """The time at which an unproved order is looked up next; None once it was looked up several
    times in a row after its bytes had ended.
    """
    if not unproved(order):
        return None
    ends = (order.expires_at + LATE, order.expires_at + VOID_AFTER)
    due = next((at for at in ends if now < at), None)
    if due is None and order.tries < FORGOTTEN_AFTER:
        due = now + timedelta(seconds=_POLL_EVERY_S)
    return due
