"""One named test, or more, for each threat the contracts answer; contracts/SECURITY.md points here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contracts.harness import (
    CHANGING,
    DAY,
    DEPOSIT,
    FLOOR_STOP,
    GAS,
    REDEEM,
    START,
    USD,
    WITHDRAW,
    WORTH_OF,
    Contract,
    Receipt,
    Refusal,
    World,
    artifact,
    entries,
    refused,
    selector,
)

REVERTS, BURNS, LONG, SHORT = 1, 2, 3, 4


def outcome(action: Callable[[], Receipt]) -> str:
    """The name of the vault's event, or of the error."""
    try:
        return action().names()[-1]
    except Refusal as refusal:
        return refusal.name


def hostile_probe(world: World, **over: Any) -> Contract:
    """A vault whose only probe is the hostile target's."""
    return world.vault(probes=[(world.hostile.address, WORTH_OF)], **over)


# -- a hostile listed target ------------------------------------------------------------------------------------


def test_every_function_that_changes_something_is_among_the_reentries() -> None:
    changing = {
        n
        for n, e in entries("MandateVault", "function").items()
        if e["stateMutability"] not in ("view", "pure")
    }
    assert changing == {call[0] for call in CHANGING}


@pytest.mark.parametrize("call", CHANGING, ids=lambda call: call[0])
def test_threat_target_reenters(world: World, call: tuple[Any, ...]) -> None:
    """The guard answers before anybody asks who is calling."""
    vault = world.vault()
    world.hostile.send(world.stranger, "setReentry", vault.address, vault.data(*call))
    told = world.act(vault, world.hostile, "reenter", 10 * USD, approve=20 * USD).one("Executed")
    assert told["spent"] == 10 * USD
    assert world.hostile.read("lastReentryOk") is False
    assert world.hostile.read("lastReentryAnswer") == selector("ReentrancyGuardReentrantCall()")


def test_threat_target_reenters_usdc_to_take_more_than_approved(world: World) -> None:
    vault = world.vault()
    pull = world.usdc.data("transferFrom", vault.address, world.hostile.address, 11 * USD)
    world.hostile.send(world.stranger, "setReentry", world.usdc.address, pull)
    world.act(vault, world.hostile, "reenter", 10 * USD, approve=20 * USD)
    assert world.hostile.read("lastReentryOk") is False
    assert vault.read("totalSpent") == 10 * USD


def test_threat_target_keeps_the_approval(world: World) -> None:
    vault = world.vault()
    for amount in (1, 200 * USD):
        world.act(vault, world.hostile, "take", 0, approve=amount)
        assert world.usdc.read("allowance", vault.address, world.hostile.address) == 0
    with refused("ERC20InsufficientAllowance", world.hostile.address, 0, 1):
        world.hostile.send(world.stranger, "takeFrom", vault.address, 1)


def test_threat_left_over_approval_is_gone_after_a_refused_call_too(world: World) -> None:
    vault = world.vault()
    with refused("TargetReverted"):
        world.act(vault, world.hostile, "forge", approve=200 * USD)
    assert world.usdc.read("allowance", vault.address, world.hostile.address) == 0


def test_threat_target_imitates_a_refusal_of_the_vault(world: World) -> None:
    vault = world.vault()
    with pytest.raises(Refusal) as caught:
        world.act(vault, world.hostile, "forge")
    assert caught.value.name == "TargetReverted"
    assert caught.value.args_["reason"][:4] == selector("OverPerTxCap(uint256,uint256)")


def test_threat_target_returns_false_and_the_measure_decides(world: World) -> None:
    vault = world.vault()
    told = world.act(vault, world.hostile, "returnFalse", approve=5 * USD).one("Executed")
    assert (told["spent"], told["returned"]) == (0, 0)


def test_threat_target_answers_a_megabyte_at_its_own_cost(world: World) -> None:
    vault = world.vault(probes=[])
    plain = world.act(vault, world.hostile, "returnFalse", gas=6_000_000).gas
    long = world.act(vault, world.hostile, "bomb", gas=6_000_000).gas
    expansion = 3 * 31_250 + 31_250**2 // 512  # what the target pays for its memory
    assert long - plain < expansion + 5_000


