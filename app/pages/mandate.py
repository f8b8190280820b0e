"""One mandate: how it stands, what is used, what could be lost, what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

from aiohttp import web

from app.chart import Point, drawings
from app.components import asks, meters, next_step, purse
from app.page_context import PageRequest, PageRoute
from app.replies import Json, Record, pick
from app.words import money, notices, times
from app.words.status import has_agent, pill
from app.words.steps import lines
from app.words.text import _
from domain.money import Usdc

PARTS: Final = (
    "mandate,progress,limits,fees,clauses,exposure,x402,payments,chain_state,terms_status,steps"
)
LINES_SHOWN: Final = 10
OFF_BPS: Final = 200
"""What a fair exit may lose: a record that stands off by more is worth renewing."""
CLAUSE_NAMES: Final[Mapping[int, str]] = {
    1: _("the cash in the vault"),
    2: _("the per-action limit"),
    3: _("the day limit"),
    4: _("the stop line"),
    6: _("the approval amount"),
    8: _("the period"),
}
SOURCES: Final[Mapping[str, str]] = {
    "chain_mark": _("estimate from on-chain prices"),
    "cash": _("read from the vault: all of it is cash"),
    "agent_mark": _("estimate by the agent, not confirmed"),
    "cost": _("estimate, at the price paid"),
}
OPEN: Final = ("signed", "working")
OVER: Final = ("settled", "cancelled")
MANDATE: Final = ("public_id", "agent_id", "agent_name", "purpose", "signed_at", "ends_at")
AGREED: Final = ("budget_usdc", "per_tx_cap_usdc", "daily_cap_usdc")
LOCKING: Final = 1_000_000  # micro-USDC of open positions, from which on the vault holds cash back
LEAVING: Final = ("leave_now_est", "exit_cost_est", "agent_fee_reserved")
EXPOSURE: Final = ("before_pause", "today", "ever", "until")


async def show_mandate(visit: PageRequest) -> web.Response:
    """One mandate; a draft is still to be read and signed."""
    public_id = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=public_id, parts=PARTS)
    if read["mandate"]["status"] == "draft":
        return visit.go(next_step.draft_page(read["mandate"]))
    series = await visit.run("mandate_series", public_id=public_id)
    pending = await visit.run("mandate_approvals", public_id=public_id, status="pending")
    step = next_step.view(read, len(pending["items"]), visit.deps.config.base_url)
    shown = _view(read, series, pending, visit.market_names(), visit.now)
    purse_shown = purse.view(read, visit.now)
    view = Record(shown, next=step, purse=purse_shown)
    return visit.show("mandate.html", view, chain_id=read["mandate"]["chain_id"])


def _view(
    read: Json, series: Json, approvals: Json, markets: Mapping[str, str], now: datetime
) -> Record:
    """`read` of mandate_get, `series` of mandate_series, `approvals` the pending ones, `markets`
    their names by id. The page looks for news all the time, so that it is made of what it shows
    and nothing else.
    """
    m, p, limits = read["mandate"], read["progress"], read["limits"]
    vault, status, terms = m["vault_address"], p["status"], read["terms_status"]
    used, allowed, left = limits["used"], limits["allowed"], limits["remaining"]
    rows, drawn = _days(series)
    working, recorded = status == "working", recorded_value(read)
    room = money.less(allowed["budget"]["value"], used["budget"]["value"])
    return Record(
        pick(m, *MANDATE),
        ends_at=None if status == "cancelled" else m["ends_at"],
        vault=vault,
        pill=pill(read),
        announcement=notices.mandate_notice(read),
        acts=_acts(read),
        # The one that waits longest first: a new one pushes no button from under a finger.
        asks=tuple(asks.view(item, read, now) for item in reversed(approvals["items"])),
        glance=_glance(read),
        data_issue=bool(p.get("data_issue")),
        record_off=recorded if recorded and (recorded["stale"] or recorded["risen"]) else None,
        pending_claims=p["pending_claims"]["count"],
        figures=_figures(read, rows),
        drawings=drawn,
        chart_text=_chart_sentence(rows) if drawn else "",
        chart_comes=working,
        rows=rows,
        meters=limit_meters(limits, open_=status in OPEN, over=status in OVER),
        possible=left["value"] if working and not m["paused"] and m["accepted_at"] else None,
        binds=CLAUSE_NAMES.get(left["binding"]["clause"], ""),
        possible_again=left["retry_at"],
        can_fund=working and money.micros_of(room) > 0,
        exposure=pick(read["exposure"], *EXPOSURE)
        if status in ("signed", "working", "ended", "stopped")
        else None,
        fits=None if terms is None else terms["digest_matches"] and terms["signer_matches"],
        clauses=read["clauses"],
        record=lines(read["steps"], markets, LINES_SHOWN),
        block=read["chain_state"]["as_of_block"],
    )


def _acts(read: Json) -> tuple[Record, ...]:
    """The buttons that its status has (`docs/screens.md`), the likeliest first: each a page of its
    own, or a form where nothing is left to look at.
    """
    m, p = read["mandate"], read["progress"]

    def act(page: str, text: str, look: str = "", *, post: bool = False) -> Record:
        href = f"/app/mandates/{m['public_id']}/{page}"
        return Record(href=href, text=text, look=look, post=post)

    withdraw = act("withdraw", _("Withdraw all"))
    if m["status"] == "signed" and m["vault_address"] is None:
        cancel = act("cancel", _("Cancel mandate"), post=True)
        return (
            (act("create", _("Create vault"), "go"), cancel)
            if p["status"] == "signed"
            else (cancel,)
        )
    if p["status"] == "signed":
        return act("fund", _("Deposit USDC"), "go"), withdraw
    if p["status"] == "working":
        pause = act("pause", _("Pause agent"))
        stop = act("stop", _("Stop for good"), "danger")
        if money.micros_of(p["positions_est"]) >= LOCKING:  # closed one by one before that
            withdraw = act("leave", _("Withdraw all"))
        if m["agent_id"] is None:
            return withdraw, stop
        return act("resume", _("Resume agent"), "go") if m["paused"] else pause, withdraw, stop
    if p["status"] in ("ended", "stopped"):
        is_open = p["positions_est"] is None or money.micros_of(p["positions_est"]) > 0
        close = act("leave", _("Close positions"), "go" if is_open else "")
        return close, withdraw if is_open else act("withdraw", _("Withdraw all"), "go")
    if p["status"] == "settled":
        step, statement = next_step.view(read, 0), act("statement", _("Statement"))
        first = Record(href=step["href"], text=step["button"], look="go", post=False)
        return (first, statement) if step["href"] else (statement,)
    return ()


def _glance(read: Json) -> Record | None:
    """The first lines: what is allowed, what is used, what could be lost; `instead` replaces what
    is allowed while nothing is. None of a mandate without money in it.
    """
    m, status, limits = read["mandate"], read["progress"]["status"], read["limits"]
    if status not in ("working", "ended", "stopped") or m["vault_address"] is None:
        return None
    idle = _("nothing, until you resume") if m["paused"] else ""
    if idle and not has_agent(read):
        idle = _("nothing, until an agent accepts")
    return Record(
        instead=idle if status == "working" else _("nothing more"),
        per_action=limits["allowed"]["per_action"]["value"],
        per_day=limits["allowed"]["per_day"]["value"],
        used=limits["used"]["per_day"]["value"],
        lost=read["exposure"]["ever"],
    )


def recorded_value(read: Json) -> Record | None:
    """The value that a vault judges exits by, beside the value of its open positions now; `stale`
    where they lost so much since that no fair exit of them passes, `risen` where they gained as
    much. None where either value is not known.
    """
    raw = read["chain_state"]["recorded_value"]
    if raw is None:
        return None
    recorded = Usdc.parse(raw["recorded"])
    risen = Usdc.parse(raw["now"]) > recorded + recorded.share_up(OFF_BPS)
    return Record(pick(raw, "recorded", "now", "stale"), risen=risen)


def _figures(read: Json, rows: Sequence[Json]) -> Record:
    """The four figures at the top, by the status; drawn by `macros/numbers.html`."""
    m, p = read["mandate"], read["progress"]
    if p["status"] == "settled":
        return Record(
            kind="final",
            put_in=_sum(rows, "deposits"),
            took=_sum(rows, "withdrawals"),
            realized=p["realized"],
            tone=_tone(p["realized"]),
            fee=read["fees"]["agent_fee"]["paid"],
        )
    if p["status"] in ("draft", "cancelled") or p["cash"] is None:
        return Record(pick(m, *AGREED), kind="agreed", floor=p["floor"])
    result = money.less(p["worth_est"], p["committed"])
    away = money.less(p["worth_est"], p["floor_now"])
    return Record(
        pick(p, "worth_est", "committed", "floor_now", *LEAVING),
        kind="live",
        source=SOURCES.get(p["worth_source"], _("estimate")),
        result=result,
        share=money.share(result, p["committed"]) or "",
        tone=_tone(result),
        away=away.lstrip("-") if away else None,
        below=money.micros_of(away) < 0,
    )


def _tone(value: str | None) -> str:
    micros = money.micros_of(value)
    return "up" if micros > 0 else "down" if micros < 0 else ""


def _sum(rows: Sequence[Json], name: str) -> str:
    return str(Usdc(sum(money.micros_of(r[name]) for r in rows)))


def _days(series: Json) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """(the table's rows, oldest first; the drawings, none before the second day with a worth)."""
    rows = tuple(map(_row, series["points"]))
    points: list[Point] = []
    for p in series["points"]:
        known = p["worth"] is not None
        if known or points:
            worth = money.micros_of(p["worth"]) if known else points[-1].worth
            amounts = (money.micros_of(p[name]) for name in Point._fields[2:])
            points.append(Point(p["day"], worth, *amounts))
    if len(points) < 2:
        return rows, ()
    return rows[len(rows) - len(points) :], drawings(tuple(points), series["day_cap"])


def _row(point: Json) -> Record:
    """One UTC day; `read` is how it is read out."""
    worth = point["worth"]
    read = _("{day}: value {worth}, spent {spent}").format(
        day=times.date_text(point["day"]),
        worth=_("not known yet") if worth is None else money.approximate(worth),
        spent=money.sentence_amount(point["spent"]),
    )
    flows = {
        name: point[name] if money.micros_of(point[name]) else None
        for name in ("deposits", "withdrawals", "spent")
    }
    return Record(pick(point, "day", "worth", "floor"), **flows, read=read)


def _chart_sentence(rows: Sequence[Json]) -> str:
    # A day without a value goes on with the one before it, as in the drawing.
    first, last = rows[0], next(r for r in reversed(rows) if r["worth"] is not None)
    text = _(
        "From {first} on {start} to {last} on {end}; stop line {floor}. Arrow keys "
        "read single days. All numbers are in the table below."
    )
    return text.format(
        first=money.approximate(first["worth"]),
        start=times.date_text(first["day"]),
        last=money.approximate(last["worth"]),
        end=times.date_text(last["day"]),
        floor=money.sentence_amount(rows[-1]["floor"]),
    )


def limit_meters(limits: Json, *, open_: bool, over: bool = False) -> tuple[Record, ...]:
    """Meters of used limits; a closed mandate has used nothing today, and one that is over has
    paid its deposits back.
    """
    allowed, used = limits["allowed"], limits["used"]
    note = _("clause 2")
    if allowed["per_action"]["set_by"] == "policy":
        note = _("clause 2, made stricter by the agent’s policy")
    # What was gained and taken out is no money put in.
    put_in = max(used["budget"]["value"], "0.000000", key=Decimal)

    def bar(title: str, spent: str, name: str, note: str) -> Record:
        return meters.view(title, spent, allowed[name]["value"], note, warns=False)

    largest = bar(_("Largest action so far"), used["per_action"]["value"], "per_action", note)
    if over:
        return (largest,)
    standing = largest, bar(_("Deposited of the budget"), put_in, "budget", _("clause 1"))
    if not open_:
        return standing
    day, reset = used["per_day"], _("clause 3 · resets at 00:00 UTC")
    cap = allowed["per_day"]["value"]
    today = meters.view(_("Today"), day["value"], cap, reset, reserved=day["reserved"])
    return today, *standing


PAGES: Final = (PageRoute("GET", "/app/mandates/{id}", show_mandate),)
