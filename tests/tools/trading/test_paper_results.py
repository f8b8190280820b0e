"""Paper results in the Hall, apart, with how many books stand behind them; and what a paper order would
end at."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import agent, trader
from tests.tools.trading.test_paper import BUY, whole

pytestmark = pytest.mark.anyio


async def test_the_hall_shows_paper_apart_with_the_number_of_books_that_were_opened(
    both: Desk,
) -> None:
    t = await trader(both)
    scout = await agent(both, t)
    for name, of in (("Tried", None), ("Kept", scout.user_id), ("New", scout.user_id)):
        more: dict[str, Any] = {} if of is None else {"agent_id": of}
        opened = await both.ok("own_paper_book_open", t.caller, name=name, **more)
        if name == "Kept":
            book = opened["book"]
    made = await both.ok("order_prepare", scout, **BUY, book=book, size="0.0005")
    done = await both.ok("order_execute", scout, order_id=made["order"]["order_id"])
    assert done["status"] == "executed"
    both.clock.forward(days=2, hours=1)
    told = await both.ok("hall_agent", agent_id=scout.user_id)
    paper = told["paper"]
    assert (paper["books_opened"], paper["est"], len(paper["books"])) == (3, True, 2)
    kept = next(b for b in paper["books"] if b["book"] == book)
    new = next(b for b in paper["books"] if b["book"] != book)
    shown = await whole(both, t.person, book)
    assert (kept["book"], kept["trades"], kept["days"], kept["gaps"]) == (book, 1, 3, 0)
    assert kept["started_at"] == shown["first_fill_at"]
    net = Decimal(str(shown["equity"][-1]["equity_usdc"])) - 10_000
    assert Decimal(str(kept["net_usdc"])) == net < 0
    assert kept["twr_bps"] == -1
    empty = (new["started_at"], new["net_usdc"], new["twr_bps"], new["days"])
    assert empty == (None, None, None, 0)
    # No part of what is measured, and no name of a person's.
    assert told["trades_total"] == told["self_reported"]["trades_total"] == 0
    assert "Kept" not in str(told)
    assert "venue" not in told


async def test_a_paper_order_says_where_its_book_would_end_and_is_right(desk: Desk) -> None:
    p = await desk.person()
    opened = await desk.ok("own_paper_book_open", p.caller, name="Small", start_usdc="20")
    asked = {**BUY, "book": opened["book"], "size": "0.0006"}
    made = await desk.ok("order_prepare", p.caller, **asked)
    told = Decimal(made["checks"]["liquidation_px_est"])
    assert 0 < told < 64_000
    await desk.ok("order_execute", p.caller, order_id=made["order"]["order_id"])
    (position,) = (await whole(desk, p, opened["book"]))["positions"]
    # The estimate is at the limit, which is worse than the fill; it is never the better of the two.
    assert told >= Decimal(position["liquidation_px"]) > told - 400


async def test_an_order_that_only_shrinks_has_no_such_end(desk: Desk) -> None:
    p = await desk.person()
    made = await desk.ok("order_prepare", p.caller, **BUY, size="0.0005")
    assert made["checks"]["liquidation_px_est"] is None, "the book has more than it could lose"
    await desk.ok("order_execute", p.caller, order_id=made["order"]["order_id"])
    desk.clock.forward(seconds=30)
    sell = {**BUY, "side": "sell", "size": "0.0005", "reduce_only": True}
    less = await desk.ok("order_prepare", p.caller, **sell)
    assert less["checks"]["liquidation_px_est"] is None


async def test_abuse_39_a_forged_answer_of_the_venue_moves_nothing(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    data = {"statuses": [{"filled": {"totalSz": "9", "avgPx": "1", "oid": 77}}]}
    forged = {"status": "ok", "response": {"type": "order", "data": data}}
    named = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
    told = await desk.ok("order_record", t.caller, **named, venue_response=forged, oid=77)
    assert (told["status"], told["verified"], told["filled_size"]) == ("recorded", False, None)
    desk.clock.forward(seconds=30)
    told = await desk.ok("order_get", t.caller, order_id=told["order_id"])
    assert (told["fills"], told["avg_px"], told["fee_usdc"]) == ([], None, None)
    assert t.posted() == 0
