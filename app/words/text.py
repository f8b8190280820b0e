"""Sentences that a person reads, in the person's language: English, or that of a catalogue.

A catalogue is one file, `app/languages/<code>.po`; `make texts` brings it up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from gettext import NullTranslations
from importlib.resources import files
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

ENGLISH: Final = "en"
LANGUAGES: Final[Mapping[str, str]] = {ENGLISH: "English", "de": "Deutsch"}
"""Each language by its code, with its own name for itself."""
_language: Final[ContextVar[str]] = ContextVar("language", default=ENGLISH)


class Catalogue(NullTranslations):
    """The texts of a language; a text that it lacks stays English."""

    def __init__(self, texts: Mapping[str, str], plurals: Mapping[str, tuple[str, str]]):
        super().__init__()
        self._texts, self._plurals = texts, plurals

    def gettext(self, message: str) -> str:
        """The text in this language."""
        return self._texts.get(message, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The text for one or for several of `n` things."""
        one, several = self._plurals.get(msgid1, (msgid1, msgid2))
        return one if n == 1 else several


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of one of `LANGUAGES`. Errors: FileNotFoundError for any other."""
    if language == ENGLISH:
        return Catalogue({}, {})
    import polib  # most processes never show a page in another language

    entries = polib.pofile((files("app") / "languages" / f"{language}.po").read_text("utf-8"))
    ready = [e for e in entries if e.translated()]
    return Catalogue(
        {e.msgid: e.msgstr for e in ready if not e.msgid_plural},
        {e.msgid: (e.msgstr_plural[0], e.msgstr_plural[1]) for e in ready if e.msgid_plural},
    )


def use_language(language: str) -> None:
    """Write the sentences of this context, one request, in one of `LANGUAGES`."""
    _language.set(language)


class Text(str):
    """An English sentence that becomes the reader's when it is written, in a page or in a format.

    As a value it is its English: what is compared, hashed, and kept in a table at import.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return catalogue(_language.get()).gettext(self[:])

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def format(self, *values: object, **named: object) -> str:
        """The reader's sentence with the values in their places."""
        return str(self).format(*values, **named)


def _(english: str) -> str:
    """A sentence in the reader's language."""
    return Text(english)


def word(code: str, table: Mapping[str, str]) -> str:
    """The word of a code; the code itself where the table has none."""
    return table.get(code, code)


def keeps_by_language(limit: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache of a pure function whose answer holds sentences: an answer is one language's."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @lru_cache(limit)
        def of(language: str, *values: P.args, **named: P.kwargs) -> T:
            return function(*values, **named)

        @wraps(function)
        def cached(*values: P.args, **named: P.kwargs) -> T:
            return of(_language.get(), *values, **named)  # type: ignore[arg-type]  # hashed anyway

        return cached

    return decorate
