"""The way out: each position is left by its name, what is in the purse is brought back, then
everything is withdrawn. What comes next is read from the vault each time, so that the page can be
left and opened again at any step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from aiohttp import web

from app.components import refusal
from app.components.draft_form import hub_of
from app.components.next_step import DUST, SETTLING, is_settling
from app.page_context import PageRequest, PageRoute
from app.pages.acting import FROM_PURSE, show_action
from app.replies import Json, Record
from app.words import money
from app.words.text import _
from domain.money import BPS

TRIED: Final = 8
"""Positions whose exit is tried out on one page; the others on a page of their own."""


async def show_leave(visit: PageRequest) -> web.Response:
    """Close each position, wait where one cannot be closed, empty the purse, withdraw."""
    public_id = visit.path_part("id")
    read = await visit.run("mandate_get", public_id=public_id)
    plan = await visit.run("owner_close_all_plan", public_id=public_id)
    steps = {s["step"] for s in plan["steps"]}
    stops, positions = "stop" in steps, await _positions(visit, public_id, plan)
    closable = any(p["href"] and p["problem"] is None for p in positions)
    cash = money.micros_of(read["progress"]["cash"])
    is_over = read["mandate"]["status"] == "settled" and cash <= 0
    purse = next((s for s in plan["steps"] if s["step"] in FROM_PURSE), None)
    step = purse["step"] if purse and money.micros_of(purse["value_est"]) >= DUST else ""
    if stops or closable:
        now = "stop" if stops else "close"
    elif step == "drain" or (step == "sweep" and is_over):
        now = step
    else:
        now = "wait" if is_settling(read) else "done" if is_over else "withdraw"
    now_out = _sums(read["progress"]["cash"], positions) if positions and not stops else None
    view = Record(
        read,
        settling=_(SETTLING),
        stops=stops,
        positions=positions,
        now=now,
        plan=plan,
        sums=now_out,
        purse=purse,
    )
    return visit.show("leave.html", view, chain_id=read["mandate"]["chain_id"])


def _sums(cash: str | None, positions: tuple[Record, ...]) -> Record:
    """The cash after all exits, by their trials, and the value that stays; None is unknown."""
    back = [p["exit"]["returned_est"] for p in positions if p["exit"] is not None]
    stays = [p["value_est"] if p["exit"] is None else p["exit"]["stays_est"] for p in positions]
    # What has just been closed is in the cash, or not yet.
    is_sure = not any(p["is_gone"] for p in positions)
    knows_back, knows_stays = is_sure and None not in (cash, *back), is_sure and None not in stays
    return Record(
        after=money.sum_of([cash or "", *back]) if knows_back else None,
        stays=money.sum_of(stays) if knows_stays else None,
    )


async def show_unwind(visit: PageRequest) -> web.Response:
    """One position, left by its market's name; without one all of them, to choose from."""
    public_id, market = visit.path_part("id"), visit.query("market")
    read = await visit.run("mandate_get", public_id=public_id)
    if market is None:
        plan = await visit.run("owner_close_all_plan", public_id=public_id)
        again = "&again=1" if visit.query("again") is not None else ""
        positions = await _positions(visit, public_id, plan, again)
        view = Record(read, positions=positions, stops=plan["steps"][0]["step"] == "stop")
        return visit.show("unwind.html", view, chain_id=read["mandate"]["chain_id"])
    call, refused = await _exit_of(visit, public_id, market)
    exit = None if call is None else _exit_view(call)
    return show_action(visit, "unwind", read, call, refused, exit=exit)


async def _exit_of(
    visit: PageRequest, public_id: str, market: str
) -> tuple[Record | None, Record | None]:
    """The call that leaves a market whole, or the refusal of it."""
    return await visit.run_or_refusal(
        "mandate_unwind_call", public_id=public_id, market=market, share_bps=BPS
    )


def _exit_view(call: Json) -> Record:
    """The exit of an answer, with its calldata and the texts of its page."""
    exit, (target, data) = call["exit"], call["decoded"]["args"]
    title, button = _("Take everything out of {market}"), _("Take everything out")
    back = exit["returned_est"] or exit["value_est"]
    if back is not None:
        amount = money.amount(money.micros_of(back))
        title = _("Take {amount} out of {market}").format(amount=amount, market="{market}")
        button = _("Take {amount} out").format(amount=amount)
    texts = Record(title=title.format(market=exit["name"]), button=button)
    return Record(exit, target=str(target), data=str(data), texts=texts)


async def _positions(
    visit: PageRequest, public_id: str, plan: Json, query: str = ""
) -> tuple[Record, ...]:
    """The open positions; on a closed mandate each with its exit as it was tried out just now."""
    steps = plan["steps"]
    is_closed = all(s["step"] != "stop" for s in steps)
    rows = [s for s in steps if s["step"] == "unwind"]
    shown = []
    for n, row in enumerate(r for r in rows if not _is_dust(r)):
        call = refused = None
        if is_closed and row["by_name"] and n < TRIED:
            call, refused = await _exit_of(visit, public_id, row["market"])
        shown.append(_position(row, public_id, call, refused, query=query if is_closed else None))
    return tuple(shown)


def _is_dust(row: Json) -> bool:
    """True for what is worth less than its gas; what nobody values may be worth more."""
    return row["value_est"] is not None and money.micros_of(row["value_est"]) < DUST


def _position(
    row: Json, public_id: str, call: Json | None, refused: Json | None, *, query: str | None
) -> Record:
    """One position: its exit, or the reason that there is none; `query` None while the vault works,
    and nothing can be closed yet.
    """
    base = f"/app/mandates/{public_id}/unwind?market={row['market']}"
    simulation = (call or {}).get("simulation")
    problem = refusal.view(refused, public_id)
    return Record(
        name=row["name"] or "",
        target=row["target"],
        by_name=row["by_name"],
        value_est=row["value_est"],
        cost_est=row["exit_cost_est"],
        exit=None if call is None else _exit_view(call),
        gas=None if simulation is None else simulation["gas"],
        href=f"{base}{query}" if row["by_name"] and query is not None else None,
        problem=problem,
        is_gone=problem is not None and problem["code"] == "no_position",
    )


def left_by_agent(targets: Iterable[Json], markets: Json) -> tuple[Record, ...]:
    """The contracts of some terms that no owner can leave by name: by the service's own name of
    the market, else by address.
    """
    known = {m["id"]: m for m in markets["items"]}
    return tuple(dict.fromkeys(_unleavable(targets, known)))


def _unleavable(targets: Iterable[Json], known: Mapping[str, Json]) -> Iterator[Record]:
    listed = tuple(targets)
    hub = hub_of(listed)
    for target in listed:
        # What lies in a purse is no position.
        if target["kind"] != "contract" or target["address"] == hub:
            continue
        market = known.get(target["market"] or "")
        if market is None or market["exit"] is None:
            name = "" if market is None else market["name"]
            yield Record(name=name, address=None if market is not None else target["address"])


PAGES: Final = (
    PageRoute("GET", "/app/mandates/{id}/leave", show_leave),
    PageRoute("GET", "/app/mandates/{id}/unwind", show_unwind),
)
