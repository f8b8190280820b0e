"""What no template may hold, and how much the files may weigh."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import jinja2
import pytest

from app import assets
from app.templates import environment, render
from app.words.refusals import SENTENCES, TITLES, WHO
from domain.refusals import REFUSALS

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "app" / "templates").rglob("*.html"))
FORBIDDEN = {
    "an escape that is switched off": re.compile(r"\|\s*(safe|forceescape)\b|autoescape|Markup\("),
    "an inline style": re.compile(r"<style|\sstyle\s*=", re.I),
    "an inline handler": re.compile(r"\son[a-z]+\s*=", re.I),
    "a script in the page": re.compile(r"<script(?![^>]*(\bsrc=|type=\"application/json\"))", re.I),
    "a javascript address": re.compile(r"javascript:", re.I),
    "another site": re.compile(r"(src|href|action)=\"(https?:)?//", re.I),
    "an attribute without quotes": re.compile(r"\s[a-z-]+=\{\{", re.I),
}
TRANS = re.compile(r"{%-?\s*trans\b.*?{%-?\s*endtrans\s*-?%}", re.S)
TAGS = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}|<!doctype[^>]*>", re.S)
NO_WORDS = frozenset({"USDC", "ETH"})


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_template_holds(path: Path, what: str) -> None:
    assert not FORBIDDEN[what].search(path.read_text()), path


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_every_text_of_a_template_can_be_translated(path: Path) -> None:
    left = TAGS.sub("", TRANS.sub("", path.read_text()))
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>|&[a-z]+;", " ", left))
    assert set(words) <= NO_WORDS, path
    for quoted in re.findall(r"(?:title|aria-label|alt|placeholder)=\"([^\"{]+)\"", left):
        assert not re.search(r"[A-Za-z]{2,}", quoted), (path, quoted)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_a_percent_sign_in_a_text_is_doubled(path: Path) -> None:
    assert not re.search(r"_\(\"[^\"]*(?<!%)%(?![%(])[^\"]*\"", path.read_text())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_every_template_is_well_formed_for_jinja(path: Path) -> None:
    environment("en").get_template(path.relative_to(ROOT / "app" / "templates").as_posix())


def test_a_name_that_a_view_does_not_have_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("refused.html", page=None, view=None)


DEMO = frozenset({"js/demo.js"})  # only `wallet demo --serve` has pages with it
TRADING = frozenset(f"js/{name}.js" for name in ("key", "order", "own", "trade"))


def size(names: Iterable[str]) -> int:
    return sum(len(assets.FILES[n]) for n in names)


def test_the_files_are_small() -> None:
    ours = {n for n in assets.FILES if n.startswith("js/")}
    assert size(n for n in assets.FILES if n.startswith("css/")) <= 24_000
    assert size(ours - TRADING - DEMO) <= 32_000
    assert size(TRADING) <= 15_000
    assert size(["vendor/eth.js"]) <= 36_000
    assert size(["vendor/order.js"]) <= 32_000


def loaded(name: str, so_far: set[str]) -> set[str]:
    """A module and what it imports."""
    if name in so_far:
        return so_far
    so_far.add(name)
    for wanted in re.findall(r"\b(?:from|import) ?\"([^\"]+)\"", assets.FILES[name].decode()):
        loaded(Path("js", wanted).as_posix().replace("js/../", ""), so_far)
    return so_far


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.name)
def test_what_a_page_loads_of_scripts_is_small(path: Path) -> None:
    entries = re.findall(r"asset\('(js/[a-z]+\.js)'\)", path.read_text())
    names: set[str] = set()
    for entry in ("js/page.js", *entries):
        loaded(entry, names)
    most = 47_000 if names & TRADING else 32_000
    assert size(n for n in names if n.startswith("js/")) <= most
    assert not {"vendor/eth.js", "vendor/order.js"} <= names
    assert ("js/wallet.js" in names) == ("{{ wallet_says() }}" in path.read_text())


SAID = re.compile(r"\b(?:says|Problem|over)\(\"(\w+)\"")


def test_what_a_script_says_by_its_code_is_written_in_the_page() -> None:
    source = (ROOT / "app" / "templates" / "macros" / "wallet.html").read_text()
    written = set(re.findall(r"^  \"(\w+)\": _\(", source, re.M))
    scripts = [p.read_text() for p in (ROOT / "app" / "static" / "js").glob("*.js")]
    used = {code for text in scripts for code in SAID.findall(text)} - {"other"}
    mapped = set(re.findall(r": \"(\w+)\"", next(t for t in scripts if "const CODES" in t)))
    assert used <= written
    assert written <= used | mapped | {"unknown_chain", "other_chain", "funds"}


def test_no_script_turns_text_into_markup_or_code() -> None:
    banned = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|\beval\b|new Function|setTimeout\(\s*[\"'`]"
    )
    for name, body in assets.FILES.items():
        if name.startswith("js/"):
            assert not banned.search(body.decode()), name
    assert not re.search(r"\beval\(|new Function", assets.FILES["vendor/eth.js"].decode())


def test_every_sentence_for_an_owner_is_of_a_refusal_that_exists() -> None:
    assert set(SENTENCES) <= set(REFUSALS)
    assert set(TITLES) <= set(REFUSALS)
    assert {kind.who_fixes for kind in REFUSALS.values()} <= set(WHO)
