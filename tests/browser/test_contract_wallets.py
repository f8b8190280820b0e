"""A Safe as the owner: signed in and signed by ERC-1271, its transactions confirmed by others, both
calls of a deposit in one where the wallet takes them so (EIP-5792).
"""

from __future__ import annotations

import pytest

from chain.logs.log_reader import LogReader
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.browser.conftest import Stage
from tests.browser.safe import SafeWallet
from tests.browser.test_story import to_the_review
from tests.browser.window import MARKS
from tests.world import CHAIN_ID
from tools.model.operation import Caller
from venue.venues import Networks

pytestmark = [*MARKS]
OTHERS = "With a Safe, others may have to confirm first."


async def a_safe(stage: Stage) -> SafeWallet:
    """On the chain, with 1,000 USDC and an agent of its own."""
    world = stage.world
    wallet = SafeWallet(world.wallet(), world.evm.url, keys=(world.evm.key(2), world.evm.key(3)))
    await wallet.deploy()
    person = await world.store.write(
        lambda uow: uow.identities.person(
            wallet.account, new_id=world.deps.ids.short("u_"), now=world.clock.now()
        )
    )
    owner = Caller("owner", person.user_id, person.user_id, person.address)
    await world.agent(owner)
    await world.mint(wallet.account, "1000")
    return wallet


async def chain_is_read(stage: Stage) -> None:
    """The reader comes round."""
    world = stage.world
    told = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}})  # type: ignore[dict-item]  # pydantic reads it
    ticks = KeeperScheduler(Runtime(told, world.deps, world.chains, Networks({})))
    await ticks.read_chain(LogReader(world.chains.get(CHAIN_ID)))


@pytest.mark.parametrize("batches", [True, False], ids=["with batches", "without"])
async def test_a_safe_signs_in_signs_and_acts_by_transactions_that_others_confirm(
    stage: Stage, *, batches: bool
) -> None:
    wallet = await a_safe(stage)
    wallet.batches = batches
    async with stage.window(wallet) as window:
        await window.sign_in()
        await to_the_review(window)
        await window.press("Sign these terms")
        await window.press("Create vault")
        await window.says(OTHERS)
        await window.page.reload()
        await window.says(OTHERS)
        await wallet.confirm()
        await chain_is_read(stage)
        await window.heading("Deposit USDC")
        await window.press("Approve and deposit")
        if batches:
            await window.says(OTHERS)
            await window.page.reload()  # the batch is known by its id
            await window.page.locator("[data-check=wallet].ok").wait_for()
            await wallet.confirm()
        else:
            await window.says("The first is on its way.")
            await wallet.confirm()
            await window.page.reload()
            await window.press("Deposit")
            await window.says(OTHERS)
            await wallet.confirm()
            await chain_is_read(stage)
        await window.heading("Active")
        base = window.path
        await window.goto(f"{base}/pause")
        await window.press("Pause agent")
        await window.says(OTHERS)
        await wallet.confirm()
        await chain_is_read(stage)
        await window.heading("Paused")
    assert wallet.count("wallet_sendCalls") == batches
    assert wallet.count("eth_sendTransaction") == (2 if batches else 4)


async def test_one_owner_of_a_safe_alone_is_nobody(stage: Stage) -> None:
    wallet = await a_safe(stage)
    wallet.keys = (wallet.keys[0], stage.world.evm.key(6))
    async with stage.window(wallet) as window:
        await window.goto("/app/sign-in")
        await window.press("Continue with Test wallet")
        await window.page.locator("[role=alert]").wait_for()
        assert await window.button("Sign out").count() == 0
