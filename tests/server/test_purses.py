"""The chain reader of purses."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.purses import PAYEE, opened
from tests.tools.keeper.test_transfers_chain import ticks
from tests.world import Evm, World, a_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(database_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(database_url, evm, purses=True) as made:
        yield made


async def test_what_is_put_in_and_paid_is_measured(world: World) -> None:
    purse = await opened(world)
    keeper = ticks(world)
    await purse.fund("20")
    tx = await purse.pay("0.25")
    await keeper.round()
    told = await purse.read()
    assert (told["in_purse"], told["funded_today"], told["paid_today"]) == (
        "19.750000", "20.000000", "0.250000",
    )  # fmt: skip
    assert await purse.balance() == "19.750000"
    funded, paid = await purse.rows()
    assert funded["payload"]["purse_moved"]["change"] == "funded"
    assert (paid["kind"], paid["amount_usdc"], paid["reported_by"]) == ("fee", "0.250000", "chain")
    assert paid["tx_hash"] == tx
    assert paid["payload"]["payee"].lower() == PAYEE.lower()
    read = await purse.m.read()
    assert read["progress"]["cash"] == "480.000000"
    assert read["progress"].get("data_issue", False) is False
    assert read["progress"]["positions"] == []
    assert read["fees"]["tools"] == "0.250000"
