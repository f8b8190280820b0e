"""Owner notices: the few ledger rows and thresholds that an owner is notified of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

from domain.ledger.events.event import Event, LedgerKind, Reporter
from domain.ledger.events.payloads import (
    ApprovalDecided,
    Control,
    Deposited,
    Payload,
    Settled,
    Stopped,
)
from domain.ledger.state.measured import MeasuredBook
from domain.mandates.mandate import Mandate
from domain.mandates.notice_choices import NoticeKind
from domain.money import ZERO, Usdc
from domain.times import day_of
from domain.wire_fields import copy_fields

_NOTICE_BODIES: Final = (ApprovalDecided, Control, Deposited, Settled, Stopped)
LEVELS: Final = (100, 80, 50)  # percent of a cap
AT_THE_FLOOR: Final = "floor"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNotice:
    """The ledger row that a notice is of; `tx_hash` null where the chain did not bring it."""

    public_id: str
    event_id: str
    tx_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecidedNotice(RowNotice):
    """The owner decided about an action that waited."""

    approval_id: str | None
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedNotice(RowNotice):
    """A mandate stopped; `reason` is the row's, null where it has none."""

    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledNotice(RowNotice):
    """A vault was settled. Units: USDC, 6 decimals."""

    spent: str
    returned: str
    gain: str
    agent_fee: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositNotice(RowNotice):
    """Money came into a vault. Units: USDC, 6 decimals."""

    amount_usdc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CapNotice:
    """A level of a cap is reached; `day` is null for the budget's. Units: USDC, 6 decimals."""

    public_id: str
    event_id: str
    cap: Literal["day", "budget"]
    day: str | None
    percent: int
    used: str
    allowed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAskedNotice:
    """An action waits for its owner. Units: USDC, 6 decimals."""

    public_id: str
    approval_id: str
    amount_usdc: str
    target: str | None
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceEndedNotice:
    """The owner changed terms that an agent had accepted."""

    public_id: str
    agent_id: str | None
    accepted_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderUnknownNotice:
    """An order was sent, and its outcome is not known. Units: USDC, 6 decimals."""

    order_id: str
    mode: str
    product: str
    side: str
    notional: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAskedNotice:
    """An order that an agent prepared waits for its owner's signature. Units: USDC, 6 decimals."""

    order_id: str
    mode: str
    product: str
    side: str
    notional: str
    expires_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferNotice:
    """USDC that was not reported came to an agent's own address. Units: USDC, 6 decimals."""

    agent_id: str
    chain_id: int
    tx_hash: str
    amount_usdc: str


NoticeData: TypeAlias = (
    RowNotice
    | CapNotice
    | ApprovalAskedNotice
    | AcceptanceEndedNotice
    | OrderAskedNotice
    | OrderUnknownNotice
    | TransferNotice
)
"""The data of a notice: flat, amounts as 6-decimal text, no user-written text."""

