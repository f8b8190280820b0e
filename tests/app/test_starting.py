"""From a sentence to a draft that can be signed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from multidict import MultiDict

from app.components import draft_form
from tests.app.site import Browser, Page, Site, a_site
from tests.app.test_pages import HOSTILE, fine
from tests.world import Evm, a_world, drafted
from tools.model.operation import Caller

pytestmark = pytest.mark.anyio


Form = MultiDict[str]
Json = Any


async def read(browser: Browser, note: str, **more: str) -> Page:
    """The terms as a sentence says them; nothing is stored."""
    page = await browser.submit("/app/start", "/app/start", note=note, **more)
    assert page.status == 200, page.said
    return page


def form(page: Page, **changed: str) -> Form:
    """What the form of the terms would send as it stands, but for what is changed."""
    sent = Form()
    for e in page.all("input"):
        kind, name = e.attributes.get("type", ""), e.attributes.get("name", "")
        ticked = kind in ("radio", "checkbox") and "checked" in e.attributes
        if kind in ("text", "hidden") or ticked:
            sent.add(name, e.attributes.get("value", ""))
    for area in page.all("textarea"):
        sent.add(area.attributes["name"], area.text.replace("\n", "\r\n"))
    for select in page.all("select"):
        sent[select.attributes["name"]] = ""
    for option in page.all("option", selected=""):
        value = option.attributes["value"]
        sent["on_floor" if value in ("keep", "close") else "agent"] = value
    for name, text in changed.items():
        sent[name] = text
    return sent


def changed(sent: Form, **more: str) -> Form:
    after = Form(sent)
    for name, text in more.items():
        after[name] = text
    return after


def value(page: Page, name: str) -> str:
    return page.one("input", id=name).attributes["value"]


def is_marked(page: Page, name: str) -> bool:
    return page.one("input", id=name).attributes.get("aria-invalid") == "true"


def chosen(page: Page, name: str) -> list[str]:
    return [
        e.attributes["value"] for e in page.all("input", name=name) if "checked" in e.attributes
    ]


def answers(page: Page) -> dict[str, str]:
    """The buttons that fill a field, by what they say."""
    return {e.text: e.attributes["value"] for e in page.all("button", name="set")}


async def drafts_of(site: Site, owner: Caller) -> list[str]:
    rows = await site.world.ok("mandate_list", owner)
    return [str(row["public_id"]) for row in rows["items"]]


async def test_a_sentence_becomes_terms_that_are_stored_only_where_they_are_kept(
    site: Site,
) -> None:
    owner, wallet = await site.world.owner()
    agent, _ = await site.world.agent(owner)
    browser = await site.signed_in(wallet)
    fine(await browser.get("/app/start"))
    page = await read(browser, "500 USDC for lending, at most 50 per trade, 30 days")
    fine(page)
    for name, shown, words in [
        ("budget_usdc", "500", "500 USDC for lending"),
        ("per_tx_cap_usdc", "50", "at most 50 per trade"),
        ("horizon_days", "30", "30 days"),
    ]:
        assert value(page, name) == shown
        assert f"You wrote “{words}”" in " ".join(page.one("span", id=f"{name}-from").text.split())
    assert "Suggested" in page.one("span", id="stop_floor-from").text
    assert "Test Market" in page.said
    assert chosen(page, "market") == ["test-market", "x402"]
    assert "At most 500.00 USDC of yours is ever in the vault." in page.said
    assert await drafts_of(site, owner) == []
    sent = form(page, daily_cap_usdc="120", stop_floor="12.5", agent=agent.user_id or "")
    looked = await browser.post("/app/start", sent)
    fine(looked)
    assert "take at most 120.00 USDC out" in looked.said
    assert value(looked, "stop_floor") == "12.5"
    assert "Suggested" not in looked.one("span", id="stop_floor-from").text
    refused = await browser.post("/app/start", form(looked, then="review"))
    assert (refused.status, chosen(refused, "ask")) == (400, [])
    assert "choose whether it asks you" in refused.said
    assert await drafts_of(site, owner) == []
    kept = await browser.post("/app/start", form(refused, then="review", ask="never"))
    assert kept.status == 303, kept.said
    (public_id,) = await drafts_of(site, owner)
    assert kept.headers["Location"] == f"/app/mandates/{public_id}/review"
    review = await browser.get(kept.headers["Location"])
    fine(review)
    assert "take at most 120.00 USDC out" in review.said
    assert "a loss of 12.5% of the budget" in review.said
    assert "Test Market" in review.said
    assert review.all("button", id="sign")


async def test_an_unread_word_is_a_question_whose_answer_is_a_button(site: Site) -> None:
    owner, _, browser = await site.somebody()
    note = "Budget 500 USDC, 50 a trade, 150 a day, stop at 400, 30 days, fee 10%, ask above 100"
    page = await read(browser, note)
    fine(page)
    assert (value(page, "stop_floor"), is_marked(page, "stop_floor")) == ("", True)
    marked = [e.attributes["name"] for e in page.all("input", aria_invalid="true")]
    assert marked == ["stop_floor"]
    assert chosen(page, "ask") == ["above"]
    assert (
        "You wrote “stop at 400”: the value that is left, or the most that may be lost?"
        in page.said
    )
    assert "If the agent turned hostile" not in page.said
    assert answers(page) == {
        "Lose at most 80%: stop at 100.00 USDC": "stop_floor=80",
        "Lose at most 20%: stop at 400.00 USDC": "stop_floor=20",
    }
    sent = form(page, per_tx_cap_usdc="45", share="7.5", set="stop_floor=20")
    filled = await browser.post("/app/start", sent)
    fine(filled)
    typed = {n: value(filled, n) for n in ("stop_floor", "per_tx_cap_usdc", "share", "budget_usdc")}
    assert typed == {
        "stop_floor": "20",
        "per_tx_cap_usdc": "45",
        "share": "7.5",
        "budget_usdc": "500",
    }
    assert (answers(filled), filled.all("input", aria_invalid="true")) == ({}, [])
    assert "You wrote “150 a day”" in filled.said
    assert "You wrote “50 a trade”" not in filled.said  # it is 45 now
    assert "400.00 USDC" in filled.said
    assert await drafts_of(site, owner) == []


@pytest.mark.parametrize(
    ("note", "which", "expected"),
    [
        ("500 USDC, up to 50", "which of these do you mean?", {"Limit per action: 50.00 USDC": "per_tx_cap_usdc=50"}),
        ("500 USDC for 2 months", "a month is no fixed number of days", {"60 days": "horizon_days=60"}),
        ("500 USDC. Close positions at the stop line. Keep positions at the stop line.", "the note speaks of it twice", {}),
    ],
)  # fmt: skip
async def test_other_questions(site: Site, note: str, which: str, expected: dict[str, str]) -> None:
    _, _, browser = await site.somebody()
    page = await read(browser, note)
    fine(page)
    assert which in page.said
    assert expected.items() <= answers(page).items()


async def test_what_is_emptied_is_filled_by_nobody(site: Site) -> None:
    owner, _, browser = await site.somebody()
    page = await read(browser, "500 USDC, 50 per trade, 30 days. Stop at 400.")
    for name in ("per_tx_cap_usdc", "daily_cap_usdc", "budget_usdc", "share", "horizon_days"):
        sent = changed(form(page, ask="never", then="stay"), **{name: " "})
        refused = await browser.post("/app/start", sent)
        assert refused.status == 400, name
        assert "fill this in" in refused.said
        assert is_marked(refused, name)
    assert await drafts_of(site, owner) == []


async def test_in_another_language_the_form_holds_what_was_typed(site: Site) -> None:
    owner, _, browser = await site.somebody()
    page = await read(browser, "500 USDC, 30 days")
    (button,) = page.all("button", name="language")
    how = {"form": "terms", "formaction": "/app/language"}
    assert {n: button.attributes[n] for n in how} == how
    sent = form(page, budget_usdc="321", language="de")
    at = {"Referer": f"{browser.base}/app/start"}
    switched = await browser.post("/app/language", sent, **at)
    assert (switched.status, switched.headers["Location"]) == (307, "/app/start")
    # A browser that does not say where it comes from is led to a page that can be opened.
    assert (await browser.post("/app/language", sent)).status == 303
    page = await browser.post("/app/start", sent, **at)  # as a browser sends it on
    fine(page)
    assert page.one("html").attributes["lang"] == "de"
    assert value(page, "budget_usdc") == "321"
    assert await drafts_of(site, owner) == []
    kept = await browser.post("/app/start", form(page, ask="never", market="none", then="stay"))
    draft = kept.headers["Location"]
    sent = form(await browser.get(draft), budget_usdc="322", language="en")
    switched = await browser.post("/app/language", sent, Referer=browser.base + draft)
    assert (switched.status, switched.headers["Location"]) == (307, draft)
    page = await browser.post(draft, sent)
    assert (page.one("html").attributes["lang"], value(page, "budget_usdc")) == ("en", "322")
    (public_id,) = await drafts_of(site, owner)
    stored = await site.world.ok("mandate_get", owner, public_id=public_id)
    assert stored["mandate"]["budget_usdc"] == "321.000000"


async def test_a_form_without_a_sentence_is_a_link_away(site: Site) -> None:
    owner, _, browser = await site.somebody()
    first = await browser.get("/app/start")
    assert "/app/start?form=1" in first.links()
    page = await browser.get("/app/start?form=1")
    fine(page)
    assert (value(page, "budget_usdc"), chosen(page, "ask")) == ("500", [])
    assert "You wrote" not in page.said
    sent = form(page, budget_usdc="80", per_tx_cap_usdc="8", daily_cap_usdc="24", then="stay")
    kept = await browser.post("/app/start", changed(sent, approval_above_usdc="5"))
    assert kept.status == 303, kept.said
    (public_id,) = await drafts_of(site, owner)
    m = (await site.world.ok("mandate_get", owner, public_id=public_id))["mandate"]
    assert (m["budget_usdc"], m["approval_above_usdc"]) == ("80.000000", "5.000000")
    again = await browser.get(kept.headers["Location"])
    assert chosen(again, "ask") == ["above"]


async def test_all_that_a_form_lacks_is_told_at_once(site: Site) -> None:
    _, _, browser = await site.somebody()
    page = await read(browser, "500 USDC for lending")
    refused = await browser.post("/app/start", form(page, budget_usdc="", then="review"))
    assert refused.status == 400
    told = refused.one("div", role="alert").text
    wanted = ("What it may do without asking you:", "Budget:", "Who is to act:")
    assert [w for w in wanted if w not in told] == []


async def test_lines_of_a_sentence_are_read_as_a_browser_sends_them(site: Site) -> None:
    _, _, browser = await site.somebody()
    page = await read(browser, "Budget 700 USDC\r\nPer action: 70\r\nDays: 10")
    shown = [value(page, n) for n in ("budget_usdc", "per_tx_cap_usdc", "horizon_days")]
    assert shown == ["700", "70", "10"]


async def test_where_it_may_act_is_what_is_ticked_and_nothing_besides(site: Site) -> None:
    owner, _, browser = await site.somebody()

    async def kinds(sent: Form) -> list[str]:
        done = await browser.post("/app/start", sent)
        assert done.status == 303, done.said
        public_id = done.headers["Location"].rpartition("/")[2]
        read = await site.world.ok("mandate_get", owner, public_id=public_id)
        return sorted({t["kind"] for t in read["mandate"]["allowed_targets"]})

    only = await read(browser, "500 USDC. Only the Test Market.")
    assert chosen(only, "market") == ["test-market"]
    assert await kinds(form(only, ask="never", then="stay")) == ["contract", "vault"]
    silent = await read(browser, "500 USDC for trading")
    assert chosen(silent, "market") == ["x402"]
    assert "selects no market of the list" in silent.said
    sent = form(silent, ask="never", then="stay")
    sent.popall("market")
    assert await kinds(sent) == ["vault"]
    unread = await read(browser, "500 USDC. Use another market.")
    assert chosen(unread, "market") == []
    sent = form(unread, ask="never", then="review", agent="board")
    refused = await browser.post("/app/start", sent)
    assert (refused.status, "fill this in" in refused.said) == (400, True)
    sent = form(refused, then="stay")
    sent.add("market", "none")
    assert await kinds(sent) == ["vault"]


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
    page = await browser.get(f"/app/start/{m.id}")
    fine(page)
    for name, wrong in WRONG:
        sent = changed(
            form(page, approval_above_usdc="7.77", ask="above", then="stay"), **{name: wrong}
        )
        refused = await browser.post(f"/app/start/{m.id}", sent)
        assert 400 <= refused.status < 500, name
        assert refused.one("div", role="alert")
        assert value(refused, "approval_above_usdc") == "7.77"
        assert (await m.read())["mandate"]["approval_above_usdc"] is None


async def test_a_draft_is_kept_with_what_is_still_open_and_filled_in_later(site: Site) -> None:
    owner, _, browser = await site.somebody()
    page = await read(
        browser,
        "Budget 500 USDC, 30 days. Stop at 400. Check with me about the larger ones of your trades.",
    )
    fine(page)
    assert value(page, "budget_usdc") == "500"
    assert (value(page, "stop_floor"), is_marked(page, "stop_floor")) == ("", True)
    assert chosen(page, "ask") == []
    assert "If the agent turns hostile" not in page.said
    kept = await browser.post("/app/start", form(page, then="stay", share="5"))
    (public_id,) = await drafts_of(site, owner)
    assert kept.headers["Location"] == f"/app/start/{public_id}"
    m = (await site.world.ok("mandate_get", owner, public_id=public_id))["mandate"]
    assert (m["needs_review"], m["payout_rule"]["bps"]) == (True, 500)
    assert "Fill in the missing terms" in (await browser.get("/app/mandates")).said
    at = f"/app/start/{public_id}"
    page = await browser.get(kept.headers["Location"])
    fine(page)
    assert (value(page, "stop_floor"), is_marked(page, "stop_floor")) == ("", True)
    assert (value(page, "share"), len(answers(page))) == ("5", 2)
    for sent in (form(page, ask="never"), form(page, stop_floor="20")):
        left = await browser.post(at, changed(sent, then="stay"))
        assert left.status == 400
    filled = await browser.post(at, form(page, set="stop_floor=20"))
    assert (filled.status, value(filled, "stop_floor")) == (200, "20")
    assert (await browser.post(at, form(filled, ask="never", then="stay"))).status == 303
    page = await browser.get(kept.headers["Location"])
    assert "If the agent turns hostile" in page.said
    assert (page.all("input", aria_invalid="true"), chosen(page, "ask")) == ([], ["never"])
    # Of an agent that is chosen too: one button goes on, and it keeps what is typed.
    assert (await browser.post(at, form(page, agent="board", then="stay"))).status == 303
    assert (await browser.get(at)).said.count("Review and sign terms") == 1


async def test_of_an_unclear_draft_no_page_shows_a_budget_that_nobody_named(site: Site) -> None:
    owner, wallet = await site.world.owner()
    agent, _ = await site.world.agent(owner)
    browser = await site.signed_in(wallet)
    page = await read(browser, "Budget around 400 USDC, 30 days.")
    assert [value(page, n) for n in ("budget_usdc", "per_tx_cap_usdc")] == ["", ""]
    sent = form(page, ask="never", agent=agent.user_id or "", then="stay")
    at = (await browser.post("/app/start", sent)).headers["Location"]
    public_id = at.rpartition("/")[2]
    listed = await browser.get("/app/mandates")
    fine(listed)
    assert "500.00" not in listed.said
    assert "not known yet" in listed.said
    assert "500.00" not in (await browser.get(at)).said
    page = await browser.get(f"/app/mandates/{public_id}")
    assert (page.status, page.headers["Location"]) == (303, at)


async def test_an_agents_proposal_chooses_nothing_about_asking(site: Site) -> None:
    m, browser, _ = await site.of(drafted(site.world))
    made = await site.world.ok("mandate_propose", m.agent, budget_usdc="90")
    page = await browser.get(f"/app/start/{made['public_id']}")
    fine(page)
    assert chosen(page, "ask") == []
    refused = await browser.post(f"/app/start/{made['public_id']}", form(page, then="stay"))
    assert refused.status == 400


async def test_a_draft_goes_to_the_open_board_and_once_signed_is_no_draft(site: Site) -> None:
    m, browser, base = await site.of(drafted(site.world))
    at = f"/app/start/{m.id}"
    sent = form(await browser.get(at), agent="board", ask="never", then="stay")
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
    owner, _, browser = await site.somebody()
    page = await read(browser, f"500 USDC {HOSTILE} 30 days")
    assert HOSTILE in page.said
    sent = form(page, set=f"budget_usdc={HOSTILE}", agent=HOSTILE)
    sent.add("market", HOSTILE)
    for then in ("look", "stay", "review"):
        page = await browser.post("/app/start", changed(sent, then=then))
        assert page.status == 400, then
        assert all(s.attributes for s in page.all("script"))
    for odd in ("csrf=x", "terms=0", "nothing", "=", "key="):
        assert (await browser.post("/app/start", changed(sent, set=odd))).status == 400
    assert (await browser.submit("/app/start", "/app/start", note="a" * 3_000)).status == 400
    assert await drafts_of(site, owner) == []


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
    terms = await read(browser, "500 USDC, 30 days", agent=named)
    plain = await browser.get(f"/app/start?form=1&agent={named}")
    for page in (terms, plain):
        assert agent.user_id in [o.attributes["value"] for o in page.all("option", selected="")]
    fine(await browser.get("/app/start?agent=<b>"))
    fine(await read(browser, "500 USDC, 30 days", agent="u_nobody<b>"))


async def test_of_many_agents_the_rest_is_a_link_away(site: Site) -> None:
    m = await drafted(site.world)
    told = await site.world.ok("owner_agents", m.owner, limit=1)
    one = {**told["items"][0], "accepts_mandates": True}
    terms, markets = (await m.read())["mandate"], await site.world.ok("markets_list")
    sent = draft_form.form_of(terms, None, stored=True)
    none: dict[str, object] = {"items": [], "next_cursor": None}
    few, many = (
        draft_form.view(terms, None, sent, markets, {"items": [one], "next_cursor": at}, none)
        for at in (None, "x")
    )
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
    # Where one of them cannot be thrown away, none is, and the others stay ticked.
    kept = (await site.world.ok("owner_mandate_create", m.owner, budget_usdc="5"))["public_id"]
    both = MultiDict([("csrf", token), ("draft", kept), ("draft", "m_zzzzzzzzzz")])
    refused = await browser.post(at, both)
    assert refused.status == 404
    ticked_now = [e.attributes["value"] for e in refused.all("input", name="draft") if "checked" in e.attributes]  # fmt: skip
    assert ticked_now == [kept]
    assert refused.all("div", role="alert")
    assert (await browser.post(at, {"csrf": token, "only": kept})).status == 303
    left = (await browser.get("/app/mandates")).all("input", name="draft")
    assert [e.attributes["value"] for e in left] == [m.id]
    assert "Cancelled" not in (await browser.get("/app/mandates")).said


PAYEE = "0x" + "77" * 20
PAYS = {
    "pays": "1",
    "pay_each": "0.5",
    "pay_day": "5",
    "pay_to": PAYEE,
    "pay_hosts": "api.example.com",
}


async def test_payments_for_web_services_are_typed_seen_kept_and_taken_out_again(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, purses=True) as world, a_site(world) as site:
        owner, wallet = await world.owner()
        agent, _ = await world.agent(owner)
        browser = await site.signed_in(wallet)
        page = await read(browser, "500 USDC for lending, at most 50 per trade, 30 days")
        fine(page)
        assert chosen(page, "pays") == []
        assert [value(page, n) for n in ("pay_each", "pay_day", "pay_float")] == ["", "", ""]
        sent = form(page, agent=agent.user_id or "", ask="never", **PAYS)
        looked = await browser.post("/app/start", sent)
        fine(looked)
        says = "at most 0.50 USDC a payment, 5.00 USDC a day, 150.00 USDC at risk at once, to named"
        assert says in looked.said
        assert await drafts_of(site, owner) == []
        kept = await browser.post("/app/start", form(looked, then="stay"))
        assert kept.status == 303, kept.said
        (public_id,) = await drafts_of(site, owner)

        async def purse() -> tuple[Json, Json | None, int]:
            m = (await world.ok("mandate_get", owner, public_id=public_id))["mandate"]
            (entry,) = [t for t in m["allowed_targets"] if t["kind"] == "x402"]
            calls = [t for t in m["allowed_targets"] if "Purse" in (t.get("label") or "")]
            return entry["hosts"], entry.get("purse"), len(calls)

        hosts, terms, calls = before = await purse()
        assert (hosts, calls) == (["api.example.com"], 2)
        assert terms is not None
        assert {n: v for n, v in terms.items() if n != "hub"} == {
            "per_payment_usdc": "0.500000",
            "per_day_usdc": "5.000000",
            "payees": [PAYEE],
        }
        at = f"/app/start/{public_id}"
        draft = await browser.get(f"/app/start/{public_id}")
        fine(draft)
        assert chosen(draft, "pays") == ["1"]
        assert value(draft, "pay_each") == "0.50"
        assert draft.one("textarea", id="pay_to").text == PAYEE
        assert "more call" not in draft.said  # the calls of the purse are part of it
        assert (await browser.post(at, form(draft, then="stay"))).status == 303
        assert await purse() == before
        wider = form(draft, then="stay", pay_each="2", pay_to="", pay_hosts="")
        assert (await browser.post(at, wider)).status == 303
        hosts, other, calls = await purse()
        assert other is not None
        assert (hosts, other["per_payment_usdc"], other["payees"], calls) == ([], "2.000000", [], 2)
        assert other["hub"] != terms["hub"]
        above = await browser.post(at, form(draft, then="stay", pay_day="900"))
        assert (above.status, is_marked(above, "pay_day")) == (400, True)
        half = form(draft, then="stay")
        del half["pays"]
        refused = await browser.post(at, half)
        assert (refused.status, "tick this" in refused.said) == (400, True)
        without = form(draft, then="stay", **dict.fromkeys(PAYS, ""))
        del without["pays"]
        assert (await browser.post(at, without)).status == 303
        assert await purse() == ([], None, 0)


async def test_no_payments_are_offered_where_the_network_has_no_purses(site: Site) -> None:
    _, _, browser = await site.somebody()
    page = await read(browser, "500 USDC for 30 days")
    assert page.all("input", name="pays") == []


SENTENCE = (
    "Budget 500 USDC for 30 days, 50 per trade, 150 a day. "
    f"May pay for APIs up to 0.50 each, 5 a day, only to {PAYEE}."
)


async def test_a_sentence_about_payments_fills_their_fields_and_asks_for_what_it_leaves_out(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, purses=True) as world, a_site(world) as site:
        owner, wallet = await world.owner()
        agent, _ = await world.agent(owner)
        browser = await site.signed_in(wallet)
        page = await read(browser, SENTENCE)
        fine(page)
        assert chosen(page, "pays") == ["1"]
        assert [value(page, n) for n in ("pay_each", "pay_day", "pay_float")] == ["0.50", "5", ""]
        assert page.one("textarea", id="pay_to").text == PAYEE
        assert "May pay for APIs up to 0.50 each" in page.one("span", id="pay_each-from").text
        assert "5 a day" in page.one("span", id="pay_day-from").text
        assert "only to" in page.one("span", id="pay_to-from").text
        marked = [n for n in ("pay_each", "pay_day", "pay_float") if is_marked(page, n)]
        assert marked == ["pay_float"]
        assert "how much may be at risk at once" in page.said
        assert answers(page)["At most at risk at once: 5.00 USDC"] == "pay_float=5"
        assert value(page, "daily_cap_usdc") == "150"

        whole = {"agent": agent.user_id or "", "ask": "never"}
        unsigned = await browser.post("/app/start", form(page, then="review", **whole))
        assert (unsigned.status, is_marked(unsigned, "pay_float")) == (400, True)
        # kept as it is, it stays open
        kept = await browser.post("/app/start", form(page, then="stay", **whole))
        assert kept.status == 303, kept.said
        (public_id,) = await drafts_of(site, owner)
        m = (await world.ok("mandate_get", owner, public_id=public_id))["mandate"]
        assert m["unclear_terms"] == ["float_usdc"]
        assert await world.error("owner_terms", owner, public_id=public_id) == "draft_unclear"
        draft = await browser.get(f"/app/start/{public_id}")
        fine(draft)
        assert (value(draft, "pay_each"), is_marked(draft, "pay_float")) == ("0.50", True)
        at = f"/app/start/{public_id}"
        again = await browser.post(at, form(draft, then="stay"))
        assert (again.status, is_marked(again, "pay_float")) == (400, True)
        answered = await browser.post(at, form(draft, set="pay_float=5"))
        assert (value(answered, "pay_float"), is_marked(answered, "pay_float")) == ("5", False)
        assert (await browser.post(at, form(answered, then="stay"))).status == 303
        m = (await world.ok("mandate_get", owner, public_id=public_id))["mandate"]
        (purse,) = [t["purse"] for t in m["allowed_targets"] if t["kind"] == "x402"]
        del purse["hub"]
        assert (m["unclear_terms"], purse) == (
            [],
            {
                "per_payment_usdc": "0.500000",
                "per_day_usdc": "5.000000",
                "float_usdc": "5.000000",
                "payees": [PAYEE],
            },
        )


async def test_an_amount_that_may_be_of_payments_is_asked_and_nothing_is_assumed_of_it(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, purses=True) as world, a_site(world) as site:
        owner, wallet = await world.owner()
        agent, _ = await world.agent(owner)
        browser = await site.signed_in(wallet)
        page = await read(browser, "Budget 500 USDC for 30 days. 0.5 USDC per call.")
        fine(page)
        assert (chosen(page, "pays"), value(page, "per_tx_cap_usdc")) == ([], "")
        assert is_marked(page, "per_tx_cap_usdc")
        offered = answers(page)
        assert offered["Limit per action: 0.50 USDC"] == "per_tx_cap_usdc=0.50"
        assert offered["At most a payment: 0.50 USDC"] == "pay_each=0.50"
        paying = await browser.post("/app/start", form(page, set="pay_each=0.50"))
        assert (chosen(paying, "pays"), value(paying, "pay_each")) == (["1"], "0.50")
        own = await browser.post("/app/start", form(page, set="per_tx_cap_usdc=0.50"))
        assert (chosen(own, "pays"), value(own, "pay_each")) == ([], "")
        whole = {"agent": agent.user_id or "", "ask": "never"}
        asked = await browser.post("/app/start", form(own, then="stay", **whole))
        assert (asked.status, "tick what stands below it" in asked.said) == (400, True)
        settled = form(own, then="stay", as_is="pays", **whole)
        kept = await browser.post("/app/start", settled)
        assert kept.status == 303, kept.said
        (public_id,) = await drafts_of(site, owner)
        m = (await world.ok("mandate_get", owner, public_id=public_id))["mandate"]
        assert (m["per_tx_cap_usdc"], m["unclear_terms"]) == ("0.500000", [])
        assert [t.get("purse") for t in m["allowed_targets"] if t["kind"] == "x402"] == [None]


async def test_an_empty_field_of_payments_is_what_the_mandate_says_where_that_is_ticked(
    sqlite_url: str, evm: Evm
) -> None:
    async with a_world(sqlite_url, evm, purses=True) as world, a_site(world) as site:
        owner, wallet = await world.owner()
        agent, _ = await world.agent(owner)
        browser = await site.signed_in(wallet)
        page = await read(browser, "Budget 500 USDC for 30 days. May pay for APIs up to 0.50 each.")
        assert [n for n in ("pay_each", "pay_day", "pay_float") if is_marked(page, n)] == [
            "pay_day",
            "pay_float",
        ]
        ticked = form(page, then="stay", agent=agent.user_id or "", ask="never")
        ticked.add("as_is", "pay_day")
        ticked.add("as_is", "pay_float")
        kept = await browser.post("/app/start", ticked)
        assert kept.status == 303, kept.said
        (public_id,) = await drafts_of(site, owner)
        m = (await world.ok("mandate_get", owner, public_id=public_id))["mandate"]
        (purse,) = [t["purse"] for t in m["allowed_targets"] if t["kind"] == "x402"]
        assert m["unclear_terms"] == []
        assert {n for n in purse if n.endswith("_usdc")} == {"per_payment_usdc"}


async def test_where_a_network_has_no_purses_a_sentence_about_them_is_asked_about(
    site: Site,
) -> None:
    _, _, browser = await site.somebody()
    page = await read(browser, "500 USDC for 30 days. May pay for APIs up to 0.50 each, 5 a day.")
    fine(page)
    assert page.all("input", name="pays") == []
    assert "cannot be made on this network" in page.said
