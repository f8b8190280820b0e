"""The venue's networks, as they are configured."""

from __future__ import annotations

from collections.abc import Mapping

from domain.refusals import Refused, refusal
from domain.trading.venue_values import Network
from venue.networks import VenueNetwork


class Networks:
    """The `Venues` port."""

    def __init__(self, venues: Mapping[Network, VenueNetwork]):
        self._venues = venues

    def get(self, network: Network) -> VenueNetwork:
        """The venue on one network."""
        venue = self._venues.get(network)
        if venue is None:
            raise Refused(refusal("not_configured", what=f"the venue's {network}"))
        return venue

    def unknown_counts(self) -> Mapping[tuple[Network, str, str], int]:
        """How often the venue said what is not known here."""
        return {
            (network, kind, subject): times
            for network, venue in self._venues.items()
            for (kind, subject), times in venue.client.met.counts.items()
        }

    def refused(self) -> Mapping[tuple[Network, str], int]:
        """How often an answer of the venue's was refused as a whole."""
        return {
            (network, kind): times
            for network, venue in self._venues.items()
            for kind, times in venue.client.met.refused.items()
        }

    async def close(self) -> None:
        """Close every session."""
        for venue in self._venues.values():
            await venue.close()
