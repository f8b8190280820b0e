"""The aiohttp application: every route of the catalogue, the door, health, metrics, and MCP on the
same port.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from aiohttp import web

from domain.next_steps import INDEX, SKILL
from domain.refusals import Refused, invalid, refusal
from http_shim import service_routes
from http_shim.admission import ASKER, FRONT, TURNED_AWAY, Admitting, Cookie, is_noise, is_probe
from http_shim.admission import expected as _expected
from http_shim.asgi_bridge import BODY_S, Asgi, AsgiBridge
from http_shim.event_stream import LedgerStream, LedgerStreamHub
from http_shim.identity import KEY_HEADER, idempotency_key, identify, request_id
from http_shim.json_body import MAX_BODY, aside, parsed
from http_shim.metrics import Metrics
from http_shim.readiness import Readiness
from http_shim.response_cache import ResponseCache
from http_shim.service_routes import (
    DEPS,
    DOCUMENT,
    GAUGES,
    METRICS,
    READY,
    Document,
    Gauges,
    Handler,
)
from skill import text
from storage.errors import Unavailable
from tools.dispatch.rate_charging import charge_call
from tools.dispatch.run import door_is_open, refused_reply, run, unavailable
from tools.model.operation import ANONYMOUS, Caller, Deps, Operation, OperationResult
from tools.model.serialization import encoded
from tools.model.telemetry import log_context, mandate_of

log = logging.getLogger("wallet.http")

HUB: Final = web.AppKey("hub", LedgerStreamHub)
LEAVING: Final = web.AppKey("leaving", asyncio.Event)
REQUEST_ID: Final = web.RequestKey("request_id", str)
CALLER: Final = web.RequestKey("caller", Caller)
# What was refused before anything of its body was read; whoever sent it may still be sending.
UNREAD: Final = (web.HTTPRequestURITooLong, web.HTTPUnsupportedMediaType)
READS: Final = frozenset({"GET", "HEAD"})
SLOW_S: Final = 1.0
"""A read that takes this long is logged even where it succeeds."""
STRANGER_PAUSE_S: Final = 0.1
"""How long a stranger with too many requests waits for the refusal."""
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
# Other methods are answered by the router: /sse would open a stream for any of them.
MCP_ROUTES: Final = {
    "mcp-listen": ("GET", "/mcp"),
    "mcp-call": ("POST", "/mcp"),
    "mcp-end": ("DELETE", "/mcp"),
    "mcp-sse": ("GET", "/sse"),
    "mcp-messages": ("POST", "/messages/{tail:.*}"),
}


def answer(reply: OperationResult) -> web.Response:
    """A reply over HTTP."""
    return web.Response(
        body=encoded(reply.body),
        status=reply.status,
        content_type="application/json",
        charset="utf-8",
        headers=dict(reply.headers),
    )


def build(
    deps: Deps,
    operations: Sequence[Operation],
    *,
    mcp: Asgi | None = None,
    screens: Sequence[web.RouteDef] = (),
    cookie: Cookie | None = None,
) -> web.Application:
    """Build the ASGI application; `mcp` is the application behind /mcp, /sse and /messages/,
    `screens` are pages; `cookie` finds a browser's session token.
    """
    app = _beginning(deps)
    # The constructor still takes a router, and warns that it will not.
    app._router = app[FRONT] = Admitting(app[DEPS], cookie)
    deps = app[DEPS]
    cache, hub = ResponseCache(), LedgerStreamHub(deps)
    app[HUB], app[DOCUMENT] = hub, Document(operations, deps.config.base_url)
    app[GAUGES] += [hub.gauges, app[FRONT].gauges]
    app.on_shutdown.append(hub.leave)
    app.cleanup_ctx.append(hub.lifespan)
    # The router tries them in turn: what an agent sends again and again comes first.
    for op in sorted(operations, key=lambda o: o.idempotency is None):
        for each in op.routes:
            _add(app, each, _way(each, cache, hub))
    app.add_routes(
        [
            web.get("/wallet/door", _door(operations)),
            web.get("/wallet/skill.md", _skill(operations)),
            web.get("/wallet/mcp-tools", _tools(operations)),
            *service_routes.routes(operations),
            *screens,
        ]
    )
    if mcp is not None:
        bridge = AsgiBridge(mcp)
        app.cleanup_ctx.append(bridge.lifespan)
        for name, (method, path) in MCP_ROUTES.items():
            app.router.add_route(method, path, bridge.handle, name=name, expect_handler=_expected)
    return app


def _add(app: web.Application, op: Operation, way: Handler) -> None:
    if op.route is not None:
        app.router.add_route(*op.route, way, name=op.name, expect_handler=_expected)


def about_itself(deps: Deps, gauges: Gauges | None = None) -> web.Application:
    """The application of the internal listener: the process's health and its figures, with those
    of `gauges`, and no operation.
    """
    app = _beginning(deps)
    if gauges is not None:
        app[GAUGES] = gauges
    app.add_routes([*service_routes.HEALTH, service_routes.FIGURES])
    return app


def _beginning(deps: Deps) -> web.Application:
    """The parts that every application has: one shape for errors, health, figures."""
    app = web.Application(middlewares=[error_middleware], client_max_size=MAX_BODY)
    metrics = deps.watch if isinstance(deps.watch, Metrics) else Metrics()
    app[DEPS] = replace(deps, watch=metrics)
    app[METRICS], app[GAUGES], app[READY] = metrics, [], Readiness(deps)
    app[LEAVING] = asyncio.Event()
    app.on_response_prepare.append(add_headers)
    app.on_cleanup.append(_let_go)
    return app


async def _let_go(app: web.Application) -> None:
    await app[READY].close()


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Put the request id and the security headers on every answer, streams too."""
    headers = response.headers
    headers["X-Request-Id"] = request.get(REQUEST_ID) or _request_id(request)
    headers["Server"] = "wallet"
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if request.app[LEAVING].is_set():
        response.force_close()
        headers["Connection"] = "close"


