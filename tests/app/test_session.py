"""Signing in and out: the cookie counts for screens only, and nobody else can write in its name."""

from __future__ import annotations

import pytest

from app import session_guard
from app.session_guard import form_token, next_of
from domain.settings import Config
from tests.app.site import Site, a_site
from tests.world import CHAIN_ID, Evm, a_world, working

pytestmark = pytest.mark.anyio


async def test_who_signs_in_is_taken_where_they_wanted_to_go(site: Site) -> None:
    _, wallet = await site.world.owner()
    browser = site.browser()
    asked = await browser.get("/app/mandates?cursor=x")
    assert (asked.status, asked.headers["Location"]) == (
        303,
        "/app/sign-in?next=/app/mandates%3Fcursor%3Dx",
    )
    page = await browser.get(asked.headers["Location"])
    wanted = page.one("input", name="next").attributes["value"]
    assert wanted == "/app/mandates?cursor=x"
    signed = await browser.sign_in(wallet, wanted)
    assert (signed.status, signed.headers["Location"]) == (303, wanted)
    assert wallet.address[:6] in (await browser.get("/app")).said


async def test_on_this_machine_the_cookie_is_plain_and_out_of_reach_of_scripts(site: Site) -> None:
    _, wallet = await site.world.owner()
    signed = await site.browser().sign_in(wallet)
    cookie = signed.headers["Set-Cookie"]
    name, _, token = cookie.partition(";")[0].partition("=")
    assert name == "wallet"
    assert cookie == f"wallet={token}; HttpOnly; Max-Age=604800; Path=/; SameSite=Strict"


async def test_behind_https_the_cookie_is_bound_to_the_host(sqlite_url: str, evm: Evm) -> None:
    config = Config(default_chain_id=CHAIN_ID, base_url="https://wallet.example")
    async with a_world(sqlite_url, evm, config=config) as world, a_site(world) as site:
        _, wallet = await world.owner()
        browser = site.browser()
        signed = await browser.sign_in(wallet)
        cookie = signed.headers["Set-Cookie"]
        token = cookie.partition("=")[2].partition(";")[0]
        assert cookie == (
            f"__Host-Http-wallet={token}; HttpOnly; Max-Age=604800; Path=/; SameSite=Strict; Secure"
        )
        assert (await browser.get("/app/mandates")).status == 200
        # The plain name is nobody's there: whoever can set cookies over http would choose the owner.
        browser.cookies = {"wallet": token}
        assert (await browser.get("/app/mandates")).status == 303


async def test_the_cookie_opens_no_other_route_and_a_bearer_opens_no_screen(site: Site) -> None:
    _, _, browser = await site.somebody()
    token = browser.cookies[session_guard.LOCAL_COOKIE]
    assert (await browser.get("/wallet/mandates")).status == 401
    assert (await browser.get("/app/trade/me")).status == 401
    browser.cookies = {}
    bearer = f"Bearer {token}"
    assert (await browser.get("/wallet/mandates", Authorization=bearer)).status == 200
    assert (await browser.get("/app/mandates", Authorization=bearer)).status == 303


async def test_signing_out_ends_the_session_itself_and_clears_what_was_kept(site: Site) -> None:
    _, _, browser = await site.somebody()
    token = browser.cookies[session_guard.LOCAL_COOKIE]
    left = await browser.submit("/app", "/app/sign-out")
    assert (left.status, left.headers["Location"]) == (303, "/app")
    assert left.headers["Clear-Site-Data"] == '"cache"'
    assert browser.cookies == {}
    browser.cookies = {session_guard.LOCAL_COOKIE: token}
    assert (await browser.get("/app/mandates")).status == 303


async def test_a_session_that_is_over_says_so_and_leads_back(site: Site) -> None:
    _, _, browser = await site.somebody()
    site.world.clock.forward(hours=13)
    asked = await browser.get("/app/mandates")
    assert asked.headers["Location"] == "/app/sign-in?next=/app/mandates&ended=1"
    assert "Nothing was lost" in (await browser.get(asked.headers["Location"])).said


async def test_a_form_that_comes_after_its_session_leads_back_to_where_it_stood(site: Site) -> None:
    m, browser, at = await site.of(working(site.world))
    site.world.clock.forward(hours=13)
    for page in (f"{at}/fund?amount=12", f"/app/start/{m.id}", "/app/notices/settings/email"):
        over = await browser.post(f"{at}/sent", {}, Referer=site.base + page)
        assert (over.status, over.one("input", name="next").attributes["value"]) == (401, page)
    away = await browser.post(f"{at}/sent", {}, Referer="https://evil.example//evil.example/app")
    assert away.one("input", name="next").attributes["value"] == "/app"


async def test_a_link_from_another_site_meets_one_page_that_opens_itself_again(site: Site) -> None:
    _, _, browser = await site.somebody()
    kept, browser.cookies = browser.cookies, {}  # a Strict cookie stays at home
    arrived = await browser.get("/app/mandates", Sec_Fetch_Site="cross-site")
    assert arrived.status == 200
    assert arrived.one("meta", http_equiv="refresh").attributes["content"] == "0"
    browser.cookies = kept
    again = await browser.get("/app/mandates", Sec_Fetch_Site="same-origin")
    assert "Your mandates" in again.said
    browser.cookies = {}
    nobody = await browser.get("/app/mandates", Sec_Fetch_Site="same-origin")
    assert nobody.status == 303


