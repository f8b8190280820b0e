"""The relays: fixed types, cut answers, caches, bounds, and what happens while the venue is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession

from devtools.devvenue import Rules, VenueFault
from http_shim.application import build
from http_shim.http_server import listen
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.orders import code
from tools.catalogue import OPERATIONS
from tools.model.operation import ANONYMOUS
from venue.budget import MAX_RELAYS

pytestmark = pytest.mark.anyio
WHO = "0x" + "ab" * 20
AWAY = VenueFault(effect="status", status=500)
READS: list[tuple[str, dict[str, Any]]] = [
    ("info_meta", {}), ("info_spot_meta", {}), ("info_funding", {"coin": "BTC"}), ("info_order_history", {"user": WHO}),
    ("info_fees", {"user": WHO}), ("info_portfolio", {"user": WHO}),
]  # fmt: skip
NAMES = [r[0] for r in READS]


@asynccontextmanager
async def over_http(desk: Desk) -> AsyncIterator[tuple[ClientSession, str]]:
    runner = await listen(build(desk.deps, OPERATIONS), "127.0.0.1", 0)
    async with ClientSession() as http:
        try:
            yield http, f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


@pytest.mark.parametrize(("name", "asked"), READS, ids=NAMES)
async def test_a_relay_says_where_and_when_its_data_is_from(
    name: str, asked: dict[str, Any], desk: Desk
) -> None:
    told = await desk.ok(name, **asked)
    assert set(told) == {"source", "network", "as_of", "stale", "data"}
    assert (told["source"], told["network"], told["stale"]) == ("venue", "mainnet", False)
    assert told["as_of"] == "2026-11-20T12:00:00.000Z"


@pytest.mark.parametrize(("name", "asked"), READS, ids=NAMES)
async def test_an_outage_gives_the_last_answer_as_stale_and_without_one_503_with_retry_after(
    name: str, asked: dict[str, Any], desk: Desk
) -> None:
    desk.main.faults.add(AWAY)
    refused = await desk.refused(name, **asked)
    assert code(refused) == (503, "venue_unavailable")
    assert int(refused.headers["Retry-After"]) >= 1
    desk.main.faults.clear()
    desk.clock.forward(seconds=5)
    first = await desk.ok(name, **asked)
    desk.clock.forward(minutes=10)
    desk.main.faults.add(AWAY)
    again = await desk.ok(name, **asked)
    assert again["stale"] is True
    assert (again["as_of"], again["data"]) == (first["as_of"], first["data"])


async def test_a_cached_answer_asks_the_venue_nothing(desk: Desk) -> None:
    first = await desk.ok("info_meta")
    desk.main.faults.add(AWAY)
    desk.clock.forward(seconds=59)
    again = await desk.ok("info_meta")
    assert again == first


async def test_decimal_strings_pass_unchanged_and_unknown_fields_are_cut(desk: Desk) -> None:
    plain = await desk.ok("info_fees", user=WHO)
    assert isinstance(plain["data"]["userCrossRate"], str)
    desk.clock.forward(minutes=2)
    desk.main.faults.add(VenueFault(effect="unknown_field"))
    again = await desk.ok("info_fees", user=WHO)
    assert again["data"] == plain["data"]
    assert "unheardOf" not in str(again)


async def test_a_malformed_figure_is_null_and_never_zero(desk: Desk) -> None:
    desk.main.faults.add(
        VenueFault(effect="malformed", kind="userFees", path=("userCrossRate",), value="1e-5x")
    )
    assert (await desk.ok("info_fees", user=WHO))["data"]["userCrossRate"] is None


@pytest.mark.parametrize("dex", ["km", "nope", "XYZ", "xyz,km", "*"])
async def test_a_dex_that_is_not_allowed_here_is_not_found(dex: str, desk: Desk) -> None:
    assert (await desk.refused("info_meta", dex=dex)).body["error"] == "not_found"


async def test_the_allowed_dexes_are_read_and_no_coin_of_another(desk: Desk) -> None:
    assert (await desk.refused("info_funding", coin="km:US500")).body["error"] == "not_found"
    told = await desk.ok("info_meta", dex="xyz")
    assert told["data"]["universe"][0]["name"] == "xyz:XYZ100"


BAD_SUM = "0x8C967E73E6B15087C42A10D344CFF4C96D877f1d"


@pytest.mark.parametrize(
    "user", ["", "0x", "0x" + "1" * 39, "0x" + "g" * 40, "abc", "0x" + "11" * 21, BAD_SUM]
)
async def test_a_malformed_user_is_refused_where_the_venue_would_say_nothing(
    user: str, desk: Desk
) -> None:
    for name in ("info_order_history", "info_fees", "info_portfolio"):
        refused = await desk.refused(name, user=user)
        assert (refused.status, refused.body["error"]) == (400, "invalid_address")


@pytest.mark.parametrize(
    "coin",
    ["", '"BTC"', "*", "B" * 10_000, "БТЦ", "BTC\n", "BTC;", "a b", "xyz:", ":X", "xyz:*",
     "../meta", "xyz:xyz:X", "TOOLONGDEX:X"],
)  # fmt: skip
async def test_abuse_33_a_coin_with_quotes_ten_kilobytes_unicode_or_a_star_never_reaches_the_venue(
    coin: str, desk: Desk
) -> None:
    desk.main.faults.add(AWAY)
    refused = await desk.refused("info_funding", coin=coin)
    assert (refused.status, refused.body["error"]) == (400, "invalid_request")
    assert coin not in str(refused.body["detail"]) or coin == ""


async def test_funding_without_a_start_has_seven_days_and_what_is_predicted(desk: Desk) -> None:
    told = (await desk.ok("info_funding", coin="BTC"))["data"]
    assert told["history"]
    assert {row["coin"] for row in told["history"]} == {"BTC"}
    assert told["predicted"] is not None
    assert (await desk.ok("info_funding", coin="xyz:XYZ100"))["data"]["predicted"] is None


async def test_a_span_is_at_most_seven_days_and_runs_forward(desk: Desk) -> None:
    day = 86_400_000
    spans = ({"start": 0, "end": 7 * day + 1}, {"start": 5, "end": 4}, {"end": 5})
    for bad in (*spans, {"start": -1}, {"start": 2**60}):
        refused = await desk.refused("info_funding", coin="BTC", **bad)
        assert code(refused) == (400, "invalid_request"), bad
    told = await desk.ok("info_funding", coin="BTC", start=0, end=7 * day)
    assert told["data"] == {"history": [], "predicted": None}


async def test_order_history_is_cut_to_the_limit_and_a_portfolio_to_one_period(desk: Desk) -> None:
    assert (await desk.ok("info_order_history", user=WHO))["data"] == []
    whole = (await desk.ok("info_portfolio", user=WHO))["data"]
    day = (await desk.ok("info_portfolio", user=WHO, period="day"))["data"]
    assert day == [row for row in whole if row[0] == "day"]
    bad = [("info_order_history", {"limit": 0}), ("info_order_history", {"limit": 201})]
    for name, asked in (*bad, ("info_portfolio", {"period": "year"})):
        refused = await desk.refused(name, user=WHO, **asked)
        assert code(refused) == (400, "invalid_request"), asked


async def test_pairs_whose_token_is_missing_are_left_out_and_counted(desk: Desk) -> None:
    path, tokens = ("universe", 0, "tokens"), [99_999, 0]
    desk.main.faults.add(VenueFault(effect="malformed", kind="spotMeta", path=path, value=tokens))
    told = (await desk.ok("info_spot_meta"))["data"]
    assert told["dropped"] == 1
    assert all(99_999 not in p["tokens"] for p in told["universe"])


async def test_abuse_32_a_flood_of_distinct_users_never_touches_the_keepers_reserve(
    sqlite_url: str,
) -> None:
    async with a_desk(sqlite_url, rules=Rules()) as desk:
        answered = 0
        for n in range(60):
            reply = await desk.do("info_fees", user=f"0x{n:040x}")
            answered += not reply.refused
            if reply.refused:
                assert (reply.status, reply.body["error"]) == (503, "venue_unavailable")
                assert int(reply.headers["Retry-After"]) >= 1
        assert answered == MAX_RELAYS // 20
        budget = desk.networks.get("mainnet").client._budget
        assert (await budget.used())["relay"] == MAX_RELAYS
        for _ in range(5):  # the keeper finds the venue open, and so does the house
            await budget.take("keeper", 80)
        await desk.ok("indices_list")


async def test_over_budget_what_is_held_is_given_as_stale(desk: Desk) -> None:
    first = await desk.ok("info_fees", user=WHO)
    desk.clock.forward(minutes=2)
    for n in range(25):
        await desk.do("info_fees", user=f"0x{n:040x}")
    again = await desk.ok("info_fees", user=WHO)
    assert (again["stale"], again["data"]) == (True, first["data"])


async def test_abuse_34_two_thousand_orders_of_ten_accounts_are_answered_within_the_relays_share(
    desk: Desk,
) -> None:
    row = {
        "order": {"coin": "TON", "side": "B", "limitPx": "3.2502", "sz": "81.7", "oid": 1, "timestamp": 1, "cloid": None},
        "status": "filled", "statusTimestamp": 1,
    }  # fmt: skip
    desk.main.faults.add(
        VenueFault(effect="malformed", kind="historicalOrders", value=[row] * 2_000)
    )
    replies = [
        await desk.do("info_order_history", user=f"0x{n:040x}", limit=200) for n in range(10)
    ]
    good = [r for r in replies if not r.refused]
    assert len(good) == MAX_RELAYS // 120
    assert all(len(r.body["data"]) == 200 for r in good)
    assert (await desk.networks.get("mainnet").client._budget.used())["relay"] <= MAX_RELAYS


async def test_an_answer_may_be_kept_for_as_long_as_it_is_fresh(desk: Desk) -> None:
    async def kept() -> tuple[str, bool]:
        async with http.get(f"{base}/wallet/info/meta") as r:
            return r.headers["Cache-Control"], (await r.json())["stale"]

    async with over_http(desk) as (http, base):
        assert await kept() == ("public, max-age=60", False)
        desk.clock.forward(seconds=20)
        assert await kept() == ("public, max-age=40", False)
        desk.clock.forward(minutes=5)
        desk.main.faults.add(AWAY)
        assert await kept() == ("public, max-age=0", True)


async def test_a_caller_cannot_choose_what_the_venue_is_asked(desk: Desk) -> None:
    async with over_http(desk) as (http, base):
        for query in ("type=clearinghouseState", "dex=xyz&type=meta", "user=" + WHO):
            async with http.get(f"{base}/wallet/info/meta?{query}") as r:
                assert r.status == 400


async def test_one_address_is_answered_thirty_times_a_minute_over_all_relays(
    sqlite_url: str,
) -> None:
    async with a_desk(sqlite_url, relays_per_minute=30) as desk, over_http(desk) as (http, base):

        async def status(path: str) -> tuple[int, int]:
            async with http.get(base + path) as r:
                return r.status, int(r.headers.get("Retry-After", 0))

        paths = ["/wallet/info/meta", "/wallet/info/spot-meta"]
        assert {await status(paths[n % 2]) for n in range(30)} == {(200, 0)}
        refused, wait = await status(paths[0])
        assert refused == 429
        assert 0 < wait <= 60
        await desk.ok("info_meta", ANONYMOUS)  # who has no address is not counted
        desk.clock.forward(seconds=wait)
        assert await status(paths[0]) == await status("/wallet/own/terms") == (200, 0)
