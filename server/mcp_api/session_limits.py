"""Session limits of a caller on MCP, and transport errors as refusal blocks."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, Literal

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.next_steps import Role
from domain.refusals import Refused, invalid, refusal
from domain.shares import holder_to_displace
from http_shim.admission import MODERN
from http_shim.json_body import MAX_BODY, aside, read
from http_shim.json_body import message as exact
from http_shim.principal import HEADERS, TOLD_MAX, RequestPrincipal
from server.mcp_api.principal import asker_in, credential_of
from storage.errors import Unavailable
from tools.context.credentials import hashed
from tools.dispatch.run import refused_reply, unavailable
from tools.model.operation import Caller, Deps, OperationResult
from tools.model.serialization import encoded

if TYPE_CHECKING:
    from server.mcp_api.peer_sessions import PeerSessions

SESSION: Final = "mcp-session-id"
_SESSION: Final = SESSION.encode()
_STRUCTURED: Final = (b"application/json", b"text/ev")
LISTEN: Final = "subscriptions/listen"
STREAM_ID: Final = re.compile(rb"[?&]session_id=([0-9a-f]{32})")
# What ends a place for which no request came.
OWN_REQUEST: Final[Scope] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "scheme": "http",
    "path": "/mcp",
    "raw_path": b"/mcp",
    "query_string": b"",
    "root_path": "",
    "headers": [(b"host", b"localhost")],
    "client": None,
    "server": None,
}


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """The number of places that one holder (of a keyed place: its owner) and all holders of a kind
    can have; the seconds without a message after which one that only rests, and one that listens,
    may give way to another.
    """

    one: int
    all: int
    rest_s: float
    listening_s: float


KEYED: Final = SlotLimits(one=250, all=1_000, rest_s=60, listening_s=math.inf)
STRANGERS_SESSIONS: Final = SlotLimits(one=32, all=200, rest_s=1, listening_s=60)
STRANGERS_STREAMS: Final = SlotLimits(one=16, all=100, rest_s=60, listening_s=60)


@dataclass(slots=True, eq=False)
class SessionSlot:
    """One session or stream: the key or address that holds it, the owner behind the key (the
    address again for a stranger), when a message last came for it, how many are being answered, and
    the streams of it that are open. `credential` is the hash by which the transport knows a
    session's client. `has_rested`: the transport has ended it here, for resting.
    """

    keyed: bool
    holder: str
    owner: str
    used: float
    open: int = 0
    session: str | None = None
    credential: str | None = None
    place_hash: str | None = None
    has_rested: bool = False
    listening: list[anyio.CancelScope] = field(default_factory=list)

    @property
    def is_busy(self) -> bool:
        """True while a call of it is answered, or a stream of it is open."""
        return bool(self.open or self.listening)

    @contextmanager
    def listens(self) -> Iterator[None]:
        """Hold a stream open, which ends where its place is given to another holder."""
        with anyio.CancelScope() as scope:
            self.listening.append(scope)
            try:
                yield
            finally:
                self.listening.remove(scope)

    def end(self) -> None:
        """End its streams."""
        for scope in self.listening:
            scope.cancel()


class SessionSlots:
    """The sessions, or the streams, that are open. Strangers' are counted apart, so that they
    never take a place of a keyed one; keyed ones are shared by owner, and an owner's by key.
    """

    def __init__(self, subject: str, strangers: SlotLimits, now: Callable[[], float]):
        self._what, self._strangers, self._now = subject, strangers, now
        self._all: dict[SessionSlot, None] = {}

    def __iter__(self) -> Iterator[SessionSlot]:
        return iter(tuple(self._all))

    def admit(
        self, keyed: bool, holder: str, owner: str | None = None
    ) -> tuple[SessionSlot, SessionSlot | None]:
        """(a place, the place that has to go for it). Errors: `rate_limited`."""
        bounds = KEYED if keyed else self._strangers
        place = SessionSlot(keyed, holder, owner or holder, self._now())
        alike = [p for p in self._all if p.keyed == keyed]
        own = [p for p in alike if p.owner == place.owner]
        goes = None
        if len(own) >= bounds.one or len(alike) >= bounds.all:
            among = own if len(own) >= bounds.one else alike
            goes = self._shared(bounds, among, own, place) if keyed else None
            if goes is None:
                goes = self._first(bounds, among)
                if goes is None or self._goes_at(bounds, goes) > self._now():
                    raise self._full(bounds, goes)
            self.drop(goes)
        self._all[place] = None
        return place, goes

    def _shared(
        self,
        bounds: SlotLimits,
        among: list[SessionSlot],
        own: list[SessionSlot],
        asks: SessionSlot,
    ) -> SessionSlot | None:
        """The place that goes so that owners have equal shares, and an owner's keys."""
        owner = holder_to_displace(Counter(p.owner for p in among), asks.owner)
        if owner is not None:
            return self._first(bounds, [p for p in among if p.owner == owner])
        key = holder_to_displace(Counter(p.holder for p in own), asks.holder)
        return self._first(bounds, [p for p in own if p.holder == key])

    def _first(self, bounds: SlotLimits, places: list[SessionSlot]) -> SessionSlot | None:
        """The one that may go first; none of those that are just being answered."""
        rest = (p for p in places if not p.open)
        return min(rest, key=lambda p: (self._goes_at(bounds, p), p.used), default=None)

    def _goes_at(self, bounds: SlotLimits, place: SessionSlot) -> float:
        return place.used + (bounds.listening_s if place.listening else bounds.rest_s)

    def _full(self, bounds: SlotLimits, first: SessionSlot | None) -> Refused:
        left = bounds.rest_s if first is None else self._goes_at(bounds, first) - self._now()
        # One that listens ends when its client wants.
        after = math.ceil(left) if 0 < left < math.inf else math.ceil(bounds.rest_s)
        why = f"Too many {self._what} are open."
        return Refused(refusal("rate_limited", why=why, detail={"retry_after_s": after}))

    def touch(self, place: SessionSlot) -> None:
        """It is used now."""
        place.used = self._now()

    def drop(self, place: SessionSlot) -> None:
        """It is free again."""
        self._all.pop(place, None)

    def forget(self, older_s: float) -> None:
        """Drop what the transport has ended for resting so long."""
        for place in self:
            self.drop_rested(place, older_s)

    def drop_rested(self, place: SessionSlot, older_s: float) -> bool:
        """Drop a place that the transport has ended for resting so long; True where it has."""
        if place.used < self._now() - older_s and not place.is_busy:
            place.has_rested = True
            self.drop(place)
        return place.has_rested