OURS = ["/app", "/app/mandates/m_abcdefghij", "/app/mandates?cursor=x"]
ELSEWHERE = [
    "//evil.example",
    "https://evil.example",
    "/wallet",
    "/appx",
    "/app//evil.example",
    "/app\\evil",
    "/app/\n",
    "/app/../oauth/authorize?client_id=x",
    "/app/%2e%2E/wallet",
    "/app/./x",
    "",
    "/app/" + "a" * 1_100,
]


@pytest.mark.parametrize("path", [*OURS, *ELSEWHERE])
def test_signing_in_leads_back_to_any_page_of_ours_and_to_no_other_place(path: str) -> None:
    assert next_of(path) == (path if path in OURS else "/app")


FORGED = {
    "another site": {"Sec-Fetch-Site": "cross-site"},
    "a neighbour under the same domain": {"Sec-Fetch-Site": "same-site"},
    "no page at all": {"Sec-Fetch-Site": "none"},
    "an old browser, another origin": {"Origin": "https://evil.example"},
    "an old browser, a null origin": {"Origin": "null"},
    "an old browser that tells nothing": {},
    "a lying origin beside fetch metadata": {
        "Sec-Fetch-Site": "cross-site",
        "Origin": "http://127.0.0.1:8402",
    },
}


@pytest.mark.parametrize("headers", FORGED.values(), ids=FORGED.keys())
async def test_a_write_that_no_page_of_ours_sent_is_refused(
    site: Site, headers: dict[str, str]
) -> None:
    _, _, browser = await site.somebody()
    token = (await browser.get("/app")).token()
    for path in ("/app/sign-out", "/app/session"):
        refused = await browser.raw("POST", path, headers, {"csrf": token})
        assert (refused.status, "not sent from this site" in refused.said) == (403, True)
    assert (await browser.get("/app/mandates")).status == 200
    own = {"Origin": site.world.deps.config.base_url}  # an old browser, our own origin
    assert (await browser.raw("POST", "/app/sign-out", own, {"csrf": token})).status == 303


async def test_a_page_of_another_sign_in_writes_nothing(site: Site) -> None:
    _, first = await site.world.owner()
    _, second = await site.world.owner()
    browser = await site.signed_in(first)
    stale = (await browser.get("/app")).token()
    await browser.sign_in(second)
    for token in (stale, "", "x", form_token("ws_else")):
        refused = await browser.post("/app/sign-out", {"csrf": token})
        assert (refused.status, "another sign-in" in refused.said) == (403, True)
    assert second.address[:6] in (await browser.get("/app")).said


async def test_what_is_no_form_or_too_large_a_form_is_refused(site: Site) -> None:
    browser = site.browser()
    own = {"Sec-Fetch-Site": "same-origin"}
    json_body = await browser.raw(
        "POST", "/app/session", own | {"Content-Type": "application/json"}, b"{}"
    )
    assert json_body.status == 400
    large = await browser.post("/app/session", {"message": "a" * 70_000})
    assert large.status == 413
    many = await browser.post("/app/session", {f"f{n}": "x" for n in range(400)})
    assert many.status == 400
    garbled = await browser.raw(
        "POST",
        "/app/session",
        own | {"Content-Type": "application/x-www-form-urlencoded"},
        b"a=%ff",
    )
    assert garbled.status == 400


async def test_a_signature_of_somebody_else_opens_nothing_and_says_why(site: Site) -> None:
    _, wallet = await site.world.owner()
    _, other = await site.world.owner()
    browser = site.browser()
    async with site.http.post(
        site.base + "/wallet/auth/challenge", json={"address": wallet.address}
    ) as answer:
        text = (await answer.json())["message"]
    refused = await browser.post(
        "/app/session", {"message": text, "signature": other.sign_text(text), "next": "/app"}
    )
    assert refused.status == 400
    assert "the signature is not this wallet" in refused.said
    assert browser.cookies == {}


async def test_wrong_cookies_are_paid_for_by_the_address_they_come_from(
    sqlite_url: str, evm: Evm
) -> None:
    config = Config(default_chain_id=CHAIN_ID, rate_anonymous=12)
    async with a_world(sqlite_url, evm, config=config) as world, a_site(world) as site:
        browser = site.browser()
        browser.cookies = {"wallet": "ws_guess"}
        statuses = [(await browser.get("/app/sign-in")).status for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
        limited = await browser.get("/app/sign-in")
        assert int(limited.headers["Retry-After"]) > 0


async def test_the_front_door_is_text_for_who_reads_text(site: Site) -> None:
    browser = site.browser()
    text = await browser.get("/app", Accept="text/plain")
    assert text.headers["Content-Type"].startswith("text/plain")
    assert f"{site.world.deps.config.base_url}/wallet/skill.md" in text.words
    assert text.words == (await browser.get("/app/front.txt")).words
    await site.world.store.write(
        lambda uow: uow.switches.set("door", "off", site.world.clock.now(), "test")
    )
    shut = await browser.get("/app/front.txt")
    assert "/wallet/skill.md" not in shut.words
    assert "The door for new agents is shut here" in shut.words
    assert (await browser.get("/app")).one("h1").text == "Give an agent a budget, not your wallet."
