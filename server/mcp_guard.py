"""Who may open how many MCP sessions and streams, and errors of the transport as refusal blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.refusals import Refused, invalid, refusal
from http_shim.identity import identify, origin_of
from http_shim.parse import repeated_key
from storage.faults import Unavailable
from tools.call.operation import NOBODY, Deps, Reply
from tools.call.run import refused_reply, unavailable
from tools.call.wire import encoded

SESSION: Final = "mcp-session-id"
MODERN: Final = frozenset({"2026-07-28"})
LISTEN: Final = "subscriptions/listen"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many places one holder and all holders of a kind can have; after how many seconds of
    rest an anonymous one gives way.
    """

    one: int
    all: int
    rest_s: float


KEYED: Final = Bounds(one=250, all=1_000, rest_s=0)
STRANGERS_SESSIONS: Final = Bounds(one=32, all=200, rest_s=1)
STRANGERS_STREAMS: Final = Bounds(one=16, all=100, rest_s=60)


@dataclass(slots=True, eq=False)
class Place:
    """One session or stream: whose it is, and when it was last used."""

    keyed: bool
    holder: str
    used: float
    open: int = 0
    session: str | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Places:
    """The sessions, or the streams, that are open. Strangers' are counted apart, so that they
    never take a place of a keyed one.
    """

    def __init__(self, what: str, strangers: Bounds, now: Callable[[], float]):
        self._what, self._strangers, self._now = what, strangers, now
        self._all: dict[Place, None] = {}

    def __iter__(self) -> Iterator[Place]:
        return iter(tuple(self._all))

    def admit(self, keyed: bool, holder: str) -> tuple[Place, Place | None]:
        """(a place, the stranger's place that has to go for it). Errors: `rate_limited`."""
        bounds = KEYED if keyed else self._strangers
        alike = [p for p in self._all if p.keyed == keyed]
        own = [p for p in alike if p.holder == holder]
        goes = None
        if len(own) >= bounds.one or len(alike) >= bounds.all:
            goes = None if keyed else self._rests(own if len(own) >= bounds.one else alike)
            if goes is None:
                raise Refused(refusal("rate_limited", why=f"Too many {self._what} are open."))
            self.drop(goes)
        place = Place(keyed, holder, self._now())
        self._all[place] = None
        return place, goes

    def _rests(self, places: list[Place]) -> Place | None:
        """The one that rests longest, where any rests."""
        at = self._now() - self._strangers.rest_s
        return min(
            (p for p in places if p.used <= at and (p.session is None or not p.open)),
            key=lambda p: p.used,
            default=None,
        )

    def touch(self, place: Place) -> None:
        """It is used now."""
        place.used = self._now()

    def drop(self, place: Place) -> None:
        """It is free again."""
        self._all.pop(place, None)

    def forget(self, older_s: float) -> None:
        """Drop what the transport has ended for resting so long."""
        at = self._now() - older_s
        for place in self:
            if place.used < at and not place.open:
                self.drop(place)


