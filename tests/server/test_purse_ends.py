"""The end of a mandate with a purse: what lies in it goes back before the settlement, and to the owner after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from domain.money import Usdc, total
from storage.integrity.ledger_check import verify
from tests.purses import Purse, opened
from tests.tools.keeper.test_attach import mined
from tests.tools.keeper.test_transfers_chain import ticks
from tests.world import Evm, World, a_world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WEEK = "2026-W47"


@pytest.fixture
async def world(database_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(database_url, evm, purses=True, stop_line_dry_run=False) as made:
        yield made


async def stopped(purse: Purse) -> None:
    call = (await purse.m.as_owner("owner_stop_call")).body["call"]
    await mined(purse.world, purse.m.owner_wallet, call)


async def codes(purse: Purse) -> list[Any]:
    return [s["code"] for s in (await purse.m.read())["steps"] if s["reported_by"] == "chain"]


async def test_what_lies_in_the_purse_goes_back_before_the_settlement(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await purse.pay("5")
    keeper = ticks(world)
    await keeper.round()
    await stopped(purse)
    for _ in range(3):
        await keeper.round()
    read = await purse.m.read()
    assert read["mandate"]["status"] == "settled"
    assert (await purse.read())["in_purse"] == await purse.balance() == "0.000000"
    assert read["progress"]["cash"] == "495.000000"
    assert "out_of_purse" in await codes(purse)
    statement = (await purse.m.as_owner("owner_statement", week=WEEK)).body
    assert statement["spent"] == {
        "total": "20.000000", "payments": "5.000000", "in_purse": "0.000000", "others": "15.000000",
    }  # fmt: skip
    assert statement["fees"]["by_type"]["tools"] == "5.000000"
    assert (await verify(world.store)).ok


async def test_in_dry_run_the_owner_has_three_days_to_take_the_purse_back_before_the_settlement(
    world: World,
) -> None:
    world.deps = replace(world.deps, defaults=replace(world.deps.defaults, stop_line_dry_run=True))
    purse = await opened(world)
    await purse.fund("20")
    await purse.pay("5")
    keeper = ticks(world)
    await stopped(purse)
    await keeper.round()
    plan = (await purse.m.as_owner("owner_close_all_plan")).body["steps"]
    assert [s["step"] for s in plan] == ["drain", "settle", "withdraw"]
    told = (await purse.m.as_owner("owner_drain_call")).body
    assert told["in_purse"] == plan[0]["value_est"] == "15.000000"
    assert told["simulation"]["ok"]
    await mined(world, purse.m.owner_wallet, told["call"])
    for _ in range(3):
        await keeper.round()
    read = await purse.m.read()
    assert (read["mandate"]["status"], read["progress"]["cash"]) == ("settled", "495.000000")
    assert (await purse.read())["in_purse"] == await purse.balance() == "0.000000"
    assert (await verify(world.store)).ok


async def test_in_dry_run_nothing_goes_back_and_the_owner_has_the_rest_after_the_settlement(
    world: World,
) -> None:
    world.deps = replace(world.deps, defaults=replace(world.deps.defaults, stop_line_dry_run=True))
    purse = await opened(world)
    await purse.fund("20")
    keeper = ticks(world)
    await keeper.round()
    await stopped(purse)
    for _ in range(3):
        await keeper.round()
    # The result is not fixed while owner or agent may still take back what lies in the purse.
    assert (await purse.m.read())["mandate"]["status"] == "stopped"
    world.clock.forward(days=3, minutes=1)
    world.evm.chain.mine()
    for _ in range(3):
        await keeper.round()
    read = await purse.m.read()
    assert read["mandate"]["status"] == "settled"
    assert "out_of_purse" not in await codes(purse)
    (*_, swept) = await purse.rows()
    assert (swept["amount_usdc"], swept["payload"]["purse_moved"]["to_owner"]) == (
        "0.000000", "20.000000",
    )  # fmt: skip
    assert (await purse.read())["in_purse"] == await purse.balance() == "0.000000"
    assert (await verify(world.store)).ok


async def test_what_comes_into_the_purse_of_a_settled_vault_is_swept_to_the_owner(
    world: World,
) -> None:
    purse = await opened(world)
    await purse.fund("20")
    keeper = ticks(world)
    await keeper.round()
    await stopped(purse)
    await keeper.round()
    await world.mint(purse.address, "3")
    for _ in range(3):
        await keeper.round()
        world.clock.forward(hours=2)
        world.evm.chain.mine()
    assert await purse.balance() == "0.000000"
    assert (await verify(world.store)).ok


async def test_the_statement_of_a_week_adds_up_to_the_last_digit(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    for amount in ("0.000001", "1.234567", "3"):
        await purse.pay(amount)
    await world.mint(purse.address, "0.5")
    await ticks(world).round()
    statement = (await purse.m.as_owner("owner_statement", week=WEEK)).body
    assert statement["spent"] == {
        "total": "20.000000", "payments": "4.234568", "in_purse": "16.265432", "others": "-0.500000",
    }  # fmt: skip
    rows = (await purse.m.as_owner("owner_statement_rows", limit=200)).body
    assert rows["sums"]["spent"] == statement["spent"]
    for name in statement["spent"]:
        assert (
            str(total(Usdc.parse(r["spent"][name]) for r in rows["rows"]))
            == statement["spent"][name]
        )


async def test_the_clause_tells_the_float_and_the_hub_enforces_it(world: World) -> None:
    limits = {"per_payment_usdc": "1", "per_day_usdc": "30", "float_usdc": "20"}
    purse = await opened(world, hosts=["api.example"], purse=limits)
    clause = next(c for c in (await purse.m.read())["clauses"] if c["key"] == "markets")
    amounts = (
        "at most 1.00 USDC a payment, 30.00 USDC a day, 20.00 USDC at risk at once, to anybody"
    )
    assert amounts in clause["text_en"]
    assert "this service holds them to named hosts (1)" in clause["text_en"]
    (paid,) = [i for i in clause["params"]["items"] if i["kind"] == "x402"]
    assert paid["enforced_by"] == "Contract"
    assert (await purse.m.read())["exposure"]["float"] == "20.000000"
    told = await purse.read()
    assert (told["float"], told["per_payment"], told["per_day"]) == (
        "20.000000", "1.000000", "30.000000",
    )  # fmt: skip
    with pytest.raises(AssertionError):
        await purse.fund("20.000001")
    await purse.fund("20")
