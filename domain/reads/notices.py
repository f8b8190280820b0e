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
    "approval.asked", "approval.decided", "cap.reached", "mandate.paused", "mandate.resumed",
    "mandate.stop_line", "mandate.stopped", "mandate.settled", "deposit.seen", "transfer.in",
    "order.unknown",
]  # fmt: skip
NOTICE_KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)
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


def of_row(m: Mandate, event: Event, what: Payload, measured: Measured) -> Notice | None:
    """The notice that a ledger row is worth; None of most, and of all that agents report.

    `measured` is the book as it stands now, with this row and perhaps later ones.
    """
    if event.reported_by is Reporter.AGENT:
        return None
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
    return _cap(m, event, measured) if event.kind is Kind.MOVE else None


def _cap(m: Mandate, event: Event, measured: Measured) -> Notice | None:
    """The highest level of the day's cap that is reached; each day and level is one thing."""
    day = day_of(event.occurred_at)
    spent = measured.days[day].spent if day in measured.days else 0
    cap = m.daily_cap.micros
    level = next((p for p in LEVELS if cap and spent * 100 >= cap * p), None)
    if level is None:
        return None
    return Notice(
        kind="cap.reached",
        key=f"cap:{m.public_id}:{day}:{level}",
        data={
            "public_id": m.public_id,
            "event_id": event.event_id,
            "cap": "day",
            "day": day,
            "percent": level,
            "used": str(Usdc(spent)),
            "allowed": str(m.daily_cap),
        },
    )
