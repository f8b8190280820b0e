"""A second, slow book of one mandate: what the chain's own logs and the house's marks come to, by contract 5 and 8.

Nothing here is the service's; every figure is added up from the first row each time it is asked for.
Units: USDC base units (ints), seconds since 1970, fractions where a return is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

USDC = 10**6
NO_ANSWER = 2**256 - 1
CLOSED = 2**63  # the place of a mark in its block: behind every log

Values = Mapping[str, int]


def shown(micros: int | None) -> str | None:
    """As money leaves the service: six decimals, plain."""
    if micros is None:
        return None
    sign, whole = "-" if micros < 0 else "", abs(micros)
    return f"{sign}{whole // USDC}.{whole % USDC:06d}"


@dataclass(frozen=True)
class Terms:
    """What the figures rest on; `keys` names the market of a target or a probe, in lower case."""

    budget: int
    per_action: int
    per_day: int
    floor: int
    fee_bps: int
    spread_bps: int = 30


@dataclass(frozen=True, order=True)
class Row:
    """One log of the vault, or a mark of the house; `values` where every probe answered."""

    block: int
    index: int
    at: int = field(compare=False)
    name: str = field(compare=False)
    args: Mapping[str, Any] = field(compare=False, default_factory=dict)
    values: Values | None = field(compare=False, default=None)
    key: str = field(compare=False, default="")
    tx: str = field(compare=False, default="")


@dataclass(frozen=True)
class Book:
    """The sums after some rows; `values` are those of the newest whole observation."""

    rows: int = 0
    cash: int = 0
    deposits: int = 0
    withdrawals: int = 0
    payouts: int = 0
    spent: int = 0
    returned: int = 0
    gifts: int = 0
    fee_owed: int = 0
    settled: bool = False
    stopped: bool = False
    costs: Mapping[str, int] = field(default_factory=dict)
    values: Values | None = None
    seen_at: int | None = None

    @property
    def committed(self) -> int:
        return self.deposits - self.withdrawals

    @property
    def open(self) -> bool:
        return bool(self.costs) or any((self.values or {}).values())

    @property
    def positions(self) -> int | None:
        """Null where something is open that nobody saw whole."""
        if self.values is None:
            return None if self.costs else 0
        return sum(self.values.values())

    @property
    def worth(self) -> int | None:
        if not self.rows:
            return None
        at = self.positions
        return None if at is None else self.cash + at


def after(b: Book, row: Row) -> Book:
    """The book after one more row."""
    a, name = row.args, row.name
    if name == "Mark":
        return replace(b, values=dict(row.values or {}), seen_at=row.at)
    b = replace(b, rows=b.rows + 1)
    if name == "Deposited":
        b = replace(b, cash=b.cash + a["amount"], deposits=b.deposits + a["amount"])
    elif name in ("Executed", "Unwound"):
        b = _called(b, row, a.get("spent", 0), a["returned"])
    elif name == "Settled":
        b = replace(b, settled=True, fee_owed=a["agentFee"])
    elif name == "AgentPaid":
        b = replace(
            b, cash=b.cash - a["amount"], payouts=b.payouts + a["amount"], fee_owed=b.fee_owed - a["amount"]
        )  # fmt: skip
    elif name == "Withdrawn":
        gift = max(0, a["amount"] - (b.cash - b.fee_owed))
        b = replace(
            b, cash=b.cash + gift - a["amount"], gifts=b.gifts + gift, withdrawals=b.withdrawals + a["amount"]
        )  # fmt: skip
    elif name == "Stopped":
        b = replace(b, stopped=True)
    if row.values is not None:
        b = replace(b, values=dict(row.values), seen_at=row.at)
    assert b.cash >= 0, row
    return b


def _called(b: Book, row: Row, spent: int, returned: int) -> Book:
    """What was spent is cost; what came back takes received / (received + value after) of it."""
    costs = dict(b.costs)
    if spent:
        costs[row.key] = costs.get(row.key, 0) + spent
    if returned and row.key in costs:
        left = (row.values or {}).get(row.key, 0)
        costs[row.key] = costs[row.key] * left // (returned + left)
        if left == 0:
            del costs[row.key]
    return replace(
        b, cash=b.cash - spent + returned, spent=b.spent + spent, returned=b.returned + returned, costs=costs
    )  # fmt: skip


def book(rows: Iterable[Row], until: int | None = None) -> Book:
    """The book of the rows whose blocks are before `until`, exclusive."""
    b = Book()
    for row in sorted(rows):
        if until is None or row.at < until:
            b = after(b, row)
    return b


# -- what a mandate's read shows


def progress(terms: Terms, rows: Sequence[Row], live: Values | None) -> dict[str, Any]:
    """The figures of the read; `live` is what the probes say at the newest block."""
    b = book(rows)
    if live is not None:
        b = replace(b, values=dict(live))
    worth, at = b.worth, b.positions
    values = b.values or {}
    keys = sorted({*b.costs, *(k for k, v in values.items() if v)})
    told: dict[str, Any] = {
        "cash": shown(b.cash) if b.rows else None,
        "positions_est": shown(at),
        "worth_est": shown(worth),
        "committed": shown(b.committed),
        "positions": [(k, shown(b.costs.get(k, 0)), shown(values.get(k, 0))) for k in keys],
        "floor": shown(terms.floor),
    }
    if worth is None or at is None:
        return told
    fee = (
        b.fee_owed if b.settled else max(0, worth - b.committed + b.payouts) * terms.fee_bps // 10_000
    )  # fmt: skip
    exit_cost = -(-at * terms.spread_bps // 10_000)
    told |= {
        "agent_fee_reserved": shown(fee),
        "exit_cost_est": shown(exit_cost),
        "leave_now_est": shown(worth - exit_cost - fee),
    }
    return told


# -- spans of time; from inclusive, until exclusive


def midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def day_of(at: int) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def week_of(at: int) -> str:
    year, week, _ = day_of(at).isocalendar()
    return f"{year}-W{week:02d}"


def monday(week: str) -> int:
    return midnight(date.fromisocalendar(int(week[:4]), int(week[6:]), 1))


def in_span(rows: Iterable[Row], since: int, until: int) -> list[Row]:
    return [r for r in sorted(rows) if since <= r.at < until]


def calls(rows: Iterable[Row]) -> list[Row]:
    """Executed calls that moved money."""
    return [r for r in rows if r.name == "Executed" and r.args["spent"] + r.args["returned"]]


def spent_on(rows: Iterable[Row], day: date) -> int:
    return sum(
        r.args["spent"] for r in rows if r.name == "Executed" and day_of(r.at) == day
    )  # fmt: skip


def worth_at(rows: Sequence[Row], border: int) -> int | None:
    """0 before the first row of the chain; null where nothing was seen whole."""
    b = book(rows, border)
    return b.worth if b.rows else 0


def statement(terms: Terms, rows: Sequence[Row], week: str) -> dict[str, Any]:
    """The measured part of one week."""
    since = monday(week)
    until = since + 7 * 86_400
    first, last, span = book(rows, since), book(rows, until), in_span(rows, since, until)
    start, end = worth_at(rows, since), worth_at(rows, until)
    moves = [max(r.args["approved"], r.args["spent"]) for r in span if r.name == "Executed"]
    days = sorted({day_of(r.at) for r in span if r.name == "Executed" and r.args["spent"]})
    busiest = max(days, key=lambda d: (spent_on(span, d), -midnight(d)), default=None)
    deposits, withdrawals = last.deposits - first.deposits, last.withdrawals - first.withdrawals
    both = None if start is None or end is None else end - start - deposits + withdrawals
    return {
        "worth": {"start": shown(start), "end": shown(end)},
        "flows": {"deposits": shown(deposits), "withdrawals": shown(withdrawals)},
        "result": shown(both),  # realized and estimated together
        "paid": shown(last.payouts - first.payouts),
        "largest_move": shown(max(moves, default=0)),
        "busiest_day": (
            (busiest.isoformat(), shown(spent_on(span, busiest))) if busiest else (None, shown(0))
        ),
    }


def days(terms: Terms, rows: Sequence[Row], today: date) -> dict[str, dict[str, Any]]:
    """The series: one point a UTC day, from the first row's day on."""
    told: dict[str, dict[str, Any]] = {}
    of_chain = [r for r in rows if r.name != "Mark"]
    if not of_chain:
        return told
    day = day_of(min(of_chain).at)
    while day <= today:
        since = midnight(day)
        first, last = book(rows, since), book(rows, since + 86_400)
        told[day.isoformat()] = {
            "worth": shown(last.worth),
            "put_in": shown(last.committed),
            "deposits": shown(last.deposits - first.deposits),
            "withdrawals": shown(last.withdrawals - first.withdrawals),
            "spent": shown(spent_on(rows, day)),
        }
        day += timedelta(days=1)
    return told


