"""The venue over HTTP: its two routes, and the one that steers it, for this machine only."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Final

from aiohttp import web

from devtools.devvenue.control import control
from devtools.devvenue.core import DevVenue
from devtools.devvenue.faults import HUGE, VenueFault, spoiled
from devtools.devvenue.limits import IpBudget, answer_weight, exchange_weight, info_weight
from devtools.devvenue.refusals import UNDESERIALIZABLE, Malformed
from devtools.devvenue.wires import read_envelope
from devtools.loopback import is_of_this_machine, served_in_thread

MAX_BODY: Final = 2**20
VENUE: Final = web.AppKey("venue", DevVenue)
BUDGET: Final = web.AppKey("budget", IpBudget)
_NOT_PARSED: Final = "Failed to parse the request body as JSON"


def _loopback(address: str | None) -> bool:
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return False


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The venue's parser takes a key once."""
    created = dict(pairs)
    if len(created) != len(pairs):
        raise Malformed
    return created


async def _json(request: web.Request) -> object:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(
            text="Expected request with `Content-Type: application/json`"
        )
    try:
        return json.loads(await request.read(), object_pairs_hook=_unique)
    except Malformed as error:
        raise web.HTTPUnprocessableEntity(text=UNDESERIALIZABLE) from error
    except (ValueError, RecursionError) as error:
        raise web.HTTPBadRequest(text=_NOT_PARSED) from error


async def _answer(
    request: web.Request, kind: str, body: object, run: Callable[[object], object]
) -> web.StreamResponse:
    """Run a request, with the fault that is set for it. Errors: HTTPUnprocessableEntity."""
    fault = request.app[VENUE].faults.take(request.path, kind)
    if fault is not None and fault.effect in ("hang", "status"):
        return await _unanswered(fault)
    try:
        answer = run(body)
        if fault is not None:
            return await _faulty(request, answer, fault, body)
    except Malformed as error:
        raise web.HTTPUnprocessableEntity(text=UNDESERIALIZABLE) from error
    return web.json_response(answer)


async def _unanswered(fault: VenueFault) -> web.Response:
    if "hang" in fault.effect:
        await fault.lifted.wait()
        return web.Response(status=504)
    return web.Response(status=fault.status)


async def _faulty(
    request: web.Request, answer: object, fault: VenueFault, body: object
) -> web.StreamResponse:
    """The answer of a request that was executed, spoiled."""
    if fault.effect == "lost":
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)
    if fault.effect in ("executed_status", "executed_hang"):
        return await _unanswered(fault)
    text = json.dumps(spoiled(answer, fault, body))
    if fault.effect == "not_json":
        text = "<html>bad gateway</html>"
    elif fault.effect == "truncated":
        text = text[: len(text) // 2]
    elif fault.effect == "huge":
        text = text + " " * HUGE
    return web.Response(text=text, content_type="application/json")


async def _info(request: web.Request) -> web.StreamResponse:
    venue, budget = request.app[VENUE], request.app[BUDGET]
    body = await _json(request)
    kind = str(body.get("type")) if isinstance(body, dict) else ""
    ip, now = request.remote or "", venue.state.now()
    if not budget.take(ip, now, info_weight(kind), venue.rules.ip_budget):
        return web.Response(status=429)

    def run(request: object) -> object:
        answer = venue.info(request)
        budget.charge(ip, now, answer_weight(kind, answer))
        return answer

    return await _answer(request, kind, body, run)


async def _exchange(request: web.Request) -> web.StreamResponse:
    venue, budget = request.app[VENUE], request.app[BUDGET]
    body = await _json(request)
    try:
        action = read_envelope(body).action
    except Malformed as error:
        raise web.HTTPUnprocessableEntity(text=UNDESERIALIZABLE) from error
    ip, weight = request.remote or "", exchange_weight(action)
    if not budget.take(ip, venue.state.now(), weight, venue.rules.ip_budget):
        return web.Response(status=429)
    return await _answer(request, action.type, body, venue.exchange)


async def _control(request: web.Request) -> web.Response:
    origin = request.headers.get("Origin")
    foreign = origin is not None and not is_of_this_machine(origin)
    if foreign or not _loopback(request.remote) or not is_of_this_machine("//" + request.host):
        raise web.HTTPForbidden(text="only for this machine")
    try:
        done = control(request.app[VENUE], request.match_info["name"], await _json(request))
    except Malformed as error:
        raise web.HTTPUnprocessableEntity(text=UNDESERIALIZABLE) from error
    return web.json_response(done)


@web.middleware
async def _cors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Pages may read the two public routes, as they may at the venue."""
    open_to_pages = request.path in ("/info", "/exchange")
    if request.method == "OPTIONS" and open_to_pages:
        response: web.StreamResponse = web.Response(status=204)
    else:
        response = await handler(request)
    if open_to_pages:
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Allow-Headers"] = "content-type"
    return response


def application(venue: DevVenue) -> web.Application:
    """The venue as an aiohttp application."""
    app = web.Application(client_max_size=MAX_BODY, middlewares=[_cors])
    app[VENUE], app[BUDGET] = venue, IpBudget()
    app.add_routes(
        [
            web.post("/info", _info),
            web.post("/exchange", _exchange),
            web.post("/dev/{name}", _control),
        ]
    )
    return app


async def serve(
    venue: DevVenue, host: str = "127.0.0.1", port: int = 0
) -> tuple[web.AppRunner, str]:
    """Start serving; the runner (`await runner.cleanup()` stops it) and the base address."""
    runner = web.AppRunner(application(venue), access_log=None, shutdown_timeout=1)
    runner.app.on_shutdown.append(_let_go)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner, f"http://{host}:{runner.addresses[0][1]}"


async def _let_go(app: web.Application) -> None:
    app[VENUE].faults.clear()


def serve_in_thread(venue: DevVenue) -> AbstractContextManager[str]:
    """Serve from a thread of its own while the block runs; yields the base address.

    A script in another thread steers it over `/dev/`, or between requests only.
    """
    return served_in_thread(lambda: serve(venue))
