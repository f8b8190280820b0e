"""The screens in another language: every text has one place, and a page is in one language."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime

import polib
import pytest

from app import assets
from app.components import refusal as refusals
from app.language import language_of
from app.words.other_layers import in_language
from app.words.refusals import in_words
from app.words.text import ENGLISH, LANGUAGES, catalogue, use_language
from app.words.text import _ as sentence
from chain.networks import NETWORKS
from devtools.texts import LANGUAGES as FOLDER
from devtools.texts import sources, updated
from domain.refusal_kinds.kind import RefusalKind
from domain.refusals import REFUSALS, refusal
from domain.text import format_usdc
from tests.app.markup import Attributes, MarkupReader
from tests.app.site import OWN, Site
from tests.app.test_pages import fine
from tests.world import drafted, working

OTHERS = sorted(set(LANGUAGES) - {ENGLISH})
_FIELD = re.compile(r"%\(\w+\)s|\{\w*(?::\w+)?\}")


class _Tags(MarkupReader):
    def __init__(self, text: str):
        self.names = Counter[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        self.names[f"{tag} {sorted(attributes.items())}"] += 1

    def handle_endtag(self, tag: str) -> None:
        self.names[f"/{tag}"] += 1


def entries(language: str) -> polib.POFile:
    return polib.pofile((FOLDER / f"{language}.po").read_text("utf-8"))


def test_every_language_has_its_file_and_every_file_its_language() -> None:
    assert {path.stem for path in FOLDER.glob("*.po")} == set(OTHERS)
    assert OTHERS, "one translation at least proves the way"


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_holds_the_texts_of_the_screens(language: str) -> None:
    """Where this fails: `make texts`, and translate what is new."""
    path = FOLDER / f"{language}.po"
    assert path.read_text("utf-8") == f"{updated(path)}\n"
    assert [e.msgid for e in entries(language) if not e.translated()] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_and_the_marks_of_its_text(language: str) -> None:
    for entry in entries(language):
        forms = entry.msgstr_plural.values() if entry.msgid_plural else [entry.msgstr]
        english = {frozenset(_FIELD.findall(t)) for t in (entry.msgid, entry.msgid_plural) if t}
        for form in forms:
            assert frozenset(_FIELD.findall(form)) in english, entry.msgid
            assert _Tags(form).names == _Tags(entry.msgid).names, entry.msgid
            assert form.strip() == form or entry.msgid.strip() != entry.msgid, entry.msgid
            assert len(form) <= 2 * len(entry.msgid) + 30, entry.msgid


def test_a_sentence_is_its_english_until_it_is_written() -> None:
    text = sentence("Sign out")
    use_language("de")
    try:
        assert text == "Sign out"
        assert {text: 1} == {"Sign out": 1}
        assert str(text) == f"{text}" == "%s" % text == catalogue("de").gettext("Sign out")  # noqa: UP031  # the third way to write it
        assert str(text) != "Sign out"
    finally:
        use_language(ENGLISH)
    assert str(text) == "Sign out"


@pytest.mark.parametrize(
    ("header", "cookie", "language"),
    [
        ("", "", "en"),
        ("de-DE,de;q=0.9,en;q=0.8", "", "de"),
        ("en-GB,en;q=0.9,de;q=0.8", "", "en"),
        ("fr;q=1, de;q=0.2, en;q=0.1", "", "de"),
        ("de;q=0, en;q=0.1", "", "en"),
        ("de;q=nan, de;q=x, de;q=7", "", "en"),
        ("fr, " * 100 + "de", "", "en"),
        ("de", "en", "en"),
        ("en", "de", "de"),
        ("de", "../../etc", "de"),
    ],
)
def test_a_page_is_in_what_its_reader_chose_or_the_browser_asks_for(
    header: str, cookie: str, language: str
) -> None:
    from aiohttp.test_utils import make_mocked_request

    headers = {"Accept-Language": header} | ({"Cookie": f"language={cookie}"} if cookie else {})
    assert language_of(make_mocked_request("GET", "/app", headers=headers)) == language


@pytest.mark.anyio
async def test_pages_are_whole_in_the_language_that_is_chosen(site: Site) -> None:
    m, browser, _ = await site.of(working(site.world))
    draft, drafter, _ = await site.of(drafted(site.world))
    drafter.cookies["language"] = "de"
    page = await browser.get("/app/mandates")
    assert page.one("html").attributes["lang"] == "en"
    form = {"language": "de", "csrf": page.token()}
    moved = await browser.post("/app/language", form, Referer=f"{site.base}/app/hall?sort=net_30d")
    assert (moved.status, moved.headers["Location"]) == (303, "/app/hall?sort=net_30d")
    texts = [s.text for s in sources() if len(s.text.split()) > 3 and not _FIELD.search(s.text)]
    german = catalogue("de")
    paths = [
        "", "/mandates", "/start", "/hall", "/markets", "/deposit", "/agents", "/notices",
        "/statement", f"/mandates/{m.id}", f"/mandates/{m.id}/pause", f"/mandates/{m.id}/record",
        f"/agents/{m.agent.user_id}", f"/mandates/{draft.id}/review",
    ]  # fmt: skip
    for path in paths:
        page = await (drafter if draft.id in path else browser).get(f"/app{path}")
        fine(page)
        assert page.one("html").attributes["lang"] == "de", path
        # A clause is its sentence of record, which the browser compares before a signature.
        clauses = "".join(e.text for e in page.elements if "data-clause" in e.attributes)
        left = [t for t in texts if t in page.said and t not in clauses and german.gettext(t) != t]
        assert left == [], path
        assert " chain 31337 " not in page.said, path
    hall = await browser.get("/app/hall")
    browser.cookies["language"] = "en"
    assert (await browser.get("/app/hall", If_None_Match=hall.headers["ETag"])).status == 200


@pytest.mark.anyio
async def test_a_language_that_is_none_is_refused(site: Site) -> None:
    browser = site.browser()
    wrong = await browser.raw("POST", "/app/language", OWN, {"language": "xx"})
    assert wrong.status == 400
    assert "language" not in browser.cookies
    away = await browser.post(
        "/app/language", {"language": "de"}, Referer="https://evil.example//x"
    )
    assert (away.status, away.headers["Location"]) == (303, "/app")


@pytest.mark.anyio
async def test_what_a_script_says_is_in_the_language_of_its_page(site: Site) -> None:
    browser = site.browser()
    browser.cookies["language"] = "de"
    said = json.loads((await browser.get("/app/sign-in")).one("script", id="wallet-says").text)
    assert said["with"] == "Weiter mit {more}"
    for name in ("signin", "key", "order", "own", "push", "send", "trade", "wallet"):
        source = assets.FILES[f"js/{name}.js"].decode()
        assert (
            re.findall(r'Problem\("other", "|append\(["`][A-Z]|["`][A-Z][a-z]+ [^"`]* ', source)
            == []
        ), name


@pytest.mark.anyio
async def test_a_page_between_two_addresses_names_its_language(site: Site) -> None:
    browser = site.browser()
    browser.cookies["language"] = "de"
    page = await browser.get("/app/mandates", Sec_Fetch_Site="cross-site")
    assert page.one("meta", http_equiv="refresh")
    assert page.one("html").attributes["lang"] == "de"
    for name in ("arriving", "leaving"):
        source = (FOLDER.parent / "templates" / f"{name}.html").read_text("utf-8")
        assert '<html lang="{{ page.language }}">' in source, name


@pytest.mark.parametrize("kind", REFUSALS.values(), ids=REFUSALS)
def test_a_sentence_of_the_registry_is_found_again_with_its_values(kind: RefusalKind) -> None:
    """Every value of a filled sentence stands in the reader's sentence as it was."""
    spec = re.compile(r"\{(\w+)(:\w+)?\}")
    given = {
        name: datetime(2026, 3, 5, 14, 7, tzinfo=UTC) if form == ":time"
        else f"{1000 + n}.500000" if form == ":usdc" else f"v{n} <{{x}}>"
        for n, (name, form) in enumerate(spec.findall(kind.sentence))
    }  # fmt: skip
    reason = refusal(kind.code, given).reason
    assert in_words(kind.code, reason) == reason
    use_language("de")
    try:
        told = in_words(kind.code, reason)
        template = catalogue("de").gettext(kind.sentence)
    finally:
        use_language(ENGLISH)
    texts = [t for t in spec.split(template)[::3] if t.strip()]
    assert all(text in told for text in texts)
    for name, form in spec.findall(kind.sentence):
        value = given[name]
        shown = (
            "5 Mar 2026, 14:07 UTC" if form == ":time"
            else format_usdc(str(value)) if form == ":usdc" else value
        )  # fmt: skip
        assert str(shown) in told, name


