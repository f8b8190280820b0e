"""The way between the agent and the service, on which answers get lost and requests arrive
twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import ClientResponse, ClientSession, ClientTimeout, web

HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "content-encoding"}
)


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """One request and the service's answer to it; both doors are told apart by what is asked, not
    by the path.
    """

    method: str
    path: str
    request_body: bytes
    status: int = 0
    answer: bytes = b""

    def is_call(self, route: str, tool: str) -> bool:
        """True for a route over HTTP, or for its tool over MCP."""
        return self.path.endswith(route) or (
            self.path == "/mcp" and f'"{tool}"'.encode() in self.request_body
        )

    @property
    def is_report(self) -> bool:
        """True for a report of an event, and for an act, which makes its report itself."""
        reports = self.is_call("/events", "mandate_report_event")
        return self.method == "POST" and (reports or self.path.endswith("/act/send"))

    @property
    def is_execute(self) -> bool:
        """True for a question for calldata, or for an act's transaction to sign."""
        asks = self.is_call("/execute-call", "mandate_execute_call")
        return asks or self.path.endswith("/act/prepare")

    @property
    def has_calldata(self) -> bool:
        """True where the answer holds calldata to send."""
        has_call = b"reserved_until" in self.answer or b'"to_sign":{' in self.answer.replace(
            b" ", b""
        )
        return self.is_execute and self.status == 200 and has_call


@dataclass
class Proxy:
    """Passes everything on. `twice` says which requests arrive twice; `after` runs before the
    agent hears the answer, and an answer for which it gives False is lost.
    """

    service: str
    twice: Callable[[ProxiedCall], bool] = lambda _: False
    after: Callable[[ProxiedCall], Awaitable[bool]] | None = None
    seen: list[ProxiedCall] = field(default_factory=list)

    def reset(self) -> None:
        """Behave again, and forget."""
        self.twice, self.after = (lambda _: False), None
        self.seen.clear()

    async def start(self) -> tuple[web.AppRunner, str]:
        """Listen on a free port; the runner, and the address for the agent."""
        app = web.Application(client_max_size=8 * 2**20)
        app.router.add_route("*", "/{tail:.*}", self._pass)
        runner = web.AppRunner(
            app, access_log=None, handle_signals=False, max_line_size=160 * 1024, shutdown_timeout=1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {n: v for n, v in request.headers.items() if n.lower() not in HOP}
        before = ProxiedCall(request.method, request.path, body)
        # An agent that is gone must not take the request along: that is what a lost answer is.
        async with ClientSession(timeout=ClientTimeout(total=None), auto_decompress=False) as http:
            for _ in range(2 if self.twice(before) else 1):
                answer = await http.request(
                    request.method, self.service + request.raw_path, data=body, headers=headers
                )
                if answer.content_type == "text/event-stream":
                    return await self._stream(request, answer)
                payload = await answer.read()
        exchange = ProxiedCall(request.method, request.path, body, answer.status, payload)
        self.seen.append(exchange)
        if self.after is not None and not await self.after(exchange):
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=499)
        passed_on = {n: v for n, v in answer.headers.items() if n.lower() not in HOP}
        return web.Response(status=answer.status, body=payload, headers=passed_on)

    @staticmethod
    async def _stream(request: web.Request, answer: ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(
            status=answer.status, headers={"Content-Type": "text/event-stream"}
        )
        await response.prepare(request)
        async for part in answer.content.iter_any():
            await response.write(part)
        return response
