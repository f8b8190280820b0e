"""Daily series of a mandate: worth, money put in, the stop line, and spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.ledger.state.day_totals import RolledDay
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
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


@dataclass(frozen=True, slots=True)
class _Built:
    """A day while it is put together; micro-USDC."""

    worth: int | None
    put_in: int
    deposited: int
    deposits: int = 0
    withdrawals: int = 0
    spent: int = 0


def series(
    snapshot: MandateSnapshot, days: Sequence[RolledDay], *, is_complete: bool
) -> tuple[SeriesPoint, ...]:
    """The points, oldest first; a day in which nothing happened has none.

    Shapes: `days` are roll-ups, oldest first; `is_complete`: every row of the ledger is in them.
    Today's point rests on the books and the vault, as everything else that is shown of it.
    """
    mandate = snapshot.mandate
    built = {
        d.day: _Built(
            worth=d.worth if d.measured and (d.deposited or d.worth) else None,
            put_in=d.put_in,
            deposited=d.deposited,
            deposits=d.inflow,
            withdrawals=d.outflow,
            spent=d.spent,
        )
        for d in days
    }
    if mandate.status is not Status.SETTLED or snapshot.measured.opened or not is_complete:
        _today(snapshot, built)
    points = sorted(built.items())[-DAYS_SHOWN:]
    return tuple(_point(mandate, day, b) for day, b in points)


def _today(snapshot: MandateSnapshot, built: dict[str, _Built]) -> None:
    today, at = day_of(snapshot.now), worth(snapshot)
    old = built.get(today, _Built(worth=None, put_in=0, deposited=0))
    day = snapshot.measured.days.get(today)
    built[today] = _Built(
        worth=None if at is None else at.micros,
        put_in=committed(snapshot).micros,
        deposited=snapshot.measured.deposits,
        deposits=old.deposits,
        withdrawals=old.withdrawals,
        spent=day.spent if day is not None else 0,
    )


def _point(mandate: Mandate, day: str, b: _Built) -> SeriesPoint:
    return SeriesPoint(
        day=day,
        worth=None if b.worth is None else Usdc(b.worth),
        put_in=Usdc(b.put_in),
        floor=floor_at(mandate, Usdc(b.deposited)),
        deposits=Usdc(b.deposits),
        withdrawals=Usdc(b.withdrawals),
        spent=Usdc(max(0, b.spent)),
    )
