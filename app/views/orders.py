"""The orders page: mode, ticket, used caps, pending orders, positions, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from app.replies import Json, Record
from app.views.components import meters, refusal
from app.words import notices
from app.words.orders import LOCKS, SIDES, STATUS
from app.words.text import _
from app.words.untrusted_text import with_name

TYPED: Final = (
    "product", "side", "type", "amount", "unit", "limit_px", "tif", "slippage_bps", "reduce_only",
    "book", "why",
)  # fmt: skip
OFFERED: Final = ("product", "mark_px", "status")
UNSIGNED: Final = ("awaiting_owner", "awaiting_signature")
EMPTY: Final[Mapping[str, str]] = dict.fromkeys(TYPED, "") | {
    "side": "buy",
    "type": "market",
    "unit": "usdc",
    "tif": "ioc",
}


def order_title(order: Json) -> str:
    """An order in a few words; product and figures are the venue's."""
    verb = SIDES[order["side"]]
    return f"{verb} {order['size']} {order['product']}"


def maker(order: Json, names: Mapping[str, str]) -> Record | None:
    """The agent that prepared an order; None for one of the owner's own."""
    by = order["prepared_by"]
    return with_name(by["id"], names) if by["kind"] == "agent" else None


def _row(order: Json, names: Mapping[str, str]) -> Record:
    """A pending order; `why` is the agent's own reason."""
    pill, message = STATUS[order["status"]]
    unsent = order["status"] in UNSIGNED
    return Record(
        order_id=order["order_id"],
        title=order_title(order),
        mode=order["mode"],
        value=order["notional_usdc"],
        pill=pill,
        message=message,
        agent=maker(order, names),
        why=order["why"],
        expires_at=order["expires_at"] if unsent else None,
        opens=unsent,
        announcement=notices.order_notice(order),
    )


def _positions(rows: Iterable[Json], books: Mapping[str, str]) -> tuple[Record, ...]:
    return tuple(Record(row, book_name=books.get(row["book"] or "", "")) for row in rows)


def _ticket(me: Json, products: Json, books: Mapping[str, str]) -> Record:
    return Record(
        mode=me["mode"],
        network=me["network"] if me["mode"] == "live" else products["network"],
        typed=Record(EMPTY),
        # What the list shows of each alone: the rest of a market moves all the time.
        offered=tuple(
            Record({n: p[n] for n in OFFERED})
            for p in products["products"]
            if p["status"] != "delisted"
        ),
        books=tuple(books.items()),
        stale=products["stale"],
    )


def view(
    me: Json,
    account: Json,
    pending: Json,
    under_way: Json,
    products: Json,
    books: Json,
    agents: Json,
) -> Record:
    """The replies of trade_me, trade_positions, order_pending, order_under_way, trade_products,
    own_paper_books and owner_agents.
    """
    name = {b["book"]: b["name"] for b in books["books"]}
    names = {a["agent_id"]: a["name"] for a in agents["items"]}
    day, live = me["used_today"]["per_day"], account["live"]
    return Record(
        ticket=_ticket(me, products, name),
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
        pending=tuple(_row(o, names) for o in pending["orders"] if o["status"] in UNSIGNED),
        under_way=tuple(_row(o, names) for o in under_way["orders"]),
        live=None if live is None else _positions(live, name),
        paper=_positions(account["paper"], name),
        positions_stale=account["stale"],
        as_of=account["as_of"],
        problem=None,
        instead="",
    )


def refused(view: Record, block: Json, typed: Mapping[str, str] | None = None) -> Record:
    """The page after something was refused; what was typed stays."""
    values = view["ticket"]["typed"] if typed is None else Record({**EMPTY, **typed})
    action: Json | None = (block.get("detail") or {}).get("action")
    return Record(
        view,
        ticket=Record(view["ticket"], typed=values),
        problem=refusal.view(block, None),
        instead=f"{order_title(action)}, {_('reduce-only')}" if action else "",
    )
