"""What `record` keeps and what it never does, who may settle, why a mark stopped, and a probe that no squeeze presses."""

from __future__ import annotations

import pytest

from tests.contracts.harness import (
    DAY,
    DEPOSIT,
    FLOOR_STOP,
    MAX_WITHDRAW,
    OWNER_STOP,
    REDEEM,
    USD,
    WORTH_OF,
    Contract,
    World,
    refused,
    selector,
)
from tests.contracts.test_pressed_probe import keeper_is_a_contract, scene

REVERTS = 1
VALUE_OF = selector("valueOf(address)")


def valued(world: World, value: int, **over: int) -> Contract:
    """A vault whose only probe is the hostile target's, at this value, recorded."""
    vault = world.vault(probes=[(world.hostile.address, WORTH_OF)], **over)
    world.hostile.send(world.stranger, "setProbe", value, 0)
    vault.send(world.keeper, "record")
    return vault


# -- record ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["keeper", "owner"])
def test_record_keeps_the_value_now_higher_or_lower(world: World, by: str) -> None:
    vault, who = valued(world, 100 * USD), getattr(world, by)
    for value in (150 * USD, 40 * USD, 0, 2**96 + 5, 7):
        world.hostile.send(world.stranger, "setProbe", value, 0)
        told = vault.send(who, "record")
        assert told.names() == ["Marked"]
        assert told.one("Marked")["positions"] == value
        world.usdc.send(world.stranger, "transfer", world.friend, 0)  # the next block
        assert vault.read("recorded") == min(value, 2**96 - 1)


def test_only_keeper_and_owner_record(world: World) -> None:
    vault = valued(world, 100 * USD)
    for who in (world.agent, world.stranger):
        with refused("NotAuthorized", who):
            vault.send(who, "record")


def test_nothing_is_recorded_after_the_settlement(world: World) -> None:
    vault = world.vault()
    vault.send(world.owner, "withdrawAll")
    for who in (world.keeper, world.owner):
        with refused("MandateSettled"):
            vault.send(who, "record")


def test_threat_silent_probe_gives_no_record_and_moves_no_bar(world: World) -> None:
    vault = valued(world, 100 * USD)
    world.hostile.send(world.stranger, "setProbe", 0, REVERTS)
    for who in (world.keeper, world.owner):
        with refused("ProbeFailed"):
            vault.send(who, "record")
    assert vault.read("recorded") == 100 * USD


@pytest.mark.parametrize("by", ["keeper", "owner"])
def test_record_below_the_floor_stops_nothing_and_mark_still_does(world: World, by: str) -> None:
    vault = valued(world, 300 * USD, perTxCap=500 * USD)
    world.take(vault, 300 * USD)
    world.hostile.send(world.stranger, "setProbe", 0, 0)  # 700 are left of a floor of 800
    assert vault.send(getattr(world, by), "record").names() == ["Marked"]
    assert (vault.read("stoppedAt"), vault.read("agent")) == (0, world.agent)
    assert world.give(vault, USD).one("Executed")["returned"] == USD
    with refused("MandateStopped", FLOOR_STOP):
        world.take(vault, 1)
    assert vault.send(world.keeper, "mark").names() == ["Marked", "Stopped", "AgentRevoked"]
    assert vault.send(getattr(world, by), "record").names() == ["Marked"]


def test_after_a_real_fall_the_agents_exit_is_fair_again_once_it_is_recorded(world: World) -> None:
    s = scene(world)  # 100 in cash, 900 in the market, the floor at 900
    s.market.send(world.stranger, "lose", s.vault.address, 400 * USD)
    exit_ = s.action("exit", 500 * USD, 9_800)
    with refused("MandateStopped", FLOOR_STOP):
        s.run(exit_)
    s.vault.send(world.keeper, "record")
    with refused("MandateStopped", FLOOR_STOP):
        s.run(s.action("exit", 500 * USD, 9_799))
    assert s.run(exit_).one("Executed")["returned"] == 490 * USD


@pytest.mark.parametrize("by", ["keeper", "agent"])
def test_after_a_real_fall_a_closed_mandate_is_unwound_once_it_is_recorded(
    world: World, by: str
) -> None:
    s = scene(world)
    s.vault.send(world.owner, "stop")
    s.market.send(world.stranger, "lose", s.vault.address, 400 * USD)
    exit_ = s.action("exit", 500 * USD, 9_800, entry="unwind")

    def sent() -> object:
        if by == "agent":
            return s.run(exit_)
        return world.evm.send(world.keeper, s.vault.address, exit_)

    with refused("UnfairExit", 900 * USD, 490 * USD):
        sent()
    s.vault.send(world.keeper, "record")
    sent()
    assert s.vault.read("cash") == 590 * USD


