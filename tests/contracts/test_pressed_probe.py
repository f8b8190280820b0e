"""Flash loans against a market that a review would turn away: its view is bound by its cash, its exit takes a price.

Nothing inside one transaction lowers the bar that an exit is judged against, and over many transactions cash and the
record together stay at the floor.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.contracts.harness import (
    DAY,
    FLOOR_STOP,
    MAX_WITHDRAW,
    USD,
    Contract,
    Receipt,
    World,
    refused,
    selector,
)

CALLS = ("supply(uint256)", "exit(uint256,uint256)")


@dataclass
class Scene:
    """A vault of 1,000 with floor 900, whose agent is a contract with 900 in the market."""

    world: World
    market: Contract
    agent: Contract
    vault: Contract
    sender: str

    def action(self, function: str, *args: int, approve: int = 0, entry: str = "execute") -> bytes:
        data = self.market.data(function, *args)
        return self.vault.data(
            entry, self.market.address, data, *([approve] if entry == "execute" else [])
        )

    def run(self, *actions: bytes) -> Receipt:
        """The agent's actions in one transaction."""
        return self.agent.send(
            self.sender, "run", [self.vault.address] * len(actions), list(actions)
        )

    def press(self, *actions: bytes, leave: int = 0) -> Receipt:
        """The same inside a flash loan of all of the market's cash but `leave`."""
        cash = self.world.balance(self.market) - leave
        targets = [self.vault.address] * len(actions)
        return self.agent.send(
            self.sender, "press", self.market.address, cash, targets, list(actions)
        )

    def worth(self) -> int:
        return int(self.world.balance(self.vault)) + int(
            self.market.read("worthOf", self.vault.address)
        )


def scene(world: World, supplied: int = 900 * USD, floor_bps: int = 1_000) -> Scene:
    market = world.evm.deploy("PressedMarket", world.usdc.address)
    agent = world.evm.deploy("Presser", by=world.agent)
    calls = [(market.address, selector(s), 0) for s in CALLS]
    vault = world.vault(
        calls=calls, probes=[(market.address, MAX_WITHDRAW)], agent=agent.address, stopFloorBps=floor_bps,
        perTxCap=900 * USD, dailyCap=1_000 * USD,
    )  # fmt: skip
    found = Scene(world, market, agent, vault, world.agent)
    if supplied:
        found.run(found.action("supply", supplied, approve=supplied))
    return found


def test_threat_pressed_probe_does_not_make_any_exit_fair(world: World) -> None:
    s = scene(world)
    with refused("MandateStopped", FLOOR_STOP):
        s.press(s.action("exit", 900 * USD, 0))
    assert s.worth() == 1_000 * USD


def test_threat_pressed_probe_in_the_transaction_that_opened_the_position(world: World) -> None:
    s = scene(world, supplied=0)
    cash = world.balance(s.market)
    pressed = s.agent.data(
        "press",
        s.market.address,
        cash + 900 * USD,
        [s.vault.address],
        [s.action("exit", 900 * USD, 0)],
    )
    with refused("MandateStopped", FLOOR_STOP):
        s.agent.send(
            world.agent, "run", [s.vault.address, s.agent.address],
            [s.action("supply", 900 * USD, approve=900 * USD), pressed],
        )  # fmt: skip


def test_threat_pressed_probe_at_the_end_of_an_action_is_recorded_no_lower_than_the_floor(
    world: World,
) -> None:
    """An action that does nothing, pressed, in one block; the exit, pressed, in a later one."""
    s = scene(world)
    nothing = s.action("exit", 0, 0)
    with refused("MandateStopped", FLOOR_STOP):
        s.press(nothing, leave=800 * USD - 1)
    s.press(nothing, leave=800 * USD)
    assert s.vault.read("recorded") == 800 * USD
    with refused("MandateStopped", FLOOR_STOP):
        s.press(s.action("exit", 900 * USD, 0))
    with refused("MandateStopped", FLOOR_STOP):
        s.press(s.action("exit", 900 * USD, 8_711), leave=785 * USD)
    s.press(s.action("exit", 900 * USD, 8_712), leave=785 * USD)
    assert s.worth() >= 100 * USD + 800 * USD * 98 // 100


def test_threat_pressed_probe_at_the_end_of_an_action_binds_nothing_less_in_its_block(
    world: World,
) -> None:
    s = scene(world, floor_bps=5_000)
    inner = [s.action("exit", 0, 0), s.action("exit", 900 * USD, 0)]
    with refused("MandateStopped", FLOOR_STOP):
        s.press(*inner, leave=400 * USD)
    s.press(inner[0], leave=400 * USD)
    assert s.vault.read("recorded") == 400 * USD


def test_an_action_records_what_it_leaves_behind(world: World) -> None:
    s = scene(world, floor_bps=5_000)
    s.run(s.action("exit", 100 * USD, 9_900))
    assert s.vault.read("recorded") == 800 * USD
    s.run(s.action("exit", 100 * USD, 0))
    assert s.vault.read("recorded") == 700 * USD


def test_threat_silent_probe_at_the_end_of_an_action_lowers_no_record(world: World) -> None:
    calls = [
        (world.hostile.address, selector("setProbe(uint256,uint8)"), 0),
        (world.hostile.address, selector("exit(uint256,uint256)"), 0),
    ]
    vault = world.vault(calls=calls, probes=[(world.hostile.address, selector("worthOf(address)"))])
    world.act(vault, world.hostile, "setProbe", 500 * USD, 0)
    assert vault.read("recorded") == 500 * USD
    world.act(vault, world.hostile, "setProbe", 500 * USD, 1)
    assert vault.read("recorded") == 500 * USD
    world.act(vault, world.hostile, "exit", 0, 49 * USD)
    assert vault.read("recorded") == 450 * USD


