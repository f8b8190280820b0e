"""A week of one mandate, or of all; made to be printed."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from app.replies import Json, Record
from app.views.components import meters
from app.words.steps import REFUSED, lines
from app.words.text import _
from domain.rules.rule_table import BY_CODE


def _name(day: date) -> str:
    year, week, _weekday = day.isocalendar()
    return f"{year}-W{week:02d}"


def week(period: Json, now: datetime) -> Record:
    """A week in UTC, from Monday to Sunday, and its neighbours; `later` is None where that week has
    not begun.
    """
    start = datetime.fromisoformat(period["from"])
    monday, until = start.date(), datetime.fromisoformat(period["until"])
    last = until.date() - timedelta(days=1)
    return Record(
        name=period["week"],
        first=f"{monday.day} {monday:%b %Y}",
        last=f"{last.day} {last:%b %Y}",
        earlier=_name(monday - timedelta(days=7)),
        later=_name(until.date()) if until <= now else None,
    )


def _breach(raw: Json) -> Record:
    """A rule that was broken, or an attempt that was refused."""
    code = raw["code"]
    text = _(BY_CODE[code].broken) if code in BY_CODE else code
    if code == "refused":
        why = REFUSED.get(raw.get("reason") or "", _("outside the terms"))
        text = _("Attempt refused: {why}").format(why=why)
    return Record(raw, text=text)


def view(raw: Json, head: Json, now: datetime) -> Record:
    """`raw` of owner_statement, `head` the mandate's attributes."""
    used = raw["allowed_vs_used"]
    move, day = used["largest_move"], used["busiest_day"]
    return Record(
        raw,
        mandate=head["mandate"],
        week=week(raw["period"], now),
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
    )
