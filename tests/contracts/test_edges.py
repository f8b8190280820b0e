"""Edges that only a change of the sources showed to be untested, and what the contracts leave to
their users on purpose.
"""

from __future__ import annotations

import pytest

from tests.contracts.harness import DAY, USD, Contract, Refusal, World, refused
from tests.contracts.test_approvals import approve, approved

ABOVE = 50 * USD
MAKE = bytes.fromhex("8060095f395ff3")
"""After PUSH1 length: what makes a contract of the code that follows."""


def booked(vault: Contract) -> int:
    """What the books come to before the settlement."""
    sums = [vault.read(name) for name in ("totalDeposited", "totalReturned", "totalSpent")]
    return int(sums[0] + sums[1] - sums[2])


@pytest.mark.parametrize("by", ["owner", "keeper", "agent"])
def test_what_an_unwinding_brings_back_is_cash(world: World, by: str) -> None:
    vault = world.vault()
    world.invest(vault, 100 * USD)
    vault.send(world.owner, "stop")
    who = {"owner": world.owner, "keeper": world.keeper, "agent": world.agent}[by]
    world.unwind(vault, who, world.market, "redeem", 100 * USD, vault.address, vault.address)
    assert vault.read("cash") == booked(vault) == 1_000 * USD


def test_an_unwinding_approves_nothing(world: World) -> None:
    """Not even the one base unit that this call would take."""
    vault = world.vault()
    vault.send(world.owner, "stop")
    with refused("TargetReverted"):
        world.unwind(vault, world.owner, world.hostile, "take", 1)


DEAR = bytes.fromhex("60885b8054506001900380600257506305f5e1005f5260205ff3")
"""A view that reads 136 cold slots, 290,000 gas, and answers 100 USDC."""


@pytest.mark.slow
def test_a_probe_that_needs_nearly_all_its_gas_cannot_be_starved(world: World) -> None:
    """What is left to it is never between too little for the probe and enough for the call."""
    made = world.evm.send(world.stranger, None, bytes([0x60, len(DEAR)]) + MAKE + DEAR)
    assert made.contract is not None
    vault = world.vault(probes=[(made.contract, b"\0\0\0\1")])
    assert vault.read("worth")[1:4:2] == (100 * USD, (True,))
    vault.send(world.owner, "stop")
    told = set()
    for gas in range(320_000, 440_000, 6_000):
        with pytest.raises(Refusal) as caught:
            vault.send(world.keeper, "settle", gas=gas)
        told.add(caught.value.name)
    assert told >= {"Locked", "ProbeGas"}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_place_of_the_probes_is_looked_at(world: World, place: int) -> None:
    probes = [*world.probes()[:2]]
    probes.insert(place, (world.usdc.address, b"\0\0\0\1"))
    with refused("BadTarget", world.usdc.address):
        world.create(world.terms(probes=probes), probes=probes)


# -- left over, on purpose


def test_an_approval_stands_until_its_moment_unless_the_agent_is_revoked(world: World) -> None:
    vault = world.vault(approvalAbove=ABOVE)
    data = world.hostile.data("take", 60 * USD)
    until = world.evm.time + 60
    signature = approve(world, vault, data, 60 * USD, until)
    vault.send(world.owner, "revokeAgent")
    with refused("NotAgent"):
        approved(world, vault, data, 60 * USD, until, signature)
    vault.send(world.owner, "setAgent", world.agent)
    approved(world, vault, data, 60 * USD, until, signature)


def test_a_position_of_one_dollar_holds_the_owner_back_and_less_does_not(world: World) -> None:
    for amount, held in ((USD, True), (USD - 1, False)):
        vault = world.vault(100 * USD)
        world.invest(vault, amount)
        if held:
            with refused("Locked"):
                vault.send(world.owner, "withdrawAll")
            vault.send(world.owner, "stop")
            world.later(3 * DAY)
        vault.send(world.owner, "withdrawAll")


def test_of_a_gift_that_is_redeemed_the_agent_earns_its_share(world: World) -> None:
    vault = world.vault()
    world.usdc.send(world.stranger, "approve", world.market.address, 100 * USD)
    world.market.send(world.stranger, "deposit", 100 * USD, vault.address)
    world.redeem(vault, 100 * USD)
    vault.send(world.owner, "withdrawAll")
    assert vault.read("feeOwed") == 10 * USD


def test_the_owner_can_cost_the_agent_its_fee_by_a_revocation_before_the_close(
    world: World,
) -> None:
    vault = world.vault()
    world.invest(vault, 100 * USD)
    world.usdc.send(world.stranger, "transfer", world.market.address, 50 * USD)
    vault.send(world.owner, "revokeAgent")
    vault.send(world.owner, "stop")
    with refused("NotAuthorized"):
        world.unwind(vault, world.agent, world.market, "redeem", USD, vault.address, vault.address)
    world.later(3 * DAY)
    vault.send(world.owner, "withdrawAll")
    assert vault.read("feeOwed") == 0
