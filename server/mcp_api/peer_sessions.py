"""Peer sessions: calls and messages of sessions that another serving process holds."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs

import anyio
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http import check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.refusals import Refused, invalid, refusal
from http_shim.identity import identify
from http_shim.principal import STATE, RequestPrincipal
from server.mcp_api.principal import asker_in, credential_of
from server.mcp_api.shared_places import Holder, PlaceLimits, SharedPlaces, Slot
from storage.errors import Unavailable
from storage.repositories.mcp_places import McpPlace, PlaceKind
from tools.context.credentials import hashed
from tools.model.operation import Deps
from tools.model.sealing import SealBroken

log = logging.getLogger("wallet.mcp")

POLL_S: Final = 0.05
PURPOSE: Final = "mcp inbox"
# The SDK's own answer, in the process that gave the session.
NOT_ACCEPTABLE: Final = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {
        "code": -32600,
        "message": "Not Acceptable: Client must accept text/event-stream",
    },
}
# Headers of a message that say how its call is to be taken, beside the key.
_CARRIED: Final = "x-wallet-"


@dataclass(slots=True, eq=False)
class OpenStream:
    """An SSE stream of this process: the request that opened it, and one delivery at a time."""

    session_id: str
    opening: Scope
    order: anyio.Lock = field(default_factory=anyio.Lock)


# Tells a session of what changes, by its id.
ServeSession = Callable[[str, Scope, Receive, Send], Awaitable[None]]


class PeerSessions:
    """The work of several processes for each other. A session of the older era that another one
    gave is answered without its state, since each call names its own key; a message for a stream
    goes through the database to the process that holds it.
    """

    holder: Holder | None = None  # the guard, once the first request has come

    def __init__(
        self,
        deps: Deps,
        transport: SseServerTransport,
        guests: StreamableHTTPSessionManager,
        checks: TransportSecuritySettings,
        serve_session: ServeSession,
    ):
        self._deps, self._transport, self._guests = deps, transport, guests
        self._checks = TransportSecurityMiddleware(checks)
        self._places = SharedPlaces(deps)
        self._streams: dict[str, OpenStream] = {}
        self.end, self.process = self._places.end, self._places.process
        self._serve_session = serve_session

    async def add(
        self,
        slot: Slot,
        kind: PlaceKind,
        scope: Scope,
        limits: PlaceLimits,
        place_id: str | None = None,
    ) -> None:
        """Note a new place of this process, for the credential of its request. Errors:
        `rate_limited`, `Unavailable`.
        """
        await self._places.add(slot, kind, credential_of(scope), limits, place_id)

    async def opened_stream(self, slot: Slot, scope: Scope, session_id: str) -> None:
        """An SSE stream is about to tell its client where to send messages."""
        await self._places.rename(slot, session_id)
        self._streams[slot.place_hash or ""] = OpenStream(session_id, scope)

    async def answer(self, session_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a session that this process did not give.

        Errors: `not_found` where it is unknown, has ended or is another key's; `Unavailable`.
        """
        if await self._is_foreign_site(scope, receive, send):
            return
        place = await self.require(session_id, scope)
        if scope["method"] == "DELETE":
            await self._places.end(place.place_hash)
            await PlainTextResponse("")(scope, receive, send)
        elif scope["method"] == "POST":
            await self._guests.handle_request(scope, receive, send)
        elif scope["method"] == "GET":
            _, takes_stream = check_accept_headers(Request(scope))
            if takes_stream:
                await self._serve_session(session_id, scope, receive, send)
            else:
                await JSONResponse(NOT_ACCEPTABLE, 406)(scope, receive, send)
        else:
            allow = {"Allow": "GET, POST, DELETE"}
            await PlainTextResponse("", 405, headers=allow)(scope, receive, send)

    async def require(self, session_id: str, scope: Scope) -> McpPlace:
        """The place of a session. Errors: as of `answer`."""
        place = await self._places.find(session_id, "session", credential_of(scope))
        if place is None:
            raise Refused(refusal("not_found", what="session"))
        return place

    async def message(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a message for a stream of any process.

        Errors: `not_found`, `invalid_request`, `rate_limited`, `Unavailable`.
        """
        query = parse_qs(scope["query_string"].decode("latin-1"))
        session_id = query.get("session_id", [""])[0]
        name = hashed(session_id)
        if name in self._streams or scope["method"] != "POST":
            # What was sent before this one, through another process, comes before it.
            await self._deliver_waiting(name)
            await app(scope, receive, send)
            return
        if await self._is_foreign_site(scope, receive, send):
            return
        place = await self._places.find(session_id, "sse", credential_of(scope))
        if place is None:
            raise Refused(refusal("not_found", what="session"))
        await self._send(place, scope, await _body(receive))
        await PlainTextResponse("Accepted", 202)(scope, receive, send)

    async def _is_foreign_site(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """True where the Host or Origin is not this service's: then it was answered."""
        request = Request(scope, receive)
        refused = await self._checks.validate_request(request, is_post=scope["method"] == "POST")
        if refused is not None:
            await refused(scope, receive, send)
        return refused is not None

    async def _send(self, place: McpPlace, scope: Scope, body: bytes) -> None:
        """Seal a message for its process: it may hold what a caller should not have sent."""
        try:
            jsonrpc_message_adapter.validate_json(body, by_name=False)
        except ValidationError:
            raise invalid("request", "it is no message of JSON-RPC") from None
        headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]}
        letter = {
            "headers": {n: v for n, v in headers.items() if n.startswith(_CARRIED)},
            "address": (await asker_in(self._deps, scope)).address,
            "body": body.decode(),
        }
        sealed = self._deps.sealing.seal(PURPOSE, json.dumps(letter, ensure_ascii=False).encode())
        now = self._deps.clock.now()
        await self._deps.store.write(lambda uow: uow.mcp.send(place, sealed, now))

    async def run(self) -> None:
        """Keep places alike and take messages, until cancelled."""
        while self.holder is None:
            await anyio.sleep(POLL_S)
        holder = self.holder
        async with anyio.create_task_group() as group:
            group.start_soon(self._places.run, holder)
            while True:
                await anyio.sleep(POLL_S)
                if not self._streams:
                    continue
                here = {slot.place_hash for slot in holder.slots()}
                self._streams = {n: s for n, s in self._streams.items() if n in here}
                try:
                    for name in await self._waiting():
                        # One that is slow to take its last message takes the next ones later.
                        if (stream := self._streams.get(name)) and not stream.order.locked():
                            group.start_soon(self._deliver_waiting, name)
                except Unavailable as error:
                    log.warning("messages of other processes: the database: %s", error.why)
                except Exception:
                    log.exception("messages of other processes; trying again")

    async def _waiting(self) -> list[str]:
        process = self._places.process
        read = self._deps.store.read
        return await read(lambda uow: uow.mcp.waiting(process), single=True)

    async def _deliver_waiting(self, name: str) -> None:
        """Give a stream, in their order, the messages that other processes took for it."""
        stream = self._streams.get(name)
        if stream is None:
            return
        async with stream.order:
            try:
                read, write = self._deps.store.read, self._deps.store.write
                if not await read(lambda uow: uow.mcp.has_messages(name), single=True):
                    return
                for sealed in await write(lambda uow: uow.mcp.take(name)):
                    await self._deliver(stream, sealed)
            except Unavailable as error:
                log.warning("messages of other processes: the database: %s", error.why)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                log.debug("a stream ended under a message for it")
            except Exception:
                log.exception("a message of another process could not be delivered")

    async def _deliver(self, stream: OpenStream, sealed: str) -> None:
        """Hand a message to the transport as if it had come here. Its key is the one that opened
        the stream, and is looked up anew.
        """
        try:
            letter = json.loads(self._deps.sealing.open(PURPOSE, sealed))
        except SealBroken as broken:
            log.warning("a message of another process is left out: %s", broken)
            return
        scope = _message_scope(stream, letter["headers"])
        scope["state"] = {STATE: await self._principal(scope, letter["address"])}
        parts = [{"type": "http.request", "body": letter["body"].encode(), "more_body": False}]

        async def receive() -> Message:
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def unheard(message: Message) -> None:
            """Discard the answer: the other process has given it."""

        await self._transport.handle_post_message(scope, receive, unheard)

    async def _principal(self, scope: Scope, address: str | None) -> RequestPrincipal:
        """The caller of a message; the process that took it has counted it."""
        headers = Request(scope).headers
        try:
            caller = await identify(self._deps, headers, on_mcp=True, address=address)
        except (Refused, Unavailable) as trouble:
            return RequestPrincipal(address, trouble=trouble.with_traceback(None))
        return RequestPrincipal(address, caller, prepaid_cost=1)


async def _body(receive: Receive) -> bytes:
    """The body, which the guard has read and bounded."""
    message = await receive()
    return bytes(message.get("body", b""))


def _message_scope(stream: OpenStream, carried: Mapping[str, str]) -> Scope:
    """The request of a message: the headers that opened the stream, and those of the message."""
    own = [(b"content-type", b"application/json")]
    own += [(n.encode("latin-1"), v.encode("latin-1")) for n, v in carried.items()]
    left = (b"content-type", b"content-length", b"accept")
    headers = [
        (n, v)
        for n, v in stream.opening["headers"]
        if n not in left and not n.startswith(_CARRIED.encode())
    ]
    return {
        **stream.opening,
        "method": "POST",
        "path": "/messages/",
        "raw_path": b"/messages/",
        "query_string": f"session_id={stream.session_id}".encode(),
        "headers": headers + own,
    }
