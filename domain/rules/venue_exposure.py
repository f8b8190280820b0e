"""Venue exposure of a mandate: the entries that name the venue, and the result of its fills."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from domain.ledger.state.venue_book import VenueAccount
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.rules.snapshot import MandateSnapshot
from domain.rules.valuation import floor_now, usdc, worth
from domain.trading.modes import live_network

_NO_MARKS: Final[Mapping[str, Decimal]] = {}


def at_venue(mandate: Mandate) -> bool:
    """True where a mandate has an entry of the venue that orders are prepared for here."""
    return any(t.is_traded for t in mandate.allowed_targets)


def may_trade(mandate: Mandate, product: str) -> bool:
    """True where a mandate names a product of the venue; an entry without symbols names all."""
    entries = mandate.allowed_targets
    return any(t.is_traded and (not t.symbols or product in t.symbols) for t in entries)


def venue_account(snapshot: MandateSnapshot) -> tuple[str, VenueAccount] | None:
    """The network of live orders with the mandate's fills on it; where there are none, that of its
    newest fill. None where no live order of the mandate ever filled.
    """
    network, book = live_network(snapshot.switches), snapshot.state.venue
    at = network if network in book.accounts else book.newest
    return None if at is None else (at, book.of(at))


def marks_of(snapshot: MandateSnapshot, network: str) -> Mapping[str, Decimal]:
    """The mark prices that are known of a network."""
    return snapshot.marks.get(network, _NO_MARKS)


def venue_result(snapshot: MandateSnapshot) -> Usdc | None:
    """Result of the fills for live orders, open positions at their marks; None without a mark."""
    network = live_network(snapshot.switches)
    return usdc(snapshot.state.venue.of(network).result(marks_of(snapshot, network)))


def below_venue_line(snapshot: MandateSnapshot) -> bool:
    """True where vault worth and venue result together stand below the floor (trading 00.8). An
    unknown figure proves nothing, and before the first deposit there is nothing to lose.
    """
    at, result = worth(snapshot), venue_result(snapshot)
    if at is None or result is None or not snapshot.measured.deposits:
        return False
    return at + result < floor_now(snapshot)
