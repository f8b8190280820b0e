"""Where several refusals hold, the first of the table is told (trading 2)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from domain.trading.order_gate import FieldProblem
from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import BTC, code, ordered, trader
from tools.trading.orders.request_models import CloseIn, DoorOrderIn, parse_close, parse_order

pytestmark = pytest.mark.anyio
MUCH = {"notional_usdc": "90"}  # one's own limit is 50 an order


@pytest.mark.parametrize("much", [{}, MUCH], ids=["within its cap", "over its cap"])
@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"sign_mode": "none"}, "sign_mode"),
        ({"intent_id": "in_nobodys"}, "intent_id"),
        ({"book": "b_nobodys", "mode_seen": "paper"}, "book"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
async def test_a_field_that_is_wrong_is_told_before_a_cap(
    asked: dict[str, Any], field: str, much: dict[str, str], desk: Desk
) -> None:
    t = await trader(desk)
    reply = await ordered(desk, t.caller, **{"mode_seen": "live", **asked, **much})
    assert code(reply) == (422, "wallet_invalid_order")
    assert reply.body["remaining"]["field"] == field
    assert await desk.rows("orders") == []


async def test_a_field_that_is_wrong_is_told_before_a_lock_that_is_shut(desk: Desk) -> None:
    t = await trader(desk, listed=False)
    reply = await ordered(desk, t.caller, mode_seen="live", sign_mode="none")
    assert code(reply) == (422, "wallet_invalid_order")
    assert reply.body["remaining"]["field"] == "sign_mode"


# -- which field is wrong


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"product": "B'TC"}, "product"), ({"product": "*"}, "product"), ({"product": 7}, "product"),
        ({"product": "x" * 10_000}, "product"), ({"product": "БТЦ"}, "product"), ({"side": "long"}, "side"),
        ({"type": None}, "type"), ({"size": "1", "notional_usdc": "20"}, "size"), ({"notional_usdc": None}, "size"),
        ({"notional_usdc": "1e2"}, "notional_usdc"), ({"notional_usdc": 20}, "notional_usdc"),
        ({"notional_usdc": "50.0000001"}, "notional_usdc"), ({"notional_usdc": "-5"}, "notional_usdc"),
        ({"notional_usdc": "9" * 13}, "notional_usdc"), ({"notional_usdc": "0.00"}, "notional_usdc"),
        ({"limit_px": "5"}, "limit_px"), ({"tif": "gtc"}, "tif"), ({"tif": "fok"}, "tif"),
        ({"slippage_bps": 1.5}, "slippage_bps"), ({"slippage_bps": True}, "slippage_bps"),
        ({"reduce_only": "yes"}, "reduce_only"), ({"mode_seen": "LIVE"}, "mode_seen"), ({"mode_seen": None}, "mode_seen"),
        ({"mode_seen": "live", "book": "b_aaaaaaaaaa"}, "book"), ({"why": "x" * 501}, "why"), ({"why": 5}, "why"),
        ({"mandate_id": "../x"}, "mandate_id"), ({"type": "limit"}, "limit_px"),
        ({"type": "limit", "limit_px": "5", "slippage_bps": 5}, "slippage_bps"), ({"product": "BTC\n"}, "product"),
        ({"side": 1, "size": 2, "why": 3}, "side"), ({"book": 1, "limit_px": 2, "notional_usdc": None}, "size"),
    ],
)  # fmt: skip
def test_the_wrong_field_is_named(changes: dict[str, object], field: str) -> None:
    asked = {**BTC, "mode_seen": "paper", **changes}
    problem = parse_order(DoorOrderIn.model_validate(asked, strict=True))
    assert isinstance(problem, FieldProblem)
    assert problem.field == field


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None), ({"fraction": 1}, None), ({"fraction": "0.5"}, None), ({"fraction": 2}, "fraction"), ({"fraction": "0"}, "fraction"),
        ({"slippage_bps": 300}, None), ({"slippage_bps": 301}, "slippage_bps"), ({"slippage_bps": "1"}, "slippage_bps"),
        ({"size": "1", "fraction": "1"}, "size"), ({"mode_seen": None, "product": None}, "mode_seen"), ({"product": 1}, "product"),
        ({"book": "b_x"}, "book"), ({"fraction": True}, "fraction"), ({"fraction": 1.0}, "fraction"), ({"fraction": Decimal("1.0")}, "fraction"),
    ],
)  # fmt: skip
def test_the_wrong_field_of_a_close_is_named(
    changes: dict[str, object], problem: str | None
) -> None:
    asked = {"product": "BTC", "mode_seen": "live"} | changes
    read = parse_close(CloseIn.model_validate(asked, strict=True), 300)
    assert (read.field if isinstance(read, FieldProblem) else None) == problem


async def test_a_field_that_there_is_not_is_malformed_whatever_else_is_wrong(desk: Desk) -> None:
    t = await trader(desk)
    for side in ("long", "buy"):
        reply = await desk.refused("order_prepare", t.caller, side=side, sides="buy")
        assert reply.body["error"] == "invalid_request"
        assert [f["loc"] for f in reply.body["detail"]["fields"]] == ["sides"]
