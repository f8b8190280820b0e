"""One mandate: how it stands, what is used, what could be lost, what happened."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.chart.worth import Drawing
from app.replies import Json, Record
from app.views.components import asks, clauses, meters, recorded, worst
from app.views.components.asks import AskView
from app.views.components.clauses import ClauseView
from app.views.components.meters import MeterView
from app.views.components.numbers import NumberView
from app.views.components.recorded import RecordedValueView
from app.views.components.worst import WorstView
from app.views.days import DayRowView, days
from app.views.figures import figures
from app.words import money, notices
from app.words.status import Pill, pill
from app.words.steps import RecordLine, lines
from app.words.text import _
from app.words.untrusted_text import agent_of

LINES_SHOWN = 10
CLAUSE_NAMES = {
    1: _("the budget"),
    2: _("the per-action limit"),
    3: _("the day limit"),
    4: _("the stop line"),
    6: _("the approval amount"),
    8: _("the period"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateActView:
    """A button: a page of its own, or a form where nothing is left to look at."""

    href: str
    text: str
    look: str = ""
    post: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsView:
    """Whether the signature still fits; `fits` is None where there is none."""

    fits: bool | None
    signed_at: str | None
    clauses: tuple[ClauseView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlanceView:
    """The first lines of a mandate's page: what is allowed, what is used, what could be lost;
    `instead` replaces what is allowed while nothing is. Units: USDC.
    """

    instead: str
    per_action: str
    per_day: str
    used: str
    lost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateView:
    """The whole page."""

    public_id: str
    agent: Record
    agent_id: str | None
    purpose: str
    pill: Pill
    announcement: str
    acts: tuple[MandateActView, ...]
    asks: tuple[AskView, ...]
    glance: GlanceView | None
    data_issue: bool
    record_off: RecordedValueView | None
    pending_claims: int
    numbers: tuple[NumberView, ...]
    drawings: tuple[Drawing, ...]
    chart_text: str
    chart_comes: bool
    rows: tuple[DayRowView, ...]
    meters: tuple[MeterView, ...]
    possible: str | None
    binds: str
    possible_again: str | None
    can_fund: bool
    worst: WorstView | None
    terms: TermsView
    record: tuple[RecordLine, ...]
    ends_at: str | None
    vault: str | None
    block: int | None


def acts(read: Json) -> tuple[MandateActView, ...]:
    """The buttons that its status has (`docs/screens.md`), the likeliest first."""
    m, p = read["mandate"], read["progress"]
    status, base = p["status"], f"/app/mandates/{m['public_id']}/"
    withdraw = MandateActView(href=base + "withdraw", text=_("Withdraw all"))
    stop = MandateActView(href=base + "stop", text=_("Stop for good"), look="danger")
    if status == "signed":
        bare = m["vault_address"] is None
        first = (
            MandateActView(href=base + "create", text=_("Create the vault"), look="go")
            if bare
            else MandateActView(href=base + "fund", text=_("Put money in"), look="go")
        )
        cancel = MandateActView(href=base + "cancel", text=_("Cancel"), post=True)
        return (first, cancel) if bare else (first, withdraw)
    if status == "working":
        if m["paused"]:
            return (
                MandateActView(href=base + "resume", text=_("Resume"), look="go"),
                withdraw,
                stop,
            )
        return (MandateActView(href=base + "pause", text=_("Pause")), withdraw, stop)
    if status in ("ended", "stopped"):
        return (MandateActView(href=base + "leave", text=_("Close positions"), look="go"), withdraw)
    statement = MandateActView(href=base + "statement", text=_("Statement"))
    if status == "settled":
        left = money.micros_of(p["cash"]) > 0
        return (MandateActView(href=base + "withdraw", text=_("Withdraw"), look="go"), statement)[
            not left :
        ]
    return ()


def limit_meters(limits: Json, *, open_: bool) -> tuple[MeterView, ...]:
    """Meters of used limits; a closed mandate has used nothing today."""
    return _all_meters(limits)[0 if open_ else 1 :]


def _all_meters(limits: Json) -> tuple[MeterView, ...]:
    allowed, used = limits["allowed"], limits["used"]
    day, action = used["per_day"], used["per_action"]
    note = _("clause 2")
    if allowed["per_action"]["set_by"] == "policy":
        note = _("clause 2, held tighter by the agent’s policy")
    return (
        meters.view(
            _("Today"),
            day["value"],
            allowed["per_day"]["value"],
            _("clause 3 · resets at 00:00 UTC"),
            reserved=day["reserved"],
        ),
        meters.view(
            _("Largest action so far"),
            action["value"],
            allowed["per_action"]["value"],
            note,
            warns=False,
        ),
        meters.view(
            _("Budget put in"),
            # What was gained and taken out is no money put in.
            max(used["budget"]["value"], "0.000000", key=Decimal),
            allowed["budget"]["value"],
            _("clause 1"),
            warns=False,
        ),
    )


def _glance(read: Json) -> GlanceView | None:
    """Of a mandate with money in it."""
    m, p, limits = read["mandate"], read["progress"], read["limits"]
    if p["status"] not in ("working", "ended", "stopped") or m["vault_address"] is None:
        return None
    allowed, instead = limits["allowed"], ""
    if p["status"] != "working":
        instead = _("nothing more")
    elif m["paused"]:
        instead = _("nothing, until you resume")
    return GlanceView(
        instead=instead,
        per_action=allowed["per_action"]["value"],
        per_day=allowed["per_day"]["value"],
        used=limits["used"]["per_day"]["value"],
        lost=read["exposure"]["ever"],
    )


def _off(read: Json) -> RecordedValueView | None:
    """The record, where it stands off so far that the owner is offered to renew it."""
    view = recorded.view(read)
    return view if view is not None and (view.stale or view.risen) else None


def _terms(read: Json) -> TermsView:
    raw = read["terms_status"]
    return TermsView(
        fits=None if raw is None else raw["digest_matches"] and raw["signer_matches"],
        signed_at=read["mandate"]["signed_at"],
        clauses=clauses.view(read["clauses"]),
    )


def _chart_sentence(drawn: tuple[DayRowView, ...]) -> str:
    first, last = drawn[0], drawn[-1]
    text = _(
        "From {first} USDC on {start} to {last} USDC on {end}; stop line {floor} USDC. Arrow keys "
        "read single days. All numbers are in the table below."
    )
    worth = tuple("0.00" if r.worth is None else money.approximate(r.worth) for r in (first, last))
    return text.format(
        first=worth[0],
        start=first.day,
        last=worth[1],
        end=last.day,
        floor=money.sentence_amount(last.floor),
    )


def view(read: Json, series: Json, approvals: Json, now: datetime) -> MandateView:
    """`read` of mandate_get, `series` of mandate_series, `approvals` the pending ones."""
    m, p, limits = read["mandate"], read["progress"], read["limits"]
    rows, drawings = days(series)
    open_ = p["status"] == "working"
    left, state = limits["remaining"], read["chain_state"]
    return MandateView(
        public_id=m["public_id"],
        agent=agent_of(m),
        agent_id=m["agent_id"],
        purpose=m["purpose"],
        pill=pill(m, p),
        announcement=notices.mandate_notice(m, p),
        acts=acts(read),
        # The one that waits longest first: a new one pushes no button from under a finger.
        asks=tuple(asks.view(item, read, now) for item in reversed(approvals["items"])),
        glance=_glance(read),
        data_issue=bool(p.get("data_issue")),
        record_off=_off(read),
        pending_claims=p["pending_claims"]["count"],
        numbers=figures(read, rows),
        drawings=drawings,
        chart_text=_chart_sentence(rows) if drawings else "",
        chart_comes=open_,
        rows=rows,
        meters=limit_meters(limits, open_=p["status"] in ("signed", "working")),
        possible=left["value"] if open_ and not m["paused"] else None,
        binds=CLAUSE_NAMES.get(left["binding"]["clause"], ""),
        possible_again=left["retry_at"],
        can_fund=open_
        and money.micros_of(limits["used"]["budget"]["value"])
        < money.micros_of(limits["allowed"]["budget"]["value"]),
        worst=worst.view(read["exposure"], live=m["vault_address"] is not None)
        if p["status"] in ("signed", "working", "ended", "stopped")
        else None,
        terms=_terms(read),
        record=lines(read["steps"], LINES_SHOWN),
        ends_at=m["ends_at"],
        vault=m["vault_address"],
        block=state["as_of_block"],
    )
