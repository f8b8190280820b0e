"""Progress: worth, realized result, floor, leave-now estimate, rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from domain.ledger.state.venue_book import VenuePosition
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc
from domain.rules.caps import pending
from domain.rules.rule_table import RULES, STOP_LINE
from domain.rules.snapshot import MandateSnapshot, ShownStatus, display_status
from domain.rules.stop_line import fresh, latched
from domain.rules.unwind_window import UNWIND_WINDOW
from domain.rules.valuation import (
    Source,
    Valuation,
    ValuedPosition,
    cash,
    committed,
    fee_on,
    floor_now,
    realized,
    realized_source,
    unmeasured,
    usdc,
    valuation,
)
from domain.rules.venue_exposure import marks_of, venue_account
from domain.times import Timestamp, moment_of
from domain.wire_fields import LEFT_OUT, described, wire_name

EventKind = Literal["ends_at", "next_at", "approval_expiry", "settle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the mandate; `ok` is false once it was broken."""

    code: str
    clause: int
    text: str = field(metadata=described("the service's own words"))
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NextEvent:
    """The next event that comes by itself."""

    kind: EventKind
    at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPart:
    """A part of a position as its agent names it, in the agent's own figures."""

    id: str = field(metadata=described("as the agent told it"))
    cost_est: Usdc
    mark_est: Usdc | None
    est: Literal[True] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingClaims:
    """Actions reported with a transaction that no chain row tells of yet."""

    count: int
    out: Usdc
    in_: Usdc = field(metadata=wire_name("in"))
    oldest_at: Timestamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPosition:
    """A position that the chain tells of, at the newest mark, else at cost."""

    id: str
    market: str | None
    address: str | None
    mark: Usdc
    cost: Usdc
    marked_at: Timestamp | None
    source: Source
    est: Literal[True] = True
    parts: tuple[OpenPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveNowBasis:
    """The basis of the figure for leaving now."""

    value: Usdc | None
    formula: str = "cash + positions_est - exit_cost_est"
    spread_bps: int = field(
        metadata=described("assumed cost of an exit, ten-thousandths of the marks")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueHolding:
    """The mandate's position in one product, by its own orders; the account may hold more of it."""

    product: str
    side: Literal["long", "short"]
    size: str
    entry_px: str
    mark_px: str | None = field(metadata=described("null while the venue tells none"))
    unrealized_usdc: Usdc | None
    est: Literal[True] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueProgress:
    """Result of the live orders that cite the mandate, from the venue's own fills; in no figure of
    the vault. `result_est` is realized - fees + what is open at the venue's mark prices, and null
    while one of them is missing; funding is the account's and not in it.
    """

    network: str
    result_est: Usdc | None
    realized_usdc: Usdc
    fees_usdc: Usdc
    volume_usdc: Usdc
    orders: int
    fills: int
    positions: tuple[VenueHolding, ...]
    source: Literal["venue"] = "venue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Figures of a mandate (spec 2.6). An unmeasured figure is null; estimates are named so.

    `venue` stands only where a live order that cites the mandate filled; `data_issue` only where a
    stored value was unusable, a mark is too old to act on, or a value probe of the vault does not
    answer.
    """

    worth_est: Usdc | None
    worth_source: Source
    realized: Usdc
    realized_source: Literal["claimed", "settled"]
    floor: Usdc
    floor_now: Usdc
    cash: Usdc | None
    committed: Usdc
    positions_est: Usdc | None
    positions: tuple[OpenPosition, ...]
    pending_claims: PendingClaims = field(
        metadata=described("not in worth_est, cash and positions until the chain reader books them")
    )
    fees: Usdc
    agent_fee_reserved: Usdc | None
    leave_now_est: Usdc | None
    leave_now_basis: LeaveNowBasis
    exit_cost_est: Usdc | None
    rules: tuple[Rule, ...]
    next_event: NextEvent | None
    status: ShownStatus
    day: int | None = field(metadata=described("days since the signature, counted from 1"))
    horizon_days: int
    venue: VenueProgress | None = field(default=None, metadata=LEFT_OUT)
    data_issue: Literal[True] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Cost and proceeds of leaving now, by one valuation; None before the first chain row."""

    exit_cost: Usdc | None
    before_fee: Usdc | None
    after_fee: Usdc | None


def leaving(snapshot: MandateSnapshot, at: Valuation) -> Leaving:
    """Exit cost is the sum of marks x spread_bps, rounded up; the rest are estimates by it."""
    reserved, current_worth, fee = usdc(at.positions_est), usdc(at.worth), fee_on(snapshot, at)
    cost = None if reserved is None else max(ZERO, reserved).share_up(snapshot.config.spread_bps)
    before = None if current_worth is None or cost is None else current_worth - cost
    after = None if before is None or fee is None else before - fee
    return Leaving(exit_cost=cost, before_fee=before, after_fee=after)


def rules(snapshot: MandateSnapshot) -> tuple[Rule, ...]:
    """One entry a rule; `ok` is false once it was broken (spec 2.4 rule 2), and for the stop line
    while the recorded marks stand below it, whether or not anybody acts on them.
    """
    broken = set(snapshot.state.violations)
    if latched(snapshot.measured, snapshot.config.mark_fresh_s):
        broken.add(STOP_LINE.code)
    return tuple(
        Rule(code=r.code, clause=int(r.clause), text=r.text, ok=r.code not in broken) for r in RULES
    )


def next_event(snapshot: MandateSnapshot) -> NextEvent | None:
    """The soonest of end, next look, an approval's expiry and the settlement (contract 5)."""
    mandate = snapshot.mandate
    events: list[tuple[datetime, EventKind]] = []
    if mandate.status in (Status.SIGNED, Status.WORKING) and mandate.ends_at is not None:
        events.append((mandate.ends_at, "ends_at"))
    next_look = moment_of(snapshot.state.claimed.next_at)
    if next_look is not None and mandate.status is Status.WORKING:
        events.append((next_look, "next_at"))
    events += [
        (a.expires_at, "approval_expiry")
        for a in snapshot.approvals
        if a.status_at(snapshot.now) == "pending"
    ]
    closed = mandate.stopped_at or (mandate.ends_at if mandate.ended(snapshot.now) else None)
    if closed is not None and mandate.status is not Status.SETTLED and mandate.vault_address:
        events.append((closed + UNWIND_WINDOW, "settle"))
    later = sorted((at, kind) for at, kind in events if at > snapshot.now)
    return NextEvent(kind=later[0][1], at=later[0][0]) if later else None


def day(snapshot: MandateSnapshot) -> int | None:
    """Days since the signature, counting from 1; None before it."""
    since = snapshot.mandate.signed_at
    if since is None:
        return None
    return max(1, min((snapshot.now - since).days + 1, snapshot.mandate.horizon_days))


def _position(snapshot: MandateSnapshot, key: str, valued: ValuedPosition) -> OpenPosition:
    parts = snapshot.state.claimed.parts.items()
    return OpenPosition(
        id=key,
        market=valued.position.target.market,
        address=valued.position.target.address,
        mark=Usdc(valued.value),
        cost=Usdc(valued.position.cost),
        marked_at=valued.marked_at,
        source=valued.source,
        parts=tuple(
            OpenPart(id=name, cost_est=Usdc(part.cost), mark_est=usdc(part.mark))
            for name, part in parts
            if part.of == key and part.opened
        ),
    )


def pending_claims(snapshot: MandateSnapshot) -> PendingClaims:
    """Claims that no chain row confirms yet: they count against the day cap alone."""
    claims = pending(snapshot).values()
    return PendingClaims(
        count=len(claims),
        out=Usdc(sum(c.out for c in claims)),
        in_=Usdc(sum(c.into for c in claims)),
        oldest_at=min((c.at for c in claims), default=None),
    )


def venue_progress(snapshot: MandateSnapshot) -> VenueProgress | None:
    """The result of live orders; None where none filled."""
    if (at := venue_account(snapshot)) is None:
        return None
    network, account = at
    marks = marks_of(snapshot, network)
    return VenueProgress(
        network=network,
        result_est=usdc(account.result(marks)),
        realized_usdc=Usdc(account.realized),
        fees_usdc=Usdc(account.fees),
        volume_usdc=Usdc(account.volume),
        orders=account.orders,
        fills=account.fills,
        positions=tuple(
            _holding(product, position, marks.get(product))
            for product, position in sorted(account.positions.items())
        ),
    )


def _holding(product: str, position: VenuePosition, mark: Decimal | None) -> VenueHolding:
    return VenueHolding(
        product=product,
        side="long" if position.size > 0 else "short",
        size=format(abs(position.size), "f"),
        entry_px=format(position.entry_px, "f"),
        mark_px=None if mark is None else format(mark, "f"),
        unrealized_usdc=usdc(None if mark is None else position.result(mark)),
    )


def progress(snapshot: MandateSnapshot) -> Progress:
    """Fold the ledger into progress.

    Errors: none; an unusable stored value reads as 0 and sets `data_issue`.
    Source: spec 2.6, contract 5.
    """
    at = valuation(snapshot)
    exit = leaving(snapshot, at)
    return Progress(
        worth_est=usdc(at.worth),
        worth_source=at.source,
        realized=realized(snapshot),
        realized_source=realized_source(snapshot),
        floor=snapshot.mandate.floor,
        floor_now=floor_now(snapshot),
        cash=cash(snapshot),
        committed=committed(snapshot),
        positions_est=usdc(at.positions_est),
        positions=tuple(_position(snapshot, *item) for item in at.positions.items()),
        pending_claims=pending_claims(snapshot),
        fees=Usdc(snapshot.state.fees),
        agent_fee_reserved=fee_on(snapshot, at),
        leave_now_est=exit.after_fee,
        leave_now_basis=LeaveNowBasis(value=exit.before_fee, spread_bps=snapshot.config.spread_bps),
        exit_cost_est=exit.exit_cost,
        rules=rules(snapshot),
        next_event=next_event(snapshot),
        status=display_status(snapshot),
        day=day(snapshot),
        horizon_days=snapshot.mandate.horizon_days,
        venue=venue_progress(snapshot),
        data_issue=True if data_issue(snapshot) else None,
    )


def data_issue(snapshot: MandateSnapshot) -> bool:
    """True where a figure rests on something that is unusable, missing, stale or not believed."""
    stored = snapshot.state.bad or snapshot.mandate.data_issue
    return stored or mark_is_stale(snapshot) or unmeasured(snapshot) or snapshot.wrong_chain


def mark_is_stale(snapshot: MandateSnapshot) -> bool:
    """True where open positions of a working, unread mandate rest on an old observation."""
    book = snapshot.measured
    if snapshot.mandate.status is not Status.WORKING or not book.opened or book.seen is None:
        return False
    chain = snapshot.chain
    is_read = chain is not None and chain.exists and not chain.last_known
    return not is_read and not fresh(book.seen.at, snapshot)
