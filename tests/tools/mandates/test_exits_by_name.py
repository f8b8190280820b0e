"""Markets are left by their names: the service makes the calldata out of the position that the vault really has on chain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eth_utils import keccak

from domain.money import Usdc
from tests.hard_exits import HardMarkets, hard_markets
from tests.hosted import hosted, signing
from tests.world import Mandated, World, working
from tools.model.operation import OperationResult

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def stop(m: Mandated) -> None:
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])


async def left(m: Mandated, market: str, **portion: Any) -> OperationResult:
    """What the owner is answered who leaves a market, all of it unless another portion is named."""
    return await m.as_owner(
        "mandate_unwind_call", market=market, **(portion or {"share_bps": 10_000})
    )


async def stopped(world: World, *, into: str, amount: str = "60") -> tuple[Mandated, HardMarkets]:
    markets = await hard_markets(world)
    m = await working(world, allowed_targets=markets.targets())
    await markets.enter(m, into, amount)
    await stop(m)
    return m, markets


def inner(told: OperationResult, function: str) -> list[int]:
    """The argument words of the exit inside an answer's calldata, which is of that function."""
    assert told.status == 200, told.body
    data = told.body["decoded"]["args"][1]
    assert data[:10] == "0x" + keccak(text=function)[:4].hex()
    return [int(data[n : n + 64], 16) for n in range(10, len(data), 64)]


REDEEM, WITHDRAW, TAKE = (
    "redeem(uint256,address,address)",
    "withdraw(uint256,address,address)",
    "withdraw(address,uint256,address)",
)


@pytest.mark.parametrize("grown", [False, True])
async def test_a_whole_erc4626_position_leaves_no_dust_even_where_it_grew_after_the_page(
    world: World, grown: bool
) -> None:
    m, markets = await stopped(world, into="hard")
    owned, vault = await markets.owned(m), int(m.vault, 16)
    told = await left(m, "hard")
    assert inner(told, REDEEM) == [owned, vault, vault]
    assert told.body["exit"] == {
        "market": "hard", "name": "Hard Market", "whole": True, "held_back": False, "value_est": "60.000000",
        "returned_est": "60.000000", "loss_est": "0.000000", "stays_est": "0.000000", "fair": True,
    }  # fmt: skip
    if grown:
        await markets.gain("3")
    await m.recorded(m.owner_wallet, told.body["call"])
    assert await markets.owned(m) == 0
    read = await m.read()
    assert read["progress"]["positions_est"] == "0.000000"
    cash = Usdc.parse(read["progress"]["cash"])
    assert cash >= Usdc.parse("502.99999" if grown else "500")
    assert (await left(m, "hard")).body["error"] == "no_position"


@pytest.mark.parametrize("grown", [False, True])
async def test_a_whole_pool_position_leaves_no_dust_even_where_it_grew_after_the_page(
    world: World, grown: bool
) -> None:
    m, markets = await stopped(world, into="pool")
    await markets.grow(7)
    told = await left(m, "pool")
    asset, amount, to = inner(told, TAKE)
    assert (asset, amount, to) == (int(world.evm.usdc, 16), 2**256 - 1, int(m.vault, 16))
    exit = told.body["exit"]
    assert (exit["whole"], exit["returned_est"], exit["stays_est"]) == (
        True,
        "60.042000",
        "0.000000",
    )
    if grown:
        await markets.grow(11)
    await m.recorded(m.owner_wallet, told.body["call"])
    assert await markets.supplied(m) == 0
    assert (await left(m, "pool")).body["error"] == "no_position"


async def test_a_share_is_rounded_down_to_what_is_owned(world: World) -> None:
    m, markets = await stopped(world, into="hard", amount="60.000001")
    owned = await markets.owned(m)
    told = await left(m, "hard", share_bps=3_333)
    assert inner(told, REDEEM)[0] == owned * 3_333 // 10_000
    exit = told.body["exit"]
    assert (exit["whole"], exit["value_est"], exit["stays_est"]) == (
        False,
        "19.998000",
        "40.002001",
    )
    await m.recorded(m.owner_wallet, told.body["call"])
    for _ in range(2):  # what is left goes whole, and then there is nothing
        told = await left(m, "hard")
        if told.status == 200:
            await m.recorded(m.owner_wallet, told.body["call"])
    assert (await markets.owned(m), told.body.get("error")) == (0, "no_position")