def _request_id(request: web.Request) -> str:
    return request_id(request.headers.get("X-Request-Id", ""), request.app[DEPS].ids)


@web.middleware
async def error_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """One shape for every error, one line in the log; it names the route, never what was sent."""
    request[REQUEST_ID] = request_id = _request_id(request)
    with log_context(request=request_id, **mandate_of(request.match_info)):
        return await timing_middleware(request, handler)


async def timing_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Measure a request, and make the one error block of whatever its handler raises."""
    started = time.perf_counter()
    try:
        if TURNED_AWAY in request:
            raise request[TURNED_AWAY]
        response = await handler(request)
    except Exception as error:
        response = _answered(error, request)
        # Its frames refer to the request, and that to whatever turned it away: the two, and a body
        # of 256 kB, would be there until the collector comes.
        error.__traceback__ = None
    spent = time.perf_counter() - started
    resource = request.match_info.route.resource
    route = resource.canonical if resource else "other"
    request.app[METRICS].count(request.method, route, response.status, spent)
    if is_probe(request):
        if number := request.app[FRONT].probed.count():
            probes = "%d probes of health since this was last said, the last answered %d"
            log.info(probes, number, response.status)
        return response
    if is_noise(request, response.status):
        if number := request.app[FRONT].limited.count():
            log.info("%d refusals of strangers since this was last said", number)
        if response.status == 429:
            # A flood that waits for each answer before it asks again becomes a slow one.
            await asyncio.sleep(STRANGER_PAUSE_S)
        return response
    ms = round(spent * 1_000, 1)
    raw = {"method": request.method, "route": route, "status": response.status, "ms": ms}
    # A quick read that succeeds is counted in the metrics; at the usual level it has no line, as an
    # agent that asks for its limits 50 times a second would write most of the log.
    quick_read = request.method in READS and response.status < 400 and spent < SLOW_S
    log.log(
        logging.DEBUG if quick_read else logging.INFO, "%s %s %s %.1fms", *raw.values(), extra=raw
    )
    return response


def _answered(error: Exception, request: web.Request) -> web.Response:
    """The refusal block of an error that reached the outside."""
    if isinstance(error, ConnectionResetError):
        return web.Response(status=499)
    refused = _as_refused(error)
    if refused is None:
        log.error("the request failed", exc_info=error)
        refused = Refused(refusal("internal"))
    request.app[METRICS].refused(refused.code, _operation(request))
    # Whoever was found out already is told the steps that are theirs.
    role = request.get(CALLER, ANONYMOUS).role
    reply = refused_reply(refused, request.app[DEPS].clock.now(), role)
    response = answer(reply)
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = ",".join(sorted(error.allowed_methods))
    if isinstance(error, UNREAD):
        response.set_status(error.status)
    if isinstance(error, (web.RequestPayloadError, *UNREAD)):
        response.force_close()
    return response


def _operation(request: web.Request) -> str:
    """The operation or page behind a request; "" where the router found none."""
    return request.match_info.route.name or ""


def _as_refused(error: Exception) -> Refused | None:
    """The refusal of an error of the router, the parser or the body reader; None for a fault of
    this service.
    """
    if isinstance(error, Refused):
        return error
    if isinstance(error, Unavailable):
        log.warning("the database: %s", error.why)
        return unavailable(error)
    if isinstance(error, web.HTTPMethodNotAllowed):
        return Refused(refusal("method_not_allowed", method=error.method))
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return Refused(refusal("body_too_large", limit=MAX_BODY))
    if isinstance(error, web.HTTPNotFound):
        return Refused(refusal("not_found", what="route", next=(INDEX, SKILL)))
    if isinstance(error, web.HTTPException):
        return invalid("request", error.reason)
    if isinstance(error, web.RequestPayloadError):
        return invalid("body", "it does not arrive as it was announced")
    return None


def _route(op: Operation) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        deps, asker = request.app[DEPS], request[ASKER]
        if op.sessions_only and KEY_HEADER in request.headers:
            raise Refused(refusal("forbidden", why="an agent key is never an owner here"))
        caller = await _caller(op, request)
        arguments = await _arguments(op, request)
        key = idempotency_key(request.headers)
        address, prepaid_cost = asker.address, asker.prepaid_cost
        return answer(
            await run(
                op, deps, caller, arguments, key=key, address=address, prepaid_cost=prepaid_cost
            )
        )

    return handle


async def _caller(op: Operation, request: web.Request) -> Caller:
    """The caller of a request; a key that is presumed to be good is looked up, unless the call does
    it.
    """
    deps, asker = request.app[DEPS], request[ASKER]
    caller = asker.require_caller()
    if caller.from_cache and op.read_set is None:
        caller = await identify(deps, request.headers, address=asker.address)
    request[CALLER] = caller
    return caller


def _way(op: Operation, cache: ResponseCache, hub: LedgerStreamHub) -> Handler:
    if op.streams:
        return _streamed(op, hub)
    return _relayed(op, cache) if op.is_relay else _route(op)


def _streamed(op: Operation, hub: LedgerStreamHub) -> Handler:
    """A route whose answer says where a stream begins, which then follows."""

    async def handle(request: web.Request) -> web.StreamResponse:
        deps, asker = request.app[DEPS], request[ASKER]
        caller = await _caller(op, request)
        arguments = await _arguments(op, request)
        last = request.headers.getall("Last-Event-ID", [])
        if len(last) > 1:
            raise invalid("last_event_id", "given twice")
        # Who resumes repeats the address it began with, and says in the header how far it came.
        arguments |= {"last_event_id": last[0]} if last else {}
        address, prepaid_cost = asker.address, asker.prepaid_cost
        reply = await run(op, deps, caller, arguments, address=address, prepaid_cost=prepaid_cost)
        if reply.refused:
            return answer(reply)
        public_id, start = str(reply.body["public_id"]), str(reply.body["id"])
        stream = LedgerStream(deps, hub, request, public_id, int(start.partition(".")[0]))
        return await stream.run(caller, start)

    return handle


def _relayed(op: Operation, cache: ResponseCache) -> Handler:
    """A route whose fresh answers are the same for all callers: written once, and counted each
    time.
    """
    whole = _route(op)

    async def handle(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        now = deps.clock.now()
        cached = cache.get(request, now)
        if cached is not None:
            asker = request[ASKER]
            charge_call(deps, ANONYMOUS, asker.address, op, now, prepaid_cost=asker.prepaid_cost)
            return cached
        response = await whole(request)
        if isinstance(response, web.Response):
            cache.put(request, response, now)
        return response

    return handle


async def _arguments(op: Operation, request: web.Request) -> dict[str, object]:
    """Path, query and body together; a name that comes twice is refused."""
    query: dict[str, object] = {}
    for name, value in request.query.items():
        if name in query:
            raise invalid(name[:80], "given twice in the query")
        query[name] = value
    body: dict[str, object] = {}
    if not op.from_query:
        unknown = sorted(set(query) - op.in_query)
        if unknown:
            raise invalid(unknown[0][:80], "not a query parameter of this route")
        body = await _body(request)
    path = dict(request.match_info)
    clash = sorted((set(query) | set(body)) & set(path))
    if clash:
        raise invalid(clash[0], "it is given in the path")
    return {**query, **body, **path}


async def _awaited(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_S):
            return await request.read()
    except TimeoutError:
        raise web.RequestPayloadError("late") from None


async def _body(request: web.Request) -> dict[str, object]:
    if request.content_length is not None and request.content_length > MAX_BODY:
        raise Refused(refusal("body_too_large", limit=MAX_BODY))
    if request.content.is_eof():  # it came with the head, and nothing is waited for
        raw = await request.read()
    else:
        raw = await _awaited(request)
    if len(raw) > MAX_BODY:
        raise Refused(refusal("body_too_large", limit=MAX_BODY))
    if (
        raw.strip()
        and "Content-Type" in request.headers
        and request.content_type != "application/json"
    ):
        raise invalid("content-type", "application/json is needed")
    return await aside(parsed, raw)


# -- the door
# -------------------------------------------------------------------------------------------------


def _behind_door(make: Callable[[Deps], web.Response]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        if not await door_is_open(deps):
            raise Refused(refusal("door_off"))
        return make(deps)

    return handle


def _door(operations: Sequence[Operation]) -> Handler:
    return _behind_door(
        lambda d: answer(
            OperationResult(402, text.door_body(operations, d.config), {"X-Wallet-Door": "mandate"})
        )
    )


def _skill(operations: Sequence[Operation]) -> Handler:
    return _behind_door(
        lambda d: web.Response(
            text=text.skill_md(operations, d.config), content_type="text/markdown"
        )
    )


def _tools(operations: Sequence[Operation]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        names = request.query.get("names")
        listing = _behind_door(
            lambda d: answer(OperationResult(200, text.tool_list(operations, names)))
        )
        return await listing(request)

    return handle
