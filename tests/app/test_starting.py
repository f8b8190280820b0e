"""From a sentence to a draft that can be signed."""

from __future__ import annotations

import json

import pytest
from multidict import MultiDict

from app.pages import drafting
from tests.app.site import Browser, Page, Site
from tests.app.test_pages import HOSTILE, fine
from tests.world import drafted

pytestmark = pytest.mark.anyio


async def begun(browser: Browser, note: str) -> str:
    done = await browser.submit("/app/start", "/app/start", note=note)
    assert done.status == 303, done.said
    return done.headers["Location"]


def form(page: Page, **changed: str) -> dict[str, str]:
    """What the form of the terms would send."""
    found = {
        e.attributes["name"]: e.attributes.get("value", "")
        for e in page.all("input")
        if e.attributes.get("type") in ("text", "hidden")
    }
    return found | {"on_floor": "keep", "agent": ""} | changed


async def test_a_sentence_becomes_a_draft_its_fields_are_kept_and_it_goes_to_review(
    site: Site,
) -> None:
    owner, wallet = await site.world.owner()
    agent, _ = await site.world.agent(owner)
    browser = await site.signed_in(wallet)
    fine(await browser.get("/app/start"))
    at = await begun(browser, "500 USDC for lending, at most 50 per trade, 30 days")
    page = await browser.get(at)
    fine(page)
    assert "Understood" in page.said
    assert "Assumed" in page.said
    assert "At most 500.00 USDC of yours is ever in the vault." in page.said
    public_id = at.partition("=")[2]
    sent = form(
        page, daily_cap_usdc="120", stop_floor="12.5", agent=agent.user_id or "", then="review"
    )
    kept = await browser.post(f"/app/start/{public_id}", sent | {"market": "test-market"})
    assert kept.status == 303, kept.said
    assert kept.headers["Location"] == f"/app/mandates/{public_id}/review"
    review = await browser.get(kept.headers["Location"])
    fine(review)
    assert "take at most 120.00 USDC out" in review.said
    assert "a loss of 12.5% of the budget" in review.said
    assert "test-market" in review.said or "Test Market" in review.said
    assert review.all("button", id="sign")


WRONG = [
    ("stop_floor", "a lot"),
    ("stop_floor", "101"),
    ("stop_floor", "1e999999"),
    ("share", "NaN"),
    ("horizon_days", "soon"),
    ("budget_usdc", ""),
    ("per_tx_cap_usdc", "900"),
    ("agent", "a_nobody"),
]


async def test_a_field_that_is_wrong_is_told_and_nothing_that_was_typed_is_lost(site: Site) -> None:
    m, browser, _ = await site.of(drafted(site.world))
    page = await browser.get(f"/app/start?draft={m.id}")
    fine(page)
    for name, value in WRONG:
        sent = form(page, approval_above_usdc="7.77") | {name: value}
        refused = await browser.post(f"/app/start/{m.id}", sent)
        assert 400 <= refused.status < 500, name
        assert refused.one("div", role="alert")
        assert refused.one("input", id="approval_above_usdc").attributes["value"] == "7.77"
        assert (await m.read())["mandate"]["approval_above_usdc"] is None


async def test_what_a_sentence_leaves_open_is_an_empty_field_that_has_to_be_filled(
    site: Site,
) -> None:
    _, _, browser = await site.somebody()
    at = await begun(
        browser,
        "Budget 500 USDC, 30 days. Stop at 400. Check with me about the larger ones of your trades.",
    )
    page = await browser.get(at)
    fine(page)
    assert page.one("input", id="budget_usdc").attributes["value"] == "500"
    for name in ("stop_floor", "approval_above_usdc"):
        field = page.one("input", id=name).attributes
        assert (field["value"], field.get("aria-invalid")) == ("", "true")
    assert "not understood" in page.said
    assert "If the agent turns hostile" not in page.said
    public_id = at.partition("=")[2]
    left = await browser.post(f"/app/start/{public_id}", form(page, stop_floor="20"))
    assert left.status == 400
    assert "your sentence was not understood here" in left.said
    filled = form(page, stop_floor="20", approval_above_usdc="none", then="stay")
    assert (await browser.post(f"/app/start/{public_id}", filled)).status == 303
    page = await browser.get(at)
    assert "not understood" not in page.said
    assert "If the agent turns hostile" in page.said


