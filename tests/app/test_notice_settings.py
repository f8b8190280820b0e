"""The page of choices, the links of e-mails, the short address of a held action, and what the browser itself fetches."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from app import assets
from app.words.notices import KINDS, MESSAGES
from tests.app.site import Site, a_site
from tests.app.test_pages import fine
from tests.world import Evm, a_world, working
from tools.context.notice_outbox import stop_path, verify_path
from tools.model.web_push import WebPush, new_private_key
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio
HERE = "/app/notices/settings"
SIGNING = WebhookSigning(b"k" * 32)
BROWSER = {
    "endpoint": "https://push.example/x",
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}


@pytest.fixture
async def site(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    async with a_world(sqlite_url, evm) as world:
        push = WebPush(new_private_key(), None)
        world.deps = replace(world.deps, webhooks=SIGNING, push=push, email=True)
        async with a_site(world) as found:
            yield found


async def test_choices_are_saved_and_shown_as_they_were_chosen(site: Site) -> None:
    owner, _, browser = await site.somebody()
    page = await browser.get(HERE)
    fine(page)
    assert len(page.all("input", type="checkbox", name="push")) == len(KINDS)
    chosen = {"push": "approval.asked", "email": "mandate.stopped", "quiet": "on"}
    hours = {"zone": "Europe/Berlin", "begins": "21:30", "ends": "06:00", "through": "on"}
    saved = await browser.submit(HERE, HERE, **chosen, **hours)
    assert (saved.status, saved.headers["Location"]) == (303, HERE)
    read = await site.world.ok("owner_notice_settings", owner)
    assert (read["push"], read["email"], read["webhook"]) == (
        ["approval.asked"],
        ["mandate.stopped"],
        [],
    )
    assert read["quiet"] == {
        "zone": "Europe/Berlin", "begins": "21:30", "ends": "06:00", "approvals_break_through": True,
    }  # fmt: skip
    page = await browser.get(HERE)
    on = [(e.attributes["name"], e.attributes["value"]) for e in page.all("input", checked="")]
    assert on == [
        ("push", "approval.asked"), ("email", "mandate.stopped"), ("quiet", "on"), ("through", "on"),
    ]  # fmt: skip
    wrong = await browser.submit(HERE, HERE, **chosen, **hours | {"zone": "Mars/Base"})
    assert wrong.status == 400
    assert wrong.one("div", role="alert")
    typed = [e.attributes["value"] for n in hours for e in wrong.all("input", name=n)]
    assert typed == ["Mars/Base", "21:30", "06:00", "on"]
    assert [
        (e.attributes["name"], e.attributes["value"]) for e in wrong.all("input", checked="")
    ] == on
    # Another form of the page that is refused leaves them as they are: saved next, they stay.
    other = await browser.submit(HERE, f"{HERE}/email", address="nobody")
    assert other.status == 400
    assert [
        (e.attributes["name"], e.attributes["value"]) for e in other.all("input", checked="")
    ] == on
    assert other.one("input", id="zone").attributes["value"] == "Europe/Berlin"


@pytest.mark.parametrize(("language", "kept"), [("de", "de"), ("", "en")])
async def test_e_mails_are_written_in_the_language_of_the_page(
    site: Site, language: str, kept: str
) -> None:
    owner, _, browser = await site.somebody()
    browser.cookies["language"] = language
    asked = await browser.submit(HERE, f"{HERE}/email", address="o@example.com")
    assert asked.status == 303
    (hook,) = await site.world.store.read(lambda uow: uow.webhooks.of_owner(owner.user_id or ""))
    assert hook.language == kept


async def test_a_browser_is_told_until_it_is_removed(site: Site) -> None:
    owner, _, browser = await site.somebody()
    assert (await browser.submit(HERE, f"{HERE}/push", **BROWSER)).status == 303
    listed = await browser.get(HERE)
    fine(listed)
    assert "push.example" in listed.said
    (told,) = (await site.world.ok("owner_notice_settings", owner))["channels"]["push"]["browsers"]
    at = f"{HERE}/push/{told['subscription_id']}"
    _, _, other = await site.somebody()
    assert (await other.submit(HERE, at)).status == 404
    tested = await browser.submit(HERE, f"{HERE}/test", channel="push")
    assert tested.headers["Location"] == f"{HERE}?queued=1"
    assert "A test is on its way." in (await browser.get(f"{HERE}?queued=1")).said
    assert (await browser.submit(HERE, at)).status == 303
    assert "No browser is told." in (await browser.get(HERE)).said
    inside = await browser.submit(HERE, f"{HERE}/push", **BROWSER | {"endpoint": "https://10.0.0.1/"})  # fmt: skip
    assert inside.status == 400


async def test_an_address_is_confirmed_by_a_press_and_ended_without_a_sign_in(site: Site) -> None:
    owner, _, browser = await site.somebody()
    asked = await browser.submit(HERE, f"{HERE}/email", address="o@example.com")
    assert asked.status == 303
    assert "Open it within a day" in (await browser.get(HERE)).said
    (row,) = await site.world.store.read(lambda uow: uow.sql.rows("SELECT * FROM webhooks"))
    link = verify_path(SIGNING, str(row["webhook_id"]))
    shown = await browser.get(link)
    fine(shown)
    # A look alone, such as a mail server takes, confirms nothing.
    read = await site.world.ok("owner_notice_settings", owner)
    assert read["channels"]["email"]["address"] is None
    _, _, other = await site.somebody()
    assert (await other.submit(HERE, link)).status == 404
    assert (await site.browser().get(link)).headers["Location"].startswith("/app/sign-in?next=")
    assert (await browser.submit(link, link)).status == 303
    read = await site.world.ok("owner_notice_settings", owner)
    assert read["channels"]["email"]["address"] == "o@example.com"
    again = await browser.get(link)
    fine(again)
    assert "This address is confirmed already" in again.said
    assert (await browser.submit(HERE, link)).headers["Location"] == HERE
    elsewhere = await other.get(link)
    assert "confirms nothing now" in elsewhere.said
    assert "o@example.com" not in elsewhere.said
    stop, stranger = stop_path(SIGNING, str(row["webhook_id"])), site.browser()
    fine(await stranger.get(stop))
    wrong = stop[:-2] + ("aa" if not stop.endswith("aa") else "bb")
    assert (await stranger.submit(wrong, wrong)).status == 404
    read = await site.world.ok("owner_notice_settings", owner)
    assert read["channels"]["email"]["address"] == "o@example.com"
    ended = await stranger.submit(stop, stop)
    fine(ended)
    assert "nothing more is sent to this address" in ended.said
    assert "nothing more is sent to this address" in (await stranger.submit(stop, stop)).said
    read = await site.world.ok("owner_notice_settings", owner)
    assert read["channels"]["email"]["address"] is None


async def test_the_short_address_of_a_held_action_opens_it_for_its_owner_alone(site: Site) -> None:
    m = await working(site.world, approval_above_usdc="20")
    held = (await m.execute("30")).body["approval"]
    short = f"/app/approvals/{held['approval_id']}"  # type: ignore[index]
    browser = await site.signed_in(m.owner_wallet)
    led = await browser.get(short)
    page = f"/app/mandates/{m.id}/approvals/{held['approval_id']}"  # type: ignore[index]
    assert (led.status, led.headers["Location"]) == (303, page)
    _, _, other = await site.somebody()
    assert (await other.get(short)).status == 404
    assert (await browser.get("/app/approvals/ap_zzzzzzzzzz")).status == 404
    first = await site.browser().get(short)
    assert first.headers["Location"] == f"/app/sign-in?next={short}"


async def test_the_worker_shows_notices_and_does_nothing_else(site: Site) -> None:
    found = await site.browser().get("/app/notices-worker.js")
    assert found.headers["Content-Type"].startswith("text/javascript")
    assert found.headers["Cache-Control"] == "no-cache"
    source = found.words
    words = json.loads(source.split("WORDS=")[1].partition(",HERE=")[0])
    assert set(words) == {*MESSAGES, "title", "other"}
    for never in ("fetch", "caches", "indexedDB", "importScripts", "postMessage"):
        assert never not in source
    assert "WORDS={}" in assets.FILES["js/worker.js"].decode()


async def test_the_manifest_names_files_that_are_there(site: Site) -> None:
    browser = site.browser()
    found = await browser.get("/app/manifest.webmanifest")
    told = json.loads(found.words)
    assert (told["start_url"], told["display"]) == ("/app", "standalone")
    for icon in told["icons"]:
        answer = await browser.get(icon["src"])
        assert (answer.status, answer.headers["Content-Type"].split(";")[0]) == (200, icon["type"])
    assert "/app/manifest.webmanifest" in (await browser.get("/app")).source


async def test_the_page_that_registers_the_worker_may_name_its_address_and_no_other_page(
    site: Site,
) -> None:
    _, _, browser = await site.somebody()
    policies = [(await browser.get(p)).headers["Content-Security-Policy"] for p in (HERE, "/app/notices")]  # fmt: skip
    assert [p.split("trusted-types ")[1] for p in policies] == ["notices", "'none'"]


async def test_a_channel_by_which_nothing_arrives_is_seen_where_notices_are(site: Site) -> None:
    owner, _, browser = await site.somebody()
    fine(unasked := await browser.get("/app/notices"))
    assert "Choose where you hear of it." in unasked.said
    await browser.submit(HERE, f"{HERE}/push", **BROWSER)
    arrives = (await browser.get("/app/notices")).said
    assert "do not arrive" not in arrives
    assert "Choose where" not in arrives
    failed = "UPDATE webhooks SET failures = 3, failing_since = 1760000000000000"
    await site.world.store.write(lambda uow: uow.sql.run(failed))
    page = await browser.get("/app/notices")
    fine(page)
    assert "Notices do not arrive in a browser that you chose." in page.said
    chosen = await browser.get(HERE)
    fine(chosen)
    assert "Nothing arrives failing since" in chosen.said
    # The only place is gone, by its push service or by the owner.
    (told,) = (await site.world.ok("owner_notice_settings", owner))["channels"]["push"]["browsers"]
    await site.world.store.write(lambda uow: uow.webhooks.drop(told["subscription_id"]))
    assert "Choose where you hear of it." in (await browser.get("/app/notices")).said


async def test_what_is_not_set_up_is_not_offered(sqlite_url: str, evm: Evm) -> None:
    async with a_world(sqlite_url, evm) as world, a_site(world) as site:
        _, wallet = await world.owner()
        page = await (await site.signed_in(wallet)).get(HERE)
        fine(page)
        assert "This service tells no browsers" in page.said
        assert "This service sends no e-mails" in page.said
        assert not page.all("input", id="address")
        assert "Choose where" not in (await (await site.signed_in(wallet)).get("/app/notices")).said
