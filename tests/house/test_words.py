"""Names are words of the field: no participle stands for a thing, and no class has two meanings."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.house.sources import FUNCTIONS, name_of, nodes, paths, tree, words

# What a row, an answer, a caller or an amount is not called (docs/architecture.md, CONTRIBUTING.md "Forty words").
NO_NAMES = words(
    "told asked found brought waited wanted given somebody nobody whoever happening sight"
)
# Modules that had one word for everything; each has a room and a noun now.
NO_MODULES = words(
    "once kept fit turns outside unseen sums shelf garbage quiet presumed brought telling filling "
    "meeting making standing intake handed rereading keeping reading waits together tail host "
    "late_mcp late_screens late_venues"
)
RIDDLES = re.compile(
    r"(what|who|whoever|whose|whom|whatever|where|when|why|how|nobody|somebody)\b", re.I
)


def names(walked: tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Functions, parameters and variables; fields of values that are stored or shown keep their names."""
    classes = (node for node in walked if isinstance(node, ast.ClassDef))
    fields = {id(i.target) for c in classes for i in c.body if isinstance(i, ast.AnnAssign)}
    for node in walked:
        if isinstance(node, FUNCTIONS):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if id(node) not in fields:
                yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def test_no_participle_and_no_pronoun_is_the_name_of_a_thing() -> None:
    wrong = [
        f"{path}:{line} {name}"
        for path in paths()
        for line, name in names(nodes(path))
        if name.lstrip("_") in NO_NAMES
    ]
    assert wrong == []


def test_no_module_is_called_by_a_riddle() -> None:
    assert [path for path in paths() if path.stem in NO_MODULES] == []


def test_no_class_name_has_two_meanings() -> None:
    places = defaultdict(list)
    for path in paths():
        if "devvenue" not in path.parts:  # it speaks the venue's own words
            for node in tree(path).body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(name_of(path))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_docstring_begins_with_a_question_word_or_a_pronoun() -> None:
    """In place of a noun or a verb."""
    documented = (ast.Module, ast.ClassDef, *FUNCTIONS)
    docs = [
        (path, ast.get_docstring(node) or "")
        for path in paths()
        for node in nodes(path)
        if isinstance(node, documented)
    ]
    assert [(path, doc) for path, doc in docs if RIDDLES.match(doc)] == []
