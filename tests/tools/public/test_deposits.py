"""Ways in: estimates, best first, with a link that a wallet reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from server.settings import Settings
from tests.world import CHAIN_ID, World, error_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def rails(world: World) -> World:
    shipped = Settings().config().deposit_rails
    world.deps = replace(world.deps, config=replace(world.deps.config, deposit_rails=shipped))
    return world


async def test_routes_are_estimates_cheapest_first_and_unknown_costs_last(rails: World) -> None:
    told = await rails.ok("deposit_routes", amount="1000", chain="8453", source_chain="1")
    assert [r["id"] for r in told["items"]] == ["cctp-standard", "cctp-fast", "exchange"]
    assert {r["quoted"] for r in told["items"]} == {False}
    assert told["items"][1]["fee_usdc"] == {"low": "0.100000", "high": "0.100000"}
    assert told["items"][2]["fee_usdc"] is None
    assert all(r["sources"] and r["as_of"] for r in told["items"])


async def test_a_missing_destination_is_filled_from_the_settings(rails: World) -> None:
    told = await rails.ok("deposit_routes")
    assert told["destination"]["chain"] == CHAIN_ID
    assert told["destination"]["asset"] == "USDC"


async def test_a_recipient_gets_an_eip_681_link_and_a_qr_code(rails: World) -> None:
    told = await rails.ok("deposit_routes", amount="12.5", recipient=rails.evm.market)
    assert (
        told["link"]
        == f"ethereum:{rails.evm.usdc}@{CHAIN_ID}/transfer?address={rails.evm.market}&uint256=12500000"
    )
    assert told["qr_svg"].startswith("<?xml")


async def test_wrong_questions_are_refused(rails: World) -> None:
    assert await error_of(rails.do("deposit_routes", amount="0")) == "invalid_request"
    for written in ("x", "1.", ".5", " 1 ", "1.0000000", "+1", "01", "\uff11"):
        assert await error_of(rails.do("deposit_routes", amount=written)) == "invalid_number"
    assert await error_of(rails.do("deposit_routes", asset="DOGE")) == "invalid_request"
    assert await error_of(rails.do("deposit_routes", recipient="0x12")) == "invalid_address"


async def test_a_chain_that_is_not_known_is_no_destination(rails: World) -> None:
    told = await rails.do("deposit_routes", chain="999999")
    assert (told.status, told.body["error"]) == (400, "invalid_request")
    assert told.body["detail"]["fields"][0]["loc"] == "chain"


async def test_no_bridge_leads_from_a_chain_to_itself_or_to_where_it_does_not_go(
    rails: World,
) -> None:
    async def found(**request: str) -> list[str]:
        return [r["id"] for r in (await rails.ok("deposit_routes", **request))["items"]]

    assert await found(chain="1") == ["same-chain", "exchange"]
    assert await found(chain="1", source_chain="1") == ["same-chain", "exchange"]
    assert await found(chain="8453", source_chain="8453") == ["same-chain", "exchange"]
    assert await found(chain="84532", source_chain="1") == []
    assert await found() == ["same-chain"]


@pytest.mark.parametrize("nobody", ["zero", "usdc", "factory"])
async def test_no_link_leads_to_where_money_is_lost(rails: World, nobody: str) -> None:
    to = "0x" + "00" * 20 if nobody == "zero" else getattr(rails.evm, nobody)
    told = await rails.do("deposit_routes", recipient=to)
    assert (told.status, told.body["error"]) == (400, "invalid_address")


async def test_assets_and_markets_are_listed_with_their_source(rails: World) -> None:
    assets = await rails.ok("deposit_assets")
    assert {a["asset"] for a in assets["items"]} == {"USDC"}
    assert all(a["source"].startswith("https://") for a in assets["items"])
