"""The end of a mandate with a purse: what lies in it goes back before the settlement, and to the owner after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from chain.adapter import EvmChain
from domain.money import Usdc, total
from storage.integrity.ledger_check import verify
from tests.chain.nodes import distorted
from tests.databases import engines
from tests.purses import Purse, opened
from tests.server.test_sums import kept_by
from tests.tools.keeper.test_attach import mined
from tests.tools.keeper.test_transfers_chain import ticks, token
from tests.tools.paying import balance
from tests.world import CHAIN_ID, Evm, World, a_world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WEEK = "2026-W47"


@pytest.fixture
async def world(either_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(either_url, evm, purses=True, stop_line_dry_run=False) as made:
        yield made


async def stopped(purse: Purse) -> None:
    call = (await purse.m.as_owner("owner_stop_call")).body["call"]
    await mined(purse.world, purse.m.owner_wallet, call)


async def codes(purse: Purse) -> list[Any]:
    return [s["code"] for s in (await purse.m.read())["steps"] if s["reported_by"] == "chain"]


@engines
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


@engines
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


async def test_a_purse_of_a_mandate_that_is_done_with_is_looked_at_once_a_day(
    world: World,
) -> None:
    async def watched() -> list[str]:
        known = await world.store.read(lambda uow: uow.chainlog.watched_purses(CHAIN_ID))
        return [p.address for p in known]

    purse = await opened(world)
    await purse.fund("20")
    keeper = ticks(world)
    await keeper.round()
    assert await watched() == [purse.address.lower()]
    call = (await purse.m.as_owner("owner_withdraw_call")).body["call"]
    await mined(world, purse.m.owner_wallet, call)
    for _ in range(4):
        await keeper.round()
        world.clock.forward(hours=2)
        world.evm.chain.mine()
    assert (await purse.read())["in_purse"] == await purse.balance() == "0.000000"
    assert await watched() == []
    owner = purse.m.owner_wallet.address
    before = balance(world, owner)
    await world.mint(purse.address, "3")
    for _ in range(3):
        await keeper.round()
    assert (await purse.balance(), await watched()) == ("3.000000", [])
    world.clock.forward(days=1)
    world.evm.chain.mine()
    for _ in range(4):
        await keeper.round()
        world.clock.forward(hours=2)
        world.evm.chain.mine()
    assert (await purse.read())["in_purse"] == await purse.balance() == "0.000000"
    assert balance(world, owner) - before == Usdc.parse("3")
    assert [r["payload"]["purse_moved"]["change"] for r in await purse.rows()][-2:] == [
        "came_in", "drained",
    ]  # fmt: skip
    assert await watched() == []
    assert (await verify(world.store)).ok


@engines
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


async def test_what_goes_into_a_purse_and_comes_out_of_it_is_one_row_each(world: World) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await purse.fund("10")
    await ticks(world).round()
    await stopped(purse)
    await ticks(world).round()  # the keeper brings back what lies in the purse
    await ticks(world).round()
    read = (await purse.m.as_owner("owner_statement_rows", limit=200)).body
    told = [(r["code"], r["amount_usdc"]) for r in read["rows"] if r["tx_hash"] is not None]
    assert [row for row in told if row[0] not in ("resolve", "withdraw")] == [
        ("deposit", "500.000000"),
        ("into_purse", "20.000000"),
        ("into_purse", "10.000000"),
        ("stop", None),
        ("out_of_purse", "30.000000"),
    ]
    for name, whole in read["sums"]["spent"].items():
        assert str(total(Usdc.parse(r["spent"][name]) for r in read["rows"])) == whole, name


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


# -- what goes wrong between


async def rounds(keeper: Any, count: int, world: World, **between: float) -> None:
    for _ in range(count):
        await keeper.round()
        if between:
            world.clock.forward(**between)
            world.evm.chain.mine()


async def settled_with(purse: Purse, cash: str) -> None:
    """Settled, nothing left in the purse, and every sum agrees with the chain's."""
    read = await purse.m.read()
    assert read["mandate"]["status"] == "settled"
    assert (read["progress"]["cash"], await purse.balance()) == (cash, "0.000000")
    assert (await purse.read())["in_purse"] == "0.000000"
    assert read["progress"].get("data_issue", False) is False
    assert (await verify(purse.world.store)).ok


