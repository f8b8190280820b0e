"""Live or paper: the switches, the allowlist, and the network that live means."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Literal

from domain.settings import Switches
from domain.trading.venue_values import Network

Mode = Literal["paper", "live"]
TradingSurface = Literal["terminal", "door"]
# Relays, indices, products and paper show the market's own prices, whatever network live orders go
# to.
MARKET_NETWORK: Final[Network] = "mainnet"
_ADDRESS: Final = re.compile(r"0x[0-9a-f]{40}")
_USER: Final = re.compile(r"u_[a-z2-7]{10}")


def live_network(switches: Switches) -> Network:
    """The network of new links and live orders; those of the other network stay there."""
    return "mainnet" if switches.venue_mainnet else "testnet"


def live_here(switches: Switches) -> bool:
    """Whether orders can be live at all on the network whose products are shown."""
    return switches.venue_mainnet and (switches.live_terminal or switches.live_door)


def allowlist(text: str) -> tuple[str, ...]:
    """The items of a trade allowlist, in lower case.

    Errors: ValueError for a wildcard, an empty item, and anything that is neither an address nor a
    user id: a list that is misread would let a stranger trade.
    """
    if not text.strip():
        return ()
    return tuple(dict.fromkeys(allowlist_item(item) for item in text.split(",")))


def allowlist_item(text: str) -> str:
    """One item of a trade allowlist, trimmed and in lower case.

    Errors: ValueError for what is neither an address nor a user id.
    """
    item = text.strip().lower()
    if not (_ADDRESS.fullmatch(item) or _USER.fullmatch(item)):
        raise ValueError("the trade allowlist holds what is no address and no user id")
    return item


def allowlisted(allowed: Collection[str], user_id: str, linked_wallet: str | None) -> bool:
    """True where the user, or the linked wallet, is on the list; an address counts only when it is
    linked.
    """
    return user_id in allowed or (linked_wallet is not None and linked_wallet.lower() in allowed)


def effective_mode(switches: Switches, transport: TradingSurface, *, allowed: bool) -> Mode:
    """Live where the surface's switch is on (the door's also needs mainnet) and the person is
    allowed; else paper.

    Source: trading 1.
    """
    on = (
        switches.live_terminal
        if transport == "terminal"
        else switches.live_door and switches.venue_mainnet
    )
    return "live" if on and allowed else "paper"
