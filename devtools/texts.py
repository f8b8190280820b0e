"""Catalogues of the screens' texts: `python -m devtools.texts` brings each up to date.

A catalogue `app/languages/<code>.po` holds every text of `app/` once, in the order of the text, and
nothing besides: a new text stands in it untranslated, one that is gone is gone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import polib
from jinja2.ext import babel_extract

from app.components.refusal import PAGES
from app.words.refusals import ALONE
from domain.reads.statement import DISCLOSURES
from domain.refusals import REFUSALS
from domain.rules.rule_table import BY_CODE

APP: Final = Path(__file__).parents[1] / "app"
LANGUAGES: Final = APP / "languages"
WIDTH: Final = 110
_OPTIONS: Final = {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true"}


class Source(NamedTuple):
    """A text as it stands in the code; `several`: its form for several things, "" for none."""

    text: str
    several: str = ""


def sources() -> set[Source]:
    """Every text of the screens."""
    return {
        *(text for path in APP.rglob("*.py") for text in _in_module(path)),
        *(text for path in (APP / "templates").rglob("*.html") for text in _in_template(path)),
        *(Source(k.sentence) for k in REFUSALS.values() if k.code not in ALONE),
        *(Source(s.text) for kind in REFUSALS.values() for s in kind.next if s.route in PAGES),
        *(Source(disclosure.text) for disclosure in DISCLOSURES),
        *(Source(text) for r in BY_CODE.values() for text in (r.broken, r.holds, r.fails) if text),
    }


def _in_module(path: Path) -> Iterator[Source]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_":
            (argument,) = node.args
            # What is no constant is a sentence of the domain's own tables.
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield Source(argument.value)


def _in_template(path: Path) -> Iterator[Source]:
    with path.open("rb") as file:
        for _, _, text, _ in babel_extract(file, ("_", "gettext", "ngettext"), (), _OPTIONS):
            forms = [t for t in ((text,) if isinstance(text, str) else text or ()) if t is not None]
            if forms:
                yield Source(*forms)


def updated(path: Path) -> polib.POFile:
    """The catalogue of a file with the texts of today."""
    kept = {e.msgid: e for e in polib.pofile(path.read_text("utf-8"))} if path.exists() else {}
    catalogue = polib.POFile(wrapwidth=WIDTH)
    catalogue.metadata = {
        "Language": path.stem,
        "Content-Type": "text/plain; charset=utf-8",
        "Plural-Forms": "nplurals=2; plural=(n != 1);",
    }
    for text, several in sorted(sources()):
        old = kept.get(text)
        entry = polib.POEntry(msgid=text, msgid_plural=several)
        if several:
            entry.msgstr_plural = old.msgstr_plural if old else {0: "", 1: ""}
        else:
            entry.msgstr = old.msgstr if old else ""
        catalogue.append(entry)
    return catalogue


def main() -> None:
    """Write every catalogue, and say what is not translated."""
    for path in sorted(LANGUAGES.glob("*.po")):
        catalogue = updated(path)
        path.write_text(f"{catalogue}\n", "utf-8")
        sys.stdout.write(
            f"{path.name}: {len(catalogue)} texts, {len(catalogue.untranslated_entries())} to do\n"
        )


if __name__ == "__main__":
    main()
