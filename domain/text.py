"""Text that people and agents write: which characters it may hold, and how older text is shown."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt) with the characters that
# only look empty; U+FE0F stays, as emoji are written with it.
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_PRIVATE: Final = "\ue000-\uf8ff\U000f0000-\U0010ffff"
_CONTROL: Final = "\x00-\x1f\x7f-\x9f"
_SURROGATE: Final = "\ud800-\udfff"
_UNFIT: Final = re.compile(f"[{_CONTROL}{_INVISIBLE}{_PRIVATE}{_SURROGATE}]")
_UNFIT_IN_LINES: Final = re.compile(f"(?!\n)[{_CONTROL}{_INVISIBLE}{_PRIVATE}{_SURROGATE}]")
NAME_MAX: Final = 60
MARKS_MAX: Final = 30  # in a row: the stream-safe form of UAX 15; no script comes near
_HEAP: Final = re.compile(rb"[^\0]{%d,}" % (MARKS_MAX + 1))
# Signs of no combining class that are taken apart into marks.
_MARKS_OF_TWO: Final = "\u0f73\u0f75\u0f81"
_MARK: Final = "\u0f72"


def unfit(text: str, *, lines: bool) -> str | None:
    """Why a text is not taken, None where it is (contract 1): control, bidi, zero-width, tag and
    private-use characters; line breaks unless `lines`; marks without end.
    """
    if text.isascii() and text.isprintable():
        return None
    found = (_UNFIT_IN_LINES if lines else _UNFIT).search(text)
    if found is not None:
        point = f"U+{ord(found.group()):04X}"
        return f"text without control, invisible and private-use characters; it holds {point}"
    if heaped(text):
        return f"text with at most {MARKS_MAX} combining marks in a row"
    return None


def composed(text: str) -> str:
    """The text in NFC, line ends as one line feed; heaped marks stay, for `unfit` to refuse."""
    text = text.replace("\r\n", "\n")
    return text if text.isascii() or heaped(text) else unicodedata.normalize("NFC", text)


def heaped(text: str) -> bool:
    """True where more marks follow each other than anybody writes. A normal form sorts them in the
    square of their number, so that this is asked before one is made.
    """
    return _heaps(text) != []


def without_heaps(text: str) -> str:
    """The text without such runs of marks."""
    ends = [0, *(place for heap in _heaps(text) for place in heap), len(text)]
    return "".join(text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True))


def _heaps(text: str) -> list[tuple[int, int]]:
    """(from, inclusive; until, exclusive) of each run of more than 30 marks."""
    if text.isascii():
        return []
    for sign in _MARKS_OF_TWO:
        text = text.replace(sign, _MARK)
    # A run that is too long has a mark at one of these places.
    if not any(map(unicodedata.combining, text[MARKS_MAX :: MARKS_MAX + 1])):
        return []
    return [found.span() for found in _HEAP.finditer(bytes(map(unicodedata.combining, text)))]


def shown(text: str) -> str:
    """Text that was stored before the rule, with what breaks it as `\\u{200B}`."""
    return _UNFIT.sub(lambda found: f"\\u{{{ord(found.group()):04X}}}", text)
