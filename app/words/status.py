"""Status of a mandate, an approval, a market, a delivery and an agent, in a word or two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from app.replies import Json
from app.words.text import _


class Pill(NamedTuple):
    """A word with a tone; the word says everything that the colour says."""

    tone: Literal["good", "warn", "bad", "calm"]
    text: str


PLAIN: Final[Mapping[str, Pill]] = {
    "draft": Pill("calm", _("Draft")),
    "signed": Pill("warn", _("Signed, not funded")),
    "ended": Pill("warn", _("Ended")),
    "stopped": Pill("bad", _("Stopped")),
    "settled": Pill("calm", _("Settled")),
    "cancelled": Pill("calm", _("Cancelled")),
}
APPROVALS: Final[Mapping[str, Pill]] = {
    "pending": Pill("warn", _("Needs your approval")),
    "approved": Pill("good", _("Approved")),
    "declined": Pill("calm", _("Declined")),
    "expired": Pill("calm", _("Expired")),
    "used": Pill("good", _("Done")),
}
MARKETS: Final[Mapping[str, Pill]] = {
    "live": Pill("good", _("Live")),
    "paper": Pill("warn", _("Paper only")),
    "planned": Pill("calm", _("Planned")),
}
DELIVERIES: Final[Mapping[str, Pill]] = {
    "waiting": Pill("warn", _("Not sent yet")),
    "delivered": Pill("good", _("Delivered")),
    "dead": Pill("bad", _("Given up")),
}
NEEDS: Final[Mapping[str, str]] = {
    "days_live": _("days live"),
    "trades_measured": _("measured actions"),
    "funded_mandates": _("funded mandates"),
    "foreign_capital_usdc": _("money of other people"),
}
"""A condition of the ranking."""


def state(status: str) -> str:
    """A status as it is stored, in the word of its pill."""
    return str(_("Active") if status == "working" else _(PLAIN[status].text))


def shown_state(read: Json) -> str:
    """The state of a mandate in a word, as its pill begins."""
    return state("working") if pill(read).tone == "good" else str(pill(read).text)


def has_agent(read: Json) -> bool:
    """False where any agent may still accept: its vault is paused until one does."""
    return read["mandate"]["agent_id"] is not None


def pill(read: Json) -> Pill:
    """The status of a mandate as its owner sees it; `read`: its attributes and its progress."""
    progress = read["progress"]
    if progress["status"] != "working":
        return PLAIN[progress["status"]]
    if read["mandate"]["paused"]:
        return Pill("warn", _("Paused") if has_agent(read) else _("No agent yet"))
    day = _("Active · day {day} of {days}")
    return Pill("good", day.format(day=progress["day"], days=progress["horizon_days"]))