@pytest.mark.parametrize("by", ["agent", "keeper"])
def test_threat_pressed_probe_in_unwind(world: World, by: str) -> None:
    s = scene(world)
    s.vault.send(world.owner, "stop")
    exit_ = s.action("exit", 900 * USD, 0, entry="unwind")
    if by == "agent":
        with refused("UnfairExit", 900 * USD, 0):
            s.press(exit_)
    else:
        with refused("UnfairExit", 900 * USD, 0):
            world.evm.send(world.keeper, s.vault.address, exit_)
    s.run(s.action("exit", 900 * USD, 9_800, entry="unwind"))
    assert s.worth() == 982 * USD


def keeper_is_a_contract(world: World) -> Scene:
    """The worst keeper: one that does several things in one transaction."""
    keeper = world.evm.deploy("Presser", by=world.keeper)
    world.factory = world.evm.deploy(
        "MandateVaultFactory", world.usdc.address, keeper.address, False
    )
    s = scene(world, floor_bps=10_000)
    s.vault.send(world.owner, "stop")
    return Scene(world, s.market, keeper, s.vault, world.keeper)


def test_threat_pressed_probe_in_a_mark_of_the_same_transaction(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "factory", world.factory)
    s = keeper_is_a_contract(world)
    with refused("UnfairExit", 900 * USD, 0):
        s.press(s.vault.data("mark"), s.action("exit", 900 * USD, 0, entry="unwind"))


def test_a_mark_lowers_the_record_from_the_next_block_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "factory", world.factory)
    s = keeper_is_a_contract(world)
    s.market.send(world.stranger, "lose", s.vault.address, 400 * USD)
    exit_ = s.action("exit", 500 * USD, 9_800, entry="unwind")
    for actions in ((exit_,), (s.vault.data("mark"), exit_)):
        with refused("UnfairExit", 900 * USD, 490 * USD):
            s.run(*actions)
    s.vault.send(world.owner, "mark")
    assert s.vault.read("recorded") == 500 * USD
    told = s.run(exit_).one("Unwound")
    assert told["returned"] == 490 * USD
    assert s.vault.read("recorded") == 0


def test_two_fair_exits_of_one_block_after_a_mark_of_it_both_pass(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "factory", world.factory)
    s = keeper_is_a_contract(world)
    half = s.action("exit", 450 * USD, 9_900, entry="unwind")
    told = s.run(s.vault.data("mark"), half, half)
    returned = [e.args["returned"] for e in told.events if e.name == "Unwound"]
    assert returned == [450 * USD * 99 // 100] * 2


def test_a_mark_that_finds_more_raises_the_record_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "factory", world.factory)
    s = keeper_is_a_contract(world)
    world.usdc.send(world.stranger, "transfer", s.market.address, 100 * USD)
    s.market.send(world.stranger, "gain", s.vault.address, 100 * USD)
    exit_ = s.action("exit", 1_000 * USD, 0, entry="unwind")
    pressed = s.agent.data("press", s.market.address, 1_000 * USD, [s.vault.address], [exit_])
    with refused("UnfairExit", 1_000 * USD, 0):
        s.agent.send(
            world.keeper, "run", [s.vault.address, s.agent.address], [s.vault.data("mark"), pressed]
        )


def test_the_owner_exits_at_any_price_whatever_is_recorded(world: World) -> None:
    s = scene(world)
    s.vault.send(world.owner, "stop")
    world.evm.send(world.owner, s.vault.address, s.action("exit", 900 * USD, 0, entry="unwind"))
    assert s.vault.read("recorded") == 900 * USD
    assert s.vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 100 * USD


def test_threat_fee_waited_out_is_earned_by_the_agents_own_unwinding(world: World) -> None:
    """Stop, three days, withdrawAll, unwind, withdrawAll would keep the whole gain: the agent brings it home before."""
    s = scene(world)
    s.market.send(world.stranger, "gain", s.vault.address, 100 * USD)
    world.usdc.send(world.stranger, "transfer", s.market.address, 100 * USD)
    s.vault.send(world.owner, "stop")
    s.run(s.action("exit", 1_000 * USD, 10_000, entry="unwind"))
    world.later(3 * DAY)
    told = s.vault.send(world.owner, "withdrawAll")
    assert (told.one("Settled")["gain"], told.one("Settled")["agentFee"]) == (100 * USD, 10 * USD)
    assert told.one("Withdrawn")["amount"] == 1_090 * USD


def test_the_owners_exit_lowers_the_record_by_what_came_back_and_asks_no_probe(
    world: World,
) -> None:
    s = scene(world)
    s.vault.send(world.owner, "stop")
    half = s.action("exit", 450 * USD, 9_800, entry="unwind")
    world.evm.send(world.owner, s.vault.address, half)
    assert s.vault.read("recorded") == 450 * USD
    world.evm.send(world.owner, s.vault.address, half)
    assert s.vault.read("recorded") == 0


def test_a_value_beyond_all_money_is_recorded_as_the_most_that_fits(world: World) -> None:
    vault = world.vault(probes=[(world.hostile.address, selector("worthOf(address)"))])
    for value, kept in (
        (2**96 - 1, 2**96 - 1),
        (2**96 + 5, 2**96 - 1),
        (2**255, 2**96 - 1),
        (7, 7),
    ):
        world.hostile.send(world.stranger, "setProbe", value, 0)
        vault.send(world.keeper, "mark")
        world.usdc.send(world.stranger, "transfer", world.friend, 0)
        assert vault.read("recorded") == kept