async def test_an_amount_comes_out_exactly_and_more_than_is_owned_is_refused(world: World) -> None:
    m, markets = await stopped(world, into="pool")
    told = await left(m, "pool", amount_usdc="12.345678")
    assert inner(told, TAKE)[1] == 12_345_678
    await m.recorded(m.owner_wallet, told.body["call"])
    assert await markets.supplied(m) == 60_000_000 - 12_345_678
    over = await left(m, "pool", amount_usdc="47.654323")
    assert (over.status, over.body["error"]) == (409, "would_revert")
    rest = await left(m, "pool", amount_usdc="47.654322")
    assert rest.status == 200


async def test_of_a_locked_market_comes_out_what_it_frees_and_the_answer_says_what_stays(
    world: World,
) -> None:
    m, markets = await stopped(world, into="hard")
    await markets.harden(free=25_000_000)
    told = await left(m, "hard")
    assert inner(told, REDEEM)[0] == 25_000_000
    exit = told.body["exit"]
    assert (exit["held_back"], exit["whole"]) == (True, False)
    assert exit["returned_est"] == "25.000000"
    await markets.harden(free=0)
    shut = await left(m, "hard")
    assert (shut.status, shut.body["error"]) == (409, "would_revert")


async def test_of_a_pool_whose_cash_is_lent_comes_out_the_cash(world: World) -> None:
    m, markets = await stopped(world, into="pool")
    lent = Usdc.parse("45")
    await markets.tell(markets.token, "lend(address,uint256)", world.evm.market, lent)
    told = await left(m, "pool")
    assert inner(told, TAKE)[1] == 15_000_000
    exit = told.body["exit"]
    assert (exit["held_back"], exit["stays_est"]) == (True, "45.000000")
    await m.recorded(m.owner_wallet, told.body["call"])
    assert (await left(m, "pool")).body["error"] == "would_revert"
    await world.mint(markets.token, "45")
    told = await left(m, "pool")
    await m.recorded(m.owner_wallet, told.body["call"])
    assert await markets.supplied(m) == 0


@pytest.mark.parametrize("boast", [1, 2**255])
async def test_shares_that_a_market_only_claims_are_not_what_is_taken(
    world: World, boast: int
) -> None:
    m, markets = await stopped(world, into="hard")
    await markets.harden(boast=boast)
    told = await left(m, "hard")
    assert inner(told, REDEEM)[0] == 60_000_000
    assert told.body["exit"]["held_back"] is True
    await m.recorded(m.owner_wallet, told.body["call"])
    assert (await m.read())["progress"]["cash"] == "500.000000"


async def test_what_a_market_keeps_is_measured_by_the_vault_and_not_believed(world: World) -> None:
    m, markets = await stopped(world, into="hard")
    await markets.harden(keeps="20")
    told = await left(m, "hard")
    exit = told.body["exit"]
    assert (exit["fair"], exit["returned_est"], exit["loss_est"]) == (
        False,
        "40.000000",
        "20.000000",
    )
    agents = await m.as_agent("mandate_unwind_call", market="hard", share_bps=10_000)
    assert (agents.status, agents.body["error"]) == (409, "would_revert")
    assert agents.body["detail"]["revert"]["name"] == "UnfairExit"
    await m.recorded(m.owner_wallet, told.body["call"])
    assert (await m.read())["progress"]["cash"] == "480.000000"


async def test_an_exit_that_the_recorded_value_refuses_is_the_owner_s_alone(world: World) -> None:
    m, markets = await stopped(world, into="hard")
    await markets.lose("20")
    world.evm.chain.mine()
    agents = await m.as_agent("mandate_unwind_call", market="hard", share_bps=10_000)
    assert agents.body["error"] == "would_revert"
    assert agents.body["detail"]["recorded_value_stale"]["recorded"] == "60.000000"
    told = await left(m, "hard")
    assert (told.status, told.body["exit"]["fair"]) == (200, False)
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_record_call")).body["call"])
    world.evm.chain.mine()
    assert (await left(m, "hard")).body["exit"]["fair"] is True
    agents = await m.as_agent("mandate_unwind_call", market="hard", share_bps=10_000)
    assert (agents.status, agents.body["exit"]["fair"]) == (200, True)


async def test_what_is_asked_for_has_one_form(world: World) -> None:
    m, markets = await stopped(world, into="hard")

    async def wrong(**asked: Any) -> object:
        told = await m.as_owner("mandate_unwind_call", **asked)
        assert told.body["error"] == "invalid_request", told.body
        return told.body["detail"]["fields"][0]["loc"]

    assert await wrong() == "target"
    assert await wrong(target=markets.vault) == "data"
    assert await wrong(share_bps=1) == "share_bps"
    assert await wrong(market="hard") == "share_bps"
    assert await wrong(market="hard", share_bps=1, amount_usdc="1") == "share_bps"
    assert await wrong(market="hard", share_bps=0) == "share_bps"
    assert await wrong(market="hard", share_bps=10_001) == "share_bps"
    assert await wrong(market="hard", amount_usdc="0") == "amount_usdc"
    assert await wrong(market="hard", data="0x01", share_bps=1) == "data"
    assert await wrong(market="hard", target=markets.pool, share_bps=1) == "target"
    assert await wrong(market="nowhere", share_bps=1) == "market"
    named = await left(m, "hard", target=markets.vault.lower(), share_bps=10_000)
    assert named.status == 200


