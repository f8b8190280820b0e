"""Configured networks of the venue."""

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
        """The venue on one network. Errors: `not_configured`."""
        venue = self._venues.get(network)
        if venue is None:
            raise Refused(refusal("not_configured", what=f"the venue's {network}"))
        return venue

    def unknown_counts(self) -> Mapping[tuple[Network, str, str], int]:
        """Counts of anomalies, by (network, kind of request, kind of anomaly)."""
        return {
            (network, kind, subject): times
            for network, venue in self._venues.items()
            for (kind, subject), times in venue.client.unknown_counts.counts.items()
        }

    def refused(self) -> Mapping[tuple[Network, str], int]:
        """Counts of refused answers, by (network, kind of request)."""
        return {
            (network, kind): times
            for network, venue in self._venues.items()
            for kind, times in venue.client.unknown_counts.refused.items()
        }

    async def close(self) -> None:
        """Close every session."""
        for venue in self._venues.values():
            await venue.close()
