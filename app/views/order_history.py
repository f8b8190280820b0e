"""Order history: live orders of every outcome, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.replies import Json
from app.views.orders import order_title
from app.words.orders import STATUS
from app.words.status import Pill
from app.words.untrusted_text import AgentName, with_name


@dataclass(frozen=True, slots=True, kw_only=True)
class PastOrderView:
    """An order. Units: `fee` and `result` USDC, `price` the venue's; None is "not known yet"."""

    order_id: str
    title: str
    network: str
    at: str
    pill: Pill
    agent: AgentName | None
    filled: str | None
    price: str | None
    fee: str | None
    result: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderHistoryView:
    """A page of orders; `older` is the cursor of the next."""

    orders: tuple[PastOrderView, ...]
    older: str | None
    first: bool


def _order(row: Json, names: Mapping[str, str]) -> PastOrderView:
    by, traded = row["prepared_by"], bool(row["fills"])
    return PastOrderView(
        order_id=row["order_id"],
        title=order_title(row),
        network=row["network"],
        at=row["created_at"],
        pill=STATUS[row["status"]][0],
        agent=with_name(by["id"], names) if by["kind"] == "agent" else None,
        filled=row["filled_size"] if traded else None,
        price=row["avg_px"] if traded else None,
        fee=row["fee_usdc"] if traded else None,
        result=row["closed_pnl_usdc"] if traded and row["reduce_only"] else None,
    )


def view(page: Json, names: Mapping[str, str], *, first: bool) -> OrderHistoryView:
    """`page` of order_history; `names` of agents; `first`: nothing is newer than this page."""
    rows = tuple(_order(row, names) for row in page["items"])
    return OrderHistoryView(orders=rows, older=page["next_cursor"], first=first)
