"""The aiohttp application: every route of the catalogue, the door, health, metrics, and MCP on the same port."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from domain.refusals import Refused, refusal
from http_shim.asgi_bridge import Asgi, AsgiBridge
from http_shim.identity import identify
from http_shim.metrics import Metrics
from http_shim.openapi import document
from http_shim.parse import MAX_BODY, parsed
from skill import text
from storage.chainlog import Cursor
from storage.unit_of_work import UnitOfWork
from tools.operation import Deps, Operation, Reply, door_is_open, invalid, refused_reply, run

log = logging.getLogger("wallet.http")

DEPS: Final = web.AppKey("deps", Deps)
METRICS: Final = web.AppKey("metrics", Metrics)
REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
MCP_PATHS: Final = ("/mcp", "/sse", "/messages/{tail:.*}")
MCP_BODY: Final = 4 * 2**20
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def encoded(body: Mapping[str, Any]) -> bytes:
    """JSON of a body; the slower encoder where a chain's uint256 is beyond 64 bits."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def answer(reply: Reply) -> web.Response:
    """A reply over HTTP."""
    return web.Response(
        body=encoded(reply.body),
        status=reply.status,
        content_type="application/json",
        charset="utf-8",
        headers=dict(reply.headers),
    )


def build(deps: Deps, operations: Sequence[Operation], *, mcp: Asgi | None = None) -> web.Application:
    """Put the application together; `mcp` is the ASGI application behind /mcp, /sse and /messages/."""
    app = web.Application(middlewares=[_outer], client_max_size=MCP_BODY)
    app[DEPS], app[METRICS] = deps, Metrics()
    for op in operations:
        if op.route is not None:
            app.router.add_route(op.route[0], op.route[1], _route(op), name=op.name)
    app.add_routes(
        [
            web.get("/wallet/door", _door(operations)),
            web.get("/wallet/skill.md", _skill(operations)),
            web.get("/wallet/mcp-tools", _tools(operations)),
            web.get("/healthz", _healthz),
            web.get("/readyz", _readyz),
            web.get("/metrics", _metrics),
            web.get("/openapi.json", _openapi(operations)),
            web.get("/docs", _docs(operations)),
            web.get("/llms.txt", _llms),
        ]
    )
    if mcp is not None:
        bridge = AsgiBridge(mcp)
        app.cleanup_ctx.append(bridge.lifespan)
        for path in MCP_PATHS:
            app.router.add_route("*", path, bridge.handle)
    return app


