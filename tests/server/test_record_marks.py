"""When the keeper records a vault's worth on chain: what it gained, rarely, while the vault works;
after a close never. What it lost: test_falls.py.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account

from domain.chain_facts import VaultState
from domain.money import Usdc
from server.keeper import value_recording
from server.settings import Settings
from tests.server.test_keeping import keeper, rounds
from tests.server.test_paying import sent_by_the_keeper
from tests.server.test_silent_probe import ANSWERS, invested, values
from tests.world import CHAIN_ID, Mandated, World

WORLD = {"stop_line_dry_run": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def worth(world: World, target: str, usd: str) -> None:
    """What the market says of the position."""
    await values(world, target, Usdc.parse(usd).micros, ANSWERS)


async def recorded(world: World, m: Mandated) -> Usdc:
    """The bar of an exit in the next block."""
    world.evm.chain.mine()
    return (await world.chains.get(CHAIN_ID).vault_states([m.vault]))[m.vault].recorded


async def until_before_the_end(world: World, m: Mandated, **period: float) -> None:
    stored = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    assert stored.ends_at is not None
    world.clock.at = stored.ends_at - timedelta(**period)
    world.evm.chain.mine()


async def test_a_gain_is_recorded_once_an_interval(world: World) -> None:
    m, target = await invested(world)
    ticks, before = keeper(world), await sent_by_the_keeper(world)
    await worth(world, target, "430")
    await rounds(world, ticks, 3)
    assert await recorded(world, m) == Usdc.parse("430")
    await worth(world, target, "460")
    await rounds(world, ticks, 3)
    assert await sent_by_the_keeper(world) == before + 1
    world.clock.forward(hours=6)
    await rounds(world, ticks, 2)
    assert await sent_by_the_keeper(world) == before + 2
    assert await recorded(world, m) == Usdc.parse("460")


@pytest.mark.parametrize("usd", ["403.9", "400", "396.1"])
async def test_less_than_one_percent_costs_no_gas(world: World, usd: str) -> None:
    m, target = await invested(world)
    before = await sent_by_the_keeper(world)
    await worth(world, target, usd)
    await rounds(world, keeper(world), 3)
    assert await sent_by_the_keeper(world) == before
    assert await recorded(world, m) == Usdc.parse("400")


async def test_in_the_last_hour_a_gain_of_one_usdc_is_recorded(world: World) -> None:
    m, target = await invested(world)
    await worth(world, target, "401")
    await until_before_the_end(world, m, minutes=30)
    await rounds(world, keeper(world), 2)
    assert await recorded(world, m) == Usdc.parse("401")


@pytest.mark.parametrize("how", ["the end", "a stop"])
async def test_no_record_of_the_keeper_moves_the_bar_after_the_close(
    world: World, how: str
) -> None:
    """A market that is held pressed over many blocks is not written down."""
    m, target = await invested(world)
    if how == "the end":
        await until_before_the_end(world, m, minutes=1)
    else:
        stop = (await m.as_owner("owner_stop_call")).body["call"]
        assert (await world.mined(m.owner_wallet, stop))[0]
    ticks, before = keeper(world), await sent_by_the_keeper(world)
    for usd in ("50", "450"):
        await worth(world, target, usd)
        await rounds(world, ticks, 5)
        assert await recorded(world, m) == Usdc.parse("400")
    assert await sent_by_the_keeper(world) == before


async def test_the_interval_zero_records_nothing(world: World) -> None:
    _, target = await invested(world)
    before = await sent_by_the_keeper(world)
    await worth(world, target, "450")
    await rounds(world, keeper(world, keeper_mark_s=0), 2)
    assert await sent_by_the_keeper(world) == before


async def test_a_key_that_is_short_of_gas_keeps_it_for_the_stop_line(world: World) -> None:
    m, target = await invested(world)
    await spend_gas_money(world)
    before = await sent_by_the_keeper(world)
    await worth(world, target, "450")
    await rounds(world, keeper(world), 2)
    assert await sent_by_the_keeper(world) == before
    await worth(world, target, "100")
    await rounds(world, keeper(world), 2)
    assert await sent_by_the_keeper(world) > before
    assert (await m.read())["chain_state"]["stopped"]


async def test_a_record_that_a_pressed_market_lowered_is_followed_by_another_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, target = await invested(world)
    await worth(world, target, "450")
    read, looks = value_recording.newest, 0

    async def pressing(*request: Any) -> VaultState:
        """Somebody presses the market right after the keeper looked, and lets go in the block
        after the record.
        """
        nonlocal looks
        looks += 1
        if looks == 2:
            await worth(world, target, "450")
        told = await read(*request)
        if looks == 1:
            await worth(world, target, "370")
        return told

    monkeypatch.setattr(value_recording, "newest", pressing)
    before = await sent_by_the_keeper(world)
    await rounds(world, keeper(world), 1)
    assert await sent_by_the_keeper(world) == before + 2
    assert await recorded(world, m) == Usdc.parse("450")


async def spend_gas_money(world: World) -> None:
    """Leave the keeper's key gas for a few transactions."""
    node = world.chains.get(CHAIN_ID).node()
    account = Account.from_key(world.evm.keeper_key)
    fee = await node.quantity("eth_gasPrice")
    has = await node.quantity("eth_getBalance", account.address, "latest")
    tx = {
        "type": 2, "chainId": CHAIN_ID, "to": world.wallets[0].address, "data": "0x", "gas": 21_000,
        "value": has - 5 * 700_000 * 4 * fee, "nonce": await sent_by_the_keeper(world),
        "maxFeePerGas": 2 * fee, "maxPriorityFeePerGas": 0,
    }  # fmt: skip
    signed = account.sign_transaction(tx)
    await node.ask("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())


def test_the_interval_is_six_hours_unless_set() -> None:
    assert Settings().keeper_mark_s == 21_600