NOTICE_DATA: Final[Mapping[NoticeKind, type[NoticeData]]] = {
    "approval.asked": ApprovalAskedNotice,
    "approval.decided": ApprovalDecidedNotice,
    "cap.reached": CapNotice,
    "mandate.acceptance_ended": AcceptanceEndedNotice,
    "mandate.paused": RowNotice,
    "mandate.resumed": RowNotice,
    "mandate.stop_line": StoppedNotice,
    "mandate.stopped": StoppedNotice,
    "mandate.settled": SettledNotice,
    "deposit.seen": DepositNotice,
    "transfer.in": TransferNotice,
    "order.asked": OrderAskedNotice,
    "order.unknown": OrderUnknownNotice,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell. `key` is the same for the same thing, however often it is found."""

    kind: NoticeKind
    key: str
    data: NoticeData


def item_path(data: NoticeData) -> str:
    """The page of the very item that a notice is about."""
    match data:
        case ApprovalAskedNotice(approval_id=approval_id):
            return f"/app/approvals/{approval_id}"
        case OrderAskedNotice(order_id=order_id) | OrderUnknownNotice(order_id=order_id):
            return f"/app/orders/{order_id}"
        case TransferNotice(agent_id=agent_id):
            return f"/app/agents/{agent_id}"
        case AcceptanceEndedNotice(public_id=public_id):
            return f"/app/mandates/{public_id}"
    return f"/app/mandates/{data.public_id}#record"


def mandate_of(data: NoticeData) -> str | None:
    """The mandate that a notice is about; None for an order's and a transfer's."""
    return getattr(data, "public_id", None)


def may_tell(event: Event) -> bool:
    """False for a row that makes no notice: an agent's report, and a row whose log only moved."""
    if event.reported_by is Reporter.AGENT or event.content.restates is not None:
        return False
    return event.kind is LedgerKind.MOVE or isinstance(event.content.body, _NOTICE_BODIES)


def row_notices(
    mandate: Mandate, event: Event, payload: Payload, measured: MeasuredBook
) -> tuple[Notice, ...]:
    """The notices that a ledger row is worth; none of most.

    `measured` is the book as it stands now, with this row and perhaps later ones.
    """
    if not may_tell(event):
        return ()
    notices = [_row_notice(mandate, event, payload)]
    if event.kind is LedgerKind.MOVE and not isinstance(payload, Deposited):
        # Each day and level is one thing.
        day = day_of(event.occurred_at)
        spent = Usdc(measured.days[day].spent if day in measured.days else 0)
        notices.append(_reached(mandate, event, "day", day, spent, mandate.daily_cap))
    if isinstance(payload, Deposited):
        # The owner's own money, as the limits count it; each level comes once in a mandate's life.
        put_in = Usdc(max(0, measured.deposits - measured.withdrawals))
        notices.append(_reached(mandate, event, "budget", None, put_in, mandate.budget_usdc))
    return tuple(n for n in notices if n is not None)


def _row_notice(mandate: Mandate, event: Event, payload: Payload) -> Notice | None:
    """The notice of the row itself, if its kind has one."""

    def notice(kind: NoticeKind, data: type[RowNotice], **values: object) -> Notice:
        made = copy_fields(data, event, public_id=mandate.public_id, **values)
        return Notice(kind=kind, key=f"{kind}:{event.event_id}", data=made)

    match payload:
        case ApprovalDecided(approval_id=approval_id, status=status):
            values = {"approval_id": approval_id, "status": status}
            return notice("approval.decided", ApprovalDecidedNotice, **values)
        case Control(change=change):
            paused = change == "paused"
            return notice("mandate.paused" if paused else "mandate.resumed", RowNotice)
        case Stopped(reason=reason):
            at_line = reason == AT_THE_FLOOR
            kind: NoticeKind = "mandate.stop_line" if at_line else "mandate.stopped"
            return notice(kind, StoppedNotice, reason=reason)
        case Settled():
            amounts = {f.name: str(getattr(payload, f.name)) for f in fields(payload)}
            return notice("mandate.settled", SettledNotice, **amounts)
        case Deposited():
            return notice("deposit.seen", DepositNotice, amount_usdc=str(event.amount_usdc or ZERO))
    return None


def _reached(
    mandate: Mandate,
    event: Event,
    cap: Literal["day", "budget"],
    day: str | None,
    used: Usdc,
    allowed: Usdc,
) -> Notice | None:
    """The highest level of a cap that is reached."""
    limit = allowed.micros
    level = next((p for p in LEVELS if limit and used.micros * 100 >= limit * p), None)
    if level is None:
        return None
    data = CapNotice(
        public_id=mandate.public_id,
        event_id=event.event_id,
        cap=cap,
        day=day,
        percent=level,
        used=str(used),
        allowed=str(allowed),
    )
    key = f"cap:{mandate.public_id}:{day or cap}:{level}"
    return Notice(kind="cap.reached", key=key, data=data)
