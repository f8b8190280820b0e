"""Response cache: answers that are the same for every caller, reused while they are fresh."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from aiohttp import web

from http_shim.identity import has_credential

MAX_ENTRIES: Final = 512
BYTES: Final = 16 * 2**20
LONGEST_KEY: Final = 512
_FRESH: Final = re.compile(r"public, max-age=([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True)
class _CachedResponse:
    body: bytes
    until: datetime


class ResponseCache:
    """A shared cache (RFC 9111) of bodies as they were written, by path and query as they were
    sent. Bounded by answers and by bytes, because strangers choose the queries.
    """

    def __init__(self, limit: int = MAX_ENTRIES, size: int = BYTES) -> None:
        self._most, self._size = limit, size
        self._entries: OrderedDict[str, _CachedResponse] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes_held(self) -> int:
        """Size of the bodies that are held."""
        return self._bytes

    def get(self, request: web.Request, now: datetime) -> web.Response | None:
        """The cached answer to an anonymous request that is still fresh, with the rest of its
        time.
        """
        entry = self._entries.get(request.raw_path)
        if entry is None or not _anybodys(request):
            return None
        left = int((entry.until - now).total_seconds())
        if left <= 0:
            self._drop(request.raw_path)
            return None
        self._entries.move_to_end(request.raw_path)
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Cache-Control": f"public, max-age={left}",
        }
        return web.Response(body=entry.body, headers=headers)

    def put(self, request: web.Request, response: web.Response, requested_at: datetime) -> None:
        """Cache an answer that is the same for all callers for the time that it names; counted from
        the request.
        """
        fresh = _FRESH.fullmatch(response.headers.get("Cache-Control", ""))
        body, key = response.body, request.raw_path
        if (
            response.status != 200
            or fresh is None
            or not isinstance(body, bytes)
            or len(key) > LONGEST_KEY
            or not _anybodys(request)
        ):
            return
        self._drop(key)
        self._entries[key] = _CachedResponse(body, requested_at + timedelta(seconds=int(fresh[1])))
        self._bytes += len(body)
        while len(self._entries) > self._most or self._bytes > self._size:
            _, gone = self._entries.popitem(last=False)
            self._bytes -= len(gone.body)

    def _drop(self, key: str) -> None:
        gone = self._entries.pop(key, None)
        if gone is not None:
            self._bytes -= len(gone.body)


def _anybodys(request: web.Request) -> bool:
    """True where nothing in the headers can change the answer: who brings a credential is looked
    up, and refused where it is none."""
    return not has_credential(request.headers) and "Idempotency-Key" not in request.headers
