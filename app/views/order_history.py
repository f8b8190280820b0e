"""Order history: live orders of every outcome, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping

from app.replies import Json, Record
from app.views.orders import maker, order_title
from app.words.orders import STATUS


def _order(row: Json, names: Mapping[str, str]) -> Record:
    closes = row["fills"] and row["reduce_only"]
    return Record(
        row,
        title=order_title(row),
        pill=STATUS[row["status"]][0],
        agent=maker(row, names),
        filled=row["filled_size"] if row["fills"] else None,
        result=row["closed_pnl_usdc"] if closes else None,
    )


def view(page: Json, names: Mapping[str, str], *, first: bool) -> Record:
    """`page` of order_history; `names` of agents; `first`: nothing is newer than this page."""
    return Record(page, items=tuple(_order(row, names) for row in page["items"]), first=first)