class Guard:
    """Stands in front of the transports' ASGI application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        deps: Deps,
        idle_s: float,
        now: Callable[[], float] = time.monotonic,
    ):
        self._app, self._deps, self._idle_s = app, deps, idle_s
        self.sessions = Places("sessions", STRANGERS_SESSIONS, now)
        self.streams = Places("streams", STRANGERS_STREAMS, now)
        self._by_id: dict[str, Place] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            if scope["method"] == "POST":
                receive = await self._read(scope, receive)
            await self._admitted(scope, headers, receive, _Blocks(send, self._deps))
        except Refused as refused:
            await _answer(refused_reply(refused, self._deps.clock.now()), send)
        except Unavailable as trouble:
            await _answer(refused_reply(unavailable(trouble), self._deps.clock.now()), send)

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """The body, looked at for keys that come twice. Errors: `invalid_request`."""
        message = await receive()
        twice = repeated_key(message.get("body", b""))
        if twice is not None:
            raise invalid(twice[:80], "the key occurs twice")
        first = True

        async def again() -> Message:
            nonlocal first
            if first:
                first = False
                return message
            return await receive()

        return again

    async def _admitted(
        self, scope: Scope, headers: Headers, receive: Receive, send: _Blocks
    ) -> None:
        named, path, method = headers.get(SESSION), scope["path"], scope["method"]
        modern = headers.get("mcp-protocol-version") in MODERN
        if path == "/mcp" and method == "POST" and named is None and not modern:
            await self._opening(scope, headers, receive, send)
        elif (path == "/sse" and method == "GET") or (
            path == "/mcp" and modern and headers.get("mcp-method") == LISTEN
        ):
            with await self._stream(scope, headers):
                await self._app(scope, receive, send)
        else:
            await self._in_session(scope, named, receive, send)

    async def _holder(self, scope: Scope, headers: Headers) -> tuple[bool, str]:
        """(True, whose key it is) for a key that is known; (False, where from) for anybody else."""
        client = scope.get("client")
        address = origin_of(self._deps, client[0] if client else None, headers)
        try:
            caller = await identify(self._deps, headers, on_mcp=True, address=address)
        except Refused as refused:
            if refused.code == "rate_limited":
                raise
            caller = NOBODY
        if caller.credential is not None:
            return True, caller.credential
        return False, address or "?"

    async def _stream(self, scope: Scope, headers: Headers) -> AbstractContextManager[None]:
        place, goes = self.streams.admit(*await self._holder(scope, headers))
        if goes is not None:
            goes.scope.cancel()
        return self._held(place)

    @contextmanager
    def _held(self, place: Place) -> Iterator[None]:
        try:
            with place.scope:
                yield
        finally:
            self.streams.drop(place)

    async def _opening(
        self, scope: Scope, headers: Headers, receive: Receive, send: _Blocks
    ) -> None:
        self._tidy()
        place, goes = self.sessions.admit(*await self._holder(scope, headers))
        try:
            if goes is not None and goes.session is not None:
                await self._end(scope, goes.session)
            await self._app(scope, receive, send)
        finally:
            if send.session is None:
                self.sessions.drop(place)
            else:
                place.session = send.session
                self._by_id[send.session] = place

    def _tidy(self) -> None:
        self.sessions.forget(self._idle_s)
        known = set(self.sessions)
        self._by_id = {n: p for n, p in self._by_id.items() if p in known}

    async def _end(self, scope: Scope, session: str) -> None:
        """End a stranger's session as its own client would: with DELETE."""
        self._by_id.pop(session, None)
        wanted = (b"host", b"mcp-protocol-version")
        headers = [(n, v) for n, v in scope["headers"] if n in wanted]
        headers.append((SESSION.encode(), session.encode()))

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            """Nobody waits for this answer."""

        await self._app({**scope, "method": "DELETE", "headers": headers}, nothing, unheard)

    async def _in_session(
        self, scope: Scope, named: str | None, receive: Receive, send: _Blocks
    ) -> None:
        place = self._by_id.get(named or "")
        if place is None:
            await self._app(scope, receive, send)
            return
        place.open += 1
        self.sessions.touch(place)
        try:
            await self._app(scope, receive, send)
        finally:
            place.open -= 1
            self.sessions.touch(place)
            if send.status == 404 or (scope["method"] == "DELETE" and send.status < 400):
                self.sessions.drop(place)
                self._by_id.pop(named or "", None)


_TEXTS: Final[Mapping[int, Callable[[], Refused]]] = {
    400: lambda: invalid("request", "the transport does not take it"),
    403: lambda: Refused(refusal("forbidden", why="the Origin header names another site")),
    404: lambda: Refused(refusal("not_found", what="session")),
    405: lambda: Refused(refusal("method_not_allowed", method="This")),
    413: lambda: Refused(refusal("body_too_large", limit=2**20)),
    421: lambda: invalid("host", "it is not an address of this service"),
    503: lambda: Refused(refusal("rate_limited", why="Too many sessions are open.")),
}


class _Blocks:
    """Passes an answer on; one of plain text becomes a refusal block under the same status."""

    def __init__(self, send: Send, deps: Deps):
        self._send, self._deps = send, deps
        self.status = 0
        self.session: str | None = None
        self._block: Reply | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message.get("headers", []))
            self.status, self.session = message["status"], headers.get(SESSION)
            plain = not headers.get("content-type", "").startswith(("application/json", "text/ev"))
            if self.status in _TEXTS and plain:
                told = refused_reply(_TEXTS[self.status](), self._deps.clock.now())
                allow = {"Allow": headers["allow"]} if "allow" in headers else {}
                self._block = Reply(self.status, told.body, {**told.headers, **allow})
                return
        if self._block is None:
            await self._send(message)
        elif not message.get("more_body", False):
            await _answer(self._block, self._send)


async def _answer(reply: Reply, send: Send) -> None:
    body = encoded(reply.body)
    headers = {"content-type": "application/json; charset=utf-8", **reply.headers}
    raw = [(n.lower().encode(), v.encode()) for n, v in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
