"""Serving an ASGI application from inside aiohttp, so that everything has one port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final

from aiohttp import web

from domain.refusals import Refused, refusal
from http_shim.admission import ASKER
from http_shim.json_body import MAX_BODY
from http_shim.principal import STATE

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
        inbox: asyncio.Queue[Message] = asyncio.Queue()
        outbox: asyncio.Queue[Message] = asyncio.Queue()
        scope: Message = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        running = asyncio.ensure_future(self._app(scope, inbox.get, outbox.put))
        try:
            await inbox.put({"type": "lifespan.startup"})
            await _expect(running, outbox, "lifespan.startup.complete")
            yield
            await inbox.put({"type": "lifespan.shutdown"})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(
                    _expect(running, outbox, "lifespan.shutdown.complete"), LIFESPAN_S
                )
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
        try:
            async with asyncio.timeout(LIMITED_S if limited else BODY_S):
                body = await request.read() if request.can_read_body else b""
        except TimeoutError:
            raise web.RequestPayloadError("late") from None
        except web.HTTPRequestEntityTooLarge:
            raise Refused(refusal("body_too_large", limit=MAX_BODY)) from None
        call = _Call(request, body)
        try:
            await self._app(call.scope(), call.receive, call.send)
        except Exception:
            if call.response is None and not call.gone():
                raise
            if not call.gone():
                log.exception("the application failed in the middle of its answer")
        finally:
            call.done.set()
        return call.answer()


async def _expect(
    running: asyncio.Future[None], outbox: asyncio.Queue[Message], kinds: str
) -> None:
    message = asyncio.ensure_future(outbox.get())
    try:
        waiting: set[asyncio.Future[Any]] = {message, running}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not message.done():
            running.result()
            raise RuntimeError("the application ended during its lifespan")
        if message.result()["type"] != kinds:
            raise RuntimeError(
                str(message.result().get("message", "the application did not start"))
            )
    finally:
        message.cancel()
        await asyncio.gather(message, return_exceptions=True)


class _Call:
    """One request in ASGI's words."""

    def __init__(self, request: web.Request, body: bytes):
        self.request, self._body = request, body
        self.done, self._read, self._whole = asyncio.Event(), False, False
        self.response: web.StreamResponse | None = None

    def scope(self) -> Message:
        request = self.request
        transport = request.transport
        peer = transport.get_extra_info("peername") if transport else None
        local = transport.get_extra_info("sockname") if transport else None
        path, _, query = request.raw_path.partition("?")
        asker = request.get(ASKER)
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
            "state": {} if asker is None else {STATE: asker},
        }

    def gone(self) -> bool:
        """True once the client has closed the connection."""
        transport = self.request.transport
        return transport is None or transport.is_closing()

    async def receive(self) -> Message:
        """Give the body once, then wait for the end; by polling, as aiohttp has no event for a
        disconnect.
        """
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        while not self.done.is_set() and not self.gone():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.done.wait(), POLL_S)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer; waits while the client's buffer is full."""
        if self.gone():
            return
        with contextlib.suppress(ConnectionResetError):
            if message["type"] == "http.response.start":
                await self._start(message)
            elif self.response is not None:
                await self._part(self.response, message)

    async def _start(self, message: Message) -> None:
        if self.response is not None:
            raise RuntimeError("the application answered twice")
        response = web.StreamResponse(status=message["status"])
        for name, value in message.get("headers", ()):
            response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
        self.response = response
        await response.prepare(self.request)

    async def _part(self, response: web.StreamResponse, message: Message) -> None:
        if message.get("body") and self.request.method != "HEAD":
            await response.write(message["body"])
        if not message.get("more_body", False):
            self._whole = True
            await response.write_eof()

    def answer(self) -> web.StreamResponse:
        """The response object for aiohttp; its bytes are on their way already."""
        if self.response is None:
            if self.gone():
                return web.Response(status=499)
            raise RuntimeError("the application did not answer")
        if not self._whole and self.request.transport is not None:
            self.request.transport.abort()
        return self.response
