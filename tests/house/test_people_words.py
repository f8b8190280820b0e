"""What a person reads is said in a person's words: no field, no code, no unit of a program (style of every screen)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.refusals import REFUSALS

ROOT = Path(__file__).parents[2]
APP = ROOT / "app"
TECHNICAL = re.compile(
    r"<details[^>]*><summary>\{\{ _\(\"(?:Technical details|For developers|For support)[^\"]*\"\) \}\}.*?</details>",
    re.S,
)
# What stands for the same thing on every page, by what is never said in its place.
NEVER = {
    "JSON": r"\bJSON\b(?!: check quotes)",
    "a field or function of a program": r"\b[a-z]+_[a-z_]+\b|\b\w+\(\)",
    "a share of ten-thousandths": r"1/100?000?0?\b|\bbps\b",
    "credits": r"\bcredits\b",
    "bytes of a call": r"\bcalldata\b|\bin hex\b|\bABI\b",
    "a standard": r"\b(?:EIP|ERC)-?\d+|\bx402\b",
    "Worth (Value)": r"\b[Ww]orth\b",
    "floor (stop line)": r"\bfloor\b",
    "cap (limit)": r"\bcaps?\b",
    "Working (Active)": r"^Working|\bworking now\b",
    "Waits for you (Needs …)": r"\b[Ww]aits? for you",
    "lapsed (expired)": r"\b[Ll]apsed\b|^Lapses\b",
    "Held by (Enforced by)": r"\bHeld by\b|\blimit held\b",
    "Put in, take out (deposit, withdraw)": r"\b[Pp]ut (?:more )?money in|\btook money out|^Put in$|^Taken out$",
    "Most in (limit per)": r"\bMost in (?:one|a)\b|\bMost per\b",
    "Deepest fall (Largest drop)": r"\bDeepest fall\b",
    "marks (values)": r"\bmarks\b|\b[Mm]arked\b(?! (?:“|as unchecked|fields))",
    "nobody, somebody, whoever": r"\b(?:nobody|somebody|whoever)\b",
    "an amount without its form": r"\d\.\d{3,6}\b|\d{4,} USDC",
    "a day in a program's form": r"\b20\d\d-\d\d-\d\d\b",
    "not, in the register": r"\bno longer good\b|\bgives no usable\b|\bbecame of it\b",
}
# Literal texts, and words of others: what a wallet or a market calls a thing.
QUOTED = {
    "Whoever takes over this service",  # a stranger, who has no other name
    "for example {",
    "yes: {",  # of the advanced rules, which are typed so
    "call the tool mandate_accept",  # a text for the agent
    "call the tool mandate_act ",  # another
}


def template_texts() -> Iterator[tuple[str, str]]:
    for path in sorted(APP.glob("templates/**/*.html")):
        source = TECHNICAL.sub("", path.read_text())
        name = str(path.relative_to(APP / "templates"))
        for text in re.findall(r"_\(\"((?:[^\"\\]|\\.)*)\"\)", source):
            yield name, text
        for body in re.findall(r"\{% trans[^%]*%\}(.*?)\{% endtrans %\}", source, re.S):
            for text in re.split(r"\{% pluralize %\}", body):
                yield name, re.sub(r"\{\{ \w+ \}\}|<[^>]+>", "…", text)


def python_texts() -> Iterator[tuple[str, str]]:
    # What other layers write, agents read too: it is listed there as they wrote it.
    for path in sorted({*APP.glob("**/*.py")} - {APP / "words" / "other_layers.py"}):
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_"
            if called and node.args and isinstance(node.args[0], ast.Constant):
                yield str(path.relative_to(ROOT)), re.sub(r"\{\w+\}", "…", str(node.args[0].value))


TEXTS = sorted({*template_texts(), *python_texts()})


def test_the_texts_are_found() -> None:
    assert len(TEXTS) > 1_000


@pytest.mark.parametrize("what", NEVER)
def test_no_text_of_a_screen_says(what: str) -> None:
    said = re.compile(NEVER[what])
    found = [
        (name, text)
        for name, text in TEXTS
        if said.search(text) and not any(q in text for q in QUOTED)
    ]
    assert found == [], "\n".join(f"{name}: {text}" for name, text in found)


def test_an_amount_in_a_refusal_has_its_form() -> None:
    amounts = ("attempted", "allowed", "worth", "floor", "limit", "used")
    plain = [
        code
        for code, kind in REFUSALS.items()
        if code.startswith(("over_", "below_", "wallet_over"))
        for name in amounts
        if f"{{{name}}}" in kind.sentence
    ]
    assert plain == []
