"""Fragment cache: rendered parts of pages that seldom change."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from jinja2.runtime import Macro

CHARACTERS: Final = 8_000_000


class FragmentCache:
    """What macros made, the oldest forgotten first. A page that is shown anew because its block is
    another has the same clauses, days and lines.

    Nothing here is ever wrong, only forgotten: the very values that were shown are the key. They
    must be hashable, and the macro must look at nothing else. Markup equals the text that it is
    made of, so that no value that can hold somebody's text may hold markup as well.
    Units: `limit` characters of markup in all.
    """

    def __init__(self, limit: int = CHARACTERS):
        self._most, self._held = limit, 0
        self._made: dict[tuple[Hashable, ...], str] = {}

    def __call__(self, macro: Macro, *values: Hashable) -> str:
        """The macro's markup."""
        key = (macro, *values)
        cached = self._made.get(key)
        if cached is not None:
            return cached
        rendered = macro(*values)
        self._made[key] = rendered
        self._held += len(rendered)
        while self._held > self._most:
            self._held -= len(self._made.pop(next(iter(self._made))))
        return rendered
