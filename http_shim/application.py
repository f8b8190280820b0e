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
from domain.settings import Config
from domain.spans import current_span
from http_shim import oauth_routes, service_routes
from http_shim.admission import ASKER, FRONT, TURNED_AWAY, Admitting, Cookie, is_noise, is_probe
from http_shim.admission import expected as _expected
from http_shim.asgi_bridge import BODY_S, Asgi, AsgiBridge, read_body
from http_shim.event_stream import LedgerStream, LedgerStreamHub
from http_shim.identity import KEY_HEADER, idempotency_key, identify, request_id
from http_shim.json_body import MAX_BODY, aside, parsed
from http_shim.lazy_routes import REST, LazyRoutes
from http_shim.metrics import Metrics
from http_shim.readiness import Readiness
from http_shim.request_span import span_middleware
from http_shim.response_cache import ResponseCache
from http_shim.service_routes import (
    DEPS,
    DOCUMENT,
    GAUGES,
    METRICS,
    READY,
    Catalogue,
    Document,
    Gauges,
    Handler,
    query_of,
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
# The router tries them in turn: calls come first.
MCP_ROUTES: Final = {
    "mcp-call": ("POST", "/mcp"),
    "mcp-listen": ("GET", "/mcp"),
    "mcp-end": ("DELETE", "/mcp"),
    "mcp-listen-sets": ("GET", "/mcp/x/{sets}"),
    "mcp-call-sets": ("POST", "/mcp/x/{sets}"),
    "mcp-end-sets": ("DELETE", "/mcp/x/{sets}"),
    "mcp-listen-apps": ("GET", oauth_routes.CONNECT),
    "mcp-call-apps": ("POST", oauth_routes.CONNECT),
    "mcp-end-apps": ("DELETE", oauth_routes.CONNECT),
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
    catalogue: Catalogue | None = None,
    mcp: Asgi | None = None,
    screens: Sequence[web.RouteDef] = (),
    cookie: Cookie | None = None,
) -> web.Application:
    """Build the application; `mcp` is the ASGI application behind /mcp, /sse and /messages/,
    `screens` are pages; `cookie` finds a browser's session token. With a `catalogue` the
    `operations` are those of it that are there at once, and the first request for another one, or
    for a text about them all, loads it.
    """
    app = _beginning(deps)
    # The constructor still takes a router, and warns that it will not.
    app._router = app[FRONT] = Admitting(app[DEPS], cookie)
    cache, hub = ResponseCache(), LedgerStreamHub(app[DEPS])
    app[HUB] = hub
    app[DOCUMENT] = Document(catalogue or (lambda: operations), deps.config.base_url)
    app[GAUGES] += [hub.gauges, app[FRONT].gauges]
    app.on_shutdown.append(hub.leave)
    app.cleanup_ctx.append(hub.lifespan)
    add_route = app.router.add_route

    def add_operations(router: web.UrlDispatcher, some: Sequence[Operation]) -> None:
        # The router tries them in turn: what an agent sends again and again comes first.
        for op in sorted(some, key=lambda o: o.idempotency is None):
            for each in op.routes:
                way = _streamed(each, hub) if op.streams else _route(each)
                way = _relayed(each, way, cache) if op.is_relay else way
                method, path = each.route or ("", "")
                router.add_route(method, path, way, name=op.name, expect_handler=_expected)

    def add_texts(router: web.UrlDispatcher, every: Sequence[Operation]) -> None:
        router.add_routes([*_door(every), *service_routes.texts(every)])

    def add_rest(router: web.UrlDispatcher) -> None:
        every, at_once = catalogue() if catalogue else (), {op.name for op in operations}
        add_operations(router, [op for op in every if op.name not in at_once])
        add_texts(router, every)

    add_operations(app.router, operations)
    if catalogue is None:
        add_texts(app.router, operations)
    app.add_routes([*service_routes.ROUTES, *oauth_routes.routes(), *screens])
    if mcp is not None:
        bridge = AsgiBridge(mcp)
        app.cleanup_ctx.append(bridge.lifespan)
        for name, (method, path) in MCP_ROUTES.items():
            add_route(method, path, bridge.handle, name=name, expect_handler=_expected)
    if catalogue is not None:
        app.router.register_resource(LazyRoutes(REST, add_rest))
    return app


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
    middlewares = [error_middleware] if deps.tracer is None else [span_middleware, error_middleware]
    app = web.Application(middlewares=middlewares, client_max_size=MAX_BODY)
    metrics = deps.watch if isinstance(deps.watch, Metrics) else Metrics()
    app[DEPS], ready = replace(deps, watch=metrics), Readiness(deps)
    app[METRICS], app[GAUGES], app[READY] = metrics, [], ready
    app[LEAVING] = asyncio.Event()
    app.on_response_prepare.append(add_headers)
    app.on_cleanup.append(ready.close)
    return app


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Put the request id and the security headers on every answer, streams too."""
    headers = response.headers
    headers["X-Request-Id"] = request.get(REQUEST_ID) or _request_id(request, request.app)
    headers["Server"] = "wallet"
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if request.app[LEAVING].is_set():
        response.force_close()
        headers["Connection"] = "close"


def _request_id(request: web.Request, app: web.Application) -> str:
    return request_id(request.headers.get("X-Request-Id", ""), app[DEPS].ids)


@web.middleware
async def error_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """One shape for every error, one line in the log; it names the route, never what was sent."""
    app = request.app
    request[REQUEST_ID] = request_id = _request_id(request, app)
    if (span := current_span()) is not None:
        span.add({"wallet.request_id": request_id})
    with log_context(request=request_id, **mandate_of(request.match_info)):
        started = time.perf_counter()
        try:
            if TURNED_AWAY in request:
                raise request[TURNED_AWAY]
            response = await handler(request)
        except Exception as error:
            response = _answered(error, request)
            # Its frames refer to the request, and that to whatever turned it away: the two, and a
            # body of 256 kB, would be there until the collector comes.
            error.__traceback__ = None
        spent = time.perf_counter() - started
        resource = request.match_info.route.resource
        route = resource.canonical if resource else "other"
        app[METRICS].count(request.method, route, response.status, spent)
        if FRONT not in app:
            _log_request(request, route, response.status, spent)
        elif is_probe(request):
            if number := app[FRONT].probed.count():
                probes = "%d probes of health since this was last said, the last answered %d"
                log.info(probes, number, response.status)
        elif is_noise(request, response.status):
            if number := app[FRONT].limited.count():
                log.info("%d refusals of strangers since this was last said", number)
            if response.status == 429:
                # A flood that waits for each answer before it asks again becomes a slow one.
                await asyncio.sleep(STRANGER_PAUSE_S)
        else:
            _log_request(request, route, response.status, spent)
        return response


def _log_request(request: web.Request, route: str, status: int, spent: float) -> None:
    """A quick read that succeeds is counted in the metrics; at the usual level it has no line, as
    an agent that asks for its limits 50 times a second would write most of the log.
    """
    quick_read = request.method in READS and status < 400 and spent < SLOW_S
    level = logging.DEBUG if quick_read else logging.INFO
    if not log.isEnabledFor(level):
        return
    raw = {"method": request.method, "route": route, "status": status, "ms": round(spent * 1e3, 1)}
    log.log(level, "%s %s %s %.1fms", *raw.values(), extra=raw)


def _answered(error: Exception, request: web.Request) -> web.Response:
    """The refusal block of an error that reached the outside."""
    if isinstance(error, ConnectionResetError):
        return web.Response(status=499)
    refused = _as_refused(error)
    if refused is None:
        log.error("the request failed", exc_info=error)
        refused = Refused(refusal("internal"))
    # The operation or page behind a request; "" where the router found none.
    request.app[METRICS].refused(refused.code, request.match_info.route.name or "")
    # Whoever was found out already is told the steps that are theirs.
    role = request.get(CALLER, ANONYMOUS).role
    response = answer(refused_reply(refused, request.app[DEPS].clock.now(), role))
    if isinstance(error, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = ",".join(sorted(error.allowed_methods))
    if isinstance(error, UNREAD):
        response.set_status(error.status)
    if isinstance(error, (web.RequestPayloadError, *UNREAD)):
        response.force_close()
    return response


def _as_refused(error: Exception) -> Refused | None:
    """The refusal of an error of the router, the parser or the body reader; None for a fault of
    this service.
    """
    match error:
        case Refused():
            return error
        case Unavailable():
            log.warning("the database: %s", error.why)
            return unavailable(error)
        case web.HTTPMethodNotAllowed():
            return Refused(refusal("method_not_allowed", method=error.method))
        case web.HTTPRequestEntityTooLarge():
            return Refused(refusal("body_too_large", limit=MAX_BODY))
        case web.HTTPNotFound():
            return Refused(refusal("not_found", what="route", next=(INDEX, SKILL)))
        case web.HTTPException():
            return invalid("request", error.reason)
        case web.RequestPayloadError():
            return invalid("body", "it does not arrive as it was announced")
    return None


def _route(op: Operation) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        if op.sessions_only and KEY_HEADER in request.headers:
            raise Refused(refusal("forbidden", why="an agent key is never an owner here"))
        caller, arguments = await _caller(op, request), await _arguments(op, request)
        return answer(await _reply(op, request, caller, arguments))

    return handle


async def _reply(
    op: Operation, request: web.Request, caller: Caller, arguments: dict[str, object]
) -> OperationResult:
    asker, key = request[ASKER], None if op.streams else idempotency_key(request.headers)
    address, cost = asker.address, asker.prepaid_cost
    deps = request.app[DEPS]
    return await run(op, deps, caller, arguments, key=key, address=address, prepaid_cost=cost)


async def _caller(op: Operation, request: web.Request) -> Caller:
    """The caller of a request; a key that is presumed to be good is looked up, unless the call does
    it.
    """
    asker = request[ASKER]
    caller = asker.require_caller()
    if caller.from_cache and op.read_set is None:
        caller = await identify(request.app[DEPS], request.headers, address=asker.address)
    request[CALLER] = caller
    return caller


def _streamed(op: Operation, hub: LedgerStreamHub) -> Handler:
    """A route whose answer says where a stream begins, which then follows."""

    async def handle(request: web.Request) -> web.StreamResponse:
        caller, arguments = await _caller(op, request), await _arguments(op, request)
        last = request.headers.getall("Last-Event-ID", [])
        if len(last) > 1:
            raise invalid("last_event_id", "given twice")
        # Who resumes repeats the address it began with, and says in the header how far it came.
        arguments |= {"last_event_id": last[0]} if last else {}
        reply = await _reply(op, request, caller, arguments)
        if reply.refused:
            return answer(reply)
        public_id, start = str(reply.body["public_id"]), str(reply.body["id"])
        return await LedgerStream(hub, request, public_id, start).run(caller)

    return handle


def _relayed(op: Operation, whole: Handler, cache: ResponseCache) -> Handler:
    """A route whose fresh answers are the same for all callers: written once, and counted each
    time.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        deps, asker = request.app[DEPS], request[ASKER]
        now = deps.clock.now()
        cached = cache.get(request, now)
        if cached is not None:
            cost = asker.prepaid_cost
            await charge_call(deps, ANONYMOUS, asker.address, op, now, prepaid_cost=cost)
            return cached
        response = await whole(request)
        if isinstance(response, web.Response):
            cache.put(request, response, now)
        return response

    return handle


async def _arguments(op: Operation, request: web.Request) -> dict[str, object]:
    """Path, query and body together; a name that comes twice is refused."""
    query = query_of(request, None if op.from_query else op.in_query)
    body = {} if op.from_query else await _body(request)
    path = dict(request.match_info)
    clash = sorted((set(query) | set(body)) & set(path))
    if clash:
        raise invalid(clash[0], "it is given in the path")
    return {**query, **body, **path}


async def _body(request: web.Request) -> dict[str, object]:
    raw = await read_body(request, BODY_S)
    has_type = "Content-Type" in request.headers
    if raw.strip() and has_type and request.content_type != "application/json":
        raise invalid("content-type", "application/json is needed")
    return await aside(parsed, raw)


def _door(operations: Sequence[Operation]) -> list[web.RouteDef]:
    """The routes of the bot door, which has a switch."""

    def behind(make: Callable[[web.Request, Config], web.Response], *known: str) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            deps = request.app[DEPS]
            if not await door_is_open(deps):
                raise Refused(refusal("door_off"))
            query_of(request, known)
            return make(request, deps.config)

        return handle

    def door(_: web.Request, config: Config) -> web.Response:
        body, headers = text.door_body(operations, config), {"X-Wallet-Door": "mandate"}
        return answer(OperationResult(402, body, headers))

    def skill(_: web.Request, config: Config) -> web.Response:
        return web.Response(text=text.skill_md(operations, config), content_type="text/markdown")

    def tools(request: web.Request, _: Config) -> web.Response:
        names = request.query.get("names")
        return answer(OperationResult(200, text.tool_list(operations, names)))

    return [
        web.get("/wallet/door", behind(door)),
        web.get("/wallet/skill.md", behind(skill)),
        web.get("/wallet/mcp-tools", behind(tools, "names")),
    ]