def test_threat_pressed_probe_in_a_record_of_the_same_transaction(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its block a record lowers no bar, whoever has the keeper's key."""
    monkeypatch.setattr(world, "factory", world.factory)
    s = keeper_is_a_contract(world)
    exit_ = s.action("exit", 900 * USD, 0, entry="unwind")
    with refused("UnfairExit", 900 * USD, 0):
        s.press(s.vault.data("record"), exit_)
    with refused("UnfairExit", 900 * USD, 0):
        s.press(s.vault.data("record"), s.vault.data("mark"), s.vault.data("record"), exit_)


# -- why a mark stopped ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("by", "reason"), [("keeper", FLOOR_STOP), ("owner", OWNER_STOP)])
def test_threat_owner_makes_no_floor_stop_by_its_own_mark(
    world: World, by: str, reason: int
) -> None:
    """After the keeper's floor stop whose term says keep nobody helps; after the owner's the agent may still."""
    vault = valued(world, 100 * USD, perTxCap=300 * USD, onFloor=0)
    world.take(vault, 250 * USD)
    world.hostile.send(world.stranger, "setProbe", 49 * USD, 0)
    told = vault.send(getattr(world, by), "mark").one("Stopped")
    assert (told["by"], told["reason"]) == (getattr(world, by), reason)
    assert vault.read("stopReason") == reason
    if by == "keeper":
        with refused("NotAuthorized", world.agent):
            world.unwind(vault, world.agent, world.hostile, "give", USD)
    else:
        told = world.unwind(vault, world.agent, world.hostile, "give", USD).one("Unwound")
        assert told["returned"] == USD


# -- who may settle ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("close", ["stop", "end"])
@pytest.mark.parametrize("by", ["owner", "agent", "keeper"])
def test_inside_the_window_owner_agent_and_keeper_settle(world: World, by: str, close: str) -> None:
    vault = closed(world, close)
    told = vault.send(getattr(world, by), "settle")
    assert told.one("Settled")["by"] == getattr(world, by)
    assert vault.send(world.stranger, "settle").events == ()


@pytest.mark.parametrize("close", ["stop", "end"])
def test_threat_stranger_settles_under_a_pressed_view_at_the_agents_cost(
    world: World, close: str
) -> None:
    vault = closed(world, close)
    since = world.evm.time
    for seconds in (0, 3 * DAY - 1):
        world.evm.time = since + seconds
        with refused("NotAuthorized", world.stranger):
            vault.send(world.stranger, "settle")
    world.evm.time = since + 3 * DAY
    assert vault.send(world.stranger, "settle").one("Settled")["by"] == world.stranger


def test_an_agent_that_was_revoked_before_the_close_settles_as_a_stranger(world: World) -> None:
    vault = world.vault()
    vault.send(world.owner, "revokeAgent")
    vault.send(world.owner, "stop")
    with refused("NotAuthorized", world.agent):
        vault.send(world.agent, "settle")
    world.later(3 * DAY)
    assert vault.send(world.agent, "settle").names() == ["Settled"]


def closed(world: World, how: str) -> Contract:
    """A closed vault, in the second in which its window begins."""
    vault = world.vault()
    if how == "stop":
        vault.send(world.owner, "stop")
    else:
        world.evm.time = vault.read("terms")[0][6]
    return vault


# -- a probe that a squeeze of liquidity does not press ----------------------------------------------------------


def lent_out(world: World, *, by_price: bool) -> tuple[Contract, Contract]:
    """A vault with 500 of 1,000 in a lender, all of which is lent to somebody, and the lender."""
    market = world.evm.deploy("LendingMarket", world.usdc.address)
    share_value = world.evm.deploy("ShareValue", market.address)
    probe = (share_value.address, VALUE_OF) if by_price else (market.address, MAX_WITHDRAW)
    calls = [(market.address, DEPOSIT, 0b10), (market.address, REDEEM, 0b110)]
    vault = world.vault(calls=calls, probes=[probe], perTxCap=500 * USD, dailyCap=600 * USD)
    world.act(vault, market, "deposit", 500 * USD, vault.address, approve=500 * USD)
    market.send(world.stranger, "borrow", 500 * USD)
    return vault, market


def test_threat_squeeze_of_liquidity_is_a_floor_stop_by_what_can_be_taken_out_now(
    world: World,
) -> None:
    vault, _ = lent_out(world, by_price=False)
    told = vault.send(world.keeper, "mark")
    assert told.one("Marked")["positions"] == 0
    assert told.one("Stopped")["reason"] == FLOOR_STOP


def test_threat_squeeze_of_liquidity_moves_nothing_by_the_price_of_a_share(world: World) -> None:
    vault, market = lent_out(world, by_price=True)
    told = vault.send(world.keeper, "mark")
    assert told.names() == ["Marked"]
    assert told.one("Marked")["values"] == (500 * USD,)
    told = world.act(vault, market, "deposit", 10 * USD, vault.address, approve=10 * USD)
    assert told.one("Executed")["values"] == (510 * USD,)
    market.send(world.stranger, "writeOff", 300 * USD)  # a loss is a loss
    assert vault.send(world.keeper, "mark").one("Stopped")["reason"] == FLOOR_STOP
    assert vault.read("worth")[1] in (210 * USD, 210 * USD - 1)


def test_the_price_of_a_share_values_a_stranger_at_nothing_and_names_its_market(
    world: World,
) -> None:
    share_value = world.evm.deploy("ShareValue", world.market.address)
    assert share_value.read("MARKET") == world.market.address
    assert share_value.read("valueOf", world.stranger) == 0
    vault = world.vault()
    world.invest(vault, 100 * USD)
    assert share_value.read("valueOf", vault.address) == 100 * USD
    world.usdc.send(world.stranger, "transfer", world.market.address, 50 * USD)
    assert share_value.read("valueOf", vault.address) == world.market.read(
        "maxWithdraw", vault.address
    )
