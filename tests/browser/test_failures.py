"""The service is restarted, the database locked, the node dead, the session over, the wallet gone, in
the middle of each step: the page says what is known, what is not, and what is safe to repeat.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest

from chain.chains import EvmChains
from storage.errors import DatabaseTimeouts
from storage.store import SqliteStore
from tests.browser.conftest import Stage
from tests.browser.test_twice import STEPS
from tests.browser.wallet import NAME, SENDS, Wallet
from tests.browser.window import MARKS, Window, a_tab
from tests.waiting import STUCK_S
from tests.world import drafted, working

pytestmark = [*MARKS]
SENT = ["create", "fund", "pause", "stop", "withdraw"]


@asynccontextmanager
async def about_to_press(stage: Stage, step: str) -> AsyncIterator[tuple[Wallet, Window, str]]:
    """The page of a step, with its button on."""
    m = await STEPS[step].make(stage.world)
    await stage.world.mint(m.owner_wallet.address, "1000")
    wallet, path = stage.wallet(m), f"/app/mandates/{m.id}/{step}"
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(path)
        await window.page.locator("[data-go]:enabled").wait_for()
        yield wallet, window, path


@pytest.mark.parametrize("step", SENT)
async def test_the_service_is_restarted_while_the_wallet_sends(stage: Stage, step: str) -> None:
    async with about_to_press(stage, step) as (wallet, window, path):
        wallet.holds = asyncio.Event()
        await window.press(STEPS[step].press)
        await stage.stop()
        # The form with the hash meets a dead service: the browser says so, the site keeps the hash.
        async with window.page.expect_event("requestfailed", lambda r: r.url.endswith("/sent")):
            wallet.holds.set()
        await stage.start()
        later = Window(await a_tab(window.page.context), window.base)
        await later.goto(path)
        await later.page.locator(STEPS[step].after).wait_for()
        assert len(wallet.sent) == STEPS[step].sends


@pytest.mark.parametrize("step", SENT)
async def test_the_session_is_over_while_the_wallet_sends(stage: Stage, step: str) -> None:
    async with about_to_press(stage, step) as (wallet, window, _):
        wallet.holds = asyncio.Event()
        await window.press(STEPS[step].press)
        await window.page.context.clear_cookies()
        wallet.holds.set()
        await window.says("A transaction that your wallet has sent stays sent")
        await window.press(f"Continue with {NAME}")
        await window.page.locator(STEPS[step].after).wait_for()
        assert len(wallet.sent) == STEPS[step].sends


async def test_where_the_service_is_silent_nothing_that_was_sent_is_offered_again(
    stage: Stage,
) -> None:
    async with about_to_press(stage, "pause") as (wallet, window, path):
        wallet.drops = True
        await window.press("Pause agent")
        await window.says("Sent")
        await window.page.route("**/tx/**", lambda route: route.abort())
        await window.goto(path)
        await window.says("so the outcome is unknown. Do not send it again.")
        assert await window.button("Pause agent").is_disabled()
        assert wallet.count(*SENDS) == 1


@contextmanager
def locked(stage: Stage) -> Iterator[None]:
    """Somebody else writes to the database, and does not end; the service waits as it does for people."""
    store = stage.world.store
    assert isinstance(store, SqliteStore)
    other = sqlite3.connect(store.url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    patient, store._patience = store._patience, DatabaseTimeouts()
    try:
        yield
    finally:
        store._patience = patient
        other.execute("ROLLBACK")
        other.close()


async def test_the_database_is_locked_when_a_held_action_is_answered(stage: Stage) -> None:
    m = await working(stage.world, approval_above_usdc="60")
    assert (await m.execute("90", why="a larger step")).status == 202
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        with locked(stage):
            await window.press("Approve 90.00 USDC, once")
            await window.says("Trying again later is safe.")
            await window.goto(f"/app/mandates/{m.id}")  # reading goes on
            await window.button("Approve 90.00 USDC, once").wait_for()
        await window.press("Approve 90.00 USDC, once")
        await window.page.wait_for_url("**#record")


async def test_the_database_is_locked_when_terms_are_signed(stage: Stage) -> None:
    m = await drafted(stage.world)
    wallet = stage.wallet(m)
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}/review")
        with locked(stage):
            await window.press("Sign these terms")
            await window.says("Trying again later is safe.")
        await window.goto(f"/app/mandates/{m.id}/review")
        await window.press("Sign these terms")
        await window.heading("Create your vault")
    assert (await m.read())["mandate"]["status"] == "signed"


async def test_the_database_is_locked_when_a_transaction_is_handed_in(stage: Stage) -> None:
    async with about_to_press(stage, "pause") as (wallet, window, _path):
        with locked(stage):
            await window.press("Pause agent")
            await window.page.wait_for_url("**/tx/0x*")
            await window.page.locator("[role=alert]", has_text="later is safe").wait_for()
        await window.heading("Paused")  # by itself, as the page goes on asking
        assert wallet.count(*SENDS) == 1


@asynccontextmanager
async def dead_node(stage: Stage) -> AsyncIterator[None]:
    """No node answers."""
    chains, alive = stage.world.chains, stage.world.chains.get
    dead = EvmChains([stage.world.evm.facts(rpc_url="http://127.0.0.1:1")])
    object.__setattr__(chains, "get", dead.get)
    try:
        yield
    finally:
        object.__setattr__(chains, "get", alive)
        await dead.close()


async def test_the_node_is_dead_while_a_transaction_is_followed(stage: Stage) -> None:
    async with about_to_press(stage, "pause") as (wallet, window, path):
        async with dead_node(stage):
            await window.press("Pause agent")
            await window.says(
                "The network does not answer, so the outcome is unknown. Do not send it again."
            )
            await window.goto(path.removesuffix("/pause"))
            await window.says("The network does not answer just now")
        await window.goto(path)
        await window.says("The agent is paused already.")
        assert wallet.count(*SENDS) == 1


@pytest.mark.parametrize("step", ["create", "pause", "withdraw"])
async def test_with_a_dead_node_a_page_says_that_nothing_was_tried_out(
    stage: Stage, step: str
) -> None:
    async with about_to_press(stage, step) as (_, window, path):
        async with dead_node(stage):
            await window.goto(path)
            main = await window.page.locator("main").inner_text()
        assert "could not be tried out" in main or "Trying again later is safe" in main
        assert "it works" not in main


async def test_the_wallet_is_gone_locked_elsewhere_or_of_somebody_else(stage: Stage) -> None:
    async with about_to_press(stage, "pause") as (wallet, window, path):
        kept = await window.page.context.storage_state()
        wallet.locked = True
        await window.press("Pause agent")
        await window.says("Your wallet is locked")
        wallet.locked, wallet.account = False, "0x" + "44" * 20
        await window.press("Pause agent")
        await window.says("Your wallet shows another account.")
        wallet.account, wallet.chain_id, wallet.switches = wallet.own.address, 1, -1
        await window.press("Pause agent")
        await window.says("Your wallet does not know the network")
        wallet.switches = 0
        await window.press("Pause agent")
        await window.says("Your wallet is on another network and did not switch.")
        wallet.switches = None
        async with stage.window(storage_state=kept) as without:
            await without.goto(path)
            await without.press("Pause agent")
            await without.says("No wallet was found here.")
        assert wallet.count(*SENDS) == 0
        await window.press("Pause agent")
        await window.heading("Paused")


async def test_offline_and_a_silent_service_are_said_at_the_foot_of_the_page(stage: Stage) -> None:
    m = await working(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        net = window.page.locator("#net")
        await window.page.clock.install()
        await window.goto(f"/app/mandates/{m.id}")
        await window.page.context.set_offline(True)
        await net.filter(has_text="You are offline.").wait_for()
        await window.page.context.set_offline(False)
        await net.wait_for(state="hidden")
        await window.page.route("**/app/**", _aborted)
        silent = net.filter(has_text="The service does not answer; figures are of")
        with anyio.fail_after(STUCK_S):
            while not await silent.count():
                await window.page.clock.run_for(5_000)
        await window.page.locator("#main[data-stale]").wait_for()
        await window.page.unroute("**/app/**")
        with anyio.fail_after(STUCK_S):
            while await silent.count():
                await window.page.clock.run_for(20_000)


async def _aborted(route: Any) -> None:
    await route.abort()


NOTE = "500 USDC for lending, at most 50 per trade, 30 days"


async def test_what_was_typed_is_there_again_for_the_same_owner_after_a_lost_session(
    stage: Stage,
) -> None:
    m, other = await drafted(stage.world), await drafted(stage.world)
    wallet, note = stage.wallet(m), "textarea[name=note]"
    async with stage.window(wallet) as window:
        await window.sign_in("/app/start")
        await window.page.fill(note, NOTE)
        await window.page.context.clear_cookies()
        await window.press("Show me the terms")
        await window.says("Your session has ended.")
        await window.press(f"Continue with {NAME}")
        await window.page.locator(note).wait_for()
        assert await window.page.input_value(note) == NOTE
        # Signed in anew by another tab: the form belongs to the sign-in before.
        await window.page.fill(note, "")
        await window.page.goto(f"{stage.base}/app/start?form=1")
        await window.page.fill("#budget_usdc", "321")
        await window.page.check("#ask-never")
        await window.page.context.clear_cookies()
        tab = Window(await a_tab(window.page.context), stage.base)
        await tab.sign_in()
        await window.press("Keep as draft")
        await window.page.get_by_role("link", name="Back", exact=True).click()
        assert window.path == "/app/start?form=1"
        assert await window.page.input_value("#budget_usdc") == "321"
        assert await window.page.is_checked("#ask-never")
        # It is there once, and for nobody else.
        await window.page.reload()
        assert await window.page.input_value("#budget_usdc") == "500"
        await window.page.fill("#budget_usdc", "321")
        await window.page.context.clear_cookies()
        await window.press("Keep as draft")
        await window.says("Your session has ended.")
        wallet.own = other.owner_wallet
        wallet.account = wallet.own.address
        await window.press(f"Continue with {NAME}")
        await window.page.locator("#budget_usdc").wait_for()
        assert await window.page.input_value("#budget_usdc") == "500"


async def test_a_page_that_comes_back_takes_no_newer_choice_back(stage: Stage) -> None:
    m = await drafted(stage.world)
    page, box = "/app/notices/settings", "[name=%s][value='approval.asked']"
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in(page)
        await window.goto("/app")
        tab = Window(await a_tab(window.page.context), stage.base)
        await tab.goto(page)
        await tab.page.uncheck(box % "push")
        await tab.press("Save choices")
        await tab.page.wait_for_load_state()
        await window.page.bring_to_front()
        await window.page.go_back()
        await window.page.uncheck(box % "webhook")
        await window.press("Save choices")
        await window.page.wait_for_load_state()
    read = await stage.world.ok("owner_notice_settings", m.owner)
    told = [name for name in ("push", "email", "webhook") if "approval.asked" in read[name]]
    assert told == ["email"]


async def test_what_was_typed_is_there_in_another_language(stage: Stage) -> None:
    m = await drafted(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in("/app/start?form=1")
        await window.page.fill("#budget_usdc", "321")
        await window.page.check("#ask-never")
        await window.press("Deutsch")
        await window.heading("Neues Mandat")
        assert await window.page.input_value("#budget_usdc") == "321"
        assert await window.page.is_checked("#ask-never")
        assert window.path == "/app/start?form=1"


async def test_a_policy_that_is_there_again_takes_no_newer_limit_back(stage: Stage) -> None:
    m = await working(stage.world)
    agent_id = m.agent.user_id or ""
    page, limits = f"/app/agents/{agent_id}", {"per_tx_cap_usdc": "50", "total_cap_usdc": "90"}
    await stage.world.ok("owner_agent_policy_put", m.owner, agent_id=agent_id, **limits)
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in(page)
        await window.page.fill("[name=total_cap_usdc]", "80")
        lower = limits | {"per_tx_cap_usdc": "5"}
        await stage.world.ok("owner_agent_policy_put", m.owner, agent_id=agent_id, **lower)
        await window.page.context.clear_cookies()
        await window.press("Save policy")
        await window.says("Your session has ended.")
        await window.press(f"Continue with {NAME}")
        await window.page.locator("[name=total_cap_usdc]").wait_for()
        assert await window.page.input_value("[name=total_cap_usdc]") == "80"
        await window.press("Save policy")
        await window.page.wait_for_url("**#policy")
    policy = await stage.world.ok("agent_policy", m.owner, agent_id=agent_id)
    assert (policy["total_cap_usdc"], policy["per_tx_cap_usdc"]) == ("80.000000", "5.000000")


async def test_what_was_typed_is_there_again_after_a_press_without_a_network(stage: Stage) -> None:
    m = await drafted(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in("/app/start")
        await window.page.fill("textarea[name=note]", NOTE)
        await window.page.context.set_offline(True)
        await window.page.locator("#net", has_text="You are offline.").wait_for()
        await window.press("Show me the terms")
        await window.page.wait_for_url("chrome-error://**")
        await window.page.context.set_offline(False)
        await window.goto("/app/start")
        assert await window.page.input_value("textarea[name=note]") == NOTE
        await window.press("Show me the terms")
        await window.page.locator("#budget_usdc").wait_for()


async def test_a_press_whose_answer_was_given_up_can_be_repeated(stage: Stage) -> None:
    m = await drafted(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in("/app/start")
        await window.page.clock.install()
        await window.goto("/app/start")
        await window.page.fill("textarea[name=note]", NOTE)
        cdp, sent = await window.page.context.new_cdp_session(window.page), asyncio.Event()

        async def never(_: Any) -> None:
            sent.set()

        await window.page.route("**/app/start", never)
        await window.button("Show me the terms").click(no_wait_after=True)
        await sent.wait()
        await cdp.send("Page.stopLoading")
        await window.page.unroute("**/app/start")
        assert await window.button("Show me the terms").is_disabled()
        await window.page.clock.run_for(21_000)
        await window.press("Show me the terms")
        await window.page.locator("#budget_usdc").wait_for()
