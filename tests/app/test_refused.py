"""What a page says of something that was refused: words for an owner, whatever was asked for."""

from __future__ import annotations

import pytest

from app.words import refusals
from app.words.text import ENGLISH, use_language
from domain.money import Usdc
from domain.refusals import REFUSALS, Refused
from tests.app.desks import a_trading_site
from tests.app.lives import LIVES
from tests.app.site import Site
from tests.app.test_pages import fine
from tests.app.test_starting import form, read
from tests.world import signed, working

COST = {ENGLISH: "Cost of leaving", "de": "Kosten des Ausstiegs"}
LARGEST = "1,000,000,000,000.00 USDC"


@pytest.mark.anyio
async def test_a_deposit_above_the_budget_is_not_called_an_action(site: Site) -> None:
    _, browser, base = await site.of(working(site.world))
    page = await browser.get(f"{base}/fund?amount=999999")
    assert "999,999.00 USDC is more than the budget leaves, " in page.said
    assert "The action" not in page.said


@pytest.mark.parametrize("code", ["over_per_tx_cap", "over_daily_cap", "over_budget"])
def test_a_limit_is_told_in_words_that_fit_an_action_a_deposit_and_a_payment(code: str) -> None:
    assert "action needs" not in REFUSALS[code].sentence


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "fields", "english", "german"),
    [
        ("/app/notices/settings/email", {"address": "o@example.com"}, "e-mails", "E-Mails"),
        ("/app/notices/settings/push", {}, "notices in browsers", "Mitteilungen in Browsern"),
        ("/app/notices", {"url": "https://hooks.example/a"}, "webhooks", "Webhooks"),
        ("/app/agents/{agent}/held-key", {}, "keys of agents that it holds", "Schlüssel von Agenten"),
    ],
)  # fmt: skip
async def test_what_a_service_is_not_set_up_for_is_told_without_its_settings(
    site: Site, path: str, fields: dict[str, str], english: str, german: str
) -> None:
    m, browser, _ = await site.of(signed(site.world))
    if path.endswith("push"):
        key = "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"
        fields = {"endpoint": "https://push.example/1", "p256dh": key, "auth": "x" * 22}
    token = (await browser.get("/app")).token()
    for language, said in ((ENGLISH, english), ("de", german)):
        browser.cookies["language"] = language
        page = await browser.post(path.format(agent=m.agent.user_id), {"csrf": token} | fields)
        assert page.status == 409, page.said
        assert "WALLET_" not in page.source
        assert "onfigured" not in page.said.replace("not_configured", "")
        assert said in page.said
    assert "Der Betreiber muss das beheben." in page.said


@pytest.mark.anyio
async def test_the_menu_has_no_orders_where_there_is_no_venue(site: Site) -> None:
    _, _, browser = await site.somebody()
    assert "/app/orders" not in (await browser.get("/app")).links()
    # Who has the address is told why there is nothing.
    page = await browser.get("/app/orders")
    assert (page.status, page.one("h1").text) == (409, "Not set up here")
    assert "This service is not set up for the venue." in page.said


@pytest.mark.anyio
async def test_the_menu_has_orders_where_there_is_a_venue(sqlite_url: str) -> None:
    async with a_trading_site(sqlite_url) as site:
        browser = await site.signed_in(await site.desk.person())
        assert "/app/orders" in (await browser.get("/app")).links()


@pytest.mark.anyio
@pytest.mark.parametrize("life", ["created", "working"])
async def test_what_leaving_costs_is_told_in_no_sentence_while_it_is_not_known(
    site: Site, life: str
) -> None:
    _, browser, base = await site.of(LIVES[life](site.world))
    for language, about in ((ENGLISH, "about"), ("de", "etwa")):
        browser.cookies["language"] = language
        page = await browser.get(f"{base}/leave")
        fine(page)
        cost = page.all("dd")[[e.text for e in page.all("dt")].index(COST[language])]
        assert ("unknown" in page.source) == (life != "working")
        assert (about in cost.text) == (life == "working"), cost.text


@pytest.mark.anyio
async def test_the_bounds_of_a_draft_are_told_in_the_form_of_every_amount(site: Site) -> None:
    _, _, browser = await site.somebody()
    page = await read(browser, "500 USDC, 30 days")
    sent = {"then": "review", "ask": "never", "agent": "board"}
    refused = await browser.post("/app/start", form(page, budget_usdc="0", **sent))
    assert f"it is above 0 and at most {LARGEST}" in refused.said
    refused = await browser.post("/app/start", form(page, share="90", **sent))
    assert "a share from 0% to 30%" in refused.said


@pytest.mark.parametrize("value", ["1000000000000.000001", "-1000000000001", 10**13])
def test_what_is_larger_than_any_amount_is_told_in_the_form_of_one(value: object) -> None:
    with pytest.raises(Refused) as refused:
        Usdc.parse(value)
    assert f"it is outside ±{LARGEST}" in refused.value.refusal.reason
    use_language("de")
    try:
        (said,) = refusals.sentences("invalid_number", refused.value.refusal.reason)
    finally:
        use_language(ENGLISH)
    assert f"außerhalb von ±{LARGEST}" in said


@pytest.mark.anyio
async def test_the_bounds_of_a_paper_book_are_told_in_the_form_of_every_amount(site: Site) -> None:
    _, _, browser = await site.somebody()
    for start in ("1", "100000.01"):
        page = await browser.submit("/app/books", "/app/books", name="Trial", start_usdc=start)
        assert "an amount from 10.00 USDC to 100,000.00 USDC" in page.said


@pytest.mark.anyio
async def test_a_refused_form_or_address_is_told_in_the_readers_language_alone(site: Site) -> None:
    _, browser, base = await site.of(LIVES["working"](site.world))
    browser.cookies["language"] = "de"
    for path, told in (
        ("/statement?week=x", "Woche: eine Woche schreibt man JJJJ-Www"),
        ("/rows?since=x", "Erster Tag: es hat nicht die Form"),
        ("/record?cursor=zz", "Seite: diese Seite der Liste gibt es nicht"),
        ("/unwind?market=zz", "Markt: diesen Markt gibt es nicht"),
    ):
        assert told in (await browser.get(base + path)).said, path
    agent = await browser.submit("/app/agents", "/app/agents", name="A", address="zz")
    assert "es ist nicht 0x mit 40 Hexadezimalziffern" in agent.said
    lacking = {"terms": "1", "note": "a", "budget_usdc": "", "then": "review"}
    draft = await browser.submit("/app/start", "/app/start", **lacking)
    for told in ("wählen Sie, ob er Sie fragt", "füllen Sie dies aus", "wählen Sie, wer handeln"):
        assert told in draft.said
