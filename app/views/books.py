"""Paper books: how many were opened, what each came to, and one of them whole."""

from __future__ import annotations

from collections.abc import Mapping

from app.replies import Json, Record
from app.views.orders import order_title
from app.words import money
from app.words.orders import STATUS
from app.words.untrusted_text import with_name


def _book(raw: Json, names: Mapping[str, str]) -> Record:
    """A paper book; every figure is an estimate. None: a mark price is missing."""
    net = money.less(raw["equity_usdc"], raw["start_usdc"])
    return Record(
        raw,
        agent=with_name(raw["agent_id"], names) if raw["agent_id"] else None,
        net=net,
        returned=money.share(net, raw["start_usdc"]),
        depth=money.share_percent(raw["model"]["depth_share"]),
    )


def _names(agents: Json) -> dict[str, str]:
    return {a["agent_id"]: a["name"] for a in agents["items"]}


def view(raw: Json, agents: Json) -> Record:
    """`raw` of own_paper_books, `agents` of owner_agents; `name` and `start` are what was typed."""
    return Record(
        books=tuple(_book(b, _names(agents)) for b in raw["books"]),
        opened=raw["opened_total"],
        agents=agents["items"],
        problem=None,
        name="",
        start="",
    )


def book_view(raw: Json, agents: Json) -> Record:
    """`raw` of own_paper_book."""
    return Record(
        _book(raw, _names(agents)),
        placed=tuple(
            Record(
                o,
                title=order_title(o),
                price=o["avg_px"] or o["limit_px"],
                pill=STATUS[o["status"]][0],
            )
            for o in raw["orders"]["items"]
        ),
        points=raw["equity"][-60:],
    )
