"""What an owner's webhooks are told of by the operation, or the reading, in which it happens."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.chain_facts import TransferLog
from tests.tools.trading.conftest import a_desk
from tests.tools.trading.orders import agent, ordered, trader
from tests.world import BY_NAME, CHAIN_ID, World, working
from tools.dispatch.run import run
from tools.keeper.transfer_confirmation import take_inbound
from tools.model.operation import Caller, Deps
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio


def with_webhooks(deps: Deps) -> Deps:
    return replace(deps, webhooks=WebhookSigning(b"k" * 32))


async def hooked(deps: Deps, owner: Caller, kind: str) -> str:
    """A webhook that asks for one kind; its id."""
    asked = {"url": "https://hooks.example/a", "events": [kind]}
    reply = await run(BY_NAME["owner_webhook_create"], deps, owner, asked)
    assert reply.status == 201, reply.body
    return str(reply.body["webhook"]["webhook_id"])  # type: ignore[index]


async def told(deps: Deps, owner: Caller, webhook_id: str) -> list[dict[str, Any]]:
    """The data of each notice that was queued for it."""
    asked = {"webhook_id": webhook_id}
    reply = await run(BY_NAME["owner_webhook_deliveries"], deps, owner, asked)
    assert reply.status == 200, reply.body
    items: Any = reply.body["items"]
    return [json.loads(item["body"])["data"] for item in items]


async def test_an_action_that_waits_is_told_once_however_often_it_is_asked(world: World) -> None:
    world.deps = with_webhooks(world.deps)
    m = await working(world, approval_above_usdc="20")
    hook = await hooked(world.deps, m.owner, "approval.asked")
    asked = [(await m.execute("30")).body["approval"] for _ in range(2)]
    (notice,) = await told(world.deps, m.owner, hook)
    assert asked[0] == asked[1]
    assert (notice["public_id"], notice["approval_id"], notice["amount_usdc"]) == (
        m.id,
        asked[0]["approval_id"],  # type: ignore[index]
        "30.000000",
    )


async def test_money_that_came_to_an_agent_is_told_once_however_often_it_is_read(
    world: World,
) -> None:
    world.deps = with_webhooks(world.deps)
    owner, _ = await world.owner()
    agent, wallet = await world.agent(owner)
    await world.prove(agent, wallet)
    hook = await hooked(world.deps, owner, "transfer.in")
    usdc, now = world.evm.usdc, world.clock.now()
    sender, tx_hash = "0x" + "77" * 20, "0x" + "12" * 32
    found = [(tx_hash, TransferLog(usdc, sender, wallet.address, 5_000_000, 0))]
    for _ in range(2):
        await world.store.write(lambda uow: take_inbound(uow, CHAIN_ID, usdc, found, now))
    (notice,) = await told(world.deps, owner, hook)
    assert (notice["agent_id"], notice["chain_id"]) == (agent.user_id, CHAIN_ID)
    assert (notice["tx_hash"], notice["amount_usdc"]) == (tx_hash, "5.000000")


@pytest.mark.slow
async def test_an_order_that_waits_for_its_owner_is_told(sqlite_url: str) -> None:
    async with a_desk(sqlite_url) as desk:
        desk.deps = with_webhooks(desk.deps)
        t = await trader(desk)
        hook = await hooked(desk.deps, t.caller, "order.asked")
        await t.prepare()
        assert await told(desk.deps, t.caller, hook) == [], "its owner is at it"
        made = (await ordered(desk, await agent(desk, t), mode_seen="live")).body["order"]
        (notice,) = await told(desk.deps, t.caller, hook)
    wanted = {n: made[n] for n in ("order_id", "mode", "product", "side", "expires_at")}
    assert wanted.items() <= notice.items()


@pytest.mark.slow
async def test_an_order_of_which_nobody_knows_what_became_is_told(sqlite_url: str) -> None:
    async with a_desk(sqlite_url) as desk:
        desk.deps = with_webhooks(desk.deps)
        t = await trader(desk)
        hook = await hooked(desk.deps, t.caller, "order.unknown")
        made = await t.prepare()
        desk.test.faults.add(VenueFault(effect="lost", route="/exchange", times=1))
        desk.test.faults.add(VenueFault(effect="status", kind="orderStatus", status=500))
        assert (await t.execute(made)).status == 504
        (notice,) = await told(desk.deps, t.caller, hook)
        assert (notice["order_id"], notice["mode"]) == (made["order"]["order_id"], "live")