def test_threat_target_burns_the_gas(world: World) -> None:
    vault = world.vault()
    with refused("ProbeGas"):
        world.act(vault, world.hostile, "burnGas", gas=1_000_000)
    assert world.take(vault, USD).one("Executed")["spent"] == USD


def test_threat_target_lies_about_its_worth_and_the_caps_still_hold(world: World) -> None:
    vault = hostile_probe(world)
    world.hostile.send(world.stranger, "setProbe", 2**256 - 1, 0)
    for _ in range(2):
        world.take(vault, 200 * USD)
    with refused("OverDailyCap"):
        world.take(vault, 101 * USD)
    world.take(vault, 100 * USD)


def test_threat_target_disappears(world: World) -> None:
    vault = world.vault()
    opened = world.evm.state()
    opened.set_code(bytes.fromhex(world.hostile.address[2:]), b"")
    opened.persist()
    world.evm.chain._append((), world.evm.chain.head.timestamp, opened.state_root)
    with refused("TargetNotAllowed", world.hostile.address):
        world.take(vault, USD)


# -- hostile tokens ---------------------------------------------------------------------------------------------


def with_token(name: str) -> tuple[World, Contract]:
    world = World(name)
    calls = [
        (world.hostile.address, selector(s), 0)
        for s in ("take(uint256)", "give(uint256)", "takeFrom(address,uint256)")
    ]
    return world, world.create(world.terms(calls, []), calls, [])


def test_threat_fee_on_transfer_token_is_booked_as_it_arrives() -> None:
    world, vault = with_token("FeeToken")
    world.deposit(vault, 100 * USD)
    assert (vault.read("cash"), vault.read("totalDeposited")) == (99 * USD, 99 * USD)
    assert world.take(vault, 10 * USD).one("Executed")["spent"] == 10 * USD
    assert world.give(vault, 5 * USD).one("Executed")["returned"] == 4_950_000
    vault.send(world.owner, "withdrawAll")
    assert world.balance(vault) == vault.read("feeOwed") == 0


def test_threat_token_that_returns_false_is_refused() -> None:
    world, vault = with_token("FalseToken")
    with refused("SafeERC20FailedOperation", world.usdc.address):
        world.deposit(vault, 100 * USD)
    assert vault.read("totalDeposited") == 0


def test_threat_token_that_charges_the_sender_counts_as_spend() -> None:
    world, vault = with_token("SurchargeToken")
    world.deposit(vault, 100 * USD)
    with refused("OverPerTxCap", 10_100_000, 10 * USD):
        world.take(vault, 10 * USD)
    told = world.act(vault, world.hostile, "take", 10 * USD, approve=10_100_000).one("Executed")
    assert told["spent"] == 10_100_000


def test_threat_token_with_a_back_door_gives_no_more_than_was_approved() -> None:
    world, vault = with_token("BackdoorToken")
    world.deposit(vault, 100 * USD)
    pull = ("takeFrom", vault.address, 10 * USD)
    for approve in (0, 10 * USD - 1):
        with refused("OverPerTxCap", 10 * USD, approve):
            world.act(vault, world.hostile, *pull, approve=approve)
    vault.send(world.owner, "stop")
    for who in (world.owner, world.keeper):
        with refused("UsdcLeft", 10 * USD):
            world.unwind(vault, who, world.hostile, *pull)
    vault.send(world.keeper, "settle")
    with refused("UsdcLeft", 10 * USD):
        world.unwind(vault, world.owner, world.hostile, *pull)


# -- calldata ---------------------------------------------------------------------------------------------------


def test_threat_short_calldata(world: World) -> None:
    vault = world.vault()
    whole = world.market.data("redeem", 0, vault.address, vault.address)
    for length in (0, 1, 3, 4, 5, 35, 36, 67, 68, 69, len(whole) - 1):
        with refused("TargetNotAllowed", world.market.address):
            vault.send(world.agent, "execute", world.market.address, whole[:length], 0)
    vault.send(world.agent, "execute", world.market.address, whole, 0)


