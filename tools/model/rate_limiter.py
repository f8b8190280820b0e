"""Rate limiter: limits of this process, in bounded memory (contract 1).

The generic cell rate algorithm: one time a key says all that a full log of calls would, so that a
stranger with many addresses costs a few dozen bytes each, and the oldest are forgotten.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from domain.refusals import Refused, refusal

KEYS_MAX: Final = 50_000
MINUTE: Final = timedelta(minutes=1)
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(slots=True)
class RateLimiter:
    """Meters of calls by key: the time at which a key's calls are paid off; a key that is paid off
    takes no place.
    """

    _due: OrderedDict[tuple[str, str], datetime] = field(default_factory=OrderedDict)

    def acquire(
        self,
        subject: str,
        whose: str,
        limit: int,
        now: datetime,
        *,
        cost: int = 1,
        force: bool = False,
    ) -> None:
        """Count a call of weight `cost` against `limit` a minute; a limit of 0 is none. `force`
        counts what has happened already.

        Errors: `rate_limited` with the time at which this very call would pass.
        """
        if limit <= 0:
            return
        key, each = (subject, whose), MINUTE / limit
        # A call that weighs more than the whole limit passes where nothing else was done.
        step = min(each * cost, MINUTE)
        due = max(self._due.get(key, EPOCH), now)
        late = due + step - MINUTE
        if late > now and not force:
            why = f"More than {limit} {subject} a minute."
            raise Refused(refusal("rate_limited", why=why, retry_at=late))
        self._due[key] = min(due + step, now + 2 * MINUTE)
        self._due.move_to_end(key)
        while len(self._due) > KEYS_MAX:
            self._due.popitem(last=False)

    def knows(self, subject: str, whose: str) -> bool:
        """Whether a call under this key was counted lately."""
        return (subject, whose) in self._due

    def __len__(self) -> int:
        return len(self._due)


def client_network(
    peer: str | None, forwarded: str | None, trusted: Sequence[Network]
) -> str | None:
    """The network that a request comes from: the peer's, or behind trusted proxies the last hop of
    `X-Forwarded-For` that is none of them. An IPv6 address counts by its /64, which one holder has
    whole.
    """
    if not forwarded:
        return _counted(peer)
    address = _parsed(peer)
    if address is None:
        return None
    hops = [h.strip() for h in (forwarded or "").split(",") if h.strip()]
    while hops and any(address in network for network in trusted):
        hop = _parsed(hops.pop())
        if hop is None:
            break
        address = hop
    return _holder(address)


@lru_cache(maxsize=4_096)
def _counted(peer: str | None) -> str | None:
    """A peer's own address as it counts; most calls come from few of them."""
    address = _parsed(peer)
    return None if address is None else _holder(address)


def _holder(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _parsed(text: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def networks(text: str) -> tuple[Network, ...]:
    """Read `WALLET_TRUSTED_PROXIES`: addresses and networks with commas. Errors: ValueError."""
    return tuple(
        ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip()
    )
