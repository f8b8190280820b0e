"""Every fault of the venue on every route of orders that reads it: the right refusal, in time, nothing half written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from devtools.devvenue.faults import FaultKind
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.orders import LIVE, Trader, code, day_use, trader
from tools.model.operation import OperationResult

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EFFECTS: list[tuple[FaultKind, dict[str, Any]]] = [
    ("hang", {}), ("status", {"status": 429}), ("status", {"status": 500}), ("status", {"status": 422}), ("lost", {}), ("executed_hang", {}),
    ("not_json", {}), ("truncated", {}), ("huge", {}), ("malformed", {"value": None}), ("malformed", {"value": 5.5}),
]  # fmt: skip
IDS = [f"{e}-{next(iter(m.values()), '')}" for e, m in EFFECTS]
Made = dict[str, Any]
Call = Callable[[Trader, Made], Awaitable[OperationResult]]
ROUTES: dict[str, Call] = {
    "order_prepare": lambda t, made: t.desk.do("order_prepare", t.caller, **LIVE),
    "order_open": lambda t, made: t.desk.do(
        "order_open", t.caller, order_id=made["order"]["order_id"]
    ),
    "trade_close": lambda t, made: t.close(),
}


async def in_time(ingest_context: Desk, call: Awaitable[OperationResult]) -> OperationResult:
    """The reply of a call that waited for two silences of the venue at most."""
    before = ingest_context.outlasted()
    reply = await call
    assert ingest_context.outlasted() - before <= 2
    return reply


@pytest.mark.parametrize(("effect", "more"), EFFECTS, ids=IDS)
async def test_a_venue_that_tells_nothing_is_unavailable_and_leaves_nothing(
    effect: FaultKind, more: dict[str, Any], sqlite_url: str
) -> None:
    async with a_desk(sqlite_url) as desk:
        t = await trader(desk)
        made = await t.prepare()
        before, orders = await day_use(desk), await desk.rows("orders")
        desk.clock.forward(seconds=65)  # nothing that is held is fresh any more
        for venue in (desk.main, desk.test):
            venue.faults.add(VenueFault(effect=effect, route="/info", **more))
        for name, call in ROUTES.items():
            reply = await in_time(desk, call(t, made))
            assert code(reply) == (503, "wallet_venue_unavailable"), (name, reply.body)
            assert int(reply.headers["Retry-After"]) >= 1, name
            assert reply.body["retry_safe"] is True
            assert await desk.rows("orders") == orders, name
            assert await day_use(desk) == before, name
        status = await in_time(desk, desk.do("agent_status", t.caller))
        assert status.status == 200
        assert {c["name"]: c["ok"] for c in status.body["checks"]}["order_key"] is None
        assert status.body["may_trade"] is False
        assert (await in_time(desk, desk.do("trade_products"))).body["stale"] is True
        assert (await in_time(desk, desk.do("trade_positions", t.caller))).body["live"] is None
        me = await in_time(desk, desk.do("trade_me", t.caller))
        assert me.body["locks"]["order_key"] is None


@pytest.mark.parametrize(("effect", "more"), EFFECTS, ids=IDS)
async def test_an_order_is_not_sent_while_its_account_cannot_be_looked_at(
    effect: FaultKind, more: dict[str, Any], sqlite_url: str
) -> None:
    async with a_desk(sqlite_url) as desk:
        t = await trader(desk)
        made = await t.prepare()
        desk.clock.forward(seconds=65)
        desk.test.faults.add(VenueFault(effect=effect, route="/info", kind="extraAgents", **more))
        reply = await in_time(desk, t.execute(made))
        assert code(reply) == (503, "wallet_venue_unavailable"), reply.body
        assert t.posted() == 0
        desk.test.faults.clear()
        desk.clock.forward(seconds=5)
        assert (await t.execute(made)).body["status"] == "executed"