def test_threat_dirty_address_words(world: World) -> None:
    vault = world.vault()
    clean = world.market.data("deposit", USD, vault.address)
    for at in (36, 41, 47):
        dirty = bytearray(clean)
        dirty[at] = 1
        with refused("TargetNotAllowed", world.market.address, DEPOSIT):
            vault.send(world.agent, "execute", world.market.address, bytes(dirty), USD)
    vault.send(world.agent, "execute", world.market.address, clean, USD)


def test_threat_selector_collision_with_a_token_move_is_refused(world: World) -> None:
    collision = selector("many_msg_babbage(bytes1)")
    assert collision == selector("transfer(address,uint256)")
    calls = [(world.hostile.address, collision, 0)]
    with refused("BadTarget", world.hostile.address, collision):
        world.create(world.terms(calls, []), calls, [])


def test_threat_self_call(world: World) -> None:
    vault = world.vault()
    for call in CHANGING:
        data = vault.data(*call)
        with refused("TargetNotAllowed", vault.address, data[:4]):
            vault.send(world.agent, "execute", vault.address, data, 0)
    vault.send(world.owner, "withdrawAll")
    with refused("TargetNotAllowed", vault.address):
        vault.send(world.owner, "unwind", vault.address, vault.data("payAgent"))


def test_threat_eth_value_is_refused_everywhere(world: World) -> None:
    vault = world.vault()
    for contract in (vault, world.factory):
        for e in artifact(contract.name)["abi"]:
            assert e.get("stateMutability") != "payable"
            assert e["type"] not in ("receive", "fallback")
    for call in CHANGING:
        with refused("empty"):
            vault.send(world.owner, *call, value=1)
    for data in (b"", b"\0\0\0\0"):
        with refused("empty"):
            world.evm.send(world.owner, vault.address, data, value=1)


# -- time -------------------------------------------------------------------------------------------------------


def test_threat_midnight_seam_two_days_caps_can_follow_each_other_and_no_more(world: World) -> None:
    vault = world.vault(deposit=1_100 * USD, budgetUsdc=2_000 * USD, stopFloorBps=10_000)
    midnight = START - START % DAY + DAY
    world.evm.time = midnight - 1
    for amount in (200, 200, 100):
        world.take(vault, amount * USD)
    with refused("OverDailyCap", 500 * USD + 1, 500 * USD):
        world.take(vault, 1)
    world.evm.time = midnight
    assert vault.read("spentToday") == 0
    for amount in (200, 200, 100):
        world.take(vault, amount * USD)
    with refused("OverDailyCap", 500 * USD + 1, 500 * USD):
        world.take(vault, 1)


@pytest.mark.parametrize("step", [0, 1, 12, 3_600, DAY - 1, 10 * DAY])
def test_threat_block_time_steps_give_no_day_twice(world: World, step: int) -> None:
    vault = world.vault(stopFloorBps=10_000, perTxCap=500 * USD)
    world.take(vault, 500 * USD)
    day = world.evm.time // DAY
    world.later(step)
    if world.evm.time // DAY == day:
        with refused("OverDailyCap"):
            world.take(vault, 1)
    else:
        world.take(vault, 1)
        assert vault.read("spentToday") == 1


# -- keys -------------------------------------------------------------------------------------------------------


def test_threat_agent_key_stolen_loses_at_most_one_action_before_the_revocation(
    world: World,
) -> None:
    vault = world.vault()
    world.take(vault, 200 * USD)
    vault.send(world.owner, "revokeAgent")
    for attempt in (
        ("execute", world.hostile.address, world.hostile.data("take", 1), 1),
        ("stop",),
        ("setAgent", world.agent),
        ("withdrawAll",),
        ("mark",),
    ):
        with pytest.raises(Refusal):
            vault.send(world.agent, *attempt)
    before = world.balance(world.owner)
    vault.send(world.owner, "withdrawAll")
    assert world.balance(world.owner) - before == 800 * USD


