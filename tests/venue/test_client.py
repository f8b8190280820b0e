"""The client against a venue that is slow, busy, broken or says what nobody expects."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from domain.refusals import Refused
from domain.trading.venue_values import AgentApproval, OrderBook, Relay
from tests.venue.small import Clock, Scripted, cut, held, raw, scripted, told
from venue import actions, orders, reads, signing
from venue.addresses import plain_http_is_local
from venue.budget import Budget, InMemory, WeightHold
from venue.client import MAX_BODY, Client
from venue.networks import VenueNetwork
from venue.reads import InfoQuery
from venue.unknown_fields import NAMES_LOGGED

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_backoff")]
PRODUCT = {"name": "BTC", "szDecimals": 5, "maxLeverage": 50}
META = {"universe": [PRODUCT], "marginTables": [], "collateralToken": 0}
ORDER = {"coin": "BTC", "side": "B", "limitPx": "1", "sz": "1", "oid": 1, "timestamp": 1}
FILL = ORDER | {"px": "1", "time": 1, "tid": 1, "fee": "1", "closedPnl": "0"}
ACCEPTED = {"status": "ok", "response": {"type": "default"}}
CONTEXT = {
    "funding": "0.0000125", "openInterest": "688.11", "prevDayPx": "2703997.4500000002", "dayNtlVlm": "1169046.29406",
    "premium": None, "oraclePx": "14.32", "markPx": "14.3161", "midPx": "14.314", "impactPxs": ["14.3047", "14.3444"], "dayBaseVlm": "0.01",
}  # fmt: skip
META_READ = reads.RELAYED["meta"]
HISTORY_READ = reads.RELAYED["historicalOrders"]
KEY = signing.key_from(b"\x11" * 32)
WALLET = KEY.public_key.to_checksum_address()
APPROVAL = AgentApproval(
    network="testnet", agent="0x" + "22" * 20, name="wsvc-o-0a1b2c valid_until 1", nonce=5, signature_chain_id="0x1",
)  # fmt: skip


@pytest.fixture
async def script() -> AsyncIterator[Scripted]:
    async with scripted() as s:
        yield s


@pytest.fixture
async def client(script: Scripted) -> AsyncIterator[Client]:
    made = Client(script.url, Budget(Clock(), InMemory(), "x"), timeout_s=5)
    yield made
    await made.close()


@pytest.fixture
async def venue(client: Client) -> VenueNetwork:
    return VenueNetwork("testnet", client, Clock())


async def refused(client: Client, read: InfoQuery[Any] = META_READ, **parameters: Any) -> str:
    with pytest.raises(Refused) as found:
        await client.ask(read, "house", **parameters)
    assert found.value.code == "venue_unavailable"
    return found.value.refusal.reason


async def test_a_busy_or_cut_venue_is_asked_three_times_and_every_try_is_counted(
    script: Scripted, client: Client
) -> None:
    script.say(raw(b"", 429), cut(), told(META), raw(b"oops", 500))
    assert (await client.ask(META_READ, "house", dex="")).data["universe"][0]["name"] == "BTC"
    assert script.asked == [{"type": "meta", "dex": ""}] * 3
    assert (await client._budget.used())["house"] == 60
    assert "HTTP 500" in await refused(client)
    assert len(script.asked) == 6


async def test_a_hanging_venue_is_given_up_in_time_and_keeps_its_worst_weight(
    script: Scripted,
) -> None:
    client = Client(script.url, Budget(Clock(), InMemory(), "x"), timeout_s=1)
    never = asyncio.Event()
    script.say(held(never, told(META)))
    try:
        async with asyncio.timeout(4):
            assert "in time" in await refused(client, HISTORY_READ, user="0x" + "11" * 20)
        assert (await client._budget.used())["house"] == 120
    finally:
        never.set()
        await client.close()


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 422, 418])
async def test_a_status_that_is_no_answer_is_none_and_is_not_asked_again(
    status: int, script: Scripted, client: Client
) -> None:
    script.say(raw(json.dumps(META).encode(), status, Location="/info"))
    assert f"HTTP {status}" in await refused(client)
    assert len(script.asked) == 1


OTHER_FORMS = [
    b"", b"{", b"null", b"[]", b'{"universe": 5}', b'{"universe": [{"name": 5}]}', b"\xff", b"NaN", b"[" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("body", OTHER_FORMS)
async def test_an_answer_of_another_form_is_no_answer(
    body: bytes, script: Scripted, client: Client
) -> None:
    script.say(raw(body, **{"Content-Type": "application/json"}))
    assert "known form" in await refused(client)


async def test_an_answer_above_two_megabytes_is_refused_however_it_is_packed(
    script: Scripted, client: Client
) -> None:
    large = json.dumps({**META, "filler": "x" * MAX_BODY}).encode()
    script.say(raw(large))
    assert "2 MB" in await refused(client)
    script.script.clear()
    script.say(raw(gzip.compress(large), **{"Content-Encoding": "gzip"}))
    assert "2 MB" in await refused(client)


async def test_a_large_answer_is_read_beside_the_loop(script: Scripted, client: Client) -> None:
    row = {"order": ORDER | {"cloid": None}, "status": "filled", "statusTimestamp": 1}
    script.say(told([row] * 2_000))
    answer = await client.ask(HISTORY_READ, "relay", user="0x" + "11" * 20)
    assert len(answer.data) == 2_000
    assert (await client._budget.used())["relay"] == 120


async def test_no_cookie_and_no_header_of_a_caller_reaches_the_venue(
    script: Scripted, client: Client
) -> None:
    script.say(raw(json.dumps(META).encode(), **{"Set-Cookie": "a=b"}))
    await client.ask(META_READ, "house")
    await client.ask(META_READ, "house")
    ours = "host user-agent accept accept-encoding content-length content-type"
    assert {h.lower() for h in script.headers[1]} <= set(ours.split())


async def test_unknown_fields_are_left_out_and_counted(script: Scripted, client: Client) -> None:
    script.say(told(META | {"newThing": 1, "universe": [PRODUCT | {"secondNewThing": [1]}]}))
    answer = await client.ask(META_READ, "house")
    assert answer.data == META
    assert client.unknown_counts.counts == {("meta", "field"): 2}


async def test_a_status_that_is_not_listed_passes_as_it_is_and_is_counted(
    script: Scripted, client: Client
) -> None:
    rows = [
        {"order": ORDER, "status": status, "statusTimestamp": 1}
        for status in ("filled", "somethingNew", "somethingNew", "iocCancelRejected")
    ]
    script.say(told(rows), told({"role": "janitor"}), told("portfolioMargin"), told("newMode"))
    answer = await client.ask(HISTORY_READ, "relay", user=WALLET)
    assert [r["status"] for r in answer.data] == [r["status"] for r in rows]
    await client.ask(reads.ROLE, "house", user=WALLET)
    await client.ask(reads.ABSTRACTION, "house", user=WALLET)
    counts = {("historicalOrders", "status"): 2, ("userRole", "status"): 1}
    assert client.unknown_counts.counts == counts
    await client.ask(reads.ABSTRACTION, "house", user=WALLET)
    assert client.unknown_counts.counts["userAbstraction", "status"] == 1


async def test_malformed_figures_left_out_rows_and_other_forms_are_counted_apart(
    script: Scripted, client: Client
) -> None:
    rows = [{"coin": "BTC", "fundingRate": "0.1", "time": 1, "premium": "x"}, {"coin": 5}]
    script.say(told(rows), told({"universe": 5}))
    await client.ask(reads.RELAYED["fundingHistory"], "relay", coin="BTC", startTime=1)
    with pytest.raises(Refused):
        await client.ask(META_READ, "house")
    assert client.unknown_counts.counts == {
        ("fundingHistory", "malformed"): 1,
        ("fundingHistory", "dropped"): 1,
        ("meta", "form"): 1,
    }


async def test_answers_that_are_refused_as_a_whole_are_counted_by_kind(
    script: Scripted, client: Client, venue: VenueNetwork
) -> None:
    other_coin = {"coin": "ETH", "time": 1, "levels": [[], []]}
    order = ORDER | {"cloid": "0x" + "22" * 16}
    update = {"order": order, "status": "open", "statusTimestamp": 1}
    status = {"status": "order", "order": update}
    answers = (META, {"universe": 5}, other_coin, [FILL], status, {"time": -1})
    script.say(*(told(a) for a in answers), raw(b"x" * (MAX_BODY + 1)))
    await client.ask(META_READ, "house")
    for one in (
        client.ask(META_READ, "house"),
        venue.book("BTC", priority="house", max_age_s=0),
        venue.fills(WALLET, Clock().at, priority="house"),
        venue.order_status(WALLET, "0x" + "11" * 16, priority="house"),
        venue.time(),
        venue.open_orders(WALLET, "", priority="house"),
    ):
        with pytest.raises(Refused):
            await one
    kinds = "meta l2Book userFillsByTime orderStatus exchangeStatus openOrders"
    assert client.unknown_counts.refused == dict.fromkeys(kinds.split(), 1)


@pytest.mark.parametrize(
    ("answer", "times"),
    [
        (told(ACCEPTED), 0), (told({"status": "err", "response": "Something new"}), 0), (told({"status": "new"}), 1),
    ],
)  # fmt: skip
async def test_an_answer_to_an_action_that_is_no_answer_is_counted(
    answer: Any, times: int, script: Scripted, client: Client, venue: VenueNetwork
) -> None:
    script.say(answer)
    await venue.approve_agent(APPROVAL, signature(), WALLET)
    assert client.unknown_counts.refused == {"exchange": times}


async def test_a_used_nonce_is_an_answer_of_which_nothing_is_known(
    script: Scripted, client: Client
) -> None:
    told = orders.placed(b'{"status": "err", "response": "Invalid nonce: duplicate nonce 5"}')
    assert (told.outcome, told.kind) == ("unknown", "duplicate_nonce")
    client.count_answer(b"", told.outcome, told.kind)
    assert (client.unknown_counts.refused, client.unknown_counts.counts) == ({"exchange": 0}, {})


@pytest.mark.parametrize(
    ("field", "value", "outcome"),
    [
        ("totalSz", "0.02", "filled"), ("totalSz", "0", "unknown"), ("totalSz", "-1", "unknown"), ("totalSz", "1e2", "unknown"), ("totalSz", " 1", "unknown"),
        ("totalSz", "１", "unknown"), ("totalSz", 1, "unknown"), ("totalSz", "1" + "0" * 13, "unknown"), ("avgPx", "1" + "0" * 10, "unknown"), ("avgPx", None, "unknown"),
        ("avgPx", "NaN", "unknown"), ("oid", "1", "unknown"), ("oid", True, "unknown"), ("oid", 2**64, "unknown"), ("more", [1], "filled"),
    ],
)  # fmt: skip
def test_a_fill_in_the_answer_to_an_order_is_within_the_bounds_of_its_fields(
    field: str, value: Any, outcome: str
) -> None:
    status = {"filled": {"totalSz": "0.02", "avgPx": "1891.4", "oid": 77747314, field: value}}
    data = {"type": "order", "data": {"statuses": [status]}}
    told = orders.placed(json.dumps({"status": "ok", "response": data}).encode())
    assert told.outcome == outcome
    figures = (Decimal("0.02"), 77747314) if outcome == "filled" else (None, None)
    assert (told.size, told.oid) == figures


async def test_names_that_the_venue_makes_up_are_counted_without_end_and_logged_within_bounds(
    script: Scripted, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="wallet.venue")
    for n in range(10):
        made_up = {f"f{n}_{i}": 1 for i in range(100)}
        script.say(told({**META, **made_up}))  # type: ignore[dict-item]
        await client.ask(META_READ, "house")
    assert client.unknown_counts.counts == {("meta", "field"): 1_000}
    assert len([r for r in caplog.records if r.name == "wallet.venue"]) <= NAMES_LOGGED


async def test_a_malformed_figure_is_no_answer_and_never_zero(
    script: Scripted, venue: VenueNetwork
) -> None:
    context = {**CONTEXT, "markPx": "abc", "openInterest": 5, "funding": None, "oraclePx": "1e5"}
    del context["dayNtlVlm"]
    script.say(told([META, [context]]))
    perp = (await venue.perps("")).value[0]
    figures = (perp.mark_px, perp.open_interest, perp.funding, perp.oracle_px, perp.day_volume)
    assert figures == (None,) * 5
    assert perp.prev_day_px == Decimal("2703997.4500000002")


async def test_a_position_whose_size_cannot_be_read_makes_the_account_no_answer(
    script: Scripted, venue: VenueNetwork
) -> None:
    state = {
        "assetPositions": [{"type": "oneWay", "position": {"coin": "BTC", "szi": "-0.00785"}}],
        "marginSummary": {"accountValue": "1182.312496"}, "withdrawable": "1010.57173", "time": 1_755_863_118_217,
    }  # fmt: skip
    script.say(told(state))
    account = (await venue.account(WALLET, "", priority="house", max_age_s=0)).value
    assert account.account_value == Decimal("1182.312496")
    assert account.positions[0].size == Decimal("-0.00785")
    state["assetPositions"] = [{"type": "oneWay", "position": {"coin": "BTC", "szi": "x"}}]
    script.script.clear()
    script.say(told(state))
    with pytest.raises(Refused):
        await venue.account(WALLET, "", priority="house", max_age_s=0, fresh=True)


async def test_a_book_is_named_by_its_snapshot_and_one_with_a_bad_level_is_none(
    script: Scripted, venue: VenueNetwork
) -> None:
    bid, ask = {"px": "2.111", "sz": "134.4", "n": 1}, {"px": "2.112", "sz": "1", "n": 1}
    good = {"coin": "DYDX", "time": 1_755_863_118_217, "levels": [[bid], [ask]]}
    worse = good | {"levels": [[bid | {"sz": "0"}], []]}
    script.say(told(good), told(good), told(None), told(worse))

    async def book() -> OrderBook | None:
        return (await venue.book("DYDX", priority="house", max_age_s=0)).value

    first, second = await book(), await book()
    assert first is not None
    assert second is not None
    assert (first.hash, first.bids[0].px, len(first.asks)) == (second.hash, Decimal("2.111"), 1)
    assert await book() is None
    with pytest.raises(Refused):
        await book()


def signature() -> Any:
    action = actions.approve_agent(
        "testnet", agent=APPROVAL.agent, name=APPROVAL.name, nonce=5, signature_chain_id="0x1"
    )
    return signing.sign(KEY, signing.user_digest(action)).as_json()


async def test_exactly_the_approval_is_posted_with_its_keys_in_order(
    script: Scripted, venue: VenueNetwork
) -> None:
    script.say(told(ACCEPTED))
    assert (await venue.approve_agent(APPROVAL, signature(), WALLET)).outcome == "ok"
    (posted,) = script.asked
    assert list(posted) == ["action", "nonce", "signature"]
    keys = "type signatureChainId hyperliquidChain agentAddress agentName nonce"
    assert list(posted["action"]) == keys.split()
    assert (posted["nonce"], posted["action"]["nonce"], posted["signature"]) == (5, 5, signature())


async def test_a_signature_over_other_bytes_or_for_another_network_is_not_sent(
    script: Scripted, client: Client, venue: VenueNetwork
) -> None:
    script.say(told(ACCEPTED))
    with pytest.raises(Refused) as found:
        await venue.approve_agent(replace(APPROVAL, agent="0x" + "33" * 20), signature(), WALLET)
    assert found.value.code == "invalid_signature"
    with pytest.raises(ValueError, match="network"):
        await VenueNetwork("mainnet", client, Clock()).approve_agent(APPROVAL, signature(), WALLET)
    assert script.asked == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Too many extra agents for cumulative volume traded. Current limit is 3", "agent_slots"), ("Extra agent already used.", "agent_used"),
        ("User has pending agent removal", "agent_removal"), ("Must deposit before performing actions. User: 0x12", "unfunded"),
        ("User or API Wallet 0x12 does not exist.", "signer"), ("Invalid nonce: duplicate nonce 5", "duplicate_nonce"),
        ("Agent valid_until already expired.", "agent_valid_until"), ("Something quite new", "other"),
        ("Too many cumulative requests sent (37986 > 10436) for cumulative volume traded $437.92.", "address_rate"),
    ],
)  # fmt: skip
async def test_what_the_venue_refuses_is_told_in_its_words_and_our_class(
    words: str, kind: str, script: Scripted, venue: VenueNetwork
) -> None:
    script.say(told({"status": "err", "response": words}))
    answer = await venue.approve_agent(APPROVAL, signature(), WALLET)
    assert (answer.outcome, answer.words, answer.kind) == ("refused", words, kind)


NO_ANSWERS = {
    "429": raw(b"", 429), "500": raw(b"", 500), "cut": cut(), "half": raw(b"{"), "bare ok": told({"status": "ok"}), "new": told({"status": "new"}),
    "list": told([]), "long": raw(b"x" * (MAX_BODY + 1)),
}  # fmt: skip


@pytest.mark.parametrize("answer", NO_ANSWERS)
async def test_what_was_sent_and_not_answered_is_unknown_and_sent_once(
    answer: str, script: Scripted, venue: VenueNetwork
) -> None:
    script.say(NO_ANSWERS[answer])
    assert (await venue.approve_agent(APPROVAL, signature(), WALLET)).outcome == "unknown"
    assert len(script.asked) == 1


async def test_where_nobody_listens_nothing_was_sent(free_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{free_tcp_port}"
    client = Client(url, Budget(Clock(), InMemory(), "x"), timeout_s=2)
    with pytest.raises(Refused) as found:
        await VenueNetwork("testnet", client, Clock()).approve_agent(APPROVAL, signature(), WALLET)
    assert found.value.code == "venue_unavailable"
    assert (await client._budget.used())["house"] == 0
    await client.close()


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://venue.example", True), ("http://127.0.0.1:1", True), ("http://[::1]:1", True), ("http://localhost", True),
        ("http://venue.example", False), ("http://127.0.0.1.venue.example", False), ("ftp://127.0.0.1", False), ("https://", False), ("venue", False),
    ],
)  # fmt: skip
async def test_plain_http_goes_to_this_machine_only(url: str, good: bool) -> None:
    assert plain_http_is_local(url) is good
    if not good:
        with pytest.raises(ValueError, match="https"):
            Client(url, Budget(Clock(), InMemory(), "x"))


async def test_a_relayed_answer_above_512_kilobytes_is_none(
    script: Scripted, client: Client, venue: VenueNetwork
) -> None:
    rows = [[n, "1.0"] for n in range(40_000)]
    script.say(told([["day", {"accountValueHistory": rows, "pnlHistory": rows, "vlm": "1.0"}]]))
    with pytest.raises(Refused) as found:
        await venue.relay(Relay("portfolio", (("user", WALLET),)), 60, payer="")
    assert found.value.code == "venue_unavailable"
    assert client.unknown_counts.refused == {"portfolio": 0}, (
        "the limit is ours, and strangers choose whom to ask about"
    )


async def test_a_stranger_whose_share_is_spent_takes_no_orders_read_down_with_him(
    script: Scripted, client: Client, venue: VenueNetwork
) -> None:
    while True:
        try:
            await client._budget.take("relay", 20)
        except Refused:
            break
    script.say(told([None, {"name": "xyz"}]))
    strangers, orders_own = await asyncio.gather(
        venue.dexes(priority="relay"), venue.dexes(priority="order"), return_exceptions=True
    )
    assert isinstance(strangers, Refused)
    assert not isinstance(orders_own, BaseException), orders_own
    assert orders_own.value["xyz"] == 1


async def test_a_venue_that_is_away_keeps_no_page_waiting_and_takes_no_weight() -> None:
    away = Client("http://127.0.0.1:1", Budget(Clock(), InMemory(), "here:mainnet"))
    tries = []
    with pytest.MonkeyPatch.context() as patch:
        take = away._budget.take

        async def counted(*about: Any) -> WeightHold:
            tries.append(about)
            return await take(*about)

        patch.setattr(away._budget, "take", counted)
        for priority, most in (("page", 3), ("page", 1), ("page", 1), ("keeper", 3), ("keeper", 3)):
            tries.clear()
            with pytest.raises(Refused, match="venue_unavailable"):
                await away.ask(META_READ, priority)  # type: ignore[arg-type]
            assert len(tries) == most
    assert not any((await away._budget.used()).values())
    await away.close()
