"""Every page in two languages: no sentence of ours is the same in both."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable
from functools import partial
from html.parser import HTMLParser

import pytest

from app.screens import PAGES
from app.words.other_layers import CLAUSES, HALL, NOTES, REASONS, in_language
from app.words.text import ENGLISH, use_language
from tests.app.lives import LIVES
from tests.app.site import VOID, Browser, Page, Site
from tests.app.test_hostile_input import FIELD, names_in
from tests.browser.stations import PART, opened, stations, values_of
from tests.house.sources import ROOT

pytestmark = pytest.mark.slow
WORDS = 3
SHOWN = ("title", "aria-label", "placeholder", "alt")


class _Texts(HTMLParser):
    """The sentences of a page, but for those that are marked as of another language."""

    def __init__(self, source: str):
        super().__init__()
        self.texts: set[str] = set()
        self._open: list[tuple[str, bool]] = []
        self.feed(source)

    def _keep(self, text: str) -> None:
        folded = " ".join(text.split())
        if sum(word.strip(".,:;").isalpha() for word in folded.split()) >= WORDS:
            self.texts.add(folded)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        foreign = tag in ("script", "style", "code", "pre") or (tag != "html" and "lang" in told)
        inside = foreign or any(mark for _, mark in self._open)
        if not inside:
            for name in SHOWN:
                self._keep(told.get(name) or "")
        if tag not in VOID:
            self._open.append((tag, foreign))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(mark for _, mark in self._open):
            self._keep(data)


OTHERS_WORDS = {
    "Park idle USDC.", "the rate is 4.6%", "a larger step",
    *(f"Test Market: {function}" for function in ("deposit", "withdraw", "redeem")),
}  # fmt: skip
"""What the owners and agents of these lives wrote, and labels of the markets list."""


async def alike(first: Page, second: Page) -> set[str]:
    return (_Texts(first.source).texts & _Texts(second.source).texts) - OTHERS_WORDS


async def in_both(browser: Browser, ask: Callable[[], Awaitable[Page]]) -> tuple[Page, Page]:
    told = []
    for language in (ENGLISH, "de"):
        browser.cookies["language"] = language
        told.append(await ask())
    first, second = told
    return first, second


@pytest.mark.anyio
@pytest.mark.parametrize("name", LIVES)
async def test_no_sentence_of_a_page_is_the_same_in_two_languages(site: Site, name: str) -> None:
    m, browser, _ = await site.of(LIVES[name](site.world))
    left: dict[str, str] = {}
    for path in stations(await values_of(m), opened()):
        both = await in_both(browser, partial(browser.get, path))
        left |= dict.fromkeys(await alike(*both), path)
    assert left == {}


@pytest.mark.anyio
async def test_no_sentence_of_a_refused_form_is_the_same_in_two_languages(site: Site) -> None:
    m, browser, _ = await site.of(LIVES["working"](site.world))
    own = {"csrf": (await browser.get("/app")).token()}
    values = await values_of(m) | {name: ["x_aaaaaaaaaa"] for name in ("key", "grant", "browser")}
    left: dict[str, str] = {}
    for page in (p for p in PAGES if p.method == "POST" and not p.path.endswith("sign-out")):
        path = PART.sub(lambda part: values[part[1]][0], page.path)
        for word in ("", "-1", "1000000000000000"):
            form = dict.fromkeys(names_in(page, FIELD), word) | own
            both = await in_both(browser, partial(browser.post, path, form))
            left |= dict.fromkeys(await alike(*both), f"{page.path} {word}")
    assert left == {}


@pytest.mark.anyio
async def test_a_clause_is_read_beside_the_wording_that_is_signed(site: Site) -> None:
    m, browser, _ = await site.of(LIVES["draft"](site.world))
    browser.cookies["language"] = "de"
    page = await browser.get(f"/app/mandates/{m.id}/review")
    signed = [e.text for e in page.all("p", lang="en")]
    assert len(signed) == 10
    assert "Im Tresor liegen nie mehr als 500.00 USDC von Ihnen." in page.said
    assert signed[0] == "At most 500.00 USDC of yours is ever in the vault."


@pytest.mark.parametrize("sentence", [str(s) for s in (*CLAUSES, *HALL, *NOTES, *REASONS)])
def test_a_listed_sentence_is_written_by_some_other_layer(sentence: str) -> None:
    """One that no layer writes any more is to go, and one that was reworded to be reworded here."""
    longest = max(re.split(r"\{\w+\}|[,;] | a share | an amount ", sentence), key=len).strip(" .;:")
    assert _squeezed(longest) in WRITTEN, longest


FOR_PROGRAMS = {
    "By the ledger.", "By its receipt.", "Its calldata was not handed out.",  # of an act
    "what it signed is another transaction", "there is no key for it",  # of a key that is held
    "saving a draft needs an owner session",  # of who has none
    "the settings at a start",  # of a process
}  # fmt: skip
"""Reasons that no form of the screens meets."""


def test_every_literal_reason_that_a_form_can_meet_is_listed() -> None:
    listed = {str(s) for s in (*CLAUSES, *HALL, *NOTES, *REASONS)}
    written = {
        given.value.value
        for layer in ("domain", "tools", "storage")
        for path in (ROOT / layer).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        for given in call.keywords
        if given.arg in ("why", "reason")
        and isinstance(given.value, ast.Constant)
        and isinstance(given.value.value, str)
    }
    sentences = {text for text in written if len(text.split()) >= WORDS}
    assert len(sentences) > 25
    assert sentences - listed == FOR_PROGRAMS


@pytest.mark.parametrize(
    ("english", "german"),
    [
        (
            "the vault itself, Aave v3 (every market maker), Desk: every market",
            "der Tresor selbst, Aave v3 (every market maker), Desk: jeder Markt",
        ),
        (
            "my 3 products that this service does not know, paid reads (x402) at named hosts (2)",
            "my 3 products that this service does not know, "
            "bezahlte Abfragen (x402) bei benannten Hosts (2)",
        ),
        (
            "paid services (x402), each bill signed by the agent's own key: at most 1,000.00 USDC "
            "a payment, 2.00 USDC a day, 3.00 USDC at risk at once, to anybody; this service holds "
            "them to named hosts (1)",
            "bezahlte Dienste (x402), jede Rechnung vom Schlüssel des Agenten signiert: höchstens "
            "1,000.00 USDC je Zahlung, 2.00 USDC am Tag, 3.00 USDC zugleich im Risiko, an jeden; "
            "dieser Dienst hält sie an benannte Hosts (1)",
        ),
    ],
)
def test_a_name_in_the_list_of_places_stays_as_it_is(english: str, german: str) -> None:
    use_language("de")
    try:
        told = in_language(f"The agent may only deal with: {english}.")
    finally:
        use_language(ENGLISH)
    assert told == f"Erlaubt sind dem Agenten nur: {german}."


def _squeezed(text: str) -> str:
    return re.sub(r"[^\w]", "", text)


WRITTEN = _squeezed(
    re.sub(
        r"\"\s*f?\"|\{[^{}\n]*\}",
        "",
        "".join(
            path.read_text("utf-8")
            for layer in (
                "domain",
                "tools",
                "storage",
                "chain",
                "http_shim",
                "server/signer",
                "app/pages",
            )
            for path in (ROOT / layer).rglob("*.py")
        ),
    )
)
