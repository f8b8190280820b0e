"""Both networks of the local venue, for development and for the demonstration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from devtools.devvenue import DevVenue, serve
from domain.ports import Clock
from server.system import SystemClock

FUNDS_USDC: Final = 10_000
FUNDED_DEXES: Final = ("", "xyz")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalVenues:
    """The two networks of a running local venue, with the addresses that they answer at."""

    mainnet: DevVenue
    testnet: DevVenue
    mainnet_url: str
    testnet_url: str

    def environment(self) -> dict[str, str]:
        """The settings a service needs to use them."""
        return {
            "WALLET_VENUE_MAINNET_URL": self.mainnet_url,
            "WALLET_VENUE_TESTNET_URL": self.testnet_url,
        }


@asynccontextmanager
async def venues(
    host: str, port: int, funded: Iterable[str], clock: Clock | None = None
) -> AsyncIterator[LocalVenues]:
    """Run both networks, testnet one port above mainnet (0: any two).

    Each of the addresses has 10,000 USDC on the first dex and on `xyz`, on both networks.
    """
    time = clock or SystemClock()
    accounts = list(funded)
    created = {
        network: DevVenue(lambda: int(time.now().timestamp() * 1_000), mainnet=network == "mainnet")
        for network in ("mainnet", "testnet")
    }
    urls = []
    async with AsyncExitStack() as stack:
        for n, venue in enumerate(created.values()):
            for address in accounts:
                for dex in FUNDED_DEXES:
                    venue.deposit(address, FUNDS_USDC, dex)
            runner, url = await serve(venue, host, port + n if port else 0)
            stack.push_async_callback(runner.cleanup)
            urls.append(url)
        yield LocalVenues(**created, mainnet_url=urls[0], testnet_url=urls[1])
