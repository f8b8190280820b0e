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
        Pill("warn", _("Needs your signature")),
        _("An agent prepared this order. Nothing is sent unless you open the order and sign it."),
    ),
    "awaiting_signature": (
        Pill("warn", _("Needs your signature")),
        _("Nothing was sent. Open the order for today’s price, or let it expire."),
    ),
    "executing": (
        Pill("warn", _("Sent")),
        _("The order is on its way to the venue. Do not send it again."),
    ),
    "resting": (
        Pill("good", _("Open")),
        _("The order waits in the venue’s book for its price. You can cancel the order."),
    ),
    "recorded": (
        Pill("warn", _("Sent")),
        _("Your browser sent the order; the venue has not confirmed it yet. Do not send it again."),
    ),
    "unknown": (
        Pill("bad", _("Outcome unknown")),
        _(
            "The order was sent, and the venue has not answered yet. Do not send it again: this "
            "page shows the outcome as soon as the venue answers."
        ),
    ),
    "executed": (Pill("good", _("Filled")), ""),
    "rejected": (Pill("bad", _("Rejected")), _("Nothing was traded.")),
    "expired": (Pill("calm", _("Expired")), _("Nothing was sent.")),
    "cancelled": (Pill("calm", _("Cancelled")), ""),
}
MOVING: Final = frozenset({"executing", "resting", "recorded", "unknown"})
TIFS: Final[Mapping[str, str]] = {
    "ioc": _("at once; what is not filled is cancelled"),
    "gtc": _("until you cancel the order"),
    "alo": _("only if the order waits in the book first"),
}
SIDES: Final[Mapping[str, str]] = {"buy": _("Buy"), "sell": _("Sell")}
# What stands between a person and live orders, the outermost lock first.
LOCKS: Final = (
    ("door", _("Live orders are switched on here"), _("The operator has to switch them on.")),
    (
        "mainnet",
        _("The venue’s main network is switched on"),
        _("The operator has to switch it on."),
    ),
    (
        "allowlist",
        _("You are on the list of those who trade live"),
        _("The operator has to switch it on."),
    ),
    ("linked", _("Your venue wallet is linked"), _("Link it under Own account.")),
    ("order_key", _("An order key is approved"), _("Approve one under Own account.")),
)
