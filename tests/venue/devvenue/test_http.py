"""The local venue over HTTP: weights, faults on purpose, and the route that steers it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import anyio
import pytest

from devtools.devvenue import Rules, VenueFault, serve
from devtools.devvenue.limits import info_weight
from tests.venue.devvenue.material import ALICE, Desk, limit
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio
CLOID = "0x" + "c1" * 16


class Line:
    """A desk, and a client that asks it over HTTP."""

    def __init__(self, ingest_context: Desk, url: str, session: aiohttp.ClientSession):
        self.desk, self.url, self.session = ingest_context, url, session

    async def post(self, path: str, body: Any, **headers: str) -> tuple[int, str]:
        async with self.session.post(self.url + path, json=body, headers=headers) as told:
            return told.status, await told.text()

    async def info(self, kind: str, **fields: Any) -> Any:
        status, text = await self.post("/info", {"type": kind, **fields})
        assert status == 200, text
        return json.loads(text)

    def buy(self) -> dict[str, Any]:
        wire = limit(self.desk.id("BTC"), True, "64500", "0.001", "Ioc", cloid=CLOID)
        return self.desk.l1(ALICE, {"type": "order", "orders": [wire], "grouping": "na"})

    async def bought(self) -> str:
        told = await self.info("orderStatus", user=ALICE.address, oid=CLOID)
        return str(told["order"]["status"] if told["status"] == "order" else told["status"])


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    desk = Desk(rules=Rules())
    runner, url = await serve(desk.venue)
    try:
        async with aiohttp.ClientSession() as session:
            yield Line(desk, url, session)
    finally:
        await runner.cleanup()


async def test_twelve_hundred_a_minute_and_then_429_without_a_body(line: Line) -> None:
    for _ in range(60):
        await line.info("meta")
    assert await line.post("/info", {"type": "meta"}) == (429, "")
    assert await line.post("/info", {"type": "allMids"}) == (429, "")
    assert await line.post("/exchange", line.buy()) == (429, "")
    assert line.desk.status(ALICE, CLOID) == "unknownOid"
    line.desk.now += 60_000
    await line.info("meta")


@pytest.mark.parametrize(
    ("weight", "kinds"),
    [
        (2, ["l2Book", "allMids", "clearinghouseState", "orderStatus", "exchangeStatus"]),
        (20, ["userFees", "meta"]),
        (60, ["userRole"]),
    ],
)
def test_each_kind_has_its_weight(weight: int, kinds: list[str]) -> None:
    assert {info_weight(kind) for kind in kinds} == {weight}


async def test_a_long_answer_weighs_more(line: Line) -> None:
    """500 rows of funding are 20 and 25: twenty-six of them are within the budget, not sixty."""
    line.desk.rules.ip_budget = None
    line.desk.now += 500 * 3_600_000
    assert len(await line.info("fundingHistory", coin="BTC", startTime=0)) == 500
    line.desk.now += 60_000
    line.desk.rules.ip_budget = 1_200
    body = {"type": "fundingHistory", "coin": "BTC", "startTime": 0}
    told = [(await line.post("/info", body))[0] for _ in range(28)]
    assert told == [200] * 27 + [429]


async def test_a_batch_of_forty_weighs_two(line: Line) -> None:
    line.desk.rules.ip_budget = 2
    wire = limit(line.desk.id("BTC"), True, "60000", "0.001")
    for count, status in ((40, 200), (39, 429)):
        action = {"type": "order", "orders": [wire] * count, "grouping": "na"}
        assert (await line.post("/exchange", line.desk.l1(ALICE, action)))[0] == status
    line.desk.now += 60_000
    action = {"type": "order", "orders": [wire] * 80, "grouping": "na"}
    assert (await line.post("/exchange", line.desk.l1(ALICE, action)))[0] == 429


@pytest.mark.parametrize("path", ["/info", "/exchange"])
@pytest.mark.parametrize("body", [{"type": "nothing"}, {}, [], "text", 1])
async def test_what_cannot_be_parsed_is_422_in_plain_text(line: Line, path: str, body: Any) -> None:
    words = "Failed to deserialize the JSON body into the target type"
    assert await line.post(path, body) == (422, words)


async def test_a_body_that_is_no_json_or_has_a_key_twice_is_refused(line: Line) -> None:
    kind = {"Content-Type": "application/json"}
    for data, status in ((b"{", 400), (b"\xff", 400), (b"[" * 100_000, 400)):
        async with line.session.post(line.url + "/info", data=data, headers=kind) as told:
            assert told.status == status
    twice = b'{"type": "meta", "type": "allMids"}'
    async with line.session.post(line.url + "/info", data=twice, headers=kind) as told:
        assert told.status == 422
    async with line.session.post(line.url + "/info", data=b"type=meta") as told:
        assert told.status == 415


async def test_a_refusal_before_execution_leaves_nothing_behind(line: Line) -> None:
    for status in (429, 500, 502):
        line.desk.venue.faults.add(
            VenueFault(effect="status", route="/exchange", kind="order", status=status, times=1)
        )
        body = line.buy()
        assert (await line.post("/exchange", body))[0] == status
        assert await line.bought() == "unknownOid"
    assert (await line.post("/exchange", body))[0] == 200
    assert await line.bought() == "filled"


async def test_a_lost_answer_is_an_executed_order_and_cannot_be_sent_again(line: Line) -> None:
    line.desk.venue.faults.add(VenueFault(effect="lost", kind="order", times=1))
    body = line.buy()
    with pytest.raises(aiohttp.ClientError):
        await line.post("/exchange", body)
    assert await line.bought() == "filled"
    _, text = await line.post("/exchange", body)
    assert json.loads(text)["response"] == f"Invalid nonce: duplicate nonce {body['nonce']}"


async def test_an_error_after_execution_looks_like_one_before(line: Line) -> None:
    fault = VenueFault(effect="executed_status", kind="order", status=503, times=1)
    line.desk.venue.faults.add(fault)
    assert (await line.post("/exchange", line.buy()))[0] == 503
    assert await line.bought() == "filled"


@pytest.mark.parametrize(("effect", "after"), [("hang", "unknownOid"), ("executed_hang", "filled")])
async def test_a_hanging_request_hangs_until_it_is_let_go(
    line: Line, effect: Any, after: str
) -> None:
    line.desk.venue.faults.add(VenueFault(effect=effect, kind="order", times=1))
    with anyio.fail_after(STUCK_S):
        waiting = asyncio.create_task(line.post("/exchange", line.buy()))
        while not line.desk.venue.faults.holding:
            await anyio.lowlevel.checkpoint()
        assert await line.bought() == after
        assert not waiting.done()
        line.desk.venue.faults.clear()
        assert (await waiting)[0] == 504


async def test_figures_are_spoiled_fields_added_and_bodies_broken(line: Line) -> None:
    faults = line.desk.venue.faults
    spoil = VenueFault(
        effect="malformed", kind="l2Book", path=("levels", 0, 0, "px"), value="1e", times=1
    )
    faults.add(spoil)
    told = await line.info("l2Book", coin="BTC")
    assert told["levels"][0][0]["px"] == "1e"
    assert (await line.info("l2Book", coin="BTC"))["levels"][0][0]["px"] == "63999.0"
    faults.add(VenueFault(effect="unknown_field", kind="meta", times=1))
    told = await line.info("meta")
    assert "unheardOf" in told
    assert "unheardOf" in told["universe"][0]
    for effect in ("not_json", "truncated"):
        faults.add(VenueFault(effect=effect, times=1))  # type: ignore[arg-type]
        _, text = await line.post("/info", {"type": "meta"})
        with pytest.raises(ValueError, match=r"."):
            json.loads(text)
    faults.add(VenueFault(effect="huge", times=1))
    assert len((await line.post("/info", {"type": "meta"}))[1]) > 2 * 2**20


async def test_a_script_steers_it_over_http(line: Line) -> None:
    async def dev(name: str, **body: Any) -> int:
        return (await line.post(f"/dev/{name}", body))[0]

    user = "0x" + "77" * 20
    assert await dev("deposit", user=user, amount="25.5", dex="xyz") == 200
    state = await line.info("clearinghouseState", user=user, dex="xyz")
    assert state["marginSummary"]["accountValue"] == "25.5"
    assert await dev("move", coin="ETH", mid="2000") == 200
    assert (await line.info("allMids"))["ETH"] == "2000.0"
    assert await dev("book", coin="ETH", bids=[["1999", "1"]], asks=[]) == 200
    book = await line.info("l2Book", coin="ETH")
    assert book["levels"] == [[{"px": "1999.0", "sz": "1.0", "n": 1}], []]
    assert await dev("stale", coin="ETH", time=5) == 200
    assert (await line.info("l2Book", coin="ETH"))["time"] == 5
    assert await dev("prices", coin="ETH", mark="2100", oracle="2050") == 200
    assert await dev("funding", coin="ETH", rate="0.0001") == 200
    context = (await line.info("metaAndAssetCtxs"))[1][line.desk.id("ETH")]
    figures = (context["markPx"], context["oraclePx"], context["funding"])
    assert figures == ("2100.0", "2050.0", "0.0001")
    assert await dev("set", post_only_phase=True) == 200
    assert (await line.info("exchangeStatus"))["specialStatuses"] == "postOnly"
    assert await dev("set", coin="xyz:SP500", at_oi_cap=True) == 200
    assert await line.info("perpsAtOpenInterestCap", dex="xyz") == ["xyz:SP500"]
    assert await dev("abstraction", user=user, mode="unifiedAccount") == 200
    assert await line.info("userAbstraction", user=user) == "unifiedAccount"
    assert await dev("halt", coin="xyz:SP500", delist=True) == 200
    assert (await line.info("meta", dex="xyz"))["universe"][1]["isDelisted"] is True
    assert await dev("halt", coin="SOL") == 200
    assert await dev("resume", coin="SOL") == 200
    assert await dev("prune", user=user) == 200
    assert await dev("fault", effect="status", route="/info", status=503, times=1) == 200
    assert (await line.post("/info", {"type": "meta"}))[0] == 503
    assert await dev("fault", effect="status") == 200
    assert await dev("clear") == 200
    await line.info("meta")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("nothing", {}),
        ("move", {}),
        ("move", {"coin": "nope", "mid": "1"}),
        ("move", {"coin": "BTC", "mid": "x"}),
        ("fault", {"effect": "explode"}),
        ("fault", {"effect": "status", "status": "500"}),
        ("set", {"post_only_phase": "yes"}),
        ("set", {"ip_budget": "many"}),
        ("set", {"taker": "0"}),
        ("deposit", {"user": "0x12", "amount": None}),
        ("book", []),
    ],
)
async def test_a_script_that_errs_is_told(line: Line, name: str, body: Any) -> None:
    assert (await line.post(f"/dev/{name}", body))[0] == 422


async def test_only_this_machine_steers_it_while_pages_may_trade(line: Line) -> None:
    move = {"coin": "BTC", "mid": "1"}
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        status, _ = await line.post("/dev/move", move, **headers)
        assert status == 403
    assert (await line.info("allMids"))["BTC"] == "64000.0"
    headers = {"Origin": "https://app.example"}
    async with line.session.options(line.url + "/exchange", headers=headers) as told:
        assert (told.status, told.headers["Access-Control-Allow-Origin"]) == (204, "*")
