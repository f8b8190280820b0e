"""What asks for the owner's look, and webhooks: made, listed, rotated, read and removed by plain forms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app.words.notices import KINDS
from domain.mandates.notice_choices import NOTICE_KINDS
from tests.app.lives import sent
from tests.app.site import Site, a_site
from tests.app.test_pages import HOSTILE, fine
from tests.app.test_twice import twice
from tests.world import Evm, a_world, working
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio
HERE = "/app/notices"
URL = "https://hooks.example/a?b=<c>"


@pytest.fixture
async def site(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    async with a_world(sqlite_url, evm) as world:
        world.deps = replace(world.deps, webhooks=WebhookSigning(b"k" * 32))
        async with a_site(world) as found:
            yield found


def test_every_kind_of_notice_has_words() -> None:
    assert tuple(KINDS) == NOTICE_KINDS


async def test_a_webhook_is_made_shown_once_and_listed(site: Site) -> None:
    owner, _, browser = await site.somebody()
    fine(await browser.get(HERE))
    made, again = await twice(browser, HERE, HERE, url=URL, events="approval.asked")
    fine(made)
    secret = made.one("p", data_copy=made.all("p", class_="raw")[1].text).text
    assert secret.startswith("whsec_")
    fine(again)
    assert secret not in again.source
    assert "This form was sent twice" in again.said
    (hook,) = (await site.world.ok("owner_webhooks", owner))["items"]
    assert (hook["url"], hook["events"]) == (URL, ["approval.asked"])
    listed = await browser.get(HERE)
    fine(listed)
    assert (URL in listed.said, secret in listed.source) == (True, False)
    assert "an action needs your approval · since" in listed.said
    assert f"{HERE}/{hook['webhook_id']}" in listed.links()


async def test_a_webhook_that_is_refused_says_why_and_keeps_what_was_typed(site: Site) -> None:
    owner, _, browser = await site.somebody()
    typed = {"url": f"http://10.0.0.1/{HOSTILE}", "events": "cap.reached"}
    refused = await browser.submit(HERE, HERE, **typed)
    assert refused.status == 400
    assert "percent-encoded" in refused.one("div", role="alert").text
    assert refused.one("input", id="url").attributes["value"] == typed["url"]
    chosen = [e.attributes["value"] for e in refused.all("input", name="events", checked="")]
    assert chosen == ["cap.reached"]
    odd = await browser.submit(HERE, HERE, url=URL, events="no.such")
    assert odd.status == 400
    assert (await site.world.ok("owner_webhooks", owner))["items"] == []


async def test_a_secret_is_changed_once_and_a_webhook_removed_by_its_owner_alone(
    site: Site,
) -> None:
    owner, _, browser = await site.somebody()
    told = await site.world.ok("owner_webhook_create", owner, url=URL)
    at = f"{HERE}/{told['webhook']['webhook_id']}"
    first, again = await twice(browser, at, f"{at}/rotate")
    fine(first)
    assert "whsec_" in first.source
    assert told["secret"] not in first.source
    fine(again)
    assert "whsec_" not in again.source
    (hook,) = (await site.world.ok("owner_webhooks", owner))["items"]
    assert hook["rotated_at"]
    _, _, other = await site.somebody()
    assert (await other.get(at)).status == 404
    for what in ("rotate", "remove"):
        assert (await other.submit(HERE, f"{at}/{what}")).status == 404
    assert (await site.world.ok("owner_webhooks", owner))["items"] == [hook]
    gone = await browser.submit(at, f"{at}/remove")
    assert (gone.status, gone.headers["Location"]) == (303, HERE)
    assert (await site.world.ok("owner_webhooks", owner))["items"] == []
    assert (await browser.get(at)).status == 404


async def test_deliveries_are_shown_and_what_is_open_is_told_without_anybodys_words(
    site: Site,
) -> None:
    m = await working(site.world, approval_above_usdc="20")
    told = await site.world.ok("owner_webhook_create", m.owner, url=URL)
    assert (await m.execute("30", why=HOSTILE)).status == 202
    browser = await site.signed_in(m.owner_wallet)
    page = await browser.get(f"{HERE}/{told['webhook']['webhook_id']}")
    fine(page)
    assert "an action needs your approval Not sent yet tried 0 times" in page.said
    assert '"amount_usdc": "30.000000"' in page.said
    await sent(m, "owner_pause_call")
    page = await browser.get(HERE)
    fine(page)
    told_of = [e.attributes["data-tell"] for e in page.elements if "data-tell" in e.attributes]
    assert told_of == ["An action needs your approval: 30.00 USDC.", "A mandate is paused."]
    assert page.one("title").text.startswith("(2) ")
    assert any(f"/app/mandates/{m.id}/approvals/ap_" in link for link in page.links())


async def test_without_an_operators_key_the_page_says_that_nothing_is_sent(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm) as world, a_site(world) as site:
        _, wallet = await world.owner()
        page = await (await site.signed_in(wallet)).get(HERE)
        fine(page)
        assert "This service sends no webhooks" in page.said
        assert not page.all("input", id="url")
