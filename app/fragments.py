"""Fragment cache: rendered parts of pages that seldom change."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from jinja2.runtime import Macro

CHARACTERS: Final = 8_000_000


class FragmentCache:
    """Rendered macros, the oldest evicted first: a page rendered again for a new block has the same
    clauses, days and lines.

    An entry is never stale: the macro's arguments are its key. They must be hashable, and the macro
    may read nothing else. Markup equals the text that it is made of, so that no argument that can
    hold user-written text may hold markup as well.
    Units: `limit` characters of markup in all.
    """

    def __init__(self, limit: int = CHARACTERS):
        self._max_size, self._size = limit, 0
        self._fragments: dict[tuple[Hashable, ...], str] = {}

    def __call__(self, macro: Macro, *values: Hashable) -> str:
        """The macro's markup."""
        key = (macro, *values)
        cached = self._fragments.get(key)
        if cached is not None:
            return cached
        rendered = macro(*values)
        self._fragments[key] = rendered
        self._size += len(rendered)
        while self._size > self._max_size:
            self._size -= len(self._fragments.pop(next(iter(self._fragments))))
        return rendered
