"""The orders page: mode, ticket, used caps, pending orders, positions, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.replies import Json
from app.views.components import meters, refusal
from app.views.components.meters import MeterView
from app.views.components.refusal import RefusalView
from app.words import notices
from app.words.orders import LOCKS, SIDES, STATUS
from app.words.status import Pill
from app.words.text import _
from app.words.untrusted_text import AgentName, with_name

TYPED: Final = (
    "product", "side", "type", "amount", "unit", "limit_px", "tif", "slippage_bps", "reduce_only",
    "book", "why",
)  # fmt: skip
UNSIGNED: Final = ("awaiting_owner", "awaiting_signature")
EMPTY: Final[Mapping[str, str]] = dict.fromkeys(TYPED, "") | {
    "side": "buy",
    "type": "market",
    "unit": "usdc",
    "tif": "ioc",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LockView:
    """A condition of live orders; `ok` is None where the venue does not say, `fixed_by` the party
    that can fix it.
    """

    ok: bool | None
    text: str
    fixed_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedView:
    """A product of the venue."""

    product: str
    px: str | None
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingOrderView:
    """A pending order; `agent` prepared it, `why` is the agent's own reason."""

    order_id: str
    title: str
    mode: str
    network: str
    value: str
    pill: Pill
    message: str
    agent: AgentName | None
    why: str
    expires_at: str | None
    opens: bool
    announcement: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionView:
    """An open position."""

    product: str
    mode: str
    network: str
    book: str | None
    book_name: str
    side: str
    size: str
    entry: str | None
    mark: str | None
    value: str | None
    result: str | None
    liquidation: str | None
    leverage: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLimitsView:
    """A limit an order and a day. Units: USDC."""

    per_order: str
    per_day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketView:
    """The form."""

    mode: str
    network: str
    typed: Mapping[str, str]
    offered: tuple[OfferedView, ...]
    books: tuple[tuple[str, str], ...]
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersView:
    """The orders page."""

    ticket: TicketView
    locks: tuple[LockView, ...]
    wallet: str | None
    today: MeterView
    paper_used: str
    per_order: str
    per_close: str
    resets_at: str
    left_minute: int
    left_hour: int
    effective: OrderLimitsView
    operator: OrderLimitsView
    own: OrderLimitsView
    pending: tuple[WaitingOrderView, ...]
    under_way: tuple[WaitingOrderView, ...]
    live: tuple[PositionView, ...] | None
    paper: tuple[PositionView, ...]
    positions_stale: bool
    as_of: str
    problem: RefusalView | None = None
    instead: str = ""


def order_title(order: Json) -> str:
    """An order in a few words; product and figures are the venue's."""
    verb = SIDES[order["side"]]
    return f"{verb} {order['size']} {order['product']}"


def _row(order: Json, names: Mapping[str, str]) -> WaitingOrderView:
    pill, message = STATUS[order["status"]]
    by = order["prepared_by"]
    agent = with_name(by["id"], names) if by["kind"] == "agent" else None
    unsent = order["status"] in UNSIGNED
    return WaitingOrderView(
        order_id=order["order_id"],
        title=order_title(order),
        mode=order["mode"],
        network=order["network"],
        value=order["notional_usdc"],
        pill=pill,
        message=message,
        agent=agent,
        why=order["why"] or "",
        expires_at=order["expires_at"] if unsent else None,
        opens=unsent,
        announcement=notices.order_notice(order),
    )


def _position(row: Json, books: Mapping[str, str]) -> PositionView:
    return PositionView(
        product=row["product"],
        mode=row["mode"],
        network=row["network"],
        book=row["book"],
        book_name=books.get(row["book"] or "", ""),
        side=row["side"],
        size=row["size"],
        entry=row["entry_px"],
        mark=row["mark_px"],
        value=row["value_usdc"],
        result=row["unrealized_usdc"],
        liquidation=row["liquidation_px"],
        leverage=row["leverage"],
    )


def positions(rows: Iterable[Json], books: Mapping[str, str]) -> tuple[PositionView, ...]:
    """Positions of a reply."""
    return tuple(_position(row, books) for row in rows)


def _ticket(me: Json, products: Json, books: Mapping[str, str]) -> TicketView:
    return TicketView(
        mode=me["mode"],
        network=me["network"] if me["mode"] == "live" else products["network"],
        typed=EMPTY,
        offered=tuple(
            OfferedView(product=p["product"], px=p["mark_px"], status=p["status"])
            for p in products["products"]
            if p["status"] != "delisted"
        ),
        books=tuple(books.items()),
        stale=products["stale"],
    )


def _pair(raw: Json) -> OrderLimitsView:
    return OrderLimitsView(per_order=raw["per_order"], per_day=raw["per_day"])


def view(
    me: Json,
    account: Json,
    pending: Json,
    under_way: Json,
    products: Json,
    books: Json,
    agents: Json,
) -> OrdersView:
    """The replies of trade_me, trade_positions, order_pending, order_under_way, trade_products,
    own_paper_books and owner_agents.
    """
    name = {b["book"]: b["name"] for b in books["books"]}
    names = {a["agent_id"]: a["name"] for a in agents["items"]}
    cap, day = me["used_today"], me["used_today"]["per_day"]
    throttle = me["throttle"]
    return OrdersView(
        ticket=_ticket(me, products, name),
        locks=tuple(
            LockView(ok=me["locks"][n], text=text, fixed_by=fixed_by) for n, text, fixed_by in LOCKS
        ),
        wallet=me["wallet"],
        today=meters.view(
            _("Live orders today"),
            day["used"]["value"],
            day["limit"],
            _("the operator’s limit") if day["source"] == "operator" else _("your own limit"),
            reserved=day["reserved"]["value"],
        ),
        paper_used=cap["paper"]["used"]["value"],
        per_order=cap["per_order"]["limit"],
        per_close=cap["per_close"]["limit"],
        resets_at=cap["resets_at"],
        left_minute=throttle["left_minute"],
        left_hour=throttle["left_hour"],
        effective=_pair(me["limits"]),
        operator=_pair(cap["operator"]),
        own=_pair(cap["own"]),
        pending=tuple(_row(o, names) for o in pending["orders"] if o["status"] in UNSIGNED),
        under_way=tuple(_row(o, names) for o in under_way["orders"]),
        live=None if account["live"] is None else positions(account["live"], name),
        paper=positions(account["paper"], name),
        positions_stale=account["stale"],
        as_of=account["as_of"],
    )


def refused(view: OrdersView, block: Json, typed: Mapping[str, str] | None = None) -> OrdersView:
    """The page after something was refused; what was typed stays."""
    ticket = view.ticket if typed is None else replace(view.ticket, typed={**EMPTY, **typed})
    action: Json | None = (block.get("detail") or {}).get("action")
    return replace(
        view,
        ticket=ticket,
        problem=refusal.view(block, None),
        instead=f"{order_title(action)}, {_('reduce-only')}" if action else "",
    )
