"""Serving an ASGI application from inside aiohttp, so that everything has one port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final

from aiohttp import web
from multidict import CIMultiDict

from domain.refusals import Refused, refusal
from http_shim.admission import ASKER
from http_shim.json_body import MAX_BODY
from http_shim.principal import HEADERS, STATE

log = logging.getLogger("wallet.http")

Message = MutableMapping[str, Any]
Asgi = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]
POLL_S: Final = 0.25
LIFESPAN_S: Final = 5
BODY_S: Final = 20
LIMITED_S: Final = 1  # for the body of somebody who asked too often


class AsgiBridge:
    """A handler for aiohttp routes, and the lifespan of the application behind it."""

    def __init__(self, app: Asgi):
        self._app = app

    async def lifespan(self, _: web.Application) -> AsyncIterator[None]:
        """Run the application's lifespan around the server's; for `app.cleanup_ctx`.

        Errors: RuntimeError where the application does not start.
        """
        inbox, outbox = asyncio.Queue[Message](), asyncio.Queue[Message]()
        scope: Message = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        running = asyncio.ensure_future(self._app(scope, inbox.get, outbox.put))
        ended = {"type": "ended", "message": "the application ended during its lifespan"}
        running.add_done_callback(lambda _: outbox.put_nowait(ended))

        async def step(name: str) -> None:
            await inbox.put({"type": f"lifespan.{name}"})
            message = await outbox.get()
            if message["type"] != f"lifespan.{name}.complete":
                if running.done():
                    running.result()
                raise RuntimeError(str(message.get("message", "the application did not start")))

        try:
            await step("startup")
            yield
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(step("shutdown"), LIFESPAN_S)
                await asyncio.wait_for(asyncio.shield(running), LIFESPAN_S)
        finally:
            if not running.done():
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request.

        Errors: what the application raises before it has answered, as it came. After that there is
        nothing left to say: the connection is cut, so that nobody takes half an answer for a whole
        one.
        """
        asker = request.get(ASKER)
        limited = asker is not None and asker.limited is not None
        patience = LIMITED_S if limited else BODY_S
        body = await read_body(request, patience) if request.can_read_body else b""
        call = _AsgiCall(request, body)
        try:
            await self._app(call.scope(), call.receive, call.send)
        except Exception:
            if not is_gone(request):
                if call.response is None or not call.response.prepared:
                    raise
                log.exception("the application failed in the middle of its answer")
        finally:
            call.done.set()
        return call.answer()


async def read_body(request: web.Request, patience_s: float) -> bytes:
    """The body, which has so long to arrive. Errors: those of aiohttp; RequestPayloadError for one
    that is late, `body_too_large` at once for one that says so.
    """
    if (request.content_length or 0) > MAX_BODY:
        raise Refused(refusal("body_too_large", limit=MAX_BODY))
    if request.content.is_eof():
        # All of it has arrived: nothing is waited for.
        return await request.read()
    try:
        async with asyncio.timeout(patience_s):
            return await request.read()
    except TimeoutError:
        raise web.RequestPayloadError("late") from None


def is_gone(request: web.Request) -> bool:
    """True once the client has closed the connection."""
    return request.transport is None or request.transport.is_closing()


class _AsgiCall:
    """One request in ASGI's words."""

    def __init__(self, request: web.Request, body: bytes):
        self.request, self._body, self._parts = request, body, list[bytes]()
        self.done, self._read, self._whole = asyncio.Event(), False, False
        self.response: web.StreamResponse | None = None

    def scope(self) -> Message:
        request = self.request
        peer, local = request.get_extra_info("peername"), request.get_extra_info("sockname")
        state: Message = {HEADERS: request.headers}
        if (asker := request.get(ASKER)) is not None:
            state[STATE] = asker
        path, _, query = request.raw_path.partition("?")
        return {
            "type": "http",
            # Up to 2.3, sending to a client that went away does nothing; from 2.4 on it has to
            # raise.
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.scheme,
            "path": request.path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "client": tuple(peer[:2]) if peer else None,
            "server": tuple(local[:2]) if local else None,
            "headers": [(k.lower(), v) for k, v in request.raw_headers],
            "state": state,
        }

    async def receive(self) -> Message:
        """Give the body once, then wait for the end; by polling, as aiohttp has no event for a
        disconnect.
        """
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        while not self.done.is_set() and not is_gone(self.request):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.done.wait(), POLL_S)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer; waits while the client's buffer is full."""
        if is_gone(self.request):
            return
        with contextlib.suppress(ConnectionResetError):
            if message["type"] == "http.response.start":
                if self.response is not None:
                    raise RuntimeError("the application answered twice")
                headers = CIMultiDict(
                    [
                        (name.decode("latin-1"), value.decode("latin-1"))
                        for name, value in message.get("headers", ())
                    ]
                )
                if "Content-Length" in headers:
                    # Its body comes at once: both are sent together.
                    self.response = web.Response(status=message["status"], headers=headers)
                else:
                    self.response = web.StreamResponse(status=message["status"], headers=headers)
                    await self.response.prepare(self.request)
            elif isinstance(self.response, web.Response):
                self._parts.append(message.get("body", b""))
                self._whole = not message.get("more_body", False)
            elif self.response is not None:
                if message.get("body") and self.request.method != "HEAD":
                    await self.response.write(message["body"])
                if not message.get("more_body", False):
                    self._whole = True
                    await self.response.write_eof()

    def answer(self) -> web.StreamResponse:
        """The response object for aiohttp; the bytes of a stream are on their way already."""
        response = self.response
        if response is None or not (self._whole or response.prepared):
            if is_gone(self.request):
                return web.Response(status=499)
            raise RuntimeError("the application did not answer")
        if isinstance(response, web.Response):
            response.body = b"".join(self._parts)
        elif not self._whole and self.request.transport is not None:
            self.request.transport.abort()
        return response
