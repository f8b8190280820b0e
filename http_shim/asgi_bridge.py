"""Serving an ASGI application from inside aiohttp, so that everything has one port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final

from aiohttp import web

Message = MutableMapping[str, Any]
Asgi = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]
POLL_S: Final = 0.25


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
        await inbox.put({"type": "lifespan.startup"})
        await self._expect(running, outbox, "lifespan.startup.complete")
        yield
        await inbox.put({"type": "lifespan.shutdown"})
        with contextlib.suppress(RuntimeError):
            await self._expect(running, outbox, "lifespan.shutdown.complete")
        await running

    @staticmethod
    async def _expect(running: asyncio.Future[None], outbox: asyncio.Queue[Message], wanted: str) -> None:
        told = asyncio.ensure_future(outbox.get())
        waiting: set[asyncio.Future[Any]] = {told, running}
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if told not in done:
            told.cancel()
            running.result()
            raise RuntimeError("the application ended during its lifespan")
        if told.result()["type"] != wanted:
            raise RuntimeError(str(told.result().get("message", "the application did not start")))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request; a client that goes away is noticed by polling, as aiohttp tells nobody."""
        call = _Call(request)
        try:
            await self._app(call.scope(), call.receive, call.send)
        except ConnectionResetError:
            call.done.set()
        finally:
            call.done.set()
        return call.response if call.response is not None else web.Response(status=499)


class _Call:
    """One request in ASGI's words."""

    def __init__(self, request: web.Request):
        self.request = request
        self.done, self._read = asyncio.Event(), False
        self.response: web.StreamResponse | None = None

    def scope(self) -> Message:
        request = self.request
        transport = request.transport
        peer = transport.get_extra_info("peername") if transport else None
        local = transport.get_extra_info("sockname") if transport else None
        path, _, query = request.raw_path.partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
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
            "state": {},
        }

    def _gone(self) -> bool:
        transport = self.request.transport
        return transport is None or transport.is_closing()

    async def receive(self) -> Message:
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": await self.request.read(), "more_body": False}
        while not self.done.is_set() and not self._gone():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.done.wait(), POLL_S)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.response = web.StreamResponse(status=message["status"])
            for name, value in message.get("headers", ()):
                self.response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
            await self.response.prepare(self.request)
        elif self.response is not None and not self._gone():
            if message.get("body"):
                await self.response.write(message["body"])
            if not message.get("more_body", False):
                await self.response.write_eof()
