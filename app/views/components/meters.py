"""Meter of the used part of an allowance, as a bar; drawn by `macros/meter.html`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.words.money import micros_of

HOT_TENTHS: Final = 800  # of the bar's 1,000


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterView:
    """Amounts as they came; `used_part` and `reserved_part` in thousandths of the bar."""

    title: str
    used: str
    reserved: str | None
    allowed: str
    note: str
    used_part: int
    reserved_part: int
    hot: bool


def view(
    title: str, used: str, allowed: str, note: str, *, reserved: str = "0", warns: bool = True
) -> MeterView:
    """A bar; `warns`: a bar that is nearly full is no good news."""
    allowed_micros, spent, reserved_micros = (
        micros_of(allowed),
        micros_of(used),
        micros_of(reserved),
    )
    part = min(1_000, 1_000 * spent // allowed_micros) if allowed_micros else 0
    more = min(1_000 - part, 1_000 * reserved_micros // allowed_micros) if allowed_micros else 0
    return MeterView(
        title=title,
        used=used,
        reserved=reserved if reserved_micros else None,
        allowed=allowed,
        note=note,
        used_part=part,
        reserved_part=more,
        hot=warns and part + more >= HOT_TENTHS,
    )
