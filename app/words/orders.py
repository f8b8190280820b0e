"""Orders as a person reads them: how one stands, and what is safe to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.words.status import Pill
from app.words.text import _

MODES: Final[Mapping[str, str]] = {"live": _("LIVE"), "paper": _("PAPER")}
STATUS: Final[Mapping[str, tuple[Pill, str]]] = {
    "prepared": (Pill("calm", _("Prepared")), _("Nothing was sent.")),
    "awaiting_owner": (
        Pill("warn", _("Waits for you")),
        _("An agent prepared it. Nothing is sent unless you open it and sign it yourself."),
    ),
    "awaiting_signature": (
        Pill("warn", _("Waits for your signature")),
        _("Nothing was sent. Open it for today’s price, or let it lapse."),
    ),
    "executing": (Pill("warn", _("Being sent")), _("It is on its way. Do not send it again.")),
    "resting": (
        Pill("good", _("Rests at the venue")),
        _("It waits in the venue’s book for its price. You can cancel it."),
    ),
    "recorded": (
        Pill("warn", _("Sent by your browser")),
        _("Your browser sent it; the venue is asked what became of it. Do not send it again."),
    ),
    "unknown": (
        Pill("bad", _("Not known yet")),
        _(
            "It was sent, and the venue has not said what became of it. Do not send it again: "
            "this page shows it as soon as it is known."
        ),
    ),
    "executed": (Pill("good", _("Done")), ""),
    "rejected": (Pill("bad", _("Refused")), _("Nothing was traded.")),
    "expired": (Pill("calm", _("Lapsed")), _("Nothing was sent.")),
    "cancelled": (Pill("calm", _("Cancelled")), ""),
}
MOVING: Final = frozenset({"executing", "resting", "recorded", "unknown"})
TIFS: Final[Mapping[str, str]] = {
    "ioc": _("at once, the rest is dropped"),
    "gtc": _("until it is cancelled"),
    "alo": _("only if it waits in the book first"),
}
SIDES: Final[Mapping[str, str]] = {"buy": _("Buy"), "sell": _("Sell")}
# What stands between a person and live orders, the outermost lock first.
LOCKS: Final = (
    ("door", _("Live orders are switched on here"), _("The operator has to switch them on.")),
    ("mainnet", _("The venue’s main network is switched on"), _("The operator has to.")),
    ("allowlist", _("You are on the list of those who trade live"), _("The operator has to.")),
    ("linked", _("Your venue wallet is linked"), _("Link it under Own account.")),
    ("order_key", _("An order key is approved"), _("Approve one under Own account.")),
)