async def test_a_market_without_a_recipe_says_so(world: World) -> None:
    markets = await hard_markets(world, exit="none")
    m = await working(world, allowed_targets=markets.targets())
    await markets.enter(m, "hard", "60")
    await stop(m)
    told = await left(m, "hard")
    assert (told.status, told.body["error"]) == (409, "no_recipe")
    shown = (await world.ok("markets_list"))["items"]
    assert [s["exit"] for s in shown] == [
        None,
        {"function": TAKE, "args": ["usdc", "amount", "vault"]},
    ]


async def test_the_markets_file_may_name_another_exit_of_the_kind(world: World) -> None:
    recipe = {"function": WITHDRAW, "args": ["amount", "vault", "vault"]}
    markets = await hard_markets(world, exit=recipe)
    m = await working(world, allowed_targets=markets.targets())
    await markets.enter(m, "hard", "60")
    await stop(m)
    told = await left(m, "hard", share_bps=5_000)
    assert inner(told, WITHDRAW)[0] == 30_000_000
    await m.recorded(m.owner_wallet, told.body["call"])
    assert (await world.ok("markets_list"))["items"][0]["exit"] == recipe


async def test_the_agent_leaves_by_name_while_the_mandate_works(world: World) -> None:
    markets = await hard_markets(world)
    m = await working(world, allowed_targets=markets.targets())
    await markets.enter(m, "hard", "60")
    early = await left(m, "hard")
    assert early.body["error"] == "wrong_status"
    asked = {"market": "hard", "share_bps": 2_500}
    dry = await m.as_agent("mandate_execute_call", **asked, dry_run=True)
    assert (dry.status, dry.body["exit"]["value_est"]) == (200, "15.000000")
    told = await m.as_agent("mandate_execute_call", **asked)
    assert told.status == 200, told.body
    await m.recorded(m.agent_wallet, told.body)
    assert await markets.owned(m) == 45_000_000
    pulls = await m.as_agent("mandate_execute_call", **asked, approve_amount="1")
    assert pulls.body["error"] == "invalid_request"


async def test_where_the_terms_allow_one_exit_that_one_is_taken(world: World) -> None:
    markets = await hard_markets(world)
    withdraw = [t for t in markets.targets() if t.get("selector") != "0xba087652"]
    m = await working(world, allowed_targets=withdraw)
    await markets.enter(m, "hard", "60")
    await stop(m)
    told = await left(m, "hard")
    assert inner(told, WITHDRAW)[0] == 60_000_000
    await m.recorded(m.owner_wallet, told.body["call"])
    other = await working(
        world, allowed_targets=[t for t in markets.targets() if t.get("selector") != "0xb460af94"]
    )
    await markets.enter(other, "hard", "10")
    await stop(other)
    told = await left(other, "hard", amount_usdc="4")
    assert inner(told, REDEEM)[0] == 4_000_000


async def test_an_act_takes_a_whole_position_out_by_name(world: World, tmp_path: Path) -> None:
    markets = await hard_markets(world)
    async with signing(world, tmp_path):
        m = await hosted(world, allowed_targets=markets.targets())

        async def acted(key: str, **action: Any) -> Any:
            asked = {"action": action, "idempotency_key": key}
            return (await m.as_agent("mandate_act", **asked)).body

        told = await acted("in", kind="enter", market="pool", amount_usdc="40")
        assert told["outcome"] == "landed", told
        await markets.grow(3)
        gone = await acted("out", kind="exit", market="pool", share_bps=10_000)
        assert gone["outcome"] == "landed", gone
        assert await markets.supplied(m) == 0
        again = await acted("out", kind="exit", market="pool", share_bps=10_000)
        assert again["tx_hash"] == gone["tx_hash"]
        none = await acted("out-2", kind="exit", market="pool", share_bps=10_000)
        assert none["error"] == "no_position"
        both = await acted("out-3", kind="exit", market="pool", share_bps=10_000, amount_usdc="1")
        assert both["error"] == "invalid_request"
        into = await acted("in-2", kind="enter", market="pool", share_bps=10_000)
        assert into["error"] == "invalid_request"
