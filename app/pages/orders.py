"""The orders page: mode, ticket, used caps, pending orders, positions, limits; and what was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from aiohttp import web

from app.components import meters, refusal
from app.components.order_look import look, product_of, smallest_size
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages import order
from app.pages.order import HERE, UNSIGNED, maker, order_title
from app.replies import Json, Record, pick
from app.words import notices
from app.words.orders import LOCKS, STATUS
from app.words.policy import read_percent
from app.words.text import _

A_PAGE: Final = 50
OFFERED: Final = ("product", "mark_px", "status", "funding_hourly", "max_leverage")
FOUND: Final = 10
LIMITS: Final = ("per_order_usdc", "per_day_usdc")
EMPTY: Final = Record(
    dict.fromkeys(("product", "amount", "limit_px", "slippage_bps", "reduce_only", "book"), ""),
    why="",
    side="buy",
    type="market",
    unit="usdc",
    tif="ioc",
)


async def show_orders(visit: PageRequest) -> web.Response:
    """The orders page; with `find` the products of that name to choose from."""
    return visit.show("orders.html", await _view(visit))


async def _view(visit: PageRequest) -> Record:
    view = orders_view(
        await visit.run("trade_me"),
        await visit.run("trade_positions"),
        await visit.run("order_pending"),
        await visit.run("order_under_way"),
        await visit.run("trade_products"),
        await visit.run("own_paper_books"),
        await visit.run("owner_agents", limit=200),
        # What was chosen is found again on a page that answers a form.
        find=visit.query("find") or visit.field("product") or "",
    )
    return Record(view, lowered=Record({name: visit.field(name) or "" for name in LIMITS}))


def orders_view(
    me: Json,
    account: Json,
    pending: Json,
    under_way: Json,
    products: Json,
    books: Json,
    agents: Json,
    *,
    find: str = "",
) -> Record:
    """The replies of trade_me, trade_positions, order_pending, order_under_way, trade_products,
    own_paper_books and owner_agents.
    """
    book_names = {b["book"]: b["name"] for b in books["books"]}
    names = order.agent_names(agents)
    day, live = me["used_today"]["per_day"], account["live"]
    return Record(
        ticket=ticket(me, products, book_names, find),
        locks=tuple(
            Record(ok=me["locks"][n], text=text, fixed_by=fixed_by) for n, text, fixed_by in LOCKS
        ),
        today=meters.view(
            _("Live orders today"),
            day["used"]["value"],
            day["limit"],
            _("the operator’s limit") if day["source"] == "operator" else _("your own limit"),
            reserved=day["reserved"]["value"],
        ),
        used=me["used_today"],
        throttle=me["throttle"],
        pending=tuple(
            _row(o, names, _look_at(o, products, me))
            for o in pending["orders"]
            if o["status"] in UNSIGNED
        ),
        under_way=tuple(_row(o, names) for o in under_way["orders"]),
        live=None if live is None else _positions(live, book_names),
        paper=_positions(account["paper"], book_names),
        positions_stale=account["stale"],
        as_of=account["as_of"],
        look=None,
        problem=None,
        instead="",
        lowered=Record(dict.fromkeys(LIMITS, "")),
    )


def _look_at(order: Json, products: Json, me: Json) -> Record:
    """A prepared order at this moment's price."""
    terms = {"side": order["side"], "limit_px": None, "size": order["size"]}
    return look(terms, product_of(products, order["product"]), me, mode=order["mode"])


def ticket(me: Json, products: Json, books: Mapping[str, str], find: str = "") -> Record:
    """The form of an order, with the products to choose from whose names hold `find`."""
    name = find.strip().casefold()
    matches = [
        p
        for p in products["products"]
        if p["status"] != "delisted" and name in p["product"].casefold()
    ]
    # The shortest name first where something is looked for: it is the nearest.
    shown = sorted(matches, key=lambda p: len(p["product"])) if name else matches
    # What the list shows of each alone: the rest of a market moves all the time.
    offered = (Record(pick(p, *OFFERED), smallest=smallest_size(p)) for p in shown[:FOUND])
    return Record(
        find=find,
        more=max(0, len(matches) - FOUND),
        any=bool(products["products"]),
        mode=me["mode"],
        network=me["network"] if me["mode"] == "live" else products["network"],
        typed=EMPTY,
        offered=tuple(offered),
        books=tuple(books.items()),
        stale=products["stale"],
    )


def _row(row: Json, names: Mapping[str, str], looked: Record | None = None) -> Record:
    """A pending order; `why` is the agent's own reason, `looked` what the order comes to now."""
    pill, message = STATUS[row["status"]]
    unsent = row["status"] in UNSIGNED
    return Record(
        pick(row, "order_id", "mode", "why"),
        title=order_title(row),
        value=row["notional_usdc"],
        pill=pill,
        message=message,
        agent=maker(row, names),
        expires_at=row["expires_at"] if unsent else None,
        opens=unsent,
        look=looked,
        announcement=notices.order_notice(row),
    )