class SessionGuard:
    """Stands in front of the transports' ASGI application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        deps: Deps,
        idle_s: float,
        now: Callable[[], float] = time.monotonic,
        peers: PeerSessions | None = None,
    ):
        self._app, self._deps, self._idle_s = app, deps, idle_s
        self._peers = peers
        if peers is not None:
            peers.holder = self
        self.sessions = SessionSlots("sessions", STRANGERS_SESSIONS, now)
        self.streams = SessionSlots("streams", STRANGERS_STREAMS, now)
        self._by_id: dict[str, SessionSlot] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        role: Role = "nobody"
        headers = headers_of(scope)
        try:
            asker = await asker_in(self._deps, scope)
            _bind(scope, headers, asker.caller)
            role = asker.caller.role
            if scope["method"] == "POST":
                receive = await self._read(receive, asker)
            elif asker.limited is not None:
                raise asker.limited
            blocks = _Blocks(send, self._deps, role)
            await self._admitted(scope, headers, asker, receive, blocks)
        except Refused as refused:
            await _answer(refused_reply(refused, self._deps.clock.now(), role), send)
        except Unavailable as error:
            await _answer(refused_reply(unavailable(error), self._deps.clock.now(), role), send)

    async def _read(self, receive: Receive, asker: RequestPrincipal) -> Receive:
        """The body, looked at for what it would cost and for keys that come twice. Who asked too
        often is answered unread, or where a tool is called, as by the tool.

        Errors: `body_too_large`, `invalid_request`, `rate_limited`.
        """
        message = await receive()
        body: bytes = message.get("body", b"")
        if asker.limited is not None and not _is_tool_message(body):
            raise asker.limited
        return replayed({**message, "body": await aside(exact, body)}, receive)

    async def _admitted(
        self,
        scope: Scope,
        headers: Mapping[str, str],
        asker: RequestPrincipal,
        receive: Receive,
        send: _Blocks,
    ) -> None:
        session_id, path, method = headers.get(SESSION), scope["path"], scope["method"]
        modern = headers.get("mcp-protocol-version") in MODERN
        if path == "/mcp" and method == "POST" and session_id is None and not modern:
            await self._opening(scope, asker, receive, send)
        elif path == "/sse" and method == "GET":
            await self._stream("sse", self._app, scope, asker, receive, send)
        elif path == "/mcp" and modern and headers.get("mcp-method") == LISTEN:
            await self._stream("listen", self._app, scope, asker, receive, send)
        elif path.startswith("/messages") and self._peers is not None:
            await self._peers.message(self._app, scope, receive, send)
        elif path == "/mcp" and session_id is not None and not modern:
            await self._run_in_session(scope, session_id, asker, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _stream(
        self,
        kind: Literal["sse", "listen"],
        app: ASGIApp,
        scope: Scope,
        asker: RequestPrincipal,
        receive: Receive,
        send: _Blocks,
    ) -> None:
        place, goes = self.streams.admit(*_holder(asker))
        if goes is not None:
            goes.end()
        try:
            if self._peers is not None:
                await self._peers.add(place, kind, scope, KEYED)
                if kind == "sse":
                    send.on_stream_id = partial(self._peers.opened_stream, place, scope)
            with place.listens():
                await app(scope, receive, send)
        finally:
            self.streams.drop(place)

    def slots(self) -> Iterator[SessionSlot]:
        """Every place of this process."""
        yield from self.sessions
        yield from self.streams

    async def end_place(self, place_hash: str) -> None:
        """End a session or stream that another process ended."""
        for place in self.slots():
            if place.place_hash == place_hash:
                self.sessions.drop(place)
                if place.session is not None:
                    await self._end(OWN_REQUEST, place)
                place.end()

    async def _opening(
        self, scope: Scope, asker: RequestPrincipal, receive: Receive, send: _Blocks
    ) -> None:
        self._tidy()
        place, goes = self.sessions.admit(*_holder(asker))
        place.credential = credential_of(scope)
        try:
            if goes is not None and goes.session is not None:
                await self._end(scope, goes)
                goes.end()
            if self._peers is not None:
                send.on_session_id = partial(self._peers.add, place, "session", scope, KEYED)
            with self._answering(place):
                await self._app(scope, receive, send)
            if send.unwanted is not None:
                await self._end(scope, replace(place, session=send.unwanted))
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

    async def _end(self, scope: Scope, place: SessionSlot) -> None:
        """End a session as its own client would: with DELETE, in the name of its key."""
        session = place.session or ""
        self._by_id.pop(session, None)
        header_names = (b"host", b"mcp-protocol-version")
        headers = [(n, v) for n, v in scope["headers"] if n in header_names]
        headers.append((SESSION.encode(), session.encode()))

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            """Discard the answer: the client is gone."""

        user = None if place.credential is None else session_user(place.credential)
        ending = {**scope, "user": user, "method": "DELETE", "headers": headers}
        await self._app(ending, nothing, unheard)

    async def _run_in_session(
        self,
        scope: Scope,
        name: str,
        asker: RequestPrincipal,
        receive: Receive,
        send: _Blocks,
    ) -> None:
        place = self._by_id.get(name)
        if place is not None and place.credential != credential_of(scope):
            raise Refused(refusal("not_found", what="session"))
        if place is not None and self.sessions.drop_rested(place, self._idle_s):
            # Other processes may have answered it meanwhile: then it goes on without its state.
            place = None
        if place is None:
            if self._peers is not None:
                answer = partial(self._peers.answer, name)
                if scope["method"] == "GET":
                    await self._peers.require(name, scope)
                    await self._stream("listen", answer, scope, asker, receive, send)
                else:
                    await answer(scope, receive, send)
            else:
                await self._app(scope, receive, send)
            return
        self.sessions.touch(place)
        try:
            if scope["method"] == "GET":
                with place.listens():
                    await self._app(scope, receive, send)
            else:
                with self._answering(place):
                    await self._app(scope, receive, send)
        finally:
            if send.status == 404 or (scope["method"] == "DELETE" and send.status < 400):
                self.sessions.drop(place)
                self._by_id.pop(name, None)
                if self._peers is not None and place.place_hash is not None:
                    await self._peers.end(place.place_hash)

    @contextmanager
    def _answering(self, place: SessionSlot) -> Iterator[None]:
        place.open += 1
        try:
            yield
        finally:
            place.open -= 1
            self.sessions.touch(place)


def headers_of(scope: Scope) -> Mapping[str, str]:
    """The headers of a request: those that the HTTP service has read, where it comes from there."""
    read: Mapping[str, str] | None = scope.get("state", {}).get(HEADERS)
    return Headers(scope=scope) if read is None else read


def replayed(message: Message, receive: Receive) -> Receive:
    """Give a message that was looked at once more, and then what follows it."""
    looked_at = [message]

    async def again() -> Message:
        return looked_at.pop() if looked_at else await receive()

    return again


@lru_cache(maxsize=4_096)
def session_user(digest: str) -> AuthenticatedUser:
    """The user of a session by the hash of the key that opened it."""
    return AuthenticatedUser(AccessToken(token=digest, client_id=digest, scopes=[]))


def _bind(scope: Scope, headers: Mapping[str, str], caller: Caller) -> None:
    """Bind the request to a hash of its credential, the same in whichever header it comes: the SDK
    answers another key on the id of a session with 404. It proves nothing; every call resolves its
    own key. An app's session lasts while its tokens and grants change.
    """
    if caller.access is not None and caller.credential is not None:
        scope["user"] = session_user(caller.credential)
        return
    bearer = headers.get("authorization", "").partition(" ")[2]
    key = (headers.get("x-service-user-key") or bearer).strip()
    if key:
        scope["user"] = session_user(hashed(key))


def _holder(asker: RequestPrincipal) -> tuple[bool, str, str | None]:
    """(keyed, key or address, owner). Errors: `rate_limited`, `Unavailable`."""
    if asker.limited is not None:
        raise asker.limited
    caller = asker.require_caller() if isinstance(asker.trouble, Unavailable) else asker.caller
    if caller.credential is None:
        return False, asker.address or "?", None
    return True, caller.credential, caller.owner_id


def _is_tool_message(body: bytes) -> bool:
    """True for a short message to which a refusal is the answer (contract 1)."""
    if len(body) > TOLD_MAX:
        return False
    try:
        message = read(body.decode("utf-8"))
    except (Refused, UnicodeDecodeError):
        return False
    return isinstance(message, dict) and message.get("method") in ("tools/call", "tools/list")


_TEXTS: Final[Mapping[int, Callable[[], Refused]]] = {
    400: lambda: invalid("request", "the transport does not take it"),
    403: lambda: Refused(refusal("forbidden", why="the Origin header names another site")),
    404: lambda: Refused(refusal("not_found", what="session")),
    405: lambda: Refused(refusal("method_not_allowed", method="This")),
    413: lambda: Refused(refusal("body_too_large", limit=MAX_BODY)),
    421: lambda: invalid("host", "it is not an address of this service"),
    503: lambda: Refused(refusal("rate_limited", why="Too many sessions are open.")),
}


class _Blocks:
    """Passes an answer on; a plain-text refusal becomes a refusal block."""

    def __init__(self, send: Send, deps: Deps, role: Role):
        self._send, self._deps, self._role = send, deps, role
        self.status = 0
        self.session: str | None = None
        # What has to be done before the client learns the id of its session, or of its stream.
        self.on_session_id: Callable[[str], Awaitable[None]] | None = None
        self.on_stream_id: Callable[[str], Awaitable[None]] | None = None
        self.unwanted: str | None = None
        self._block: OperationResult | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = dict(message.get("headers", ()))
            session = headers.get(_SESSION)
            self.status = message["status"]
            self.session = None if session is None else session.decode()
            if self.session is not None and self.on_session_id is not None:
                await self._note(self.session)
                if self._block is not None:
                    return
            plain = not headers.get(b"content-type", b"").startswith(_STRUCTURED)
            if self.status in _TEXTS and plain:
                now = self._deps.clock.now()
                result = refused_reply(_TEXTS[self.status](), now, self._role)
                allow = {"Allow": headers[b"allow"].decode()} if b"allow" in headers else {}
                # Its own text of a full house has a status that the code for it does not have.
                status = result.status if self.status == 503 else self.status
                self._block = OperationResult(status, result.body, {**result.headers, **allow})
                return
        elif self.on_stream_id is not None:
            announced = STREAM_ID.search(message.get("body", b""))
            if announced is not None:
                note, self.on_stream_id = self.on_stream_id, None
                await note(announced[1].decode())
        if self._block is None:
            await self._send(message)
        elif not message.get("more_body", False):
            await _answer(self._block, self._send)

    async def _note(self, session: str) -> None:
        """Note a new session where other processes see it; without that it is not given out."""
        assert self.on_session_id is not None  # noqa: S101 - the caller looked
        try:
            await self.on_session_id(session)
        except Refused as refused:
            reply = refused_reply(refused, self._deps.clock.now(), self._role)
        except Unavailable as error:
            reply = refused_reply(unavailable(error), self._deps.clock.now(), self._role)
        else:
            return
        self.session, self.unwanted, self._block = None, session, reply


async def _answer(reply: OperationResult, send: Send) -> None:
    body = encoded(reply.body)
    headers = {"content-type": "application/json; charset=utf-8", **reply.headers}
    raw = [(n.lower().encode(), v.encode()) for n, v in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