async def test_a_payment_that_is_settled_just_before_the_drain_is_no_returned_money(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    purse, keeper = await opened(world), ticks(world)
    await purse.fund("20")
    await keeper.round()
    waiting = purse.settlement(purse.bill("5"))
    read, states = EvmChain.purse_states, 0

    async def overtaken(chain: EvmChain, *args: Any, **more: Any) -> Any:
        nonlocal states
        told = await read(chain, *args, **more)
        states += 1
        if states == 1:
            await purse.mined(purse.m.owner_wallet, waiting)
        return told

    monkeypatch.setattr(EvmChain, "purse_states", overtaken)
    await keeper.round()
    monkeypatch.undo()
    await stopped(purse)
    await rounds(keeper, 3, world)
    await settled_with(purse, "495.000000")
    assert (await purse.read())["paid_ever"] == "5.000000"


async def test_while_the_purse_cannot_be_emptied_nothing_is_settled_for_good(world: World) -> None:
    purse, keeper, anybody = await opened(world), ticks(world), world.wallet()
    await purse.fund("20")
    await keeper.round()
    await stopped(purse)
    await token(world, anybody, "setPaused", True)
    await rounds(keeper, 3, world)
    assert (await purse.m.read())["mandate"]["status"] == "stopped"
    await token(world, anybody, "setPaused", False)
    await rounds(keeper, 3, world, hours=1)
    assert (await purse.m.read())["progress"]["cash"] == "500.000000"
    await settled_with(purse, "500.000000")


async def test_a_purse_that_cannot_be_emptied_holds_its_owner_up_for_three_days_at_most(
    world: World,
) -> None:
    purse, keeper, anybody = await opened(world), ticks(world), world.wallet()
    await purse.fund("20")
    await keeper.round()
    await stopped(purse)
    await token(world, anybody, "setBlacklisted", purse.address, True)
    await rounds(keeper, 2, world, hours=1)
    assert (await purse.m.read())["mandate"]["status"] == "stopped"
    await rounds(keeper, 3, world, days=2)
    assert (await purse.m.read())["mandate"]["status"] == "settled"
    assert await purse.balance() == "20.000000"
    await token(world, anybody, "setBlacklisted", purse.address, False)
    await rounds(keeper, 3, world, hours=1)
    assert await purse.balance() == "0.000000"
    assert (await verify(world.store)).ok


async def test_what_an_owner_whom_usdc_refuses_left_inside_is_swept_once_it_can_be(
    world: World,
) -> None:
    purse, keeper, anybody = await opened(world), ticks(world), world.wallet()
    await purse.fund("20")
    await world.mint(purse.address, "3")
    await keeper.round()
    await stopped(purse)
    await token(world, anybody, "setBlacklisted", purse.m.owner_wallet.address, True)
    await rounds(keeper, 3, world, hours=1)
    read = await purse.m.read()
    assert (read["mandate"]["status"], await purse.balance()) == ("settled", "3.000000")
    assert read["progress"]["cash"] == "500.000000"
    await token(world, anybody, "setBlacklisted", purse.m.owner_wallet.address, False)
    await rounds(keeper, 3, world, hours=1)
    await settled_with(purse, "500.000000")


@pytest.mark.parametrize("told", ["00" * 32, "ff" * 32])
async def test_one_node_that_lies_about_the_balance_keeps_no_purse_full(
    world: World, told: str
) -> None:
    purse = await opened(world)
    await purse.fund("20")
    await ticks(world).round()
    await stopped(purse)
    asked = "0x70a08231" + purse.address[2:].lower().rjust(64, "0")

    def lying(request: dict[str, Any], raw: Any) -> Any:
        is_it = request["method"] == "eth_call" and request["params"][0]["data"] == asked
        return raw | {"result": "0x" + told} if is_it else raw

    async with (
        distorted(world.evm.chain, lying) as bad,
        distorted(world.evm.chain, lambda _, raw: raw) as third,
        kept_by(world, bad, world.evm.url, third) as keeper,
    ):
        await rounds(keeper, 4, world)
    await settled_with(purse, "500.000000")
