"""Name policy: refuses names that can be confused with another script's letters, or with
another name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from domain.text import unfit_name
from tools.model.input_policy import confusable_skeleton, to_latin

_WORD: Final = re.compile(r"\w+")
# The ids by which agents, mandates and people's pages are told apart (domain.ports.Ids.short).
_PUBLIC_ID: Final = re.compile(r"(?<![a-z0-9])[uhm]_[a-z2-7]{10}(?![a-z0-9])")
# NFKC reads the lunate sigma as a sigma, a reader as a c.
_LUNATE: Final = str.maketrans("\u03f9\u03f2", "Cc")
# What is one letter to a reader within Latin too, by the same table (UTS 39).
_AS_ONE: Final = str.maketrans({"i": "l", "1": "l", "|": "l", "0": "o", "m": "rn"})


def reads_as(name: str) -> frozenset[str]:
    """The forms under which a reader may know a name; names that have one of these in common are
    equal: its letters in NFKC, without regard to case and spaces; the same with look-alikes as one
    Latin letter, without marks and punctuation, also of its capitals, as small letters of other
    scripts are drawn as small Latin capitals; and, of a name in any other script, with each
    letter as the first of those that look like it (UTS 39), small and as it is written.
    """
    normal = unicodedata.normalize("NFKC", name)
    latin = name.translate(_LUNATE)
    forms = {"".join(normal.casefold().split()), _skeleton(latin)}
    if not name.isascii():
        forms.add(_skeleton(latin.upper()))
        forms |= {_letters(_drawn(text)).casefold() for text in (normal, normal.casefold())}
    return frozenset(forms)


def _skeleton(text: str) -> str:
    return _letters(confusable_skeleton(to_latin(text)).translate(_AS_ONE))


def _letters(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c)[0] not in "PZ")


def _drawn(text: str) -> str:
    apart = unicodedata.normalize("NFD", text).translate(_first_alike())
    return "".join(c for c in apart if not unicodedata.combining(c))


@cache
def _first_alike() -> Mapping[int, str]:
    """Character to the first, by code point, of all that look like it or like one that does."""
    # Its tables take a while to load, and hardly any name needs them.
    from confusable_homoglyphs.confusables import confusables_data

    first: dict[str, str] = {}

    def root(char: str) -> str:
        while first.setdefault(char, char) != char:
            char = first[char]
        return char

    for char, alike in confusables_data.items():
        for other in (h["c"] for h in alike if len(char) == len(h["c"]) == 1):
            low, high = sorted((root(char), root(other)))
            first[high] = low
    return {ord(char): root(char) for char in list(first)}


def is_equal_to_one(name: str, names: Iterable[str]) -> bool:
    """True where a reader may take the name for one of `names`."""
    taken = reads_as(name)
    return any(not taken.isdisjoint(reads_as(other)) for other in names)


def name_problem(name: str) -> str | None:
    """The reason for which a text cannot be a name, None where it can."""
    return unfit_name(name) or _with_id(name) or _mixed(name)


def _with_id(name: str) -> str | None:
    """A name beside which an id stands would have two: a reader takes the wrong one for its own."""
    for text in (name, to_latin(name)):
        plain = unicodedata.normalize("NFKC", text).casefold()
        joined = "".join("_" if unicodedata.category(c) in ("Pc", "Pd") else c for c in plain)
        if _PUBLIC_ID.search(joined):
            return "it holds what reads as an id"
    return None


def _mixed(name: str) -> str | None:
    """Words of Latin letters in which letters of another script stand that look Latin (UTS 39), and
    words of Greek letters and Cyrillic ones, which no language writes.
    """
    if name.isascii():
        return None
    # Its tables take a while to load, and hardly any name needs them.
    from confusable_homoglyphs.categories import unique_aliases
    from confusable_homoglyphs.confusables import is_confusable

    for word in _WORD.findall(name):
        scripts = unique_aliases(word)  # type: ignore[no-untyped-call]  # no stubs
        if {"GREEK", "CYRILLIC"} <= set(scripts):
            return "a word holds Greek letters and Cyrillic ones, which look alike"
        if "LATIN" not in scripts:
            continue
        alike = is_confusable(word, greedy=True, preferred_aliases=["latin"])  # type: ignore[no-untyped-call]  # no stubs
        for match in alike or ():
            if match["alias"] not in ("LATIN", "COMMON", "INHERITED"):
                script = match["alias"].capitalize()
                return f"a word of Latin letters holds a {script} one that looks like them"
    return None
