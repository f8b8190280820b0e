"""Rate limiter: calls of a minute by key, in bounded memory (contract 1).

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
from typing import Final, Protocol, TypeAlias

from domain.refusals import Refused, refusal

KEYS_MAX: Final = 50_000
MINUTE: Final = timedelta(minutes=1)
# The part of a minute's calls that a process counts for a key before the others hear of it.
SLICE: Final = MINUTE / 16
EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
Key: TypeAlias = tuple[str, str]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class SharedCounts(Protocol):
    """Counts of several serving processes together."""

    def announce(self, key: Key) -> None:
        """A slice of this key was counted here that the others have not heard of."""
        ...

    async def settled(self, key: Key) -> None:
        """Return once no slice of this key is unheard of, or waiting for that is of no use."""
        ...


@dataclass(slots=True)
class RateLimiter:
    """Meters of calls by key: the time at which a key's calls are paid off; a key that is paid off
    takes no place. With `shared`, what was counted since a slice was taken is kept apart.
    """

    shared: SharedCounts | None = None
    _due: OrderedDict[Key, datetime] = field(default_factory=OrderedDict)
    _since: dict[Key, tuple[datetime, timedelta]] = field(default_factory=dict)

    async def charge(
        self, subject: str, whose: str, limit: int, now: datetime, *, cost: int = 1
    ) -> None:
        """Count a call as `acquire` does, once the other processes know what was counted here: all
        of them let through a slice and a call each beyond the limit at the most.
        """
        if self.shared is not None and limit > 0:
            await self.shared.settled((subject, whose))
        self.acquire(subject, whose, limit, now, cost=cost)

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
            self._since.pop(self._due.popitem(last=False)[0], None)
        if self.shared is not None:
            self._note(self.shared, key, step, now)

    def _note(self, shared: SharedCounts, key: Key, step: timedelta, now: datetime) -> None:
        start, debt = self._since.get(key, (now, timedelta()))
        self._since[key] = start, debt + step
        if debt + step >= SLICE:
            shared.announce(key)

    def take(self, key: Key) -> tuple[datetime, timedelta] | None:
        """Take what was counted of a key since the last time, as the time that its calls cost, and
        since when; from now on it is counted anew.
        """
        return self._since.pop(key, None)

    def give_back(self, key: Key, since: datetime, debt: timedelta) -> None:
        """Keep for the next time what did not reach the others."""
        start, more = self._since.get(key, (since, timedelta()))
        if key in self._due:
            self._since[key] = min(start, since), debt + more

    def learn(self, key: Key, due: datetime, now: datetime) -> None:
        """All processes together have counted up to this, without what was counted here since."""
        if key in self._due:
            debt = self._since.get(key, (now, timedelta()))[1]
            self._due[key] = min(max(self._due[key], due + debt), now + 2 * MINUTE)

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
