"""A mandate's days: the rows of the table, and the chart from the second day on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from app.chart.worth import Drawing, Point, drawings
from app.replies import Json
from app.words import money
from app.words.text import _


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRowView:
    """One UTC day; `read` is how it is read out."""

    day: str
    worth: str | None
    deposits: str | None
    withdrawals: str | None
    floor: str
    spent: str | None
    read: str


def _rows(value: str) -> str | None:
    return value if money.micros_of(value) else None


def _row(point: Json) -> DayRowView:
    worth, at = point["worth"], date.fromisoformat(point["day"])
    is_known = _("not known") if worth is None else f"{money.approximate(worth)} USDC"
    read = _("{day}: worth {worth}, spent {spent}")
    return DayRowView(
        day=point["day"],
        worth=worth,
        deposits=_rows(point["deposits"]),
        withdrawals=_rows(point["withdrawals"]),
        floor=point["floor"],
        spent=_rows(point["spent"]),
        read=read.format(
            day=f"{at.day} {at:%b}", worth=is_known, spent=money.sentence_amount(point["spent"])
        ),
    )


def days(series: Json) -> tuple[tuple[DayRowView, ...], tuple[Drawing, ...]]:
    """(the rows, oldest first; the drawings, none before the second day with a worth)."""
    rows = tuple(_row(p) for p in series["points"])
    points: list[Point] = []
    for p in series["points"]:
        before = points[-1].worth if points else None
        worth = before if p["worth"] is None else money.micros_of(p["worth"])
        if worth is None:
            continue
        points.append(
            Point(
                day=p["day"],
                worth=worth,
                put_in=money.micros_of(p["put_in"]),
                floor=money.micros_of(p["floor"]),
                deposits=money.micros_of(p["deposits"]),
                withdrawals=money.micros_of(p["withdrawals"]),
                spent=money.micros_of(p["spent"]),
            )
        )
    drawn = drawings(tuple(points), money.micros_of(series["day_cap"])) if len(points) > 1 else ()
    return (rows[len(rows) - len(points) :] if drawn else rows), drawn
