"""Names are words of the field: no participle stands for a thing, and no class has two meanings."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "domain",
    "storage",
    "chain",
    "venue",
    "tools",
    "skill",
    "http_shim",
    "app",
    "server",
    "devtools",
)
# What a row, an answer, a caller or an amount is not called (docs/architecture.md, CONTRIBUTING.md "Forty words").
NO_NAMES = frozenset(
    [
        "told",
        "asked",
        "found",
        "brought",
        "waited",
        "wanted",
        "given",
        "somebody",
        "nobody",
        "whoever",
        "happening",
        "sight",
    ]
)
# Modules that had one word for everything; each has a room and a noun now.
NO_MODULES = frozenset(
    [
        "once",
        "kept",
        "fit",
        "turns",
        "outside",
        "unseen",
        "sums",
        "shelf",
        "garbage",
        "quiet",
        "presumed",
        "brought",
        "telling",
        "filling",
        "meeting",
        "making",
        "standing",
        "intake",
        "handed",
        "rereading",
        "keeping",
        "reading",
        "waits",
        "together",
        "tail",
        "host",
        "late_mcp",
        "late_screens",
        "late_venues",
    ]
)


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Functions, parameters and variables; fields of values that are stored or shown keep their names."""
    fields = {
        id(item.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and id(node) not in fields
        ):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


RIDDLES = re.compile(
    r"(what|who|whoever|whose|whom|whatever|where|when|why|how|nobody|somebody)\b", re.I
)


def riddles(tree: ast.Module) -> list[str]:
    """Docstrings that begin with a question word or a pronoun in place of a noun or a verb."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        doc.splitlines()[0]
        for node in ast.walk(tree)
        if isinstance(node, documented) and (doc := ast.get_docstring(node)) and RIDDLES.match(doc)
    ]


class Source(NamedTuple):
    """What is looked at of a file; its tree is not kept, for it has thousands of nodes."""

    file: str
    names: list[tuple[int, str]]
    classes: list[str]
    riddles: list[str]


@cache
def sources() -> list[Source]:
    return [
        Source(
            str(file.relative_to(ROOT)),
            list(names(tree)),
            [node.name for node in tree.body if isinstance(node, ast.ClassDef)],
            riddles(tree),
        )
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for tree in [ast.parse(file.read_text())]
    ]


def test_no_participle_and_no_pronoun_is_the_name_of_a_thing() -> None:
    wrong = [
        f"{source.file}:{line} {name}"
        for source in sources()
        for line, name in source.names
        if name.lstrip("_") in NO_NAMES
    ]
    assert wrong == []


def test_a_name_that_is_none_is_seen_wherever_it_may_stand() -> None:
    text = "def told(asked):\n    found = 1\n    self._given = found\n    for nobody in (): pass\n"
    text += "class Row:\n    wanted: int\n"
    assert {name for _, name in names(ast.parse(text))} == {
        "told",
        "asked",
        "found",
        "_given",
        "nobody",
    }


def test_no_module_is_called_by_a_riddle() -> None:
    assert [s.file for s in sources() if Path(s.file).stem in NO_MODULES] == []


def test_no_class_name_has_two_meanings() -> None:
    places = defaultdict(list)
    for source in sources():
        if "devvenue" not in Path(source.file).parts:  # it speaks the venue's own words
            for name in source.classes:
                places[name].append(source.file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_docstring_begins_with_a_question_word_or_a_pronoun() -> None:
    assert {source.file: source.riddles for source in sources() if source.riddles} == {}


def test_a_riddle_is_seen_in_modules_classes_and_functions() -> None:
    text = (
        '"""What a row says."""\nclass Row:\n    """Who calls."""\n    def get(self): "How many."\n'
    )
    text += (
        'def put():\n    """Whether a row is stored: a noun clause is an answer, and stays."""\n'
    )
    assert riddles(ast.parse(text)) == ["What a row says.", "Who calls.", "How many."]