def test_threat_keeper_key_stolen_takes_nothing(world: World) -> None:
    vault = world.vault()
    world.invest(vault, 200 * USD)
    approve = world.usdc.data("approve", world.keeper, 1)
    for attempt in (
        ("deposit", 1), ("sync",), ("stop",), ("revokeAgent",), ("setAgent", world.keeper), ("withdrawAll",), ("settle",),
        ("execute", world.hostile.address, world.hostile.data("take", 1), 1),
        ("unwind", world.market.address, world.market.data("redeem", 1, vault.address, vault.address)),
        ("unwind", world.usdc.address, approve),
    ):  # fmt: skip
        with pytest.raises(Refusal):
            vault.send(world.keeper, *attempt)
    told = vault.send(world.keeper, "mark")
    assert told.names() == ["Marked"]  # above the floor it stops nothing
    vault.send(world.owner, "stop")
    with refused("TargetNotAllowed"):
        world.unwind(vault, world.keeper, world.market, "redeem", 1, world.keeper, vault.address)
    with refused("TargetNotAllowed"):
        vault.send(world.keeper, "unwind", world.usdc.address, approve)
    world.unwind(
        vault, world.keeper, world.market, "redeem", 200 * USD, vault.address, vault.address
    )
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 1_000 * USD


def test_threat_usdc_blacklists_the_agent_and_the_owner_still_gets_out(world: World) -> None:
    vault = world.vault()
    world.give(vault, 100 * USD)
    world.usdc.send(world.stranger, "setBlacklisted", world.agent, True)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 1_090 * USD
    with refused("Blacklisted", world.agent):
        vault.send(world.stranger, "payAgent")
    assert (vault.read("feeOwed"), world.balance(vault)) == (10 * USD, 10 * USD)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 0
    world.usdc.send(world.stranger, "setBlacklisted", world.agent, False)
    assert vault.send(world.stranger, "payAgent").one("AgentPaid")["amount"] == 10 * USD


def test_threat_usdc_blacklists_the_owner_and_the_agent_is_still_paid(world: World) -> None:
    vault = world.vault()
    world.give(vault, 100 * USD)
    vault.send(world.owner, "stop")
    world.usdc.send(world.stranger, "setBlacklisted", world.owner, True)
    with refused("Blacklisted", world.owner):
        vault.send(world.owner, "withdrawAll")
    vault.send(world.keeper, "settle")
    assert vault.send(world.keeper, "payAgent").one("AgentPaid")["amount"] == 10 * USD
    world.usdc.send(world.stranger, "setBlacklisted", world.owner, False)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 1_090 * USD


# -- probes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [REVERTS, BURNS, SHORT])
def test_threat_probe_that_does_not_answer_never_helps_its_maker(world: World, mode: int) -> None:
    vault = hostile_probe(world)
    world.hostile.send(world.stranger, "setProbe", 500 * USD, mode)
    assert vault.read("worth") == (1_000 * USD, 0, 800 * USD, (False,))
    world.take(vault, 200 * USD)
    with refused("MandateStopped", FLOOR_STOP):  # the floor binds on cash alone
        world.take(vault, 1)
    for who in (world.keeper, world.owner):  # nothing is marked, nothing is closed
        with refused("ProbeFailed"):
            vault.send(who, "mark")
    assert vault.read("lockStatus") == (True, 0, 0)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 800 * USD


@pytest.mark.parametrize("value", [2**128, 2**255, 2**256 - 1])
def test_threat_probe_with_a_huge_value_overflows_nothing_and_locks_three_days_at_most(
    world: World, value: int
) -> None:
    vault = world.vault(probes=[(world.hostile.address, WORTH_OF), (world.slip.address, WORTH_OF)])
    world.hostile.send(world.stranger, "setProbe", value, 0)
    assert vault.read("worth")[1] == 2**128 - 1
    world.take(vault, USD)
    vault.send(world.keeper, "mark")
    vault.send(world.owner, "stop")
    with refused("Locked"):
        vault.send(world.owner, "withdrawAll")
    world.later(3 * DAY)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 999 * USD


