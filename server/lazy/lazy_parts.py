"""Parts that are loaded when a call needs them, or by `server.runtime.serve` once it serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from domain.chain_facts import Call, Receipt
from domain.ports import Clock, HouseKeeper, Venue
from domain.trading.venue_values import Network
from server.settings import Settings
from storage.store import Store

if TYPE_CHECKING:
    from chain.chains import EvmChains
    from chain.tx_sender import TxSender
    from venue.venues import Networks

T = TypeVar("T")


class Lazy(Generic[T]):
    """A part that is made once, by the first call."""

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self._made: T | None = None

    def load(self) -> T:
        """The real one. Errors: Refused, ValueError for a setting of its that cannot be."""
        if self._made is None:
            self._made = self._make()
        return self._made


class LazyHouseKeeper(Lazy["TxSender"], HouseKeeper):
    """Sends the house's transactions; the key is looked at by the first."""

    def __init__(self, chains: EvmChains, key: str):
        def make() -> TxSender:
            from chain.tx_sender import TxSender

            return TxSender(chains, key)

        super().__init__(make)

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""
        return self.load().address

    async def affords(self, chain_id: int) -> bool:
        """True where the key's gas money lasts for more than one that can wait."""
        return await self.load().affords(chain_id)

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt."""
        return await self.load().send(call)


class LazyVenues(Lazy["Networks"]):
    """The venue's networks as configured, opened by the first question."""

    def __init__(self, settings: Settings, clock: Clock, store: Store):
        def make() -> Networks:
            from server.venues import SharedWeights, venues

            return venues(settings, clock, SharedWeights(store))

        super().__init__(make)

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
