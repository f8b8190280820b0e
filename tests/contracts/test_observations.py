"""What each log tells of the probes: every value, in the order of the terms, and which did not answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.harness import DAY, MAX_WITHDRAW, SILENT, USD, WORTH_OF, Contract, World
from tests.contracts.test_edges import MAKE

BURNS_ALL = bytes.fromhex("5b5f56")
"""A view that never ends: JUMPDEST, PUSH0, JUMP."""
ANSWERS, REVERTS, BURNS, LONG, SHORT = range(5)


def fifty_in_each(world: World, order: tuple[int, int, int] = (0, 1, 2)) -> tuple[Contract, Any]:
    """A vault that holds 100 in the market, 50 by the hostile target's word and 7 in the slip market, and these in the order
    of its probes.
    """
    listed, values = world.probes(), (100 * USD, 50 * USD, 7 * USD)
    vault = world.vault(probes=[listed[n] for n in order])
    world.hostile.send(world.stranger, "setProbe", 50 * USD, ANSWERS)
    world.act(vault, world.slip, "buy", 7 * USD, 0, approve=7 * USD)
    return vault, tuple(values[n] for n in order)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_every_observing_log_tells_each_value_in_the_order_of_the_terms(
    world: World, order: tuple[int, int, int]
) -> None:
    vault, values = fifty_in_each(world, order)
    assert world.invest(vault, 100 * USD).one("Executed")["values"] == values
    assert vault.send(world.keeper, "mark").one("Marked")["values"] == values
    assert vault.send(world.keeper, "record").one("Marked")["values"] == values
    assert vault.read("observed") == (893 * USD, 157 * USD, 800 * USD, values)
    vault.send(world.owner, "stop")
    for who, left in ((world.keeper, 60), (world.agent, 20), (world.owner, 10)):
        shares = world.market.read("balanceOf", vault.address) - left * USD
        told = world.unwind(
            vault, who, world.market, "redeem", shares, vault.address, vault.address
        ).one("Unwound")
        assert told["values"] == tuple(left * USD if v == 100 * USD else v for v in values)
    world.later(3 * DAY)
    told = vault.send(world.stranger, "settle").one("Settled")
    assert told["values"] == tuple(10 * USD if v == 100 * USD else v for v in values)


def test_a_log_of_a_vault_without_probes_tells_no_value(world: World) -> None:
    vault = world.vault(probes=[])
    assert world.take(vault, USD).one("Executed")["values"] == ()
    assert vault.send(world.keeper, "record").one("Marked")["values"] == ()
    assert vault.send(world.owner, "withdrawAll").one("Settled")["values"] == ()


@pytest.mark.parametrize("mode", [REVERTS, BURNS, SHORT])
def test_threat_silent_probe_is_told_as_silent_and_hides_no_other(world: World, mode: int) -> None:
    vault, _ = fifty_in_each(world)
    world.invest(vault, 100 * USD)
    world.hostile.send(world.stranger, "setProbe", 50 * USD, mode)
    silent = (100 * USD, SILENT, 7 * USD)
    assert world.act(vault, world.slip, "buy", 0, 0).one("Executed")["values"] == silent
    vault.send(world.owner, "stop")
    told = world.unwind(
        vault, world.owner, world.market, "redeem", 99 * USD, vault.address, vault.address
    )
    assert told.one("Unwound")["values"] == (1 * USD, SILENT, 7 * USD)
    assert told.one("Unwound")["returned"] == 99 * USD
    world.later(3 * DAY)
    told = vault.send(world.owner, "withdrawAll")
    assert told.one("Settled")["values"] == (1 * USD, SILENT, 7 * USD)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (2**128 - 2, 2**128 - 2),
        (2**128 - 1, 2**128 - 1),
        (2**128, 2**128 - 1),
        (2**255, 2**128 - 1),
        (SILENT, 2**128 - 1),
    ],
)
def test_threat_probe_with_a_huge_value_is_told_as_the_most_that_counts_and_never_as_silent(
    world: World, value: int, told: int
) -> None:
    vault, _ = fifty_in_each(world)
    world.hostile.send(world.stranger, "setProbe", value, ANSWERS)
    marked = vault.send(world.keeper, "record").one("Marked")
    assert marked["values"] == (0, told, 7 * USD)
    assert marked["positions"] == sum(marked["values"])
    assert vault.read("worth")[3] == (True, True, True)


def test_a_probe_that_answers_a_long_text_is_told_by_its_first_word(world: World) -> None:
    vault, _ = fifty_in_each(world)
    world.hostile.send(world.stranger, "setProbe", 50 * USD, LONG)
    assert world.act(vault, world.slip, "buy", 0, 0).one("Executed")["values"][1] == 50 * USD


def test_the_value_told_is_that_after_the_call(world: World) -> None:
    """The target changes what it is worth within the very call."""
    vault, _ = fifty_in_each(world)
    told = world.act(vault, world.hostile, "exit", 20 * USD, 20 * USD).one("Executed")
    assert (told["returned"], told["values"]) == (20 * USD, (0, 30 * USD, 7 * USD))


def test_threat_eight_silent_probes_hold_up_no_unwinding_of_the_owner(world: World) -> None:
    """The owner's own exit asks the probes for its log alone: what they burn is bounded, and none of it stops the exit."""
    burning = []
    for _ in range(7):
        made = world.evm.send(
            world.stranger, None, bytes([0x60, len(BURNS_ALL)]) + MAKE + BURNS_ALL
        )
        burning.append((made.contract, WORTH_OF))
    probes = [*burning, (world.market.address, MAX_WITHDRAW)]
    vault = world.vault(probes=probes, agentFeeBps=0)
    vault.send(world.owner, "stop")
    world.usdc.send(world.stranger, "approve", world.market.address, 5 * USD)
    world.market.send(world.stranger, "deposit", 5 * USD, vault.address)
    told = world.unwind(
        vault, world.owner, world.market, "redeem", 5 * USD, vault.address, vault.address
    )
    assert told.one("Unwound")["values"] == (*[SILENT] * 7, 0)
    assert told.gas < 2_400_000
    world.later(3 * DAY)
    assert vault.send(world.owner, "withdrawAll").one("Withdrawn")["amount"] == 1_005 * USD


def test_the_lens_and_the_vault_tell_the_same_values_and_the_record(world: World) -> None:
    vault, values = fifty_in_each(world)
    world.invest(vault, 100 * USD)
    (state,) = world.lens.read("read", [vault.address])[2]
    assert state[18:] == (157 * USD, values)
    world.hostile.send(world.stranger, "setProbe", 90 * USD, ANSWERS)
    (state,) = world.lens.read("read", [vault.address])[2]
    assert state[18:] == (157 * USD, (100 * USD, 90 * USD, 7 * USD))
    vault.send(world.keeper, "record")
    (state,) = world.lens.read("read", [vault.address])[2]
    assert state[18] == 197 * USD
