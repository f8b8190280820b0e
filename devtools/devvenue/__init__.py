"""A local venue: real signatures, books, matching and margin, for tests and demonstrations only.

    venue = DevVenue(lambda: clock_in_ms, mainnet=False)  # its only clock; markets quoted, no users
    venue.deposit(address, "1000", "xyz")                 # an address exists once it has money
    runner, url = await serve(venue)                      # /info, /exchange, and /dev/ to steer
    venue.move("BTC", 64_000)                             # quotes, mark and oracle
    venue.faults.add(VenueFault(effect="lost", kind="order", times=1))
    await runner.cleanup()

What it does is what the documents of the venue say and its testnet was seen to do. Where nothing is
on record it takes the stricter reading, and says so where it does. Spot is listed, not traded;
there is no websocket.
"""

from devtools.devvenue.core import DevVenue
from devtools.devvenue.faults import VenueFault
from devtools.devvenue.refusals import Malformed
from devtools.devvenue.server import application, serve, serve_in_thread
from devtools.devvenue.state import Rules

__all__ = [
    "DevVenue",
    "Malformed",
    "Rules",
    "VenueFault",
    "application",
    "serve",
    "serve_in_thread",
]
