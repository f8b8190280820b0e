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


def unfit(text: str, *, lines: bool) -> str | None:
    """Why a text is not taken, None where it is (contract 1): control, bidi, zero-width, tag and
    private-use characters; line breaks unless `lines`.
    """
    if text.isascii() and text.isprintable():
        return None
    found = (_UNFIT_IN_LINES if lines else _UNFIT).search(text)
    if found is None:
        return None
    point = f"U+{ord(found.group()):04X}"
    return f"text without control, invisible and private-use characters; it holds {point}"


def composed(text: str) -> str:
    """The text in NFC, line ends as one line feed."""
    text = text.replace("\r\n", "\n")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def shown(text: str) -> str:
    """Text that was stored before the rule, with what breaks it as `\\u{200B}`."""
    return _UNFIT.sub(lambda found: f"\\u{{{ord(found.group()):04X}}}", text)
