"""Admission: every request is counted and checked against its limits before its path is
routed and its body read.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web
from aiohttp.web_urldispatcher import MatchInfoError

from domain.refusals import Refused
from http_shim.identity import origin_of
from http_shim.json_body import MAX_BODY
from http_shim.principal import TOLD_MAX, RequestPrincipal, asker_of
from http_shim.request_span import begin_span
from http_shim.seldom import Seldom
from http_shim.service_routes import HEALTH_PATHS
from tools.dispatch.rate_charging import charge_stranger, is_proxy
from tools.model.operation import ANONYMOUS, Deps

log = logging.getLogger("wallet.http")

BODY_UNIT: Final = 8 * 1024  # bytes of a body that count as one request more
PATH_MAX: Final = 1_024
SEGMENTS_MAX: Final = 16
UNVOUCHED: Final = (
    "%s sends X-Forwarded-For and is no trusted proxy: all that come through it count as one "
    "caller; if it is yours, set WALLET_TRUSTED_PROXIES=%s"
)
LONG_PATH: Final = f"its path has at most {PATH_MAX} bytes and {SEGMENTS_MAX} segments"
ENCODED: Final = "its body comes as it is, under no Content-Encoding but identity"

ASKER: Final = web.RequestKey("asker", RequestPrincipal)
TURNED_AWAY: Final = web.RequestKey("turned_away", Exception)
# The token in the cookie of a request for a screen, "" without one.
Cookie = Callable[[web.Request], str]
# The versions of MCP whose calls stand alone.
MODERN: Final = frozenset({"2026-07-28"})


class Admitting(web.UrlDispatcher):
    """The router behind admission: it routes admitted requests, and notes for the others the reason
    that the error handler answers.
    """

    def __init__(self, deps: Deps, cookie: Cookie | None = None):
        super().__init__()
        self._deps, self._cookie = deps, cookie
        self.unvouched = 0
        self._said_unvouched, self.limited, self.probed = False, Seldom(), Seldom()

    def gauges(self) -> Mapping[str, int]:
        """Metrics: the number of requests that came through a proxy that is not trusted."""
        return {"wallet_forwarded_untrusted_total": self.unvouched}

    async def resolve(self, request: web.Request) -> web.UrlMappingMatchInfo:
        """The route behind a request; that of nothing where it is turned away."""
        if self._deps.tracer is not None:
            begin_span(self._deps, request, _peer(request))
        try:
            await self._admit(request)
        except (Refused, web.HTTPException) as error:
            request[TURNED_AWAY] = error
            return _Nowhere()
        return await super().resolve(request)

    async def _admit(self, request: web.Request) -> None:
        path = request.rel_url.raw_path
        if path in HEALTH_PATHS:
            return
        if len(path) > PATH_MAX or path.count("/") > SEGMENTS_MAX:
            charge_stranger(self._deps, where_from(self._deps, request))
            raise web.HTTPRequestURITooLong(reason=LONG_PATH)
        on_mcp, on_screens = _is_mcp(path), path.startswith("/app")
        cookie = self._cookie(request) if self._cookie and on_screens else None
        peer = _peer(request)
        if "X-Forwarded-For" in request.headers:
            self._count_unvouched(peer)
        asker = await asker_of(
            self._deps,
            request.headers,
            peer,
            on_mcp=on_mcp,
            presumes=not on_mcp or _calls_tool(request, path),
            cookie=cookie,
            cost=_cost(request),
        )
        request[ASKER] = asker
        if asker.limited is not None and not (on_mcp and _is_short(request)):
            raise asker.limited
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise web.HTTPUnsupportedMediaType(reason=ENCODED)

    def _count_unvouched(self, peer: str | None) -> None:
        """Count a request that a proxy sends which is not known as one; say so of the first."""
        if peer is None or is_proxy(self._deps, peer):
            return
        self.unvouched += 1
        if not self._said_unvouched:
            self._said_unvouched = True
            log.warning(UNVOUCHED, peer, peer)


FRONT: Final = web.AppKey("front", Admitting)


class _Nowhere(MatchInfoError):
    """The route of requests that were refused at admission; it asks for no body."""

    def __init__(self) -> None:
        super().__init__(web.HTTPNotFound())

    @property
    def expect_handler(self) -> Callable[[web.Request], Awaitable[None]]:
        """Ignore the Expect header."""
        return _unexpected


async def _unexpected(_: web.Request) -> None:
    """Let `Expect: 100-continue` wait for the answer."""


def where_from(deps: Deps, request: web.Request) -> str | None:
    """The network address that a request counts for."""
    return origin_of(deps, _peer(request), request.headers)


def _peer(request: web.Request) -> str | None:
    peer = request.get_extra_info("peername")
    return peer[0] if peer else None


def _cost(request: web.Request) -> int:
    """The cost of a request by the size of its body, which is what reading that costs; a request
    without a size counts as the longest.
    """
    length = request.content_length
    if length is None:
        length = MAX_BODY if request.can_read_body else 0
    return 1 + min(length, MAX_BODY) // BODY_UNIT


async def expected(request: web.Request) -> None:
    """Answer `Expect: 100-continue`, but for a body that is refused unread; other expectations may
    be ignored (RFC 9110 10.1.1).
    """
    if (request.content_length or 0) > MAX_BODY:
        return
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # What counts as sent from here on is the answer.
        request.writer.output_size = 0


def is_noise(request: web.Request, status: int) -> bool:
    """Whether an answer refused something to an anonymous caller, which is counted and not logged:
    a stranger could fill the log with such lines. A rate-limited call is refused, even where a tool
    answers it with 200.
    """
    asker = request.get(ASKER)
    known = asker is not None and asker.caller is not ANONYMOUS
    refused = 400 <= status < 500 or (asker is not None and asker.limited is not None)
    return not known and refused


def is_probe(request: web.Request) -> bool:
    """Whether a request is a health probe, with any status: a probe is charged to no address,
    because a caller that used up the limit of the balancer's address would take the service out of
    it, and so writes no line of its own.
    """
    return request.rel_url.raw_path in HEALTH_PATHS


def _is_mcp(path: str) -> bool:
    known = ("/mcp", "/mcp/connect", "/sse")
    return path in known or path.startswith(("/mcp/x/", "/messages/"))


def _calls_tool(request: web.Request, path: str) -> bool:
    """Whether a request says that it calls a tool, in the era whose messages are held to what their
    headers say.
    """
    headers = request.headers
    return (
        headers.get("Mcp-Method") == "tools/call"
        and headers.get("MCP-Protocol-Version") in MODERN
        and request.method == "POST"
        and (path == "/mcp" or path.startswith("/mcp/x/"))
    )


def _is_short(request: web.Request) -> bool:
    """Whether a message is short enough to be answered as by a tool, one request too many or not
    (contract 1)."""
    return request.content_length is not None and request.content_length <= TOLD_MAX
