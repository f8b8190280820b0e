"""The venue on its networks, with the budget that all processes of one address share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from domain.ports import Clock
from server.retry_logging import tell_retries
from server.settings import Settings
from storage.store import Store
from venue.budget import Budget, WeightStore
from venue.client import Client
from venue.networks import VenueNetwork
from venue.venues import Networks

T = TypeVar("T")


class SharedWeights:
    """The venue's budget in the database, so that all processes of one outgoing address share
    it."""

    def __init__(self, store: Store):
        self._store = store

    async def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key."""
        return await self._store.write(lambda uow: uow.venue_weights.change(key, work))


def venues(settings: Settings, clock: Clock, weights: WeightStore) -> Networks:
    """The venue on its networks; nothing is asked yet, so that a start never fails because it is
    away."""
    tell_retries()
    return Networks(
        {
            network: VenueNetwork(
                network,
                Client(
                    url,
                    Budget(clock, weights, f"{settings.venue_egress}:{network}"),
                    settings.venue_timeout_s,
                ),
                clock,
            )
            for network, url in settings.venue_urls().items()
        }
    )
