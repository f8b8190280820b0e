"""Paper books: how many were opened, what each came to, and one of them whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView
from app.views.orders import PositionView, order_title, positions
from app.words import money
from app.words.orders import STATUS
from app.words.status import Pill
from app.words.untrusted_text import AgentName, with_name


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBookView:
    """A paper book; every figure is an estimate. None: a mark price is missing."""

    book: str
    name: str
    agent: AgentName | None
    start: str
    equity: str | None
    net: str | None
    returned: str | None
    cash: str
    realized: str
    unrealized: str | None
    fees: str
    builder_fees: str
    funding: str
    trades: int
    fall: str | None
    created_at: str
    first_fill_at: str | None
    liquidated_at: str | None
    gaps: tuple[tuple[str, str], ...]
    depth: str
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BooksView:
    """All books, and the form of one more; `name` and `start` are what was typed."""

    books: tuple[PaperBookView, ...]
    opened: int
    agents: tuple[tuple[str, str], ...]
    problem: RefusalView | None = None
    name: str = ""
    start: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedOrderView:
    """An order of a book."""

    order_id: str
    title: str
    price: str
    filled: str | None
    pill: Pill
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OneBookView:
    """One book."""

    book: PaperBookView
    positions: tuple[PositionView, ...]
    orders: tuple[PlacedOrderView, ...]
    older: str | None
    points: tuple[tuple[str, str], ...]


def _book(raw: Json, names: Mapping[str, str]) -> PaperBookView:
    equity, agent = raw["equity_usdc"], raw["agent_id"]
    net = money.less(equity, raw["start_usdc"])
    return PaperBookView(
        book=raw["book"],
        name=raw["name"],
        agent=with_name(agent, names) if agent else None,
        start=raw["start_usdc"],
        equity=equity,
        net=net,
        returned=money.share(net, raw["start_usdc"]),
        cash=raw["cash_usdc"],
        realized=raw["realized_usdc"],
        unrealized=raw["unrealized_usdc"],
        fees=raw["fees_usdc"],
        builder_fees=raw["builder_fees_usdc"],
        funding=raw["funding_usdc"],
        trades=raw["trades"],
        fall=money.percent(raw["max_drawdown_bps"]),
        created_at=raw["created_at"],
        first_fill_at=raw["first_fill_at"],
        liquidated_at=raw["liquidated_at"],
        gaps=tuple((g["since"], g["until"]) for g in raw["gaps"]),
        depth=money.share_percent(raw["model"]["depth_share"]),
        latency_ms=raw["model"]["latency_ms"],
    )


def _names(agents: Json) -> dict[str, str]:
    return {a["agent_id"]: a["name"] for a in agents["items"]}


def view(raw: Json, agents: Json) -> BooksView:
    """`raw` of own_paper_books, `agents` of owner_agents."""
    names = _names(agents)
    return BooksView(
        books=tuple(_book(b, names) for b in raw["books"]),
        opened=raw["opened_total"],
        agents=tuple(names.items()),
    )


def refused(view: BooksView, block: Json, name: str, start: str) -> BooksView:
    """The list after a book was refused; what was typed stays."""
    return replace(view, problem=refusal.view(block, None), name=name, start=start)


def book_view(raw: Json, agents: Json) -> OneBookView:
    """`raw` of own_paper_book."""
    return OneBookView(
        book=_book(raw, _names(agents)),
        positions=positions(raw["positions"], {raw["book"]: raw["name"]}),
        orders=tuple(
            PlacedOrderView(
                order_id=o["order_id"],
                title=order_title(o),
                price=o["avg_px"] or o["limit_px"],
                filled=o["filled_size"],
                pill=STATUS[o["status"]][0],
                at=o["created_at"],
            )
            for o in raw["orders"]["items"]
        ),
        older=raw["orders"]["next_cursor"],
        points=tuple((p["at"], p["equity_usdc"]) for p in raw["equity"][-60:]),
    )
