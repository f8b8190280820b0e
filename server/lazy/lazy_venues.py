"""The venue for a process that a person waits for: it is loaded when a call needs
it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from domain.ports import Clock, Venue
from domain.trading.venue_values import Network
from server.settings import Settings
from storage.store import Store

if TYPE_CHECKING:
    from venue.venues import Networks


class LazyVenues:
    """The venue's networks as configured, opened by the first question."""

    def __init__(self, settings: Settings, clock: Clock, store: Store):
        self._settings, self._clock, self._store = settings, clock, store
        self._made: Networks | None = None

    def load(self) -> Networks:
        """Open them, unless they are."""
        if self._made is None:
            from server.venues import SharedWeights, venues

            self._made = venues(self._settings, self._clock, SharedWeights(self._store))
        return self._made

    def get(self, network: Network) -> Venue:
        """Return the venue. Errors: `not_configured`."""
        return self.load().get(network)

    def unknown_counts(self) -> Mapping[tuple[Network, str, str], int]:
        """Counts of the venue's fields and words that this service does not know."""
        return {} if self._made is None else self._made.unknown_counts()

    def refused(self) -> Mapping[tuple[Network, str], int]:
        """Counts of the venue's answers that were refused as a whole."""
        return {} if self._made is None else self._made.refused()

    async def close(self) -> None:
        """Close what was opened."""
        if self._made is not None:
            await self._made.close()