@pytest.mark.parametrize("mode", [BURNS, LONG])
def test_threat_probe_cannot_make_the_way_out_dear(world: World, mode: int) -> None:
    """Eight probes, each as bad as can be: the owner still leaves in one transaction of bounded gas."""
    targets = [world.evm.deploy("HostileTarget", world.usdc.address) for _ in range(8)]
    for target in targets:
        target.send(world.stranger, "setProbe", 0, mode)
    vault = world.vault(probes=[(t.address, WORTH_OF) for t in targets])
    told = vault.send(world.owner, "withdrawAll", gas=4_000_000)
    assert told.gas < 2_800_000
    assert told.one("Withdrawn")["amount"] == 1_000 * USD


def test_threat_caller_starves_a_probe_of_gas(world: World) -> None:
    """With any gas the agent may send, an action ends as it ends with plenty, or not at all."""
    vault = hostile_probe(world)
    world.hostile.send(world.stranger, "setProbe", 100 * USD, 0)
    world.take(vault, 200 * USD)
    done = 0
    for gas in range(60_000, 700_000, 32_000):
        before = world.evm.chain.snapshot()
        told = outcome(
            lambda g=gas: world.act(vault, world.hostile, "exit", 100 * USD, 98 * USD - 1, gas=g)
        )
        assert told in ("Executed", "ProbeGas", "empty", "TargetReverted")
        done += told == "Executed"
        world.evm.chain.revert(before)
    assert done > 3
    world.take(vault, 100 * USD)
    for gas in range(60_000, 700_000, 32_000):  # 200 + 1 below the floor: never, whatever the gas
        with pytest.raises(Refusal):
            world.act(vault, world.hostile, "exit", 100 * USD, 98 * USD - 1, gas=gas)


def test_threat_settle_with_little_gas_does_not_skip_the_lock(world: World) -> None:
    vault = world.vault()
    world.invest(vault, 100 * USD)
    vault.send(world.owner, "stop")
    for gas in range(40_000, 800_000, 40_000):
        with pytest.raises(Refusal) as caught:
            vault.send(world.keeper, "settle", gas=gas)
        assert caught.value.name in ("Locked", "ProbeGas", "empty")


# -- gifts ------------------------------------------------------------------------------------------------------


def test_threat_donation_to_the_vault_before_mark_hides_no_loss(world: World) -> None:
    vault = world.vault(probes=[(world.market.address, selector("maxWithdraw(address)"))])
    world.take(vault, 150 * USD)
    world.invest(vault, 100 * USD)
    world.market.send(world.stranger, "lose", 60 * USD)
    world.usdc.send(world.stranger, "transfer", vault.address, 500 * USD)
    told = vault.send(world.keeper, "mark")
    assert told.one("Stopped")["reason"] == FLOOR_STOP
    assert told.one("Marked")["cash"] == 750 * USD


def test_threat_donation_to_the_vault_before_settle_is_no_gain(world: World) -> None:
    vault = world.vault()
    world.usdc.send(world.stranger, "transfer", vault.address, 500 * USD)
    told = vault.send(world.owner, "withdrawAll")
    assert (told.one("Settled")["gain"], told.one("Withdrawn")["amount"]) == (0, 1_500 * USD)


def test_threat_donation_to_a_probes_target_before_mark_is_the_owners_money(world: World) -> None:
    vault = world.vault()
    world.take(vault, 150 * USD)
    world.invest(vault, 100 * USD)
    world.market.send(world.stranger, "lose", 60 * USD)
    world.usdc.send(world.stranger, "transfer", world.market.address, 60 * USD)
    assert vault.send(world.keeper, "mark").names() == ["Marked"]
    vault.send(world.owner, "stop")
    shares = world.market.read("balanceOf", vault.address)
    world.unwind(vault, world.owner, world.market, "redeem", shares, vault.address, vault.address)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] >= 850 * USD - 2


