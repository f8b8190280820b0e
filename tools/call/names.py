"""What a name may look like: nothing that can be taken for another script's letters."""

from __future__ import annotations

import re
from typing import Final

from domain.text import unfit_name

_WORD: Final = re.compile(r"\w+")


def unnamable(name: str) -> str | None:
    """Why a fit text is no name, None where it is one."""
    return unfit_name(name) or _mixed(name)


def _mixed(name: str) -> str | None:
    """Words of Latin letters in which letters of another script stand that look Latin (UTS 39)."""
    if name.isascii():
        return None
    # Its tables take a while to load, and hardly any name needs them.
    from confusable_homoglyphs.categories import unique_aliases
    from confusable_homoglyphs.confusables import is_confusable

    for word in _WORD.findall(name):
        if "LATIN" not in unique_aliases(word):  # type: ignore[no-untyped-call]  # no stubs
            continue
        alike = is_confusable(word, greedy=True, preferred_aliases=["latin"])  # type: ignore[no-untyped-call]  # no stubs
        for found in alike or ():
            if found["alias"] not in ("LATIN", "COMMON", "INHERITED"):
                script = found["alias"].capitalize()
                return f"a word of Latin letters holds a {script} one that looks like them"
    return None