# -- returns


@dataclass(frozen=True)
class Day:
    """What one mandate came to on one UTC day: the result, the factor, the capital that they make.

    Shapes: `plain` is false where a result came while nothing was at work, or was a loss of more than was: contract 8
    leaves open what it is over.
    """

    result: int
    factor: Fraction
    capital: Fraction
    plain: bool


@dataclass
class _Span:
    """From one whole observation to the next."""

    worth: int
    standing: int
    flows: int = 0
    put_in: int = 0
    paid: int = 0

    def part(self, b: Book) -> tuple[int, Fraction, bool]:
        """(result, capital, whether it is plain) where the span ends at a book."""
        assert b.worth is not None
        r, dust = b.worth - self.worth - self.flows, Fraction(max(USDC, self.worth // 100))
        # What stood, where it was no dust; else that and what was put beside it.
        c = Fraction(self.standing if self.standing >= dust else self.standing + self.put_in)
        if (
            not self.put_in and c < dust and r == -self.paid
        ):  # the agent's fee is over all the money there
            return r, Fraction(self.worth or 1), not c
        return r, max(c, Fraction(1)), r == 0 or (c >= dust and -r <= c)


def returns(rows: Sequence[Row]) -> dict[date, Day]:
    """The days of one mandate on which anything happened in it."""
    parts: dict[date, list[tuple[int, Fraction, bool]]] = {}
    stood: dict[date, int] = {}
    b, span = Book(), _Span(0, 0)
    for row in sorted(rows):
        day = day_of(row.at)
        stood.setdefault(day, b.positions or 0)
        was, b = b, after(b, row)
        span.flows += b.committed - was.committed + b.gifts - was.gifts
        span.paid += b.payouts - was.payouts
        span.put_in += b.spent - was.spent
        if (row.values is not None or b.positions == 0) and b.worth is not None:
            parts.setdefault(day, []).append(span.part(b))
            span = _Span(b.worth, b.positions or 0)
    return {day: _day(parts.get(day, []), standing) for day, standing in stood.items()}


def _day(parts: Sequence[tuple[int, Fraction, bool]], standing: int) -> Day:
    factor, result = Fraction(1), sum(r for r, _, _ in parts)
    for r, c, _ in parts:
        factor *= 1 + r / c
    over = [c for r, c, _ in parts if r]
    if (factor - 1) * result > 0:
        capital = result / (factor - 1)
    else:
        capital = max(over, default=Fraction(standing))
    return Day(result, factor, capital, all(plain for _, _, plain in parts))


def standing(rows: Sequence[Row], day: date) -> int:
    """What stood in positions when a day began."""
    return book(rows, midnight(day)).positions or 0


def joint(
    lives: Sequence[Sequence[Row]], since: date, until: date
) -> tuple[Fraction, Fraction] | None:
    """(return, drawdown) of several mandates over days, both ends included; None where it is not plain."""
    each = [returns(rows) for rows in lives]
    if not all(d.plain for e in each for d in e.values()):
        return None
    index, top, fall = Fraction(1), Fraction(1), Fraction(0)
    day = since
    while day <= until:
        today = [e[day] for e in each if day in e]
        idle = sum(standing(rows, day) for rows, e in zip(lives, each, strict=True) if day not in e)
        result = sum(d.result for d in today)
        capital = sum((d.capital for d in today), Fraction(idle))
        at_work = [d for d in today if d.capital]
        if len(at_work) == 1 and not idle:
            index *= max(Fraction(0), at_work[0].factor)
        elif result and capital:
            index *= max(Fraction(0), 1 + result / capital)
        top = max(top, index)
        fall = max(fall, 1 - index / top)
        day += timedelta(days=1)
    return index - 1, fall


def net(rows: Sequence[Row], since: date, until: date) -> int:
    """Worth change - net deposits over days, both ends included."""
    first, last = book(rows, midnight(since)), book(rows, midnight(until) + 86_400)
    return ((last.worth or 0) - last.committed) - ((first.worth or 0) - first.committed)
