"""Client-ID metadata documents: what an app publishes of itself, as it was fetched a while ago."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

DOCUMENT_MAX: Final = 5_000  # bytes
KEPT: Final = 200
AT_ONCE: Final = 8
OF_ONE: Final = 2
LEAST: Final = timedelta(minutes=5)
ABSENT: Final = timedelta(seconds=30)  # an owner who tries again a minute later is not refused
MOST: Final = timedelta(hours=24)
UNSAID: Final = timedelta(hours=1)
_MAX_AGE: Final = re.compile(r"(?:^|,)\s*max-age=([0-9]{1,9})\b")


@dataclass(frozen=True, slots=True)
class ClientDocument:
    """A document as it was answered, and what its Cache-Control said."""

    body: bytes
    cache_control: str = ""


Fetch = Callable[[str], Awaitable[ClientDocument | None]]
"""Fetch a document of a stranger, within bounds; None where there is none. Errors: none."""


class ClientDocuments:
    """Documents by their address. An answer is kept from five minutes to a day, that there is none
    for half a minute; one address is asked by one request at a time, and only so many addresses are
    at once, and of them for one asker, so that slow ones of a stranger leave places to others.
    """

    def __init__(self, fetch: Fetch):
        self._fetch = fetch
        self._kept: dict[str, tuple[datetime, bytes | None]] = {}
        self._running: dict[str, asyncio.Future[bytes | None]] = {}
        self._askers = Counter[str]()

    async def read(
        self, url: str, now: datetime, asker: str, *, fresh: bool = False
    ) -> bytes | None:
        """The document of an address, for an asker (an address, or a user's id); None where there
        is none, or too much is asked for now. `fresh`: what was kept is fetched again.
        """
        known = self._kept.get(url)
        if known is not None and now < known[0] and not fresh:
            return known[1]
        if url not in self._running:
            if len(self._running) >= AT_ONCE or self._askers[asker] >= OF_ONE:
                return None
            self._askers[asker] += 1
            self._running[url] = asyncio.ensure_future(self._fetched(url, now, asker))
        # One that gives up waiting must not take the others' answer along.
        return await asyncio.shield(self._running[url])

    async def _fetched(self, url: str, now: datetime, asker: str) -> bytes | None:
        try:
            document = await self._fetch(url)
            body = None if document is None else document.body
            self._kept.pop(url, None)
            self._kept[url] = (now + _age(document), body)
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
            return body
        finally:
            del self._running[url]
            self._askers[asker] -= 1
            self._askers += Counter()  # forgets those that ask for nothing


def _age(document: ClientDocument | None) -> timedelta:
    """The time for which an answer is kept."""
    if document is None:
        return ABSENT
    said = _MAX_AGE.search(document.cache_control.lower())
    age = timedelta(seconds=int(said[1])) if said else UNSAID
    return min(max(age, LEAST), MOST)
