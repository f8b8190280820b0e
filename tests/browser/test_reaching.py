"""An approval by a push notice and by an e-mail: from the held action to the press, through a push service and a mail server of this machine."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from server.keeper.notification_worker import NotificationWorker
from server.mail import MailClient
from server.outbound import OutboundClient
from storage.feed.ledger_feed import LedgerFeed
from tests.browser.conftest import Stage
from tests.browser.wallet import NAME
from tests.browser.window import MARKS, Window
from tests.server.test_reaching import Browser, client_of, links, mail_host, push_service
from tests.waiting import STUCK_S
from tests.world import Mandated, working

pytestmark = [*MARKS]
SETTINGS = "/app/notices/settings"
# Chromium's own push service is not on this machine: what it would answer to a page.
SUBSCRIBED = """
PushManager.prototype.subscribe = async (options) => {
  window.askedFor = options;
  return { toJSON: () => (%s) };
};
"""
SHOWN = (
    "navigator.serviceWorker.getRegistration('/app/').then((r) => r.getNotifications())"
    ".then((all) => all.map((n) => [n.title, n.body, n.data]))"
)
CLICKED = """async () => {
  const [notification] = await registration.getNotifications(), work = [];
  let opened = "";
  clients.openWindow = async (url) => { opened = url; };
  onnotificationclick({ notification, waitUntil: (w) => work.push(w) });
  await Promise.all(work);
  return [opened, (await registration.getNotifications()).length];
}"""


async def sent(stage: Stage, mail: MailClient | None = None) -> int:
    """One round of what sends."""
    deps, tail = stage.world.deps, LedgerFeed(stage.world.deps.store.url)
    async with OutboundClient(private=True) as out, anyio.create_task_group() as group:
        return await NotificationWorker(deps, tail, out, "p_1", mail).round(group)


async def allow_this_machine(stage: Stage) -> None:
    config = stage.world.deps.config
    object.__setattr__(config, "webhook_allow_private", True)


async def approved(window: Window, m: Mandated, approval_id: str) -> None:
    """The page of the very item; its owner presses."""
    with anyio.fail_after(STUCK_S):
        while window.path != f"/app/mandates/{m.id}/approvals/{approval_id}":
            await anyio.sleep(0.05)
    await window.press("Approve")
    with anyio.fail_after(STUCK_S):
        while True:
            items = (await m.world.ok("mandate_approvals", m.owner, public_id=m.id))["items"]
            if items[0]["status"] == "approved":
                return
            await anyio.sleep(0.05)


async def test_an_approval_by_a_push_notice(stage: Stage) -> None:
    m = await working(stage.world, approval_above_usdc="10", per_tx_cap_usdc="60")
    await allow_this_machine(stage)
    async with push_service() as service, stage.window(stage.wallet(m)) as window:
        browser = Browser(service.url)
        keys = {n: browser.subscription[n] for n in ("p256dh", "auth")}
        answer = {"endpoint": service.url, "keys": keys}
        context = window.page.context
        await context.add_init_script(SUBSCRIBED % json.dumps(answer))
        await context.grant_permissions(["notifications"], origin=window.base)
        await window.sign_in(SETTINGS)
        assert await window.axe() == []
        await window.press("Tell this browser")
        await window.page.locator("#browsers li", has_text="127.0.0.1").wait_for()
        held = (await m.execute("30")).body["approval"]
        approval_id = str(held["approval_id"])  # type: ignore[index]
        assert await sent(stage) == 1
        ((_, body),) = service.got
        message = browser.opened(body)
        assert message == {"kind": "approval.asked", "url": f"/app/approvals/{approval_id}"}
        # What the push service hands to the browser, and the browser to the worker.
        cdp = await context.new_cdp_session(window.page)
        found: list[Any] = []
        cdp.on("ServiceWorker.workerRegistrationUpdated", lambda e: found.extend(e["registrations"]))  # fmt: skip
        await cdp.send("ServiceWorker.enable")
        with anyio.fail_after(STUCK_S):
            while not found:
                await anyio.sleep(0.05)
        assert found[0]["scopeURL"] == f"{window.base}/app/"
        pushed = {"origin": window.base, "registrationId": found[0]["registrationId"]}
        await cdp.send("ServiceWorker.deliverPushMessage", pushed | {"data": json.dumps(message)})
        with anyio.fail_after(STUCK_S):
            while not (shown := await window.page.evaluate(SHOWN)):
                await anyio.sleep(0.05)
        assert shown == [["Mandates", "An action needs your approval.", message["url"]]]
        (worker,) = context.service_workers
        opened, left = await worker.evaluate(CLICKED)
        assert (opened, left) == (message["url"], 0)
        await window.goto(opened)
        await approved(window, m, approval_id)


@pytest.mark.parametrize("data", ['{"kind": "x", "url": "https://evil.example/"}', "no json", ""])
async def test_whatever_is_pushed_opens_a_page_of_this_service(stage: Stage, data: str) -> None:
    m = await working(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        context = window.page.context
        answer = {"endpoint": "https://push.example/x", "keys": {}}
        await context.add_init_script(SUBSCRIBED % json.dumps(answer))
        await context.grant_permissions(["notifications"], origin=window.base)
        await window.sign_in(SETTINGS)
        await window.press("Tell this browser")
        await window.page.get_by_role("alert").wait_for()  # keys that are none are refused
        cdp = await context.new_cdp_session(window.page)
        found: list[Any] = []
        cdp.on("ServiceWorker.workerRegistrationUpdated", lambda e: found.extend(e["registrations"]))  # fmt: skip
        await cdp.send("ServiceWorker.enable")
        with anyio.fail_after(STUCK_S):
            while not found:
                await anyio.sleep(0.05)
        pushed = {"origin": window.base, "registrationId": found[0]["registrationId"]}
        await cdp.send("ServiceWorker.deliverPushMessage", pushed | {"data": data})
        with anyio.fail_after(STUCK_S):
            while not (shown := await window.page.evaluate(SHOWN)):
                await anyio.sleep(0.05)
        assert shown == [["Mandates", "Something asks for your look.", "/app/notices"]]


async def test_an_approval_by_e_mail(stage: Stage) -> None:
    m = await working(stage.world, approval_above_usdc="10", per_tx_cap_usdc="60")
    async with mail_host() as box, stage.window(stage.wallet(m)) as window:
        mail = client_of(box)
        await window.sign_in(SETTINGS)
        await window.page.get_by_label("Your address").fill("owner@example.com")
        await window.press("Send me a link")
        await window.says("Open it within a day")
        await sent(stage, mail)
        confirm = urlsplit(links(box.got[-1][2])[0])
        await window.goto(confirm.path)
        assert await window.axe() == []
        await window.press("Confirm this address")
        await window.heading("What you are told")
        held = (await m.execute("30")).body["approval"]
        approval_id = str(held["approval_id"])  # type: ignore[index]
        assert await sent(stage, mail) == 1
        item, settings, stop = links(box.got[-1][2])
        await window.goto(urlsplit(settings).path)
        await window.heading("What you are told")
        # From a mailbox, without a session: the sign-in stands before the item.
        await window.press("Sign out")
        await window.goto(urlsplit(item).path)
        await window.press(f"Continue with {NAME}")
        await approved(window, m, approval_id)
        await window.goto(urlsplit(stop).path)
        assert await window.axe() == []
        await window.press("Send no more e-mails")
        await window.says("nothing more is sent to this address")
    assert (await stage.world.ok("owner_notice_settings", m.owner))["channels"]["email"]["address"] is None  # fmt: skip
