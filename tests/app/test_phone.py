"""A page on a phone: the wallets' links and the code hold its address and nothing that others may not see."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest
import segno

from app.pages.phone import carried
from app.words.wallet_apps import WALLETS, openings
from tests.app.site import Site
from tests.world import drafted
from tools.model.qr_code import qr_svg

pytestmark = pytest.mark.anyio
DRAFT = "/app/start/m_abcdefgh23"


@pytest.mark.parametrize(
    ("asked", "carries"),
    [
        (DRAFT, DRAFT),
        (DRAFT + "?note=500+USDC&csrf=x", DRAFT),
        ("/app/start/<script>", "/app"),
        ("/app/mandates/m_abcdefgh23/fund?amount=120.50", "/app/mandates/m_abcdefgh23/fund"),
        ("/app/mandates/m_abcdefgh23/review", "/app/mandates/m_abcdefgh23/review"),
        ("/app/mandates/m_abcdefgh23/statement?cursor=secret", "/app/mandates/m_abcdefgh23/statement"),
        ("/app/connect/k_secret", "/app"),
        ("/app/sign-in?next=/app/orders", "/app"),
        ("https://evil.example/app", "/app"),
        ("//evil.example", "/app"),
        ("/app/../wallet", "/app"),
        ("/wallet/me", "/app"),
        ("/app/" + "a" * 65, "/app"),
        ("", "/app"),
    ],
)  # fmt: skip
def test_only_the_address_of_a_page_of_this_site_is_carried(asked: str, carries: str) -> None:
    assert carried(asked) == carries


def test_every_wallet_is_given_this_very_page() -> None:
    address = "https://wallet.example" + DRAFT
    links = {w["name"]: w["link"] for w in openings(address)}
    assert len(links) == len(WALLETS) >= 5
    for link in links.values():
        assert urlsplit(link).scheme == "https"
        assert " " not in link
    assert links["MetaMask"] == "https://link.metamask.io/dapp/wallet.example" + DRAFT
    asked = {name: parse_qs(urlsplit(link).query) for name, link in links.items()}
    assert asked["Base (Coinbase Wallet)"] == {"cb_url": [address]}
    assert asked["Trust Wallet"] == {"coin_id": ["60"], "url": [address]}
    (inner,) = asked["OKX Wallet"]["deeplink"]
    assert inner == "okx://wallet/dapp/url?dappUrl=" + quote(address, safe="")
    path = urlsplit(links["Phantom"]).path
    assert unquote(path.removeprefix("/ul/browse/")) == address
    assert asked["Phantom"] == {"ref": ["https://wallet.example"]}


def test_every_form_of_a_link_has_its_source() -> None:
    for wallet in WALLETS:
        assert urlsplit(wallet.source).scheme == "https"
        assert "{" in wallet.link


async def test_the_code_is_of_the_address_that_the_page_shows(site: Site) -> None:
    m = await drafted(site.world)
    page = await site.browser().get(f"/app/phone?next={quote(f'/app/start/{m.id}?note=500')}")
    address = f"{site.world.deps.config.base_url}/app/start/{m.id}"
    assert page.one("p", class_="raw").text == address
    source = page.one("img", class_="qr").attributes["src"]
    svg = base64.b64decode(source.partition(",")[2]).decode()
    assert svg == qr_svg(address)
    assert segno.make(address, micro=False).symbol_size(border=2)[0] * 4 < 400
    assert len(page.source.encode()) < 45_000
    assert sum(e.text.startswith("Open in ") for e in page.all("a")) == len(WALLETS)


async def test_a_form_that_is_not_kept_says_so_first(site: Site) -> None:
    browser = site.browser()
    says = "What you typed there and did not keep does not come along."
    assert says in (await browser.get("/app/phone?next=/app/start")).said
    assert says not in (await browser.get(f"/app/phone?next={quote(DRAFT)}")).said


async def test_a_draft_opens_on_the_phone_after_signing_in(site: Site) -> None:
    m, browser, _ = await site.of(drafted(site.world))
    draft = f"/app/start/{m.id}"
    start = await browser.get(draft)
    assert start.links().count(f"/app/phone?next={quote(draft, safe='/')}") == 2
    phone = site.browser()
    sent = await phone.get(draft)
    assert sent.status == 303
    signing_in = await phone.get(sent.headers["Location"])
    links = [e.attributes["href"] for e in signing_in.all("a") if e.text.startswith("Open in ")]
    assert len(links) == len(WALLETS)
    assert any(quote(site.world.deps.config.base_url + draft, safe="") in link for link in links)
    assert signing_in.one("input", name="next").attributes["value"] == draft
