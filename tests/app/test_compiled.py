"""What a template says the same on every page is made once, and nothing of another page is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from gettext import NullTranslations
from pathlib import Path

import jinja2
import pytest
from markupsafe import Markup

from app import assets
from app.fragments import FragmentCache
from app.page_context import SECTIONS, PageFrame
from app.translated import TranslatedEnvironment

ROOT = Path(__file__).parents[2]


class Catalogue(NullTranslations):
    """A language of some texts, which counts how often it is asked."""

    def __init__(self, texts: Mapping[str, str]):
        super().__init__()
        self.texts, self.asked = texts, 0

    def gettext(self, message: str) -> str:
        self.asked += 1
        return self.texts.get(message, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        self.asked += 1
        return self.texts.get(msgid2, msgid2) if n != 1 else self.texts.get(msgid1, msgid1)


def language(texts: Mapping[str, str] | None = None) -> tuple[TranslatedEnvironment, Catalogue]:
    catalogue = Catalogue(texts or {})
    env = TranslatedEnvironment(
        catalogue, {"asset": assets.url}, autoescape=True, undefined=jinja2.StrictUndefined
    )
    return env, catalogue


def test_a_text_is_translated_when_its_template_is_compiled_and_not_when_it_is_filled() -> None:
    env, catalogue = language(
        {"Paid %(amount)s to %(who)s, 2%% of it": "%(who)s bekam %(amount)s, 2%% davon"}
    )
    page = env.from_string(
        '<p title="{{ _("A title") }}">{% trans who=who, amount=5 %}Paid {{ amount }} to {{ who }}, 2% of it'
        '{% endtrans %}</p>{{ _("a & b") if who else _("nobody") }}'
    )
    asked = catalogue.asked
    assert page.render(who="<Ann>") == ('<p title="A title">&lt;Ann&gt; bekam 5, 2% davon</p>a & b')
    assert page.render(who="") == '<p title="A title"> bekam 5, 2% davon</p>nobody'
    assert catalogue.asked == asked


def test_a_text_with_a_plural_or_of_run_time_asks_the_catalogue_then() -> None:
    env, catalogue = language({"%(n)s things": "%(n)s Dinge", "later": "später"})
    page = env.from_string(
        "{% trans n=n %}{{ n }} thing{% pluralize %}{{ n }} things{% endtrans %} {{ _(word) }}"
    )
    asked = catalogue.asked
    assert [page.render(n=n, word="later") for n in (1, 2)] == ["1 thing später", "2 Dinge später"]
    assert catalogue.asked == asked + 4


def test_a_translation_that_names_what_is_not_there_is_found_when_its_template_is_compiled() -> (
    None
):
    env, _ = language({"Paid %(who)s": "%(wer)s bekam"})
    with pytest.raises(KeyError, match="wer"):
        env.from_string("{% trans who=who %}Paid {{ who }}{% endtrans %}")


def test_the_address_of_a_file_is_part_of_the_template_and_one_that_is_not_there_an_error() -> None:
    env, _ = language()
    code = env.compile("{{ asset('css/base.css') }}", raw=True)
    assert assets.url("css/base.css") in code
    assert "asset" not in env.globals
    with pytest.raises(KeyError):
        env.from_string("{{ asset('css/none.css') }}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a macro shows."""

    text: str


def macros() -> jinja2.environment.TemplateModule:
    env, _ = language()
    source = "{% macro p(v) %}<p>{{ v.text }}</p>{% endmacro %}{% macro b(v) %}<b>{{ v.text }}</b>{% endmacro %}"
    return env.from_string(source).module


def test_a_part_is_kept_by_its_macro_and_by_what_it_shows() -> None:
    kept, module = FragmentCache(), macros()
    first = kept(module.p, Seen(text="a & b"))  # type: ignore[attr-defined]
    assert first == Markup("<p>a &amp; b</p>")
    assert kept(module.p, Seen(text="a & b")) is first  # type: ignore[attr-defined]
    assert kept(module.p, Seen(text="c")) == "<p>c</p>"  # type: ignore[attr-defined]
    assert kept(module.b, Seen(text="c")) == "<b>c</b>"  # type: ignore[attr-defined]


def test_what_is_kept_of_parts_is_bounded_by_its_length_and_the_oldest_goes() -> None:
    kept, module = FragmentCache(limit=40), macros()
    shown = [kept(module.p, Seen(text=t)) for t in ("one", "two", "three")]  # type: ignore[attr-defined]
    assert kept(module.p, Seen(text="three")) is shown[2]  # type: ignore[attr-defined]
    again = [kept(module.p, Seen(text=t * 20)) for t in ("four",)]  # type: ignore[attr-defined]
    assert again == ["<p>" + "four" * 20 + "</p>"]
    assert kept(module.p, Seen(text="three")) is not shown[2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/app", "/app/mandates"),
        ("/app/start", "/app/mandates"),
        ("/app/mandates/m_1/record", "/app/mandates"),
        ("/app/mandatesx", ""),
        ("/app/books/b_1", "/app/orders"),
        ("/app/own", "/app/orders"),
        ("/app/hall/u_1", "/app/hall"),
        ("/app/docs", "/app/docs"),
        ("/app/sign-in", ""),
    ],
)
def test_a_page_belongs_to_one_entry_of_the_menu(path: str, entry: str) -> None:
    nobody = {
        "owner": "",
        "csrf": "",
        "theme": "",
        "language": "en",
        "chain_name": "One",
        "form_key": "f_1",
    }
    shell = PageFrame(path=path, chain_id=1, demo=False, trades=True, **nobody)
    assert shell.section == entry


def test_the_menu_has_the_entries_that_pages_belong_to() -> None:
    menu = (ROOT / "app" / "templates" / "macros" / "menu.html").read_text()
    assert re.findall(r'\("(/app/[a-z]+)", _\(', menu) == list(SECTIONS)
