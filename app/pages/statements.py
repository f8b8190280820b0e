"""Weekly statements of one mandate, or of all; made to be printed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from aiohttp import web

from app.components import meters
from app.page_context import PageRequest, PageRoute
from app.replies import Json, Record
from app.words import times
from app.words.steps import REFUSED, lines
from app.words.text import _
from domain.rules.rule_table import BY_CODE
from domain.times import format_day

LOOKED_AT: Final = 20


async def show_statement(visit: PageRequest) -> web.Response:
    """One mandate's week; where none is named, the one that `_first_shown` says."""
    public_id, week, cursor = visit.path_part("id"), visit.query("week"), visit.query("cursor")
    head = await visit.run("mandate_get", public_id=public_id, parts="mandate,progress")
    week = week or await _first_shown(visit, head)
    raw = await visit.run("owner_statement", public_id=public_id, week=week, cursor=cursor)
    move, day = (raw["allowed_vs_used"][n] for n in ("largest_move", "busiest_day"))
    note = times.date_text(day["day"]) if day["day"] else _("nothing was spent")
    view = Record(
        raw,
        mandate=head["mandate"],
        week=_week(raw["period"], visit.now),
        largest=meters.view(
            _("Largest action"), move["used"], move["allowed"], _("clause 2"), warns=False
        ),
        busiest=meters.view(_("Busiest day"), day["used"], day["allowed"], note, warns=False),
        breaches=tuple(map(_breach, raw["breaches"])),
        lines=lines(raw["steps"], visit.market_names()),
    )
    return visit.show("statement.html", view, chain_id=head["mandate"]["chain_id"])


async def _first_shown(visit: PageRequest, row: Json) -> str | None:
    """The last week in which something happened in a settled mandate, and the present one of a
    mandate that began in it; None for any other: the last full week.
    """
    if row["progress"]["status"] != "settled":
        began = _week_of(row["mandate"]["signed_at"] or row["mandate"]["created_at"])
        return began if began == _week_of(visit.now.isoformat()) else None
    steps = await visit.run("mandate_steps", public_id=row["mandate"]["public_id"])
    at = next((s["at"] for s in steps["items"] if s["code"] != "mark"), None)
    return None if at is None else _week_of(at)


def _week_of(at: str) -> str:
    """The name of the week of a time, in UTC."""
    return f"{datetime.fromisoformat(at).astimezone(UTC):%G-W%V}"


async def show_all(visit: PageRequest) -> web.Response:
    """The week across all mandates; where none is named, the last one with which the statement of
    an open one opens, or of the newest where all are settled, or the last full week where that is
    one of these.
    """
    week, cursor = visit.query("week"), visit.query("cursor")
    week = week or await _first_shown_of_all(visit)
    raw = await visit.run("owner_statement_all", week=week, cursor=cursor)
    return visit.show("statements.html", Record(raw, week=_week(raw["period"], visit.now)))


async def _first_shown_of_all(visit: PageRequest) -> str | None:
    """By the newest mandates: a long list is not read for this."""
    listed = await visit.run("mandate_list", limit=LOOKED_AT)
    began = [m for m in listed["items"] if m["progress"]["status"] not in ("draft", "cancelled")]
    weeks: set[str] = set()
    # Of settled ones the newest alone: each would take a read of its own.
    for row in [m for m in began if m["progress"]["status"] != "settled"] or began[:1]:
        week = await _first_shown(visit, row)
        if week is None or week == _week_of((visit.now - timedelta(days=7)).isoformat()):
            return None
        weeks.add(week)
    return max(weeks, default=None)


def _week(period: Json, now: datetime) -> Record:
    """A week in UTC, from Monday to Sunday, and its neighbours; `later` is None where that week has
    not begun.
    """
    monday, until = (datetime.fromisoformat(period[n]) for n in ("from", "until"))
    last = until - timedelta(days=1)
    return Record(
        name=period["week"],
        first=format_day(monday),
        last=format_day(last),
        earlier=f"{monday - timedelta(days=7):%G-W%V}",
        later=f"{until:%G-W%V}" if until <= now else None,
    )


def _breach(raw: Json) -> Record:
    """A rule that was broken, or an attempt that was refused."""
    code = raw["code"]
    text = _(BY_CODE[code].broken) if code in BY_CODE else code
    if code == "refused":
        why = REFUSED.get(raw.get("reason") or "", _("outside the terms"))
        text = _("Attempt refused: {why}").format(why=why)
    return Record(raw, text=text)


PAGES: Final = (
    PageRoute("GET", "/app/mandates/{id}/statement", show_statement),
    PageRoute("GET", "/app/statement", show_all),
)