async def test_of_an_unclear_draft_no_page_shows_a_budget_that_nobody_named(site: Site) -> None:
    owner, wallet = await site.world.owner()
    agent, _ = await site.world.agent(owner)
    browser = await site.signed_in(wallet)
    at = await begun(browser, "Budget around 400 USDC, 30 days.")
    public_id = at.partition("=")[2]
    await site.world.ok("owner_mandate_assign", owner, public_id=public_id, agent_id=agent.user_id)
    listed = await browser.get("/app/mandates")
    fine(listed)
    assert "500.00" not in listed.said
    assert "not known yet" in listed.said
    assert "500.00" not in (await browser.get(at)).said
    page = await browser.get(f"/app/mandates/{public_id}")
    assert (page.status, page.headers["Location"]) == (303, at)


async def test_a_draft_goes_to_the_open_board_and_once_signed_is_no_draft(site: Site) -> None:
    m, browser, base = await site.of(drafted(site.world))
    at = f"/app/start?draft={m.id}"
    sent = form(await browser.get(at), agent="board", then="stay")
    assert (await browser.post(f"/app/start/{m.id}", sent)).headers["Location"] == at
    assert (await m.read())["mandate"]["open_board"]
    review = await browser.get(f"{base}/review")
    assert "any agent that accepts the mandate" in review.said
    typed = json.loads(review.one("script", id="terms").text)["typed_data"]
    assert (
        await m.as_owner("owner_sign", signature=m.owner_wallet.sign_typed(typed))
    ).status == 200
    page = await browser.get(at)
    assert (page.status, page.headers["Location"]) == (303, base)


async def test_a_hostile_sentence_is_text(site: Site) -> None:
    _, _, browser = await site.somebody()
    page = await browser.get(await begun(browser, f"500 USDC {HOSTILE} 30 days"))
    assert (page.status, HOSTILE in page.said) == (200, True)
    assert all(s.attributes for s in page.all("script"))
    assert (await browser.submit("/app/start", "/app/start", note="")).status in (303, 400)


async def test_who_comes_from_an_agents_page_finds_it_named_in_the_draft(site: Site) -> None:
    owner, wallet = await site.world.owner()
    agent, _ = await site.world.agent(owner)
    browser = await site.signed_in(wallet)
    at = f"/app/start?agent={agent.user_id}"
    assert at in (await browser.get(f"/app/agents/{agent.user_id}")).links()
    page = await browser.get(at)
    fine(page)
    assert str(agent.user_id) in page.said
    named = page.one("input", name="agent").attributes["value"]
    for _ in range(2):
        done = await browser.submit(at, "/app/start", note="500 USDC, 30 days", agent=named)
    draft = await browser.get(done.headers["Location"])
    chosen = [o.attributes["value"] for o in draft.all("option", selected="")]
    assert agent.user_id in chosen
    odd = await browser.submit(at, "/app/start", note="500 USDC, 30 days", agent="u_nobody<b>")
    assert odd.status == 303  # a draft all the same: somebody else is chosen there
    fine(await browser.get("/app/start?agent=<b>"))


async def test_of_many_agents_the_rest_is_a_link_away(site: Site) -> None:
    m = await drafted(site.world)
    told = await site.world.ok("owner_agents", m.owner, limit=1)
    one = {**told["items"][0], "accepts_mandates": True}
    read, markets = await m.read(), await site.world.ok("markets_list")
    few = drafting.draft_view(read, None, markets, {"items": [one], "next_cursor": None}, told)
    many = drafting.draft_view(read, None, markets, {"items": [one], "next_cursor": "x"}, told)
    assert (few["more_agents"], many["more_agents"]) == (False, True)


async def test_drafts_stand_apart_and_are_thrown_away_several_at_once(site: Site) -> None:
    m, browser, _ = await site.of(drafted(site.world))
    ids = [m.id] + [
        (await site.world.ok("owner_mandate_create", m.owner, budget_usdc="5"))["public_id"]
        for _ in range(3)
    ]
    page = await browser.get("/app/mandates")
    fine(page)
    assert "wait for you" not in page.said
    assert {e.attributes["value"] for e in page.all("input", name="draft")} == set(ids)
    assert "No mandate yet" not in page.said
    at, token = "/app/mandates/discard", page.token()
    # Only the one whose button was pressed, whatever is ticked.
    one = MultiDict([("csrf", token), ("draft", ids[2]), ("only", ids[1])])
    assert (await browser.post(at, one)).headers["Location"] == "/app/mandates"
    ticked = MultiDict([("csrf", token), ("draft", ids[2]), ("draft", ids[3])])
    assert (await browser.post(at, MultiDict([("draft", ids[2])]))).status == 403
    assert (await browser.post(at, ticked)).status == 303
    assert (await browser.post(at, {"csrf": token})).status == 303  # nothing is ticked
    left = (await browser.get("/app/mandates")).all("input", name="draft")
    assert [e.attributes["value"] for e in left] == [m.id]