def test_threat_donation_of_a_position_before_settle_locks_three_days_at_most(world: World) -> None:
    vault = world.vault()
    vault.send(world.owner, "stop")
    world.usdc.send(world.stranger, "approve", world.market.address, 100 * USD)
    world.market.send(world.stranger, "deposit", 100 * USD, vault.address)
    with refused("Locked"):
        vault.send(world.owner, "withdrawAll")
    world.later(3 * DAY)
    vault.send(world.owner, "withdrawAll")
    world.unwind(
        vault, world.owner, world.market, "redeem", 100 * USD, vault.address, vault.address
    )
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 100 * USD


def test_threat_first_depositor_inflation_of_a_market_ends_at_the_floor(world: World) -> None:
    """An empty ERC-4626 vault whose price the agent inflates rounds the deposit away; what it can take is above the floor."""
    fresh = world.evm.deploy("TestMarket", world.usdc.address)
    calls = [
        (fresh.address, DEPOSIT, 0b10),
        (fresh.address, REDEEM, 0b110),
        (fresh.address, WITHDRAW, 0b110),
    ]
    vault = world.vault(calls=calls, probes=[(fresh.address, selector("maxWithdraw(address)"))])
    world.usdc.send(world.agent, "approve", fresh.address, 1)
    fresh.send(world.agent, "deposit", 1, world.agent)
    world.usdc.send(world.agent, "transfer", fresh.address, 10_000 * USD)
    for _ in range(3):
        told = outcome(
            lambda: world.act(vault, fresh, "deposit", 200 * USD, vault.address, approve=200 * USD)
        )
        assert told in ("Executed", "MandateStopped", "OverDailyCap")
    cash, positions, floor, _ = vault.read("worth")
    assert cash + positions >= floor


# -- the books against the money --------------------------------------------------------------------------------


def test_threat_call_that_spends_and_returns_is_measured_net(world: World) -> None:
    vault = world.vault()
    gift = world.usdc.data("transfer", vault.address, 30 * USD)
    world.hostile.send(world.stranger, "setReentry", world.usdc.address, gift)
    told = world.act(vault, world.hostile, "reenter", 20 * USD, approve=20 * USD).one("Executed")
    assert (told["spent"], told["returned"], told["spentToday"]) == (0, 10 * USD, 0)
    assert vault.read("cash") == world.balance(vault) == 1_010 * USD


def test_threat_money_that_arrives_unbooked_cannot_be_spent_nor_lost(world: World) -> None:
    vault = world.vault(deposit=10 * USD, stopFloorBps=10_000)
    world.usdc.send(world.stranger, "transfer", vault.address, 500 * USD)
    world.take(vault, 10 * USD)
    with refused("OverCash", 1, 0):
        world.take(vault, 1)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 500 * USD


def test_threat_owner_evades_the_fee_by_withdrawing_first(world: World) -> None:
    vault = world.vault()
    world.give(vault, 100 * USD)
    vault.send(world.owner, "withdrawAll")
    for attempt in (
        ("unwind", world.usdc.address, world.usdc.data("transfer", world.owner, 10 * USD)),
        ("unwind", world.usdc.address, world.usdc.data("approve", world.owner, 10 * USD)),
        ("unwind", vault.address, vault.data("withdrawAll")),
    ):
        with refused("TargetNotAllowed"):
            vault.send(world.owner, *attempt)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 0
    assert vault.send(world.agent, "payAgent", gas=GAS).one("AgentPaid")["amount"] == 10 * USD


def test_threat_look_alike_vault_is_not_the_factorys(world: World) -> None:
    """Anybody can copy the bytecode with terms of his own; only the factory's event makes a vault."""
    vault = world.vault()
    code = world.evm.code(vault.address)
    forged = code.replace(bytes.fromhex(world.owner[2:]), bytes.fromhex(world.stranger[2:]))
    init = b"\x61" + len(forged).to_bytes(2, "big") + b"\x80\x60\x0a\x3d\x39\x3d\xf3" + forged
    made = world.evm.send(world.stranger, None, init)
    assert made.contract is not None
    fake = world.evm.at("MandateVault", made.contract)
    assert fake.read("owner") == world.stranger
    assert made.events == ()
    told = fake.send(world.stranger, "stop").one("Stopped")
    # The same topic: readers must check the address.
    assert told["mandate"] == vault.read("terms")[0][9]
