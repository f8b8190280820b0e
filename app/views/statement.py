"""A week of one mandate, or of all; made to be printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from app.replies import Json
from app.views.components import meters
from app.views.components.meters import MeterView
from app.words.steps import REFUSED, RecordLine, lines
from app.words.text import _
from app.words.untrusted_text import AgentName, agent_of
from domain.rules.rule_table import BY_CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekNavView:
    """A week, and its neighbours; `later` is None where that week has not begun."""

    name: str
    first: str
    last: str
    earlier: str
    later: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresView:
    """The sums of a week."""

    start: str
    end: str
    deposits: str
    withdrawals: str
    realized: str
    estimated: str
    fees: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachView:
    """A rule that was broken, or an attempt that was refused."""

    text: str
    clause: int | None
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementView:
    """One mandate's week."""

    public_id: str
    agent: AgentName | None
    purpose: str
    week: WeekNavView
    figures: FiguresView
    largest: MeterView
    busiest: MeterView
    breaches: tuple[BreachView, ...]
    lines: tuple[RecordLine, ...]
    disclosures: tuple[str, ...]
    older: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWeekView:
    """A mandate in the statement of all."""

    public_id: str
    purpose: str
    status: str
    figures: FiguresView


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementsView:
    """All mandates' week; the totals stand on the first page."""

    week: WeekNavView
    totals: FiguresView | None
    mandates: tuple[OneWeekView, ...]
    disclosures: tuple[str, ...]
    older: str | None


def _name(day: date) -> str:
    year, week, _weekday = day.isocalendar()
    return f"{year}-W{week:02d}"


def week(period: Json, now: datetime) -> WeekNavView:
    """A week in UTC, from Monday to Sunday."""
    start = datetime.fromisoformat(period["from"])
    monday, until = start.date(), datetime.fromisoformat(period["until"])
    last = until.date() - timedelta(days=1)
    return WeekNavView(
        name=period["week"],
        first=f"{monday.day} {monday:%b %Y}",
        last=f"{last.day} {last:%b %Y}",
        earlier=_name(monday - timedelta(days=7)),
        later=_name(until.date()) if until <= now else None,
    )


def figures(raw: Json) -> FiguresView:
    """The figures of a reply."""
    fees = raw["fees"]["by_type"]
    name = (
        (_("Tools and paid reads"), fees["tools"]),
        (_("Venue"), fees["venue"]),
        (_("Network"), fees["network"]),
        (_("Not classified"), fees["unclassified"]),
        (_("Agent’s share"), fees["agent"]),
    )
    return FiguresView(
        start=raw["worth"]["start"],
        end=raw["worth"]["end"],
        deposits=raw["flows"]["deposits"],
        withdrawals=raw["flows"]["withdrawals"],
        realized=raw["result"]["realized"],
        estimated=raw["result"]["estimated"],
        fees=name,
    )


def _breach(raw: Json) -> BreachView:
    code = raw["code"]
    if code == "refused":
        text = _("Attempt refused: {why}")
        text = text.format(why=REFUSED.get(raw.get("reason") or "", _("outside the terms")))
    else:
        text = _(BY_CODE[code].broken) if code in BY_CODE else code
    return BreachView(text=text, clause=raw["clause"], at=raw["at"])


def statement_view(raw: Json, head: Json, now: datetime) -> StatementView:
    """`raw` of owner_statement, `head` the mandate's attributes."""
    used = raw["allowed_vs_used"]
    move, day = used["largest_move"], used["busiest_day"]
    return StatementView(
        public_id=raw["public_id"],
        agent=agent_of(head["mandate"]),
        purpose=head["mandate"]["purpose"],
        week=week(raw["period"], now),
        figures=figures(raw),
        largest=meters.view(
            _("Largest move"), move["used"], move["allowed"], _("clause 2"), warns=False
        ),
        busiest=meters.view(
            _("Busiest day"),
            day["used"],
            day["allowed"],
            day["day"] or _("nothing was spent"),
            warns=False,
        ),
        breaches=tuple(_breach(b) for b in raw["breaches"]),
        lines=lines(raw["steps"]),
        disclosures=tuple(d["text"] for d in raw["disclosures"]),
        older=raw["next_cursor"],
    )


def view_all(raw: Json, now: datetime) -> StatementsView:
    """`raw` of owner_statement_all."""
    totals = raw["totals"]
    return StatementsView(
        week=week(raw["period"], now),
        totals=None if totals is None else figures(totals),
        mandates=tuple(
            OneWeekView(
                public_id=m["public_id"],
                purpose=m["purpose"],
                status=m["status"],
                figures=figures(m),
            )
            for m in raw["mandates"]
        ),
        disclosures=tuple(d["text"] for d in raw["disclosures"]),
        older=raw["next_cursor"],
    )
