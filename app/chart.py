"""A mandate's worth over time: the line, money put in, the stop line, flows, and spend a day.

Figures on a plane, in tenths of a unit; `macros/chart.html` draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from app.replies import Record
from app.words import money, times
from app.words.text import _, keeps_by_language
from domain.money import MICROS

LEFT, RIGHT, TOP, BARS, FOOT = 460, 120, 140, 460, 240
STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500)
MOST_TICKS: Final = 5
KEPT: Final = 64  # charts of up to 400 days
SIZES: Final = (("worth-wide", 720, 300), ("worth-narrow", 340, 280))


class Point(NamedTuple):
    """One UTC day; micro-USDC. `worth` is the last known one where the day has none."""

    day: str
    worth: int
    put_in: int
    floor: int
    deposits: int
    withdrawals: int
    spent: int


class Scale(NamedTuple):
    """Micro-USDC between `low` and `high`, drawn between `bottom` and `top`."""

    low: int
    high: int
    bottom: int
    top: int

    def at(self, micros: int) -> int:
        """The position of an amount."""
        height, span = self.bottom - self.top, self.high - self.low
        return self.bottom - height * (micros - self.low) // span

    def ticks(self) -> range:
        """Round amounts within the scale, at most five."""
        unit, span = MICROS, self.high - self.low
        while span // (unit * STEPS[-1]) > MOST_TICKS:
            unit *= 10
        steps = (unit * s for s in STEPS if span // (unit * s) < MOST_TICKS)
        step = next(steps, unit * STEPS[-1])
        return range(-(-self.low // step) * step, self.high + 1, step)


def tenths(value: int) -> str:
    """A coordinate as SVG takes it."""
    lead, (whole, rest) = "-" if value < 0 else "", divmod(abs(value), 10)
    return f"{lead}{whole}.{rest}" if rest else f"{lead}{whole}"


@keeps_by_language(KEPT)
def drawings(points: tuple[Point, ...], day_cap: str) -> tuple[Record, ...]:
    """The chart in both sizes; at least two points."""
    return tuple(_drawn(points, money.micros_of(day_cap), *size) for size in SIZES)


def _drawn(points: Sequence[Point], day_cap: int, ident: str, width: int, height: int) -> Record:
    """The chart in one size; `left` to `base` tell a script where it is."""
    right, foot = width * 10 - RIGHT, height * 10 - FOOT
    base, bars_top, end = foot - BARS - 100, foot - BARS + 120, points[-1]
    amounts = [a for p in points for a in (p.worth, p.put_in, p.floor)]
    room = max((max(amounts) - min(amounts)) * 12 // 100, MICROS)
    scale = Scale(min(amounts) - room, max(amounts) + room, base, TOP)
    across = [LEFT + (right - LEFT) * i // (len(points) - 1) for i in range(len(points))]
    floor = _stairs(across, [scale.at(p.floor) for p in points])
    spots = zip(across, points, strict=True)
    return Record(
        ident=ident,
        width=width,
        height=height,
        left=tenths(LEFT),
        right=tenths(right),
        top=tenths(TOP),
        foot=tenths(foot),
        worth=_slope(points, across, scale),
        put_in=_stairs(across, [scale.at(p.put_in) for p in points]),
        floor=floor,
        below=f"{floor}V{tenths(base)}H{tenths(LEFT)}Z",
        floor_at=tenths(scale.at(end.floor) - 60),
        floor_text=_round(end.floor),
        amounts=tuple(Record(at=tenths(scale.at(t)), text=_round(t)) for t in scale.ticks()),
        days=tuple(_days(points, across, 4 if width < 500 else 7)),
        flows=tuple(_flows(points, across, base - 70)),
        bars=tuple(_bars(points, across, day_cap, foot, bars_top)),
        cap_at=tenths(bars_top),
        cap_text=_round(day_cap),
        dot_x=tenths(across[-1]),
        dot_y=tenths(scale.at(end.worth)),
        spots=tuple(f"{tenths(x)},{tenths(scale.at(p.worth))}" for x, p in spots),
    )


def _round(micros: int) -> str:
    return f"{micros // MICROS:,}"


def _slope(points: Sequence[Point], across: Sequence[int], scale: Scale) -> str:
    """The worth; a deposit is a step in it, no gain."""
    path = f"M{tenths(across[0])},{tenths(scale.at(points[0].worth))}"
    for x, p in zip(across[1:], points[1:], strict=True):
        flow = p.deposits - p.withdrawals
        path += f"L{tenths(x)},{tenths(scale.at(p.worth - flow))}"
        path += f"V{tenths(scale.at(p.worth))}" if flow else ""
    return path


def _stairs(across: Sequence[int], heights: Sequence[int]) -> str:
    steps = zip(across[1:], heights[1:], strict=True)
    first = f"M{tenths(across[0])},{tenths(heights[0])}"
    return first + "".join(f"H{tenths(x)}V{tenths(y)}" for x, y in steps)


def _flows(points: Sequence[Point], across: Sequence[int], y: int) -> Iterator[Record]:
    """A triangle for each deposit and withdrawal."""
    for x, p in zip(across, points, strict=True):
        for amount, up, name in (
            (p.deposits, 1, _("Deposit")),
            (p.withdrawals, -1, _("Withdrawal")),
        ):
            if amount:
                left, right = tenths(x - 50), tenths(x + 50)
                side, tip = tenths(y + 45 * up), tenths(y - 45 * up)
                path = f"M{left},{side}L{right},{side}L{tenths(x)},{tip}Z"
                yield Record(
                    path=path, text=f"{name} {money.amount(amount)}, {times.date_text(p.day)}"
                )


def _bars(
    points: Sequence[Point], across: Sequence[int], cap: int, foot: int, top: int
) -> Iterator[Record]:
    """A bar for each day's spending."""
    width = max(20, min(140, (across[-1] - across[0]) * 55 // 100 // len(points)))
    for x, p in zip(across, points, strict=True):
        if p.spent and cap:
            high = max(10, (foot - top) * min(p.spent, cap) // cap)
            left = min(max(x - width // 2, across[0]), across[-1] - width)
            corner = Record(x=tenths(left), y=tenths(foot - high))
            yield Record(corner, width=tenths(width), height=tenths(high))


def _days(points: Sequence[Point], across: Sequence[int], limit: int) -> Iterator[Record]:
    last = len(points) - 1
    for i in range(0, last + 1, max(1, -(-last // limit))):
        day = times.date_text(points[i].day)
        anchor = "start" if i == 0 else "end" if i == last else "middle"
        yield Record(at=tenths(across[i]), text=day.rsplit(" ", 1)[0], anchor=anchor)