@web.middleware
async def _outer(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Request id, security headers, one shape for every error, one line in the log."""
    deps = request.app[DEPS]
    asked = request.headers.get("X-Request-Id", "")
    request_id = asked if REQUEST_ID.fullmatch(asked) else deps.ids.short("r_")
    started = time.perf_counter()
    try:
        response = await handler(request)
    except web.HTTPMethodNotAllowed as error:
        allow = ",".join(sorted(error.allowed_methods))
        reply = refused_reply(Refused(refusal("method_not_allowed", method=request.method)))
        response = answer(Reply(reply.status, reply.body, {"Allow": allow}))
    except web.HTTPRequestEntityTooLarge:
        response = answer(refused_reply(Refused(refusal("body_too_large", limit=MAX_BODY))))
    except web.HTTPNotFound:
        response = answer(refused_reply(Refused(refusal("not_found", what="route"))))
    except web.HTTPException as error:
        response = answer(refused_reply(Refused(invalid("request", error.reason))))
    except Refused as refused:
        response = answer(refused_reply(refused))
    except Exception:
        log.exception("request %s failed", request_id)
        response = answer(refused_reply(Refused(refusal("internal"))))
    spent = time.perf_counter() - started
    route = request.match_info.route.resource.canonical if request.match_info.route.resource else "other"
    request.app[METRICS].count(request.method, route, response.status, spent)
    log.info("%s %s %s %s %.1fms", request_id, request.method, route, response.status, spent * 1000)
    if not response.prepared:
        response.headers["X-Request-Id"] = request_id
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _route(op: Operation) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        arguments = await _arguments(op, request)
        caller = await identify(deps, request.headers)
        key = request.headers.get("Idempotency-Key")
        return answer(await run(op, deps, caller, arguments, key=key))

    return handle


async def _arguments(op: Operation, request: web.Request) -> dict[str, Any]:
    """Path, query and body together; a name that comes twice is refused."""
    query: dict[str, Any] = {}
    for name, value in request.query.items():
        if name in query:
            raise Refused(invalid(name[:80], "given twice in the query"))
        query[name] = value
    body: dict[str, Any] = {}
    if not op.from_query:
        unknown = sorted(set(query) - op.in_query)
        if unknown:
            raise Refused(invalid(unknown[0][:80], "not a query parameter of this route"))
        body = await _body(request)
    path = dict(request.match_info)
    clash = sorted((set(query) | set(body)) & set(path))
    if clash:
        raise Refused(invalid(clash[0], "it is given in the path"))
    return {**query, **body, **path}


async def _body(request: web.Request) -> dict[str, Any]:
    if request.content_length is not None and request.content_length > MAX_BODY:
        raise Refused(refusal("body_too_large", limit=MAX_BODY))
    raw = await request.read() if request.can_read_body else b""
    if raw.strip() and request.content_type not in ("application/json", "application/octet-stream"):
        raise Refused(invalid("content-type", "application/json is needed"))
    return parsed(raw)


# -- the door ------------------------------------------------------------------------------------------------------


def _behind_door(make: Callable[[Deps], web.Response]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        deps = request.app[DEPS]
        if not await door_is_open(deps):
            raise Refused(refusal("door_off"))
        return make(deps)

    return handle


def _door(operations: Sequence[Operation]) -> Handler:
    return _behind_door(lambda d: answer(Reply(402, text.door_body(operations, d.config), {"X-Wallet-Door": "mandate"})))


def _skill(operations: Sequence[Operation]) -> Handler:
    return _behind_door(lambda d: web.Response(text=text.skill_md(operations, d.config), content_type="text/markdown"))


def _tools(operations: Sequence[Operation]) -> Handler:
    return _behind_door(lambda d: answer(Reply(200, text.tool_list(operations))))


# -- the service about itself --------------------------------------------------------------------------------------


async def _healthz(_: web.Request) -> web.StreamResponse:
    return web.json_response({"ok": True})


async def _readyz(request: web.Request) -> web.StreamResponse:
    """Ready where the database answers."""
    try:
        await request.app[DEPS].store.read(lambda uow: uow.switches.all())
    except Exception:
        log.exception("the database does not answer")
        return web.json_response({"ok": False, "database": False}, status=503)
    return web.json_response({"ok": True, "database": True})


async def _metrics(request: web.Request) -> web.StreamResponse:
    deps = request.app[DEPS]
    gauges: dict[str, int] = {}
    for chain_id in deps.chains.ids():
        cursor = await deps.store.read(_cursor_of(chain_id))
        if cursor is not None:
            gauges[f'wallet_chain_block{{chain="{chain_id}"}}'] = cursor.block
            gauges[f'wallet_chain_behind_blocks{{chain="{chain_id}"}}'] = max(0, (cursor.head or 0) - cursor.block)
    return web.Response(text=request.app[METRICS].render(gauges), content_type="text/plain", charset="utf-8")


def _cursor_of(chain_id: int) -> Callable[[UnitOfWork], Cursor | None]:
    return lambda uow: uow.chainlog.cursor(chain_id)


def _openapi(operations: Sequence[Operation]) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response(document(operations, base_url=request.app[DEPS].config.base_url))

    return handle


def _docs(operations: Sequence[Operation]) -> Handler:
    """A plain page: the routes, without a script from anywhere."""
    rows = "".join(
        f"<tr><td><code>{op.route[0]}</code></td><td><code>{op.route[1]}</code></td><td>{op.auth.replace('_', ' ')}</td>"
        f"<td>{op.summary.replace('<', '&lt;')}</td></tr>"
        for op in operations
        if op.route
    )
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Delegated-spending wallet: routes</title>"
        "<style>body{font:16px/1.5 system-ui;margin:2rem;max-width:72rem}td{padding:.2rem .6rem;vertical-align:top}</style>"
        f"<h1>Routes</h1><p>The whole description: <a href=/openapi.json>openapi.json</a></p><table>{rows}</table></html>"
    )

    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(text=page, content_type="text/html")

    return handle


async def _llms(request: web.Request) -> web.StreamResponse:
    return web.Response(text=text.llms_txt(request.app[DEPS].config), content_type="text/plain", charset="utf-8")