@pytest.mark.parametrize("name", [n.name for n in NETWORKS.values() if "chain" in (n.name or "")])
def test_a_network_that_is_no_public_one_has_a_name_in_every_language(name: str) -> None:
    use_language("de")
    try:
        assert in_language(name) != name
    finally:
        use_language(ENGLISH)


def test_a_sentence_of_another_form_stays_as_it_is() -> None:
    use_language("de")
    try:
        assert in_words("over_budget", "Not so today.") == "Not so today."
        assert in_words("no_such_kind", "Not so today.") == "Not so today."
        told = refusals.view(
            refusal("over_budget", attempted="30.000000", allowed="5.000000").as_json("owner")
        )
        assert told is not None
        assert "mehr, als das Budget übrig lässt, 5.00 USDC" in str(told["sentences"][0])
    finally:
        use_language(ENGLISH)


@pytest.mark.anyio
async def test_a_link_of_consent_that_is_over_says_where_to_start_again(site: Site) -> None:
    _, browser, _ = await site.of(working(site.world))
    page = await browser.get("/app/connect/s1.AbCdEfGh")
    assert page.status == 404
    assert "Start connecting again in the app" in page.said
    browser.cookies["language"] = "de"
    german = await browser.get("/app/connect/s1.AbCdEfGh")
    assert "Beginnen Sie die Verbindung in der App neu" in german.said
