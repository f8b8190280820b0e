"""How often one address may ask within a minute, in this process."""

from __future__ import annotations

from collections import OrderedDict, deque
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address
from typing import Final

from domain.refusals import Refused, refusal

SPAN: Final = timedelta(minutes=1)
ADDRESSES: Final = 10_000


def network_of(peer: str) -> str:
    """What counts as one address: an IPv4 address, or the /64 that one IPv6 host may choose from
    freely."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


class Throttle:
    """A sliding log of times an address; bounded: whoever asked longest ago is forgotten first."""

    def __init__(self, addresses: int = ADDRESSES):
        self._most = addresses
        self._asked: OrderedDict[str, deque[datetime]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._asked)

    def take(self, peer: str | None, at_most: int, now: datetime) -> None:
        """Count one request; 0 for `at_most` counts nothing. What is refused does not count.

        Errors: `rate_limited` with the time from which one fits again.
        """
        if peer is None or at_most <= 0:
            return
        key = network_of(peer)
        times = self._asked.setdefault(key, deque())
        self._asked.move_to_end(key)
        while times and now - times[0] >= SPAN:
            times.popleft()
        if len(times) >= at_most:
            again = times[0] + SPAN
            wait = max(1, -((now - again) // timedelta(seconds=1)))
            why = f"One address may ask this {at_most} times a minute."
            raise Refused(
                refusal("rate_limited", why=why, retry_at=again, detail={"retry_after_s": wait})
            )
        times.append(now)
        while len(self._asked) > self._most:
            self._asked.popitem(last=False)
