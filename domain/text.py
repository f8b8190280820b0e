"""Text policy: allowed characters of user-written text, and the display of older text."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt) with the characters that
# only look empty; U+FE0F has a rule of its own, as emoji are written with it.
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a"
)
# The last plane that has characters is the third; behind it are the tags and private use alone.
_NO_CHARACTERS: Final = (
    "\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff"
)
# What U+FE0F makes an emoji of (emoji-variation-sequences.txt, as blocks); of the digits, # and *
# it makes keycaps.
_EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IN_PLACE: Final = f"(?<![{_EMOJI}]\ufe0f)(?<![0-9#*]\ufe0f(?=\u20e3))"
_PRIVATE: Final = "\ue000-\uf8ff"
_CONTROL: Final = "\x00-\x1f\x7f-\x9f"
_SURROGATE: Final = "\ud800-\udfff"
_CLASS: Final = f"[{_CONTROL}{_INVISIBLE}{_PRIVATE}{_SURROGATE}{_NO_CHARACTERS}\ufe0f]{_IN_PLACE}"
_UNFIT: Final = re.compile(_CLASS)
_UNFIT_IN_LINES: Final = re.compile(rf"(?!\n){_CLASS}")
NAME_MAX: Final = 60
MARKS_MAX: Final = 30  # in a row: the stream-safe form of UAX 15; no script comes near
_HEAP: Final = re.compile(rb"[^\0]{%d,}" % (MARKS_MAX + 1))
# Signs of no combining class that are taken apart into marks.
_MARKS_OF_TWO: Final = "\u0f73\u0f75\u0f81"
_MARK: Final = "\u0f72"


def text_problem(text: str, *, lines: bool) -> str | None:
    """The rule that a text breaks, None for an allowed one (contract 1); line breaks by `lines`."""
    if text.isascii() and text.isprintable():
        return None
    match = (_UNFIT_IN_LINES if lines else _UNFIT).search(text)
    if match is not None:
        point = f"U+{ord(match.group()):04X}"
        return f"text without control, invisible and private-use characters; it holds {point}"
    if has_mark_heap(text):
        return f"text with at most {MARKS_MAX} combining marks in a row"
    return None


def composed(text: str) -> str:
    """The text in NFC, line ends as one line feed; heaped marks stay, for `unfit` to refuse."""
    text = text.replace("\r\n", "\n")
    return text if text.isascii() or has_mark_heap(text) else unicodedata.normalize("NFC", text)


def has_mark_heap(text: str) -> bool:
    """True for a run of more than 30 combining marks. Normalising sorts them in the square of their
    number, so that this check comes first.
    """
    return _heaps(text) != []


def without_heaps(text: str) -> str:
    """The text without such runs of marks."""
    ends = [0, *(bound for heap in _heaps(text) for bound in heap), len(text)]
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
    return [match.span() for match in _HEAP.finditer(bytes(map(unicodedata.combining, text)))]


def escape_unfit(text: str) -> str:
    """Text that was stored before the rule, with forbidden characters as `\\u{200B}`."""
    return _UNFIT.sub(lambda match: f"\\u{{{ord(match.group()):04X}}}", text)


# Where Unicode puts what newer versions than Python's add: emoji, and ideographs.
_MAY_COME: Final = ((0x1F000, 0x1FBFF), (0x20000, 0x3FFFD))


def unfit_name(name: str) -> str | None:
    """The reason that an allowed text is no name, None where it is one: names without visible
    letters, of marks alone, or of unassigned code points cannot be told apart.
    """
    if name.isascii() and name.isalnum():
        return None
    kinds = [unicodedata.category(c) for c in name]
    if kinds and kinds[0].startswith("M"):
        return "it begins with a combining mark"
    if not any(kind[0] in "LN" or kind == "So" for kind in kinds):
        return "it holds no letter and no digit"
    for char, kind in zip(name, kinds, strict=True):
        if kind == "Cn" and not any(a <= ord(char) <= b for a, b in _MAY_COME):
            return f"it holds a code point without a character, U+{ord(char):04X}"
    return None


def format_usdc(wire: str, unit: str = "USDC") -> str:
    """A wire amount in a sentence: 1,000.00 USDC; thousands apart, more than two decimals only
    where they are not zero.
    """
    units, _, fraction = wire.lstrip("-").partition(".")
    sign = "−" if wire.startswith("-") else ""
    decimals = (fraction[:2] + fraction[2:].rstrip("0")).ljust(2, "0")
    return f"{sign}{int(units):,}.{decimals} {unit}".rstrip()