def _positions(rows: Iterable[Json], books: Mapping[str, str]) -> tuple[Record, ...]:
    return tuple(Record(row, book_name=books.get(row["book"] or "", "")) for row in rows)


async def _show_refused(
    visit: PageRequest, refused: OperationRefused, typed: Mapping[str, str] | None = None
) -> web.Response:
    """A refusal beside the form; where an order came of it after all, on to that order."""
    detail: Json = refused.block.get("detail") or {}
    if "order" in detail:
        return visit.go(f"{HERE}/{detail['order']['order_id']}")
    view = with_refusal(await _view(visit), refused.block, typed)
    return visit.show("orders.html", view, refused=refused)


def with_refusal(view: Record, block: Json, typed: Mapping[str, str] | None = None) -> Record:
    """The page after something was refused; what was typed stays."""
    values = view["ticket"]["typed"] if typed is None else _typed(typed)
    action: Json | None = (block.get("detail") or {}).get("action")
    return Record(
        view,
        ticket=Record(view["ticket"], typed=values),
        problem=refusal.view(block),
        instead=f"{order_title(action)}, {_('reduce-only')}" if action else "",
    )


def _typed(typed: Mapping[str, str]) -> Record:
    return Record({**EMPTY, **{name: typed[name] for name in EMPTY if name in typed}})


async def _show_look(visit: PageRequest) -> web.Response:
    """The ticket with what the order would come to now. Nothing is stored."""
    me, products = await visit.run("trade_me"), await visit.run("trade_products")
    typed, order_asked = _typed(visit.form), _order_request(visit)
    product = product_of(products, str(order_asked["product"] or ""))
    view = await _view(visit)
    looked = look(order_asked, product, me, mode=me["mode"])
    return visit.show(
        "orders.html", Record(view, look=looked, ticket=Record(view["ticket"], typed=typed))
    )


async def place_order(visit: PageRequest) -> web.Response:
    """The ticket: on paper at once, live with what is to be signed on this very answer; or only
    looked at.
    """
    if visit.field("then") == "look":
        return await _show_look(visit)
    try:
        response = await visit.run_once("trade_order", **_order_request(visit))
    except OperationRefused as refused:
        return await _show_refused(visit, refused, visit.form)
    return await order.show_prepared(visit, response, "order")


def _order_request(visit: PageRequest) -> Json:
    """The ticket as the door takes it; what cannot be read is left for the door to refuse."""
    live, market = visit.field("mode_seen") == "live", visit.field("type") != "limit"
    is_by_size, slippage = visit.field("unit") == "size", visit.field("slippage_bps")
    bps = read_percent(slippage or "")
    return {
        **{name: visit.field(name) for name in ("product", "side", "type", "mode_seen", "why")},
        "size": visit.field("amount") if is_by_size else None,
        "notional_usdc": None if is_by_size else visit.field("amount"),
        "limit_px": None if market else visit.field("limit_px"),
        "tif": None if market else visit.field("tif"),
        "slippage_bps": (slippage if bps is None else bps) if market else None,
        "reduce_only": True if visit.field("reduce_only") else None,
        "book": None if live else visit.field("book"),
    }


async def close_order(visit: PageRequest) -> web.Response:
    """Close a position; a live one whatever is switched off."""
    request = {n: visit.field(n) for n in ("product", "mode_seen", "book", "fraction")}
    try:
        response = await visit.run_once("trade_close", **request)
    except OperationRefused as refused:
        return await _show_refused(visit, refused)
    return await order.show_prepared(visit, response, "close")


async def lower_limits(visit: PageRequest) -> web.Response:
    """Lower the limits; they never go up here."""
    limits = {n: visit.field(n) for n in LIMITS}
    await visit.run("trade_limits", **limits)
    return visit.go(f"{HERE}#limits")


async def show_history(visit: PageRequest) -> web.Response:
    """Live orders that were, a page at a time."""
    cursor = visit.query("cursor")
    page = await visit.run("order_history", cursor=cursor, limit=A_PAGE)
    names = await order.names_of(visit)
    items = tuple(_past_order(row, names) for row in page["items"])
    return visit.show("past.html", Record(page, items=items, first=not cursor))


def _past_order(row: Json, names: Mapping[str, str]) -> Record:
    closes = row["fills"] and row["reduce_only"]
    return Record(
        row,
        title=order_title(row),
        pill=STATUS[row["status"]][0],
        agent=maker(row, names),
        filled=row["filled_size"] if row["fills"] else None,
        result=row["closed_pnl_usdc"] if closes else None,
    )


PAGES: Final = (
    PageRoute("GET", HERE, show_orders),
    PageRoute("POST", HERE, place_order),
    PageRoute("POST", f"{HERE}/close", close_order),
    PageRoute("POST", f"{HERE}/limits", lower_limits, refused=_show_refused),
    PageRoute("GET", f"{HERE}/history", show_history),
)
