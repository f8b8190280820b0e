"""What an owner is told of by itself: a few things that ask for a look, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from domain.ledger.events import Event, Kind, Reporter
from domain.ledger.measured import Measured
from domain.ledger.payloads import ApprovalTold, Control, Deposited, Payload, Settled, Stopped
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.times import day_of

NoticeKind = Literal[
    "approval.asked", "approval.decided", "cap.reached", "mandate.acceptance_ended",
    "mandate.paused", "mandate.resumed", "mandate.stop_line", "mandate.stopped",
    "mandate.settled", "deposit.seen", "transfer.in", "order.unknown",
]  # fmt: skip
NOTICE_KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)
_TOLD: Final = (ApprovalTold, Control, Deposited, Settled, Stopped)
LEVELS: Final = (100, 80, 50)  # percent of a cap
AT_THE_FLOOR: Final = "floor"

Data: TypeAlias = Mapping[str, str | int | None]
"""What a notice says: flat, amounts as 6-decimal text, and nobody's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell. `key` is the same for the same thing, however often it is found."""

    kind: NoticeKind
    key: str
    data: Data


def may_tell(event: Event) -> bool:
    """False for a row that no notice is made of, whatever its mandate: all that agents report, and
    a row whose log stands elsewhere now, as it was told of before.
    """
    if event.reported_by is Reporter.AGENT or event.told.restates is not None:
        return False
    return event.kind is Kind.MOVE or isinstance(event.told.what, _TOLD)


def of_row(m: Mandate, event: Event, what: Payload, measured: Measured) -> tuple[Notice, ...]:
    """The notices that a ledger row is worth; none of most.

    `measured` is the book as it stands now, with this row and perhaps later ones.
    """
    if not may_tell(event):
        return ()
    said = _said(m, event, what)
    filled = _day_cap(m, event, measured) if event.kind is Kind.MOVE else None
    if isinstance(what, Deposited):
        filled = _budget(m, event, measured)
    return tuple(n for n in (said, filled) if n is not None)


def _said(m: Mandate, event: Event, what: Payload) -> Notice | None:
    """What the row itself says."""
    base: dict[str, str | int | None] = {
        "public_id": m.public_id,
        "event_id": event.event_id,
        "tx_hash": event.tx_hash,
    }

    def notice(kind: NoticeKind, **data: str | int | None) -> Notice:
        return Notice(kind=kind, key=f"{kind}:{event.event_id}", data=base | data)

    match what:
        case ApprovalTold():
            return notice("approval.decided", approval_id=what.approval_id, status=what.status)
        case Control():
            return notice("mandate.paused" if what.what == "paused" else "mandate.resumed")
        case Stopped():
            at_line = what.reason == AT_THE_FLOOR
            kind: NoticeKind = "mandate.stop_line" if at_line else "mandate.stopped"
            return notice(kind, reason=what.reason)
        case Settled():
            return notice(
                "mandate.settled",
                spent=str(what.spent),
                returned=str(what.returned),
                gain=str(what.gain),
                agent_fee=str(what.agent_fee),
            )
        case Deposited():
            amount = event.amount_usdc if event.amount_usdc is not None else ZERO
            return notice("deposit.seen", amount_usdc=str(amount))
    return None


def _day_cap(m: Mandate, event: Event, measured: Measured) -> Notice | None:
    """The highest level of the day's cap that is reached; each day and level is one thing."""
    day = day_of(event.occurred_at)
    spent = measured.days[day].spent if day in measured.days else 0
    return _reached(m, event, cap="day", day=day, used=Usdc(spent), allowed=m.daily_cap)


def _budget(m: Mandate, event: Event, measured: Measured) -> Notice | None:
    """The highest level of the budget that the owner's own money has reached, as the limits count
    it: deposits less withdrawals. Each level is one thing in a mandate's life.
    """
    used = Usdc(max(0, measured.deposits - measured.withdrawals))
    return _reached(m, event, cap="budget", day=None, used=used, allowed=m.budget_usdc)


def _reached(
    m: Mandate, event: Event, *, cap: str, day: str | None, used: Usdc, allowed: Usdc
) -> Notice | None:
    most = allowed.micros
    level = next((p for p in LEVELS if most and used.micros * 100 >= most * p), None)
    if level is None:
        return None
    return Notice(
        kind="cap.reached",
        key=f"cap:{m.public_id}:{day or cap}:{level}",
        data={
            "public_id": m.public_id,
            "event_id": event.event_id,
            "cap": cap,
            "day": day,
            "percent": level,
            "used": str(used),
            "allowed": str(allowed),
        },
    )
