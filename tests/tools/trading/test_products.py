"""Index perpetuals: listed from what the venue files under indices, with what can be done with each here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from aiohttp import ClientSession
from yarl import URL

from devtools.devvenue import VenueFault
from domain.trading.indices import change_bps, text, usdc_text
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.test_relay import over_http

pytestmark = pytest.mark.anyio


async def listed(ingest_context: Desk, **request: Any) -> dict[str, dict[str, Any]]:
    return {i["sym"]: i for i in (await ingest_context.ok("indices_list", **request))["indices"]}


def malformed(desk: Desk, path: tuple[str | int, ...], value: Any) -> None:
    kind = "metaAndAssetCtxs"
    desk.main.faults.add(VenueFault(effect="malformed", kind=kind, path=path, value=value))


async def test_the_allowed_dexes_indices_are_listed_with_their_figures(desk: Desk) -> None:
    told = await desk.ok("indices_list")
    head = (told["network"], told["stale"], told["as_of"])
    assert head == ("mainnet", False, "2026-11-20T12:00:00.000Z")
    found = {i["sym"]: i for i in told["indices"]}
    assert not {"xyz:GOLD", "km:US500"} & set(found)
    assert sorted(found) == [i["sym"] for i in told["indices"]]
    expected = {
        "asset_id": desk.main.market("xyz:XYZ100").asset, "dex": "xyz", "base": "XYZ100", "category": "indices",
        "display_name": "Nasdaq 100", "collateral": "USDC", "status": "paper", "limit_enforced_by": "Venue",
        "margin_mode": "strict_isolated",
    }  # fmt: skip
    one = found["xyz:XYZ100"]
    assert {name: one[name] for name in expected} == expected
    assert None not in (one["mark_px"], one["open_interest_usdc"])


async def test_without_a_switch_an_index_is_paper_and_live_only_where_mainnet_is_on(
    desk: Desk,
) -> None:
    for switches, status in (
        ({"live_terminal": True}, "paper"), ({"live_terminal": False, "venue_mainnet": True}, "paper"),
        ({"live_terminal": True, "venue_mainnet": True}, "live"), ({"live_terminal": False, "live_door": True}, "live"),
    ):  # fmt: skip
        desk.switched(**switches)
        assert (await listed(desk))["xyz:XYZ100"]["status"] == status


async def test_other_dexes_are_planned_and_shown_where_asked_for(desk: Desk) -> None:
    found = await listed(desk, include="planned")
    assert found["km:US500"]["status"] == "planned"
    assert found["km:US500"]["collateral"] == "USDH"
    assert found["km:US500"]["open_interest_usdc"] is None
    of_km = {s for s in found if s.startswith("km:")}
    assert set(await listed(desk, include="planned", dex="km")) == of_km
    assert await listed(desk, dex="km") == {}
    assert (await desk.refused("indices_list", dex="nope")).body["error"] == "not_found"


async def test_abuse_16_delisted_and_halted_are_told_apart(desk: Desk) -> None:
    desk.main.halt("xyz:SP500")
    desk.main.halt("xyz:JP225", delist=True)
    desk.main.market("xyz:VIX").at_oi_cap = True
    found = await listed(desk)
    assert (found["xyz:SP500"]["status"], found["xyz:SP500"]["mid_px"]) == ("halted", None)
    assert found["xyz:JP225"]["status"] == "delisted"
    assert (found["xyz:VIX"]["at_oi_cap"], found["xyz:XYZ100"]["at_oi_cap"]) == (True, False)


@pytest.mark.parametrize("figure", ["midPx", "impactPxs"])
async def test_an_index_without_either_figure_of_a_two_sided_book_is_halted(
    figure: str, desk: Desk
) -> None:
    assert (await listed(desk))["xyz:XYZ100"]["status"] == "paper"
    place = [m.coin for m in desk.main.state.of_dex("xyz")].index("xyz:XYZ100")
    malformed(desk, (1, place, figure), None)
    desk.clock.forward(seconds=65)
    assert (await listed(desk))["xyz:XYZ100"]["status"] == "halted"


@pytest.mark.parametrize("side", ["bids", "asks"])
async def test_a_product_with_a_one_sided_book_is_halted_by_its_mid(side: str, desk: Desk) -> None:
    async def status() -> str:
        desk.clock.forward(seconds=65)
        rows = (await desk.ok("trade_products"))["products"]
        return str(next(row["status"] for row in rows if row["product"] == "BTC"))

    levels = [("63900", "9")], [("64100", "9")]
    desk.main.book("BTC", *levels)
    assert await status() == "open"
    desk.main.book("BTC", *(([], levels[1]) if side == "bids" else (levels[0], [])))
    assert await status() == "halted"
    desk.main.book("BTC", *levels)
    assert await status() == "open"


async def test_one_is_found_by_its_full_name_and_by_its_base_where_only_one_dex_has_it(
    desk: Desk,
) -> None:
    full = await desk.ok("index_get", sym="xyz:SP500")
    assert await desk.ok("index_get", sym="SP500") == full
    assert (await desk.ok("index_get", sym="US500"))["sym"] == "km:US500"


async def test_an_ambiguous_base_is_told_with_its_candidates(desk: Desk) -> None:
    rows = [["xyz:SP500", "indices"], ["km:SP500", "indices"], ["xyz:GOLD", "metals"]]
    desk.main.faults.add(VenueFault(effect="malformed", kind="perpCategories", value=rows))
    refused = await desk.refused("index_get", sym="SP500")
    assert (refused.status, refused.body["error"]) == (409, "conflict")
    assert refused.body["detail"]["candidates"] == ["km:SP500", "xyz:SP500"]


@pytest.mark.parametrize("sym", ["NOPE", "xyz:NOPE", "GOLD", "xyz:GOLD", "BTC"])
async def test_what_is_no_index_is_not_found(sym: str, desk: Desk) -> None:
    refused = await desk.refused("index_get", sym=sym)
    assert (refused.status, refused.body["error"]) == (404, "not_found")


async def test_a_colon_in_the_path_is_decoded_once(desk: Desk) -> None:
    async def status(http: ClientSession, url: str) -> int:
        async with http.get(URL(url, encoded=True)) as r:
            return r.status

    async with over_http(desk) as (http, base):
        assert await status(http, f"{base}/wallet/indices/xyz%3AXYZ100") == 200
        assert await status(http, f"{base}/wallet/indices/xyz:XYZ100") == 200
        assert await status(http, f"{base}/wallet/indices/xyz%253AXYZ100") == 400


async def test_an_outage_gives_the_last_list_as_stale_and_without_one_503(desk: Desk) -> None:
    desk.main.faults.add(VenueFault(effect="status", status=500))
    refused = await desk.refused("indices_list")
    assert (refused.status, refused.body["error"]) == (503, "venue_unavailable")
    desk.main.faults.clear()
    first = await desk.ok("indices_list")
    desk.clock.forward(minutes=10)
    desk.main.faults.add(VenueFault(effect="status", status=500))
    again = await desk.ok("indices_list")
    assert (again["stale"], again["as_of"]) == (True, first["as_of"])
    assert [i["mark_px"] for i in again["indices"]] == [i["mark_px"] for i in first["indices"]]


async def test_prices_are_held_for_twenty_seconds(desk: Desk) -> None:
    before = (await listed(desk))["xyz:XYZ100"]["mark_px"]
    desk.main.move("xyz:XYZ100", "26000")
    desk.clock.forward(seconds=19)
    assert (await listed(desk))["xyz:XYZ100"]["mark_px"] == before
    desk.clock.forward(seconds=1)
    assert (await listed(desk))["xyz:XYZ100"]["mark_px"] == "26000.0"


@pytest.mark.parametrize(
    ("field", "shown"),
    [("markPx", "mark_px"), ("openInterest", "open_interest"), ("prevDayPx", "prev_day_px"), ("dayNtlVlm", "day_volume_usdc")],
)  # fmt: skip
async def test_a_malformed_figure_is_null_and_never_zero(
    field: str, shown: str, desk: Desk
) -> None:
    malformed(desk, (1, 0, field), "a lot")
    (bad,) = [i for i in (await listed(desk)).values() if i["asset_id"] == 110_000]
    assert bad[shown] is None
    assert (bad["open_interest_usdc"] is None) == (field in ("markPx", "openInterest"))


async def test_no_index_is_shown_that_the_venue_does_not_have(desk: Desk) -> None:
    desk.main.faults.add(
        VenueFault(effect="malformed", kind="perpCategories", value=[["xyz:GHOST", "indices"]])
    )
    assert await listed(desk) == {}
    assert (await desk.refused("index_get", sym="xyz:GHOST")).body["error"] == "not_found"


async def test_with_no_dex_allowed_everything_is_planned(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, dexes=()) as desk:
        assert await listed(desk) == {}
        rows = (await listed(desk, include="planned")).values()
        assert {i["status"] for i in rows} <= {"planned", "delisted"}


def test_figures_are_the_venues_own_and_amounts_have_six_decimals() -> None:
    assert text(Decimal("2703997.4500000002")) == "2703997.4500000002"
    assert text(Decimal("25451.0")) == "25451.0"
    assert usdc_text(Decimal("1.9999999")) == "1.999999"
    assert usdc_text(Decimal(10) ** 15) is None
    assert change_bps(Decimal("101"), Decimal("100")) == 100
    assert change_bps(Decimal("99.985"), Decimal("100")) == -2
    assert change_bps(Decimal("1"), Decimal("0")) is None
    assert change_bps(None, Decimal("1")) is None
