"""Progress: worth, realized result, floor, leave-now estimate, rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal, cast

from domain.ledger.venue_book import VenuePosition
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc
from domain.reads.fees import WorthSource
from domain.rules.caps import pending
from domain.rules.case import Case, shown_status
from domain.rules.codes import CLAUSE_OF, RULE_TEXT
from domain.rules.stop_line import fresh, latched
from domain.rules.unwinding import UNWIND_WINDOW
from domain.rules.venue_side import marks_of, venue_account
from domain.rules.worth import (
    Holding,
    Valued,
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
from domain.times import Timestamp, moment_of
from domain.wire import LEFT_OUT, named, said

EventKind = Literal["ends_at", "next_at", "approval_expiry", "settle"]

ShownStatus = Literal["draft", "signed", "working", "stopped", "settled", "cancelled", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the mandate; `ok` is false once it was broken."""

    code: str
    clause: int
    text: str = field(metadata=said("the service's own words"))
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NextEvent:
    """What comes next by itself."""

    kind: EventKind
    at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPart:
    """A part of a position as its agent names it, in the agent's own figures."""

    id: str = field(metadata=said("as the agent told it"))
    cost_est: Usdc
    mark_est: Usdc | None
    est: Literal[True] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingClaims:
    """Actions reported with a transaction that no chain row tells of yet."""

    count: int
    out: Usdc
    in_: Usdc = field(metadata=named("in"))
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
    source: WorthSource
    est: Literal[True] = True
    parts: tuple[OpenPart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveNowBasis:
    """What leaving now rests on."""

    value: Usdc | None
    formula: str = "cash + positions_est - exit_cost_est"
    spread_bps: int = field(metadata=said("assumed cost of an exit, ten-thousandths of the marks"))


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueHolding:
    """What the mandate's own orders come to in one product; the account may hold more of it."""

    product: str
    side: Literal["long", "short"]
    size: str
    entry_px: str
    mark_px: str | None = field(metadata=said("null while the venue tells none"))
    unrealized_usdc: Usdc | None
    est: Literal[True] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueProgress:
    """What live orders that cite the mandate came to, from the venue's own fills; in no figure of
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
    """How a mandate stands (spec 2.6). What nobody measured is null; estimates are named so.

    `venue` stands only where a live order that cites the mandate filled; `data_issue` only where a
    stored value was unusable, a mark is too old to act on, or a value probe of the vault does not
    answer.
    """

    worth_est: Usdc | None
    worth_source: WorthSource
    realized: Usdc
    realized_source: Literal["claimed", "settled"]
    floor: Usdc
    floor_now: Usdc
    cash: Usdc | None
    committed: Usdc
    positions_est: Usdc | None
    positions: tuple[OpenPosition, ...]
    pending_claims: PendingClaims
    fees: Usdc
    agent_fee_reserved: Usdc | None
    leave_now_est: Usdc | None
    leave_now_basis: LeaveNowBasis
    exit_cost_est: Usdc | None
    rules: tuple[Rule, ...]
    next_event: NextEvent | None
    status: ShownStatus
    day: int | None = field(metadata=said("days since the signature, counted from 1"))
    horizon_days: int
    venue: VenueProgress | None = field(default=None, metadata=LEFT_OUT)
    data_issue: Literal[True] | None = field(default=None, metadata=LEFT_OUT)


def status_shown(case: Case) -> ShownStatus:
    """The status, and `ended` past the end of a mandate that is not settled."""
    return cast(ShownStatus, shown_status(case))


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """What leaving now would cost and bring, by one valuation; None before the first chain row."""

    exit_cost: Usdc | None
    before_fee: Usdc | None
    after_fee: Usdc | None


def leaving(case: Case, at: Valued) -> Leaving:
    """Exit cost is the sum of marks x spread_bps, rounded up; the rest are estimates by it."""
    held, whole, fee = usdc(at.positions_est), usdc(at.worth), fee_on(case, at)
    cost = None if held is None else max(ZERO, held).share_up(case.config.spread_bps)
    before = None if whole is None or cost is None else whole - cost
    after = None if before is None or fee is None else before - fee
    return Leaving(exit_cost=cost, before_fee=before, after_fee=after)


def rules(case: Case) -> tuple[Rule, ...]:
    """One entry a rule; `ok` is false once it was broken (spec 2.4 rule 2), and for the stop line
    while the recorded marks stand below it, whether or not anybody acts on them.
    """
    broken = set(case.state.violations)
    if latched(case.measured, case.config.mark_fresh_s):
        broken.add("below_stop_line")
    return tuple(
        Rule(code=code, clause=int(clause), text=RULE_TEXT[code], ok=code not in broken)
        for code, clause in CLAUSE_OF.items()
    )


def next_event(case: Case) -> NextEvent | None:
    """The soonest of the end, the agent's next look, an approval's expiry and the settlement
    (contract 5).
    """
    m = case.mandate
    coming: list[tuple[datetime, EventKind]] = []
    if m.status in (Status.SIGNED, Status.WORKING) and m.ends_at is not None:
        coming.append((m.ends_at, "ends_at"))
    look = moment_of(case.state.claimed.next_at)
    if look is not None and m.status is Status.WORKING:
        coming.append((look, "next_at"))
    coming += [
        (a.expires_at, "approval_expiry") for a in case.approvals if a.shown(case.now) == "pending"
    ]
    closed = m.stopped_at or (m.ends_at if m.ended(case.now) else None)
    if closed is not None and m.status is not Status.SETTLED and m.vault_address:
        coming.append((closed + UNWIND_WINDOW, "settle"))
    later = sorted((at, kind) for at, kind in coming if at > case.now)
    return NextEvent(kind=later[0][1], at=later[0][0]) if later else None


def day(case: Case) -> int | None:
    """Days since the signature, counting from 1; None before it."""
    since = case.mandate.signed_at
    return (
        None
        if since is None
        else max(1, min((case.now - since).days + 1, case.mandate.horizon_days))
    )


def _position(case: Case, key: str, held: Holding) -> OpenPosition:
    place = held.position.place
    return OpenPosition(
        id=key,
        market=place.market,
        address=place.address,
        mark=Usdc(held.value),
        cost=Usdc(held.position.cost),
        marked_at=held.marked_at,
        source=held.source,
        parts=tuple(
            OpenPart(
                id=name,
                cost_est=Usdc(part.cost),
                mark_est=None if part.mark is None else Usdc(part.mark),
            )
            for name, part in case.state.claimed.parts.items()
            if part.of == key and part.opened
        ),
    )


def pending_claims(case: Case) -> PendingClaims:
    """Actions that no chain row tells of yet: they count against the day, and nothing else."""
    claims = pending(case).values()
    return PendingClaims(
        count=len(claims),
        out=Usdc(sum(c.out for c in claims)),
        in_=Usdc(sum(c.into for c in claims)),
        oldest_at=min((c.at for c in claims), default=None),
    )


def venue_progress(case: Case) -> VenueProgress | None:
    """What live orders came to; None where none filled."""
    found = venue_account(case)
    if found is None:
        return None
    network, account = found
    marks = marks_of(case, network)
    result = account.result(marks)
    return VenueProgress(
        network=network,
        result_est=None if result is None else Usdc(result),
        realized_usdc=Usdc(account.realized),
        fees_usdc=Usdc(account.fees),
        volume_usdc=Usdc(account.volume),
        orders=account.orders,
        fills=account.fills,
        positions=tuple(
            _holding(product, held, marks.get(product))
            for product, held in sorted(account.positions.items())
        ),
    )


def _holding(product: str, held: VenuePosition, mark: Decimal | None) -> VenueHolding:
    return VenueHolding(
        product=product,
        side="long" if held.size > 0 else "short",
        size=format(abs(held.size), "f"),
        entry_px=format(held.entry_px, "f"),
        mark_px=None if mark is None else format(mark, "f"),
        unrealized_usdc=None if mark is None else Usdc(held.result(mark)),
    )


def progress(case: Case) -> Progress:
    """Fold the ledger into progress.

    Errors: none; an unusable stored value reads as 0 and sets `data_issue`.
    Source: spec 2.6, contract 5.
    """
    at = valuation(case)
    left = leaving(case, at)
    return Progress(
        worth_est=usdc(at.worth),
        worth_source=at.source,
        realized=realized(case),
        realized_source=realized_source(case),
        floor=case.mandate.floor,
        floor_now=floor_now(case),
        cash=cash(case),
        committed=committed(case),
        positions_est=usdc(at.positions_est),
        positions=tuple(_position(case, key, held) for key, held in at.positions.items()),
        pending_claims=pending_claims(case),
        fees=Usdc(case.state.claimed.fees),
        agent_fee_reserved=fee_on(case, at),
        leave_now_est=left.after_fee,
        leave_now_basis=LeaveNowBasis(value=left.before_fee, spread_bps=case.config.spread_bps),
        exit_cost_est=left.exit_cost,
        rules=rules(case),
        next_event=next_event(case),
        status=status_shown(case),
        day=day(case),
        horizon_days=case.mandate.horizon_days,
        venue=venue_progress(case),
        data_issue=True if data_issue(case) else None,
    )


def data_issue(case: Case) -> bool:
    """True where a figure rests on something that is unusable, missing, stale or not believed."""
    stored = case.state.bad or case.mandate.data_issue
    return stored or mark_is_stale(case) or unmeasured(case) or case.wrong_chain


def mark_is_stale(case: Case) -> bool:
    """True where open positions of a working mandate rest on an observation that is too old to act
    on, because the vault cannot be read now.
    """
    m = case.measured
    if case.mandate.status is not Status.WORKING or not m.opened or m.seen is None:
        return False
    chain = case.chain
    seen = chain is not None and chain.exists and not chain.last_known
    return not seen and not fresh(m.seen.at, case)
