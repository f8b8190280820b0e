"""An owner makes what the agent signed void: what it ends, what it leaves, and where it is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.purses import Purse, opened
from tests.server.test_purses import agrees
from tests.tools.keeper.test_attach import lost
from tests.tools.keeper.test_transfers_chain import ticks
from tests.tools.paying import paid as signed_payment
from tests.tools.paying import required, settled
from tests.world import CHAIN_ID, Evm, World, a_world, error_of, working

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(database_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(database_url, evm, purses=True) as made:
        yield made


async def filled(world: World, **terms: Any) -> Purse:
    purse = await opened(world, **terms)
    await purse.fund("20")
    await ticks(world).round()
    return purse


async def voided(purse: Purse) -> str:
    """The owner sends what the service prepared, and names the transaction."""
    told: Any = (await purse.m.as_owner("owner_void_call")).body
    assert (told["call"]["to"], told["call"]["from"]) == (
        purse.address,
        purse.m.owner_wallet.address,
    )
    assert (told["decoded"]["function"], told["decoded"]["args"]) == ("void", [])
    assert told["simulation"]["ok"] is True
    return await purse.m.recorded(purse.m.owner_wallet, told["call"], kind="void")


async def test_open_payments_are_void_and_new_ones_are_not(world: World) -> None:
    purse = await filled(world)
    old = await signed_payment(purse.m, "2")
    assert [b["bill_id"] for b in (await purse.read())["open_bills"]] == [old["bill"]["bill_id"]]
    tx = await voided(purse)
    assert (await purse.read())["open_bills"] == []
    assert not await settled(world, old["payment_payload"])
    (row,) = [e for e in await purse.rows() if e["tx_hash"] == tx]
    assert (row["reported_by"], row["payload"]["purse_moved"]["change"]) == ("chain", "voided")
    step = next(s for s in (await purse.m.read())["steps"] if s["tx_hash"] == tx)
    assert (step["code"], step["confirmed_on_chain"]) == ("purse_voided", True)
    new = await signed_payment(purse.m, "2", idempotency_key="new")
    assert await settled(world, new["payment_payload"])
    before = await purse.rows()
    await ticks(world).round()
    after = await purse.rows()
    assert [e["event_id"] for e in after][: len(before)] == [e["event_id"] for e in before]
    assert len(after) == len(before) + 1  # the payment; the reader tells the rest once
    await agrees(purse)


async def test_a_payment_that_waits_for_its_owner_waits_no_more(world: World) -> None:
    purse = await filled(world, approval_above_usdc="1")
    asked = {"payment_required": required(world, "5"), "max_amount": "5", "why": "data"}
    held: Any = await purse.m.as_agent("mandate_pay", **asked)
    assert held.status == 202, held.body
    waits = held.body["approval"]["approval_id"]
    own: Any = (await purse.m.as_owner("mandate_approvals", status="pending")).body
    assert [a["approval_id"] for a in own["items"]] == [waits]
    await voided(purse)
    own = (await purse.m.as_owner("mandate_approvals")).body
    assert [(a["approval_id"], a["status"]) for a in own["items"]] == [(waits, "expired")]
    answer = await purse.m.as_owner("owner_approval_decide", approval_id=waits, decision="approve")
    assert answer.body["error"] == "approval_expired"
    again: Any = await purse.m.as_agent("mandate_pay", **asked)
    assert again.status == 202
    assert again.body["approval"]["approval_id"] != waits


async def test_a_void_that_the_chain_takes_back_voids_nothing(world: World) -> None:
    purse = await filled(world)
    old = await signed_payment(purse.m, "2")
    tx = await voided(purse)
    assert (await purse.read())["open_bills"] == []
    await ticks(world).round()
    lost(world, tx)
    await ticks(world).round()
    assert [b["bill_id"] for b in (await purse.read())["open_bills"]] == [old["bill"]["bill_id"]]
    assert await settled(world, old["payment_payload"])
    await ticks(world).round()
    await agrees(purse)


async def test_a_young_void_counts_at_once_where_open_payments_are_shown(world: World) -> None:
    purse, keeper = await filled(world), ticks(world)
    await signed_payment(purse.m, "2")
    world.chains.get(CHAIN_ID).confirmations = 2
    tx = await purse.void()
    young: Any = (await purse.m.as_owner("owner_vault_tx", tx_hash=tx, kind="void")).body
    assert young["recorded"] is False
    await keeper.round()
    assert (await purse.read())["open_bills"] == []
    assert [s["status"] for s in (await purse.m.read())["steps"] if s["tx_hash"] == tx] == [
        "provisional"
    ]
    assert not [e for e in await purse.rows() if e["tx_hash"] == tx]


async def test_it_is_refused_where_nothing_can_be_paid(world: World) -> None:
    m = await working(world)
    assert await error_of(m.as_owner("owner_void_call")) == "wrong_status"
    purse = await opened(world)
    assert await error_of(purse.m.as_owner("owner_void_call")) == "wrong_status"
    await purse.fund("20")
    assert await error_of(purse.m.as_agent("owner_void_call")) == "forbidden"
    assert (await purse.m.as_owner("owner_void_call")).status == 200
    pause: Any = (await purse.m.as_owner("owner_pause_call")).body
    await purse.m.recorded(purse.m.owner_wallet, pause["call"])
    assert (await purse.m.as_owner("owner_void_call")).status == 200
    stop: Any = (await purse.m.as_owner("owner_stop_call")).body
    await purse.m.recorded(purse.m.owner_wallet, stop["call"])
    assert await error_of(purse.m.as_owner("owner_void_call")) == "wrong_status"


async def test_a_void_of_another_purse_is_not_recorded_here(world: World) -> None:
    purse, other = await filled(world), await filled(world)
    tx = await other.void()
    assert await error_of(purse.m.as_owner("owner_vault_tx", tx_hash=tx)) == "vault_mismatch"
    told: Any = (await purse.m.as_owner("mandate_reconcile", tx_hash=tx)).body
    assert told["outcome"] == "unknown"
    told = (await other.m.as_owner("mandate_reconcile", tx_hash=tx)).body
    assert told["outcome"] == "landed"
    wrong = await other.m.as_owner("owner_vault_tx", tx_hash=tx, kind="pause")
    assert wrong.body["error"] == "vault_mismatch"
