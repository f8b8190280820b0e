"""Daily series of a mandate: worth, money put in, the stop line, and spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.ledger.state.day_totals import RolledDay
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import committed, floor_at, worth
from domain.times import day_of
from domain.wire_fields import described

DAYS_SHOWN: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One UTC day, as it stood at its end; today as it stands."""

    day: str = field(metadata=described("UTC day, YYYY-MM-DD"))
    worth: Usdc | None = field(
        metadata=described(
            "as the house measured it; null before the first deposit, and where unknown"
        )
    )
    put_in: Usdc = field(metadata=described("deposits - withdrawals up to the end of the day"))
    floor: Usdc = field(metadata=described("the stop line"))
    deposits: Usdc = field(metadata=described("of the day"))
    withdrawals: Usdc = field(metadata=described("of the day"))
    spent: Usdc = field(metadata=described("what counts against the cap of the day, measured"))


def series(
    snapshot: MandateSnapshot, days: Sequence[RolledDay], *, is_complete: bool
) -> tuple[SeriesPoint, ...]:
    """The points, oldest first; a day in which nothing happened has none.

    Shapes: `days` are roll-ups, oldest first; `is_complete`: every row of the ledger is in them.
    Today's point rests on the books and the vault, as everything else that is shown of it.
    """
    mandate, book = snapshot.mandate, snapshot.measured
    points = {
        d.day: SeriesPoint(
            day=d.day,
            worth=Usdc(d.worth) if d.measured and (d.deposited or d.worth) else None,
            put_in=Usdc(d.put_in),
            floor=floor_at(mandate, Usdc(d.deposited)),
            deposits=Usdc(d.inflow),
            withdrawals=Usdc(d.outflow),
            spent=Usdc(max(0, d.spent)),
        )
        for d in days
    }
    if mandate.status is not Status.SETTLED or book.opened or not is_complete:
        today = day_of(snapshot.now)
        old, measured = points.get(today), book.days.get(today)
        points[today] = SeriesPoint(
            day=today,
            worth=worth(snapshot),
            put_in=committed(snapshot),
            floor=floor_at(mandate, Usdc(book.deposits)),
            deposits=ZERO if old is None else old.deposits,
            withdrawals=ZERO if old is None else old.withdrawals,
            spent=Usdc(max(0, measured.spent)) if measured is not None else ZERO,
        )
    return tuple(points[day] for day in sorted(points)[-DAYS_SHOWN:])
