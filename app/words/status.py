"""Status of a mandate, in a word or two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from app.replies import Json
from app.words.text import _

Tone = Literal["good", "warn", "bad", "calm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pill:
    """A word with a tone; the word says everything that the colour says."""

    tone: Tone
    text: str


PLAIN: Final[Mapping[str, Pill]] = {
    "draft": Pill(tone="calm", text=_("Draft, not signed")),
    "signed": Pill(tone="warn", text=_("Signed, no money in it yet")),
    "ended": Pill(tone="warn", text=_("Ended, not settled yet")),
    "stopped": Pill(tone="bad", text=_("Stopped")),
    "settled": Pill(tone="calm", text=_("Settled")),
    "cancelled": Pill(tone="calm", text=_("Cancelled")),
}
APPROVALS: Final[Mapping[str, Pill]] = {
    "pending": Pill(tone="warn", text=_("Waits for you")),
    "approved": Pill(tone="good", text=_("Approved, not used yet")),
    "declined": Pill(tone="calm", text=_("Declined")),
    "expired": Pill(tone="calm", text=_("Lapsed")),
    "used": Pill(tone="good", text=_("Approved and done")),
}


def pill(mandate: Json, progress: Json) -> Pill:
    """The status of a mandate as its owner sees it."""
    status = progress["status"]
    if status == "working" and mandate["paused"]:
        return Pill(tone="warn", text=_("Paused"))
    if status == "working":
        day = _("Working · day {day} of {days}")
        text = day.format(day=progress["day"], days=progress["horizon_days"])
        return Pill(tone="good", text=text)
    return PLAIN[status]


def approval_pill(status: str) -> Pill:
    """The status of a held action."""
    return APPROVALS[status]
