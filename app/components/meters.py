"""Meter of the used part of an allowance, as a bar; drawn by `macros/meter.html`."""

from __future__ import annotations

from typing import Final

from app.replies import Record
from app.words.money import micros_of

HOT_TENTHS: Final = 800  # of the bar's 1,000


def view(
    title: str, used: str, allowed: str, note: str, *, reserved: str = "0", warns: bool = True
) -> Record:
    """Amounts as they came, and both parts in thousandths of the bar; `warns`: a bar that is nearly
    full is no good news.
    """
    whole, spent, more = micros_of(allowed), micros_of(used), micros_of(reserved)
    used_part = min(1_000, 1_000 * spent // whole) if whole else 0
    reserved_part = min(1_000 - used_part, 1_000 * more // whole) if whole else 0
    return Record(
        title=title,
        used=used,
        reserved=reserved if more else None,
        allowed=allowed,
        note=note,
        used_part=used_part,
        reserved_part=reserved_part,
        hot=warns and used_part + reserved_part >= HOT_TENTHS,
    )
