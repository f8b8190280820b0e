"""The terms page: what is read, what is signed, what is refused."""

from __future__ import annotations

import json

import pytest

from app.words.text import ENGLISH
from tests.app.site import Site
from tests.app.test_pages import fine
from tests.world import CHAIN_ID, drafted, market_targets, signed
from tools.model.operation import Caller

pytestmark = pytest.mark.anyio


async def test_terms_are_read_signed_and_led_on_to_the_vault(site: Site) -> None:
    m, browser, base = await site.of(drafted(site.world, purpose="Park idle USDC."))
    page = await browser.get(f"{base}/review")
    fine(page)
    assert len([e for e in page.elements if "data-field" in e.attributes]) == 17
    assert len([e for e in page.elements if "data-clause" in e.attributes]) == 10
    assert "At once, before you can react" in page.said
    assert "That the agent earns anything." in page.said
    assert "Clause 7 for now: it is stored, and not active on this service." in page.said
    told = json.loads(page.one("script", id="terms").text)
    elsewhere = json.loads((await browser.get(f"{base}/terms.json")).words)
    assert elsewhere["typed_data"] == told["typed_data"]
    assert elsewhere["digest"] == told["digest"] == page.one("dd", id="h-digest").text
    signature = m.owner_wallet.sign_typed(told["typed_data"])
    done = await browser.submit(f"{base}/review", f"{base}/sign", signature=signature)
    assert (done.status, done.headers["Location"]) == (303, f"{base}/create")
    again = await browser.get(f"{base}/review")
    fine(again)
    assert "You have signed these terms" in again.said
    assert not again.all("button", id="sign")


async def test_terms_for_an_agent_without_an_address_say_who_has_to_do_what(site: Site) -> None:
    owner, _, browser = await site.somebody()
    told = await site.world.ok("owner_agent_register", owner, name="Scout")
    policy = {"agent_id": told["agent_id"], "accepts_mandates": True}
    await site.world.ok("owner_agent_policy_put", owner, **policy)
    terms = {"budget_usdc": "5", "agent_id": told["agent_id"], "chain_id": CHAIN_ID}
    draft = (await site.world.ok("owner_mandate_create", owner, **terms))["public_id"]
    for language, who, what in (
        (ENGLISH, "Who is to act", "the agent has no wallet address on this network yet"),
        ("de", "Wer handeln soll", "der Agent hat in diesem Netzwerk noch keine Wallet-Adresse"),
    ):
        browser.cookies["language"] = language
        page = await browser.get(f"/app/mandates/{draft}/review")
        assert page.status == 400
        assert f"{who}: {what}" in page.said
        assert "deposit-address" not in page.said
        # Another agent is chosen where that is said; a page with a way back would lead here again.
        assert page.one("form", id="terms").attributes["action"] == f"/app/start/{draft}"


async def test_an_agent_whose_address_is_on_file_is_not_said_to_have_none(site: Site) -> None:
    owner, _, browser = await site.somebody()
    told = await site.world.ok("owner_agent_register", owner, name="Scout")
    lacks = "has no wallet address yet"
    assert lacks in (await browser.get("/app/agents")).said
    agent, own = Caller("agent", told["agent_id"], owner.user_id), site.world.wallet().address
    where = {"agent_id": told["agent_id"], "chain_id": CHAIN_ID, "address": own}
    await site.world.ok("agent_deposit_address", agent, **where)
    for path in ("/app/agents", f"/app/agents/{told['agent_id']}"):
        page = await browser.get(path)
        fine(page)
        assert lacks not in page.said
        assert own in [e.attributes.get("data-copy") for e in page.all("span")]


async def test_a_signature_of_other_terms_or_of_nothing_is_told_beside_the_terms(
    site: Site,
) -> None:
    m, browser, base = await site.of(drafted(site.world))
    page = await browser.get(f"{base}/review")
    typed = json.loads(page.one("script", id="terms").text)["typed_data"]
    for signature in ("0x" + "11" * 65, "", "none"):
        refused = await browser.submit(f"{base}/review", f"{base}/sign", signature=signature)
        assert refused.status == 400
        assert refused.one("div", role="alert")
        assert refused.all("button", id="sign")
    changed = {"budget_usdc": "400", "agent_id": m.agent.user_id}
    assert (await m.as_owner("owner_mandate_correct", **changed)).status == 200
    before = m.owner_wallet.sign_typed(typed)
    late = await browser.submit(f"{base}/review", f"{base}/sign", signature=before)
    assert late.status in (400, 409)
    assert "At most 400.00 USDC of yours" in late.said
    assert (await m.read())["mandate"]["status"] == "draft"


async def test_a_draft_is_thrown_away_and_signed_terms_without_a_vault_are_cancelled(
    site: Site,
) -> None:
    for made in (drafted, signed):
        m = await made(site.world)
        browser, base = await site.signed_in(m.owner_wallet), f"/app/mandates/{m.id}"
        at = f"{base}/review" if made is drafted else base
        done = await browser.submit(at, f"{base}/cancel")
        assert (done.status, done.headers["Location"]) == (303, "/app/mandates")
        assert (await m.read())["mandate"]["status"] == "cancelled"
        for path in ("", "/record"):
            told = (
                (await browser.get(f"/app/mandates/{m.id}{path}")).one("ol", class_="record").text
            )
            assert told.split("UTC", 1)[1].strip().startswith("You cancelled the mandate"), told


async def test_a_label_of_another_is_text_on_the_terms(site: Site) -> None:
    evil = "</script><script>alert(1)</script><b>"
    m = await drafted(site.world, purpose=evil, allowed_targets=market_targets(site.world))
    page = await (await site.signed_in(m.owner_wallet)).get(f"/app/mandates/{m.id}/review")
    fine(page)
    assert evil in page.said
    assert all(s.attributes for s in page.all("script"))
