"""A mandate's worth over time: the line, money put in, the stop line, flows, and spend a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from app.chart.scale import Scale, around, tenths
from app.words import money
from domain.money import MICROS

LEFT, RIGHT, TOP, BARS, FOOT = 460, 120, 140, 460, 240  # tenths of a unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One UTC day; micro-USDC. `worth` is the last known one where the day has none."""

    day: str
    worth: int
    put_in: int
    floor: int
    deposits: int
    withdrawals: int
    spent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A label at a place."""

    at: str
    text: str
    anchor: str = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A deposit or a withdrawal."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One day's spending."""

    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The chart in one size; `left` to `base` tell a script where it is."""

    ident: str
    width: int
    height: int
    left: str
    right: str
    top: str
    base: str
    foot: str
    worth: str
    put_in: str
    floor: str
    below: str
    floor_at: str
    floor_text: str
    amounts: tuple[Tick, ...]
    days: tuple[Tick, ...]
    flows: tuple[Flow, ...]
    bars: tuple[Bar, ...]
    cap_at: str
    cap_text: str
    dot_x: str
    dot_y: str
    spots: tuple[str, ...]


KEPT: Final = 64  # charts of up to 400 days
SIZES: Final = (("worth-wide", 720, 300), ("worth-narrow", 340, 280))


@lru_cache(KEPT)
def drawings(points: tuple[Point, ...], day_cap: int) -> tuple[Drawing, ...]:
    """The chart in both sizes; at least two points."""
    return tuple(_drawn(points, day_cap, *size) for size in SIZES)


def _drawn(points: Sequence[Point], day_cap: int, ident: str, width: int, height: int) -> Drawing:
    right, foot = width * 10 - RIGHT, height * 10 - FOOT
    base, last = foot - BARS - 100, len(points) - 1
    amounts = [a for p in points for a in (p.worth, p.put_in, p.floor)]
    scale = around(amounts, bottom=base, top=TOP)
    across = [LEFT + (right - LEFT) * i // last for i in range(last + 1)]
    floor = _stairs(across, [scale.at(p.floor) for p in points])
    at_floor, end = scale.at(points[-1].floor), points[-1]
    bars_top = foot - BARS + 120
    return Drawing(
        ident=ident,
        width=width,
        height=height,
        left=tenths(LEFT),
        right=tenths(right),
        top=tenths(TOP),
        base=tenths(base),
        foot=tenths(foot),
        worth=_slope(points, across, scale),
        put_in=_stairs(across, [scale.at(p.put_in) for p in points]),
        floor=floor,
        below=f"{floor}V{tenths(base)}H{tenths(LEFT)}Z",
        floor_at=tenths(at_floor - 60),
        floor_text=_round(end.floor),
        amounts=tuple(Tick(at=tenths(scale.at(t)), text=_round(t)) for t in scale.ticks()),
        days=_days(points, across, 4 if width < 500 else 7),
        flows=tuple(_flows(points, across, base)),
        bars=tuple(_bars(points, across, day_cap, foot, bars_top)),
        cap_at=tenths(bars_top),
        cap_text=_round(day_cap),
        dot_x=tenths(across[-1]),
        dot_y=tenths(scale.at(end.worth)),
        spots=tuple(
            f"{tenths(x)},{tenths(scale.at(p.worth))}" for x, p in zip(across, points, strict=True)
        ),
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
    path = f"M{tenths(across[0])},{tenths(heights[0])}"
    for x, y in zip(across[1:], heights[1:], strict=True):
        path += f"H{tenths(x)}V{tenths(y)}"
    return path


def _flows(points: Sequence[Point], across: Sequence[int], base: int) -> list[Flow]:
    flows: list[Flow] = []
    for x, p in zip(across, points, strict=True):
        for amount, up, name in ((p.deposits, 1, "Deposit"), (p.withdrawals, -1, "Withdrawal")):
            if amount:
                y = base - 70
                left, right = tenths(x - 50), tenths(x + 50)
                side, tip = tenths(y + 45 * up), tenths(y - 45 * up)
                path = f"M{left},{side}L{right},{side}L{tenths(x)},{tip}Z"
                text = f"{name} {money.digits(amount)} USDC, {p.day}"
                flows.append(Flow(path=path, text=text))
    return flows


def _bars(
    points: Sequence[Point], across: Sequence[int], cap: int, foot: int, top: int
) -> list[Bar]:
    width = max(20, min(140, (across[-1] - across[0]) * 55 // 100 // len(points)))
    bars: list[Bar] = []
    for x, p in zip(across, points, strict=True):
        if p.spent and cap:
            high = max(10, (foot - top) * min(p.spent, cap) // cap)
            left = min(max(x - width // 2, across[0]), across[-1] - width)
            bar = Bar(
                x=tenths(left), y=tenths(foot - high), width=tenths(width), height=tenths(high)
            )
            bars.append(bar)
    return bars


def _days(points: Sequence[Point], across: Sequence[int], limit: int) -> tuple[Tick, ...]:
    last = len(points) - 1
    every = max(1, -(-last // limit))
    ticks: list[Tick] = []
    for i in range(0, last + 1, every):
        at = date.fromisoformat(points[i].day)
        anchor = "start" if i == 0 else "end" if i == last else "middle"
        ticks.append(Tick(at=tenths(across[i]), text=f"{at.day} {at:%b}", anchor=anchor))
    return tuple(ticks)
