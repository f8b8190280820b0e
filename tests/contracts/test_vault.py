"""What the vault does, call by call: its refusals, its events, its sums."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from tests.contracts.harness import (
    AGENT_STOP,
    CHANGING,
    DAY,
    DEPOSIT,
    FLOOR_STOP,
    OWNER_STOP,
    REDEEM,
    SILENT,
    USD,
    WITHDRAW_STOP,
    ZERO,
    Contract,
    Receipt,
    World,
    entries,
    refused,
    selector,
)


def digest(vault: Contract) -> bytes:
    return bytes(vault.read("terms")[0][9])


def stop(world: World, vault: Contract) -> None:
    vault.send(world.owner, "stop")


def end_of(vault: Contract) -> int:
    return int(vault.read("terms")[0][6])


def withdrawn(world: World, vault: Contract) -> int:
    """What the owner is paid who leaves."""
    return int(vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"])


def redeemed(world: World, vault: Contract, by: str, shares: int) -> Receipt:
    return world.unwind(vault, by, world.market, "redeem", shares, vault.address, vault.address)


def lens_of(world: World, *addresses: str) -> list[dict[str, object]]:
    outputs = entries("VaultLens", "function")["read"]["outputs"]
    names = [c["name"] for c in outputs[2]["components"]]
    return [dict(zip(names, s, strict=True)) for s in world.lens.read("read", addresses)[2]]


# -- money in ---------------------------------------------------------------------------------------------------


def test_deposit_books_and_tells(world: World) -> None:
    vault = world.vault(deposit=0)
    told = world.deposit(vault, 300 * USD)
    assert told.one("Deposited") == {
        "mandate": digest(vault),
        "from": world.owner,
        "amount": 300 * USD,
        "totalDeposited": 300 * USD,
    }
    assert vault.read("cash") == vault.read("totalDeposited") == world.balance(vault) == 300 * USD


def test_deposit_stops_at_the_budget(world: World) -> None:
    vault = world.vault(deposit=999 * USD)
    with refused("OverBudget", 2 * USD, USD):
        world.deposit(vault, 2 * USD)
    world.deposit(vault, USD)
    with refused("OverBudget", 1, 0):
        world.deposit(vault, 1)


def test_only_the_owner_may_deposit_sync_revoke_set_or_withdraw(world: World) -> None:
    vault = world.vault()
    calls = ("deposit", 1), ("sync",), ("revokeAgent",), ("setAgent", world.agent), ("withdrawAll",)
    for call in calls:
        for who in (world.agent, world.keeper, world.stranger):
            with refused("NotOwner", who):
                vault.send(who, *call)


def test_sync_books_a_plain_transfer_up_to_the_budget(world: World) -> None:
    vault = world.vault(deposit=800 * USD)
    for sent, booked, total in ((100, 100, 900), (150, 100, 1_000)):
        world.usdc.send(world.stranger, "transfer", vault.address, sent * USD)
        told = vault.send(world.owner, "sync").one("Deposited")
        assert told["from"] == ZERO
        assert (told["amount"], told["totalDeposited"]) == (booked * USD, total * USD)
    assert vault.read("cash") == vault.read("totalDeposited") == 1_000 * USD
    assert vault.send(world.owner, "sync").events == ()
    assert withdrawn(world, vault) == 1_050 * USD


@pytest.mark.parametrize("call", ["deposit", "sync", "setAgent"])
def test_a_closed_mandate_takes_no_money_and_no_agent(world: World, call: str) -> None:
    args = {"deposit": (1,), "sync": (), "setAgent": (world.agent,)}[call]
    vault = world.vault(deposit=10 * USD)
    ends = end_of(vault)
    world.evm.time = ends
    with refused("MandateEnded", ends):
        vault.send(world.owner, call, *args)
    stop(world, vault)
    with refused("MandateStopped", OWNER_STOP):
        vault.send(world.owner, call, *args)


# -- execute ----------------------------------------------------------------------------------------------------


def test_execute_measures_what_left_and_takes_the_approval_back(world: World) -> None:
    vault = world.vault()
    told = world.act(vault, world.hostile, "take", 30 * USD, approve=40 * USD).one("Executed")
    assert told == {
        "mandate": digest(vault),
        "agent": world.agent,
        "target": world.hostile.address,
        "selector": selector("take(uint256)"),
        "approved": 40 * USD,
        "spent": 30 * USD,
        "returned": 0,
        "spentToday": 30 * USD,
        "dataHash": keccak(world.hostile.data("take", 30 * USD)),
        "values": (0, 0, 0),
    }
    assert vault.read("totalSpent") == vault.read("spentToday") == 30 * USD
    assert vault.read("cash") == 970 * USD
    assert world.usdc.read("allowance", vault.address, world.hostile.address) == 0


def test_execute_measures_what_came_back(world: World) -> None:
    vault = world.vault()
    told = world.give(vault, 7 * USD).one("Executed")
    assert (told["spent"], told["returned"], told["spentToday"]) == (0, 7 * USD, 0)
    assert (vault.read("cash"), vault.read("totalReturned")) == (1_007 * USD, 7 * USD)


def test_a_whole_round_through_a_market(world: World) -> None:
    vault = world.vault()
    world.invest(vault, 200 * USD)
    assert vault.read("worth") == (800 * USD, 200 * USD, 800 * USD, (True,) * 3)
    world.usdc.send(world.stranger, "transfer", world.market.address, 20 * USD)
    shares = world.market.read("balanceOf", vault.address)
    told = world.redeem(vault, shares).one("Executed")
    assert 219_999_990 <= told["returned"] <= 220 * USD
    assert vault.read("cash") == 800 * USD + told["returned"] == world.balance(vault)


def test_only_the_agent_executes(world: World) -> None:
    vault = world.vault()
    for who in (world.owner, world.keeper, world.stranger):
        with refused("NotAgent", who):
            world.act(vault, world.hostile, "take", 1, approve=1, by=who)


def test_the_cap_per_action_binds_the_approval_and_equality_passes(world: World) -> None:
    vault = world.vault()
    with refused("OverPerTxCap", 200 * USD + 1, 200 * USD):
        world.act(vault, world.hostile, "take", 1, approve=200 * USD + 1)
    assert world.take(vault, 200 * USD).one("Executed")["spent"] == 200 * USD


def test_the_cap_per_day_is_gross_and_equality_passes(world: World) -> None:
    vault = world.vault(stopFloorBps=10_000)
    for amount in (200, 200):
        world.take(vault, amount * USD)
    world.give(vault, 400 * USD)
    with refused("OverDailyCap", 500 * USD + 1, 500 * USD):
        world.take(vault, 100 * USD + 1)
    world.take(vault, 100 * USD)
    with refused("OverDailyCap", 500 * USD + 1, 500 * USD):
        world.take(vault, 1)


def test_unlisted_targets_selectors_and_accounts_without_code_are_refused(world: World) -> None:
    vault = world.vault()
    for target, data in (
        (world.usdc, world.usdc.data("transfer", world.agent, 1)),
        (vault, vault.data("stop")),
        (world.factory, world.factory.data("USDC")),
        (world.market, world.market.data("lose", 1)),
        (world.hostile, world.market.data("deposit", 1, vault.address)),
    ):
        with refused("TargetNotAllowed", target.address, data[:4]):
            vault.send(world.agent, "execute", target.address, data, 0)


def test_pinned_arguments_must_be_the_vault_itself(world: World) -> None:
    vault = world.vault()
    other = world.vault()
    for receiver in (world.agent, other.address, ZERO, world.market.address):
        with refused("TargetNotAllowed", world.market.address, DEPOSIT):
            world.act(vault, world.market, "deposit", USD, receiver, approve=USD)
    world.invest(vault, USD)
    for receiver, owner in ((world.agent, vault.address), (vault.address, world.agent)):
        with refused("TargetNotAllowed", world.market.address, REDEEM):
            world.act(vault, world.market, "redeem", 1, receiver, owner)


def test_the_last_pinned_word_is_the_thirty_second(world: World) -> None:
    calls = [(world.hostile.address, selector("returnFalse()"), 1 << 31)]
    vault = world.vault(calls=calls, probes=[])
    data = selector("returnFalse()") + b"\0" * 31 * 32
    own = b"\0" * 12 + bytes.fromhex(vault.address[2:])
    vault.send(world.agent, "execute", world.hostile.address, data + own, 0)
    for wrong in (data + own[:-1], data, data + b"\0" * 32):
        with refused("TargetNotAllowed"):
            vault.send(world.agent, "execute", world.hostile.address, wrong, 0)


def test_of_two_entries_for_one_function_either_is_enough(world: World) -> None:
    what = selector("give(uint256)")
    calls = [(world.hostile.address, what, 1), (world.hostile.address, what, 0)]
    vault = world.vault(calls=calls, probes=[])
    assert world.give(vault, 5).one("Executed")["returned"] == 5


def test_after_the_end_nothing_is_executed(world: World) -> None:
    vault = world.vault()
    ends = end_of(vault)
    world.evm.time = ends - 1
    world.take(vault, 1)
    world.evm.time = ends
    with refused("MandateEnded", ends):
        world.take(vault, 1)


# -- the floor --------------------------------------------------------------------------------------------------


def test_spending_stops_at_the_floor_and_equality_passes(world: World) -> None:
    vault = world.vault(perTxCap=500 * USD)
    with refused("MandateStopped", FLOOR_STOP):
        world.take(vault, 200 * USD + 1)
    world.take(vault, 200 * USD)
    with refused("MandateStopped", FLOOR_STOP):
        world.take(vault, 1)


def test_the_floor_is_in_proportion_to_what_was_paid_in(world: World) -> None:
    vault = world.vault(deposit=333_333_333)
    assert vault.read("worth")[:3] == (333_333_333, 0, 266_666_666)
    world.take(vault, 66_666_667)
    with refused("MandateStopped", FLOOR_STOP):
        world.take(vault, 1)


def below_the_floor(world: World) -> Contract:
    """Cash 700, a position of 101 that the hostile target values and a mark records; the floor is 800; then two dollars go."""
    vault = world.vault(
        probes=[(world.hostile.address, selector("worthOf(address)"))], perTxCap=500 * USD
    )
    world.hostile.send(world.stranger, "setProbe", 300 * USD, 0)
    world.take(vault, 300 * USD)
    world.hostile.send(world.stranger, "setProbe", 101 * USD, 0)
    assert vault.send(world.keeper, "mark").names() == ["Marked"]
    world.hostile.send(world.stranger, "setProbe", 99 * USD, 0)
    return vault


def test_below_the_floor_an_exit_must_bring_98_percent_back(world: World) -> None:
    vault = below_the_floor(world)
    fair = 52 * USD * 98 // 100  # 101 was recorded, 49 are left
    with refused("MandateStopped", FLOOR_STOP):
        world.act(vault, world.hostile, "exit", 50 * USD, fair - 1)
    told = world.act(vault, world.hostile, "exit", 50 * USD, fair).one("Executed")
    assert told["returned"] == fair


def test_below_the_floor_an_exit_that_nobody_can_measure_is_refused(world: World) -> None:
    vault = below_the_floor(world)
    world.hostile.send(world.stranger, "setProbe", 99 * USD, 1)
    with refused("MandateStopped", FLOOR_STOP):
        world.act(vault, world.hostile, "exit", 99 * USD, 0)


def test_mark_stops_below_the_floor_only(world: World) -> None:
    vault = world.vault(perTxCap=500 * USD)
    world.take(vault, 100 * USD)
    world.invest(vault, 100 * USD)
    world.market.send(world.stranger, "lose", 99 * USD)
    told = vault.send(world.keeper, "mark")
    assert told.names() == ["Marked"]
    world.market.send(world.stranger, "lose", 1 * USD)
    told = vault.send(world.keeper, "mark")
    assert told.one("Marked") == {
        "mandate": digest(vault),
        "cash": 800 * USD,
        "positions": 0,
        "floor": 800 * USD,
        "values": (0, 0, 0),
    }
    assert not vault.read("stoppedAt")


def test_a_floor_stop_is_final_and_revokes(world: World) -> None:
    vault = below_the_floor(world)
    told = vault.send(world.keeper, "mark")
    assert told.names() == ["Marked", "Stopped", "AgentRevoked"]
    stopped = {"mandate": digest(vault), "by": world.keeper, "reason": FLOOR_STOP}
    assert told.one("Stopped") == stopped
    assert (vault.read("stopReason"), vault.read("agent")) == (FLOOR_STOP, ZERO)
    assert vault.read("stoppedAt") == world.evm.time
    with refused("MandateStopped", FLOOR_STOP):
        world.give(vault, 1)
    with refused("MandateStopped", FLOOR_STOP):
        stop(world, vault)
    assert vault.send(world.keeper, "mark").names() == ["Marked"]


def test_only_keeper_and_owner_mark_and_never_after_settlement(world: World) -> None:
    vault = world.vault()
    for who in (world.agent, world.stranger):
        with refused("NotAuthorized", who):
            vault.send(who, "mark")
    assert vault.send(world.owner, "mark").names() == ["Marked"]
    vault.send(world.owner, "withdrawAll")
    with refused("MandateSettled"):
        vault.send(world.keeper, "mark")


# -- stop, pause, resume ----------------------------------------------------------------------------------------


def test_the_owner_stops_and_the_agent_is_out(world: World) -> None:
    vault = world.vault()
    told = vault.send(world.owner, "stop")
    assert told.names() == ["Stopped", "AgentRevoked"]
    assert told.one("Stopped")["reason"] == OWNER_STOP
    assert told.one("AgentRevoked")["agent"] == world.agent
    with refused("MandateStopped", OWNER_STOP):
        world.take(vault, 1)
    with refused("MandateStopped", OWNER_STOP):
        stop(world, vault)


def test_the_agent_forfeits_by_stopping_and_nobody_else_may(world: World) -> None:
    vault = world.vault()
    for who in (world.keeper, world.stranger):
        with refused("NotAuthorized", who):
            vault.send(who, "stop")
    stopped = {"mandate": digest(vault), "by": world.agent, "reason": AGENT_STOP}
    assert vault.send(world.agent, "stop").one("Stopped") == stopped
    with refused("MandateStopped", AGENT_STOP):
        vault.send(world.owner, "setAgent", world.agent)


def test_a_stop_after_the_end_counts_from_the_end(world: World) -> None:
    vault = world.vault()
    ends = end_of(vault)
    world.evm.time = ends + 5 * DAY
    stop(world, vault)
    assert vault.read("stoppedAt") == ends


def test_a_settled_mandate_cannot_be_stopped(world: World) -> None:
    vault = world.vault()
    world.evm.time = end_of(vault)
    vault.send(world.keeper, "settle")
    with refused("MandateEnded", world.evm.time):
        stop(world, vault)


def test_pause_and_resume(world: World) -> None:
    vault = world.vault()
    assert vault.send(world.owner, "revokeAgent").one("AgentRevoked")["agent"] == world.agent
    assert (vault.read("paused"), vault.read("agent")) == (True, ZERO)
    assert vault.send(world.owner, "revokeAgent").events == ()
    for call in (("stop",), ("execute", world.hostile.address, world.hostile.data("take", 1), 1)):
        with refused({"stop": "NotAuthorized", "execute": "NotAgent"}[call[0]], world.agent):
            vault.send(world.agent, *call)
    assert vault.send(world.owner, "setAgent", world.agent).one("AgentSet")["agent"] == world.agent
    world.take(vault, 1)


def test_set_agent_takes_the_signed_agent_only(world: World) -> None:
    vault = world.vault()
    for who in (world.friend, ZERO):
        with refused("AgentNotInTerms", who):
            vault.send(world.owner, "setAgent", who)


def test_an_open_mandate_takes_the_first_agent_for_good(world: World) -> None:
    vault = world.vault(agent=ZERO)
    with refused("NotAgent", world.agent):
        world.take(vault, 1)
    with refused("AgentNotInTerms", ZERO):
        vault.send(world.owner, "setAgent", ZERO)
    vault.send(world.owner, "setAgent", world.agent)
    world.take(vault, 1)
    with refused("AgentNotInTerms", world.friend):
        vault.send(world.owner, "setAgent", world.friend)
    vault.send(world.owner, "revokeAgent")
    with refused("AgentNotInTerms", world.friend):
        vault.send(world.owner, "setAgent", world.friend)
    vault.send(world.owner, "setAgent", world.agent)


def test_an_open_mandate_without_an_agent_owes_no_fee_and_has_nobody_to_stop_it(
    world: World,
) -> None:
    vault = world.vault(agent=ZERO)
    with refused("NotAuthorized", world.agent):
        vault.send(world.agent, "stop")
    told = vault.send(world.owner, "withdrawAll")
    assert told.names() == ["Stopped", "Settled", "Withdrawn"]
    assert told.one("Settled")["agentFee"] == 0


def test_an_open_mandate_without_an_agent_owes_nobody_a_part_of_a_gift(world: World) -> None:
    vault = world.vault(agent=ZERO, agentFeeBps=3_000)
    world.usdc.send(world.stranger, "approve", world.market.address, 100 * USD)
    world.market.send(world.stranger, "deposit", 100 * USD, vault.address)
    stop(world, vault)
    redeemed(world, vault, world.owner, 100 * USD)
    told = vault.send(world.owner, "withdrawAll")
    assert (told.one("Settled")["gain"], told.one("Settled")["agentFee"]) == (100 * USD, 0)
    assert told.one("Withdrawn")["amount"] == 1_100 * USD


# -- settlement -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "returned", "bps", "fee"),
    [
        (100 * USD, 150 * USD, 1_000, 5 * USD),
        (100 * USD, 100 * USD, 1_000, 0),
        (100 * USD, 99 * USD, 3_000, 0),
        (0, 9, 1_000, 0),  # 0.9 of a base unit goes to the owner
        (0, 10, 1_000, 1),
        (0, 19, 1_000, 1),
        (0, 9_999, 1, 0),
        (0, 100 * USD, 3_000, 30 * USD),
        (0, 100 * USD, 0, 0),
    ],
)
def test_settlement_pays_a_part_of_the_measured_gain_rounded_down(
    world: World, spent: int, returned: int, bps: int, fee: int
) -> None:
    vault = world.vault(agentFeeBps=bps)
    if spent:
        world.take(vault, spent)
    if returned:
        world.give(vault, returned)
    stop(world, vault)
    told = vault.send(world.keeper, "settle").one("Settled")
    assert told == {
        "mandate": digest(vault),
        "by": world.keeper,
        "totalSpent": spent,
        "totalReturned": returned,
        "gain": max(0, returned - spent),
        "agentFee": fee,
        "values": (0, 0, 0),
    }
    assert (vault.read("settled"), vault.read("feeOwed")) == (True, fee)
    assert vault.read("cash") == world.balance(vault) - fee
    before = world.balance(world.owner), world.balance(world.agent)
    vault.send(world.stranger, "payAgent")
    vault.send(world.owner, "withdrawAll")
    after = world.balance(world.owner), world.balance(world.agent)
    assert after[0] - before[0] == 1_000 * USD - spent + returned - fee
    assert after[1] - before[1] == fee
    assert world.balance(vault) == vault.read("cash") == vault.read("feeOwed") == 0


def test_the_agent_is_paid_once_and_tells(world: World) -> None:
    vault = world.vault()
    world.give(vault, 100 * USD)
    assert vault.send(world.stranger, "payAgent").events == ()
    vault.send(world.owner, "withdrawAll")
    paid = {"mandate": digest(vault), "agent": world.agent, "amount": 10 * USD}
    assert vault.send(world.stranger, "payAgent").one("AgentPaid") == paid
    assert vault.send(world.stranger, "payAgent").events == ()


def test_settlement_happens_once_and_only_on_a_closed_mandate(world: World) -> None:
    vault = world.vault()
    with refused("MandateActive"):
        vault.send(world.keeper, "settle")
    world.evm.time = end_of(vault)
    assert vault.send(world.keeper, "settle").names() == ["Settled"]
    assert vault.send(world.keeper, "settle").events == ()


def test_withdraw_all_from_a_working_mandate_is_one_transaction(world: World) -> None:
    vault = world.vault()
    world.take(vault, 10 * USD)
    world.give(vault, 30 * USD)
    before = world.balance(world.owner)
    told = vault.send(world.owner, "withdrawAll")
    assert told.names() == ["Stopped", "AgentRevoked", "Settled", "Withdrawn"]
    assert told.one("Stopped")["reason"] == WITHDRAW_STOP
    paid = {"mandate": digest(vault), "owner": world.owner, "amount": 1_018 * USD}
    assert told.one("Withdrawn") == paid
    assert (world.balance(world.owner) - before, world.balance(vault)) == (1_018 * USD, 2 * USD)


def test_withdraw_all_may_be_asked_again(world: World) -> None:
    vault = world.vault()
    vault.send(world.owner, "withdrawAll")
    world.usdc.send(world.stranger, "transfer", vault.address, 5)
    assert withdrawn(world, vault) == 5
    assert withdrawn(world, vault) == 0


# -- the lock ---------------------------------------------------------------------------------------------------


def locked(world: World, position: int = 100 * USD, **over: int) -> Contract:
    vault = world.vault(**over)
    world.invest(vault, position)
    return vault


def test_open_positions_lock_for_three_days_and_no_longer(world: World) -> None:
    vault = locked(world)
    stop(world, vault)
    until = world.evm.time + 3 * DAY
    assert vault.read("lockStatus") == (False, 1, until)
    for who, call in ((world.owner, "withdrawAll"), (world.agent, "settle")):
        with refused("Locked", 1, until):
            vault.send(who, call)
    world.evm.time = until - 1
    with refused("Locked", 1, until):
        vault.send(world.owner, "withdrawAll")
    world.evm.time = until
    assert vault.read("lockStatus") == (True, 0, 0)
    assert withdrawn(world, vault) == 900 * USD


def test_the_lock_of_a_working_mandate_would_count_from_now(world: World) -> None:
    vault = locked(world)
    world.later(DAY)
    assert vault.read("lockStatus") == (False, 1, world.evm.time + 3 * DAY)
    with refused("Locked", 1, world.evm.time + 3 * DAY):
        vault.send(world.owner, "withdrawAll")
    assert not vault.read("stoppedAt")


def test_after_the_end_the_lock_counts_from_the_end(world: World) -> None:
    vault = locked(world)
    ends = end_of(vault)
    world.evm.time = ends + 2 * DAY
    assert vault.read("lockStatus") == (False, 1, ends + 3 * DAY)
    world.evm.time = ends + 3 * DAY
    vault.send(world.owner, "withdrawAll")


@pytest.mark.parametrize(("position", "free"), [(USD - 1, True), (USD, False)])
def test_positions_under_one_dollar_lock_nothing(world: World, position: int, free: bool) -> None:
    vault = locked(world, position)
    assert vault.read("lockStatus")[0] is free


def test_unwinding_lifts_the_lock_and_counts_as_returned(world: World) -> None:
    vault = locked(world)
    stop(world, vault)
    shares = world.market.read("balanceOf", vault.address)
    told = redeemed(world, vault, world.owner, shares).one("Unwound")
    assert told == {
        "mandate": digest(vault),
        "by": world.owner,
        "target": world.market.address,
        "selector": REDEEM,
        "returned": 100 * USD,
        "dataHash": keccak(world.market.data("redeem", shares, vault.address, vault.address)),
        "values": (0, 0, 0),
    }
    assert vault.read("totalReturned") == 100 * USD
    assert withdrawn(world, vault) == 1_000 * USD


# -- unwinding --------------------------------------------------------------------------------------------------


def test_unwinding_needs_a_closed_mandate_a_listed_call_and_the_right(world: World) -> None:
    vault = locked(world)
    exit_ = ("redeem", 1, vault.address, vault.address)
    for who in (world.owner, world.agent, world.keeper):
        with refused("MandateActive"):
            world.unwind(vault, who, world.market, *exit_)
    stop(world, vault)
    with refused("NotAuthorized", world.stranger):
        world.unwind(vault, world.stranger, world.market, *exit_)
    for who in (world.owner, world.keeper, world.agent):
        with refused("TargetNotAllowed", world.market.address, REDEEM):
            world.unwind(vault, who, world.market, "redeem", 1, who, vault.address)
        with refused("TargetNotAllowed", world.usdc.address):
            world.unwind(vault, who, world.usdc, "transfer", who, 1)
    world.unwind(vault, world.keeper, world.market, *exit_)


def closed(world: World, how: str, **over: int) -> Contract:
    """A vault with 100 in the market, closed in one of the four ways."""
    vault = locked(world, **over)
    if how == "end":
        world.evm.time = end_of(vault)
    elif how == "floor":
        world.take(vault, 150 * USD)
        world.market.send(world.stranger, "lose", 60 * USD)
        vault.send(world.keeper, "mark")
        world.market.send(world.stranger, "lose", 0)  # a block later
    else:
        vault.send(getattr(world, how), "stop")
    return vault


def agent_unwinds(world: World, vault: Contract) -> Receipt:
    return redeemed(world, vault, world.agent, 10 * USD)


@pytest.mark.parametrize("how", ["owner", "agent", "end", "floor"])
def test_after_any_close_the_agent_of_the_terms_may_unwind_for_three_days(
    world: World, how: str
) -> None:
    vault = closed(world, how)
    assert agent_unwinds(world, vault).one("Unwound")["by"] == world.agent
    until = vault.read("lockStatus")[2]
    world.evm.time = until - 1
    agent_unwinds(world, vault)
    world.evm.time = until
    with refused("NotAuthorized", world.agent):
        agent_unwinds(world, vault)


def test_after_a_floor_stop_that_says_keep_the_agent_may_not_unwind(world: World) -> None:
    with refused("NotAuthorized", world.agent):
        agent_unwinds(world, closed(world, "floor", onFloor=0))
    agent_unwinds(world, closed(world, "owner", onFloor=0))


def test_an_agent_that_was_revoked_before_the_close_may_not_unwind(world: World) -> None:
    vault = locked(world)
    vault.send(world.owner, "revokeAgent")
    stop(world, vault)
    with refused("NotAuthorized", world.agent):
        agent_unwinds(world, vault)


@pytest.mark.parametrize(
    ("how", "why"), [("owner", ("MandateStopped", OWNER_STOP)), ("end", ("MandateEnded",))]
)
def test_after_the_close_the_agent_cannot_be_revoked_any_more(
    world: World, how: str, why: tuple[object, ...]
) -> None:
    vault = closed(world, how)
    with refused(str(why[0]), *why[1:]):
        vault.send(world.owner, "revokeAgent")
    agent_unwinds(world, vault)


def test_an_agent_that_the_terms_do_not_name_unwinds_too(world: World) -> None:
    vault = world.vault(agent=ZERO)
    vault.send(world.owner, "setAgent", world.agent)
    world.invest(vault, 100 * USD)
    stop(world, vault)
    agent_unwinds(world, vault)


def test_after_settlement_the_agent_is_nobody(world: World) -> None:
    vault = locked(world)
    world.evm.time = end_of(vault) + 3 * DAY
    assert vault.read("agent") == world.agent
    vault.send(world.stranger, "settle")
    assert vault.read("agent") == ZERO
    with refused("NotAuthorized", world.agent):
        world.unwind(vault, world.agent, world.market, "redeem", 1, vault.address, vault.address)


@pytest.mark.parametrize("who", ["keeper", "agent"])
def test_keeper_and_agent_unwind_fairly_even_above_the_floor(world: World, who: str) -> None:
    vault = world.vault()
    world.act(vault, world.slip, "buy", 100 * USD, 0, approve=100 * USD)
    world.evm.time = end_of(vault)
    by = getattr(world, who)
    with refused("UnfairExit", 50 * USD, 49 * USD - 1):
        world.unwind(vault, by, world.slip, "sell", 50 * USD, USD + 1)
    world.unwind(vault, by, world.slip, "sell", 50 * USD, USD)
    world.unwind(vault, world.owner, world.slip, "sell", 50 * USD, 50 * USD)


def test_keeper_and_agent_do_not_unwind_what_nobody_can_measure(world: World) -> None:
    vault = world.vault()
    world.evm.time = end_of(vault)
    world.hostile.send(world.stranger, "setProbe", 0, 1)
    for who in (world.keeper, world.agent):
        with refused("ProbeFailed"):
            world.unwind(vault, who, world.hostile, "give", 1)
    world.unwind(vault, world.owner, world.hostile, "give", 1)


@pytest.mark.parametrize("on_floor", [0, 1])
def test_after_a_floor_stop_the_keeper_unwinds_only_where_the_terms_say_close(
    world: World, on_floor: int
) -> None:
    vault = world.vault(onFloor=on_floor)
    world.take(vault, 150 * USD)
    world.invest(vault, 100 * USD)
    world.market.send(world.stranger, "lose", 60 * USD)
    vault.send(world.keeper, "mark")
    exit_ = (world.market, "redeem", 10 * USD, vault.address, vault.address)
    if on_floor == 0:
        with refused("NotAuthorized", world.keeper):
            world.unwind(vault, world.keeper, *exit_)
        world.unwind(vault, world.owner, *exit_)
    else:
        world.unwind(vault, world.keeper, *exit_)


def test_after_settlement_the_owner_may_call_anything_but_usdc_and_the_vault(world: World) -> None:
    vault = locked(world)
    stop(world, vault)
    world.later(3 * DAY)
    vault.send(world.keeper, "settle")
    for target, data in (
        (world.usdc, world.usdc.data("approve", world.owner, 1)),
        (vault, vault.data("payAgent")),
    ):
        with refused("TargetNotAllowed", target.address, data[:4]):
            vault.send(world.owner, "unwind", target.address, data)
    with refused("NotAuthorized", world.keeper):
        world.unwind(vault, world.keeper, world.market, "redeem", 1, vault.address, vault.address)
    told = world.unwind(vault, world.owner, world.market, "transfer", world.owner, 40 * USD).one(
        "Unwound"
    )
    assert (told["selector"], told["returned"]) == (selector("transfer(address,uint256)"), 0)
    world.unwind(vault, world.owner, world.market, "redeem", 60 * USD, vault.address, vault.address)
    assert withdrawn(world, vault) == 960 * USD


# -- reading ----------------------------------------------------------------------------------------------------


def test_the_lens_reads_many_vaults_and_skips_what_is_none(world: World) -> None:
    one, two = world.vault(deposit=10 * USD), world.vault(deposit=20 * USD)
    world.take(one, USD)
    two.send(world.owner, "stop")
    asked = one.address, world.stranger, two.address, world.usdc.address
    assert world.lens.read("read", asked)[:2] == (world.evm.chain.head.number + 1, world.evm.time)
    first, gone, second, foreign = lens_of(world, *asked)
    assert (first["ok"], first["spentToday"]) == (True, USD)
    assert first["cash"] == first["balance"] == 9 * USD
    assert second["stopped"] is second["withdrawable"] is True
    assert second["stopReason"] == OWNER_STOP
    assert gone["ok"] is foreign["ok"] is False


SAME = (
    "settled", "stopReason", "spentToday", "totalDeposited", "totalSpent", "totalReturned", "feeOwed", "recorded",
)  # fmt: skip


def own_words(world: World, vault: Contract) -> dict[str, object]:
    """What the lens should say, asked of the vault itself."""
    cash, positions, floor, answered = vault.read("worth")
    withdrawable, reason, until = vault.read("lockStatus")
    return {name: vault.read(name) for name in SAME} | {
        "ok": True, "stopped": vault.read("stoppedAt") != 0, "withdrawable": withdrawable, "lockReason": reason, "until": until,
        "agent": vault.read("agent").lower(), "cash": cash, "positions": positions, "floor": floor, "answered": answered,
        "balance": world.balance(vault), "values": vault.read("observed")[3],
    }  # fmt: skip


def test_the_lens_says_in_every_state_what_the_vault_says(world: World) -> None:
    vault = locked(world)

    def told() -> dict[str, object]:
        (state,) = lens_of(world, vault.address)
        assert state == own_words(world, vault)
        return state

    world.take(vault, 7 * USD)
    world.give(vault, 30 * USD)
    world.usdc.send(world.stranger, "transfer", vault.address, 3)
    working = told()
    assert (working["totalSpent"], working["totalReturned"]) == (107 * USD, 30 * USD)
    assert working["lockReason"] == 1
    stop(world, vault)
    told()
    redeemed(world, vault, world.owner, 100 * USD)
    vault.send(world.keeper, "settle")
    assert (told()["settled"], told()["feeOwed"]) == (True, 2_300_000)


def test_a_position_given_after_the_settlement_locks_nothing(world: World) -> None:
    vault = world.vault()
    stop(world, vault)
    vault.send(world.keeper, "settle")
    world.usdc.send(world.stranger, "approve", world.market.address, 100 * USD)
    world.market.send(world.stranger, "deposit", 100 * USD, vault.address)
    assert vault.read("lockStatus") == (True, 0, 0)
    assert withdrawn(world, vault) == 1_000 * USD


def test_worth_and_the_lens_tell_which_probes_answered(world: World) -> None:
    vault = world.vault()
    world.invest(vault, 100 * USD)
    world.hostile.send(world.stranger, "setProbe", 50 * USD, 1)
    assert vault.read("worth") == (900 * USD, 100 * USD, 800 * USD, (True, False, True))
    (state,) = world.lens.read("read", [vault.address])[2]
    assert (state[9], state[17:]) == (
        100 * USD,
        ((True, False, True), 100 * USD, (100 * USD, SILENT, 0)),
    )
    assert vault.read("observed") == (900 * USD, 100 * USD, 800 * USD, (100 * USD, SILENT, 0))
    world.hostile.send(world.stranger, "setProbe", 50 * USD, 0)
    assert vault.read("worth") == (900 * USD, 150 * USD, 800 * USD, (True, True, True))
    assert world.vault(probes=[]).read("worth")[3] == ()


def test_the_lens_says_so_rather_than_read_with_too_little_gas(world: World) -> None:
    vault = world.vault()
    with refused("LensGas"):
        world.evm.call(
            ZERO, world.lens.address, world.lens.data("read", [vault.address]), gas=3_000_000
        )


def test_every_event_starts_with_the_mandate_so_that_one_topic_finds_it(world: World) -> None:
    for event in entries("MandateVault", "event").values():
        assert (event["inputs"][0]["name"], event["inputs"][0]["indexed"]) == ("mandate", True)


def test_the_implementation_itself_is_inert(world: World) -> None:
    bare = world.evm.at("MandateVault", world.factory.read("IMPLEMENTATION"))
    for call in CHANGING:
        with refused("NotAVault"):
            bare.send(world.owner, *call)
