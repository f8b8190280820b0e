"""Request span: a traced request from its admission to its answer, streams to their end."""

from __future__ import annotations

from contextvars import Token
from typing import Final

from aiohttp import web

from domain.spans import Span, enter, leave
from http_shim.metrics import METHODS
from http_shim.service_routes import HEALTH_PATHS, Handler
from tools.dispatch.rate_charging import is_proxy
from tools.model.operation import Deps

_Entered = tuple[Span, Token[Span | None]]
_SPAN: Final = web.RequestKey("span", tuple)


def begin_span(deps: Deps, request: web.Request, peer: str | None) -> None:
    """Begin the trace of a request, which `span_middleware` ends; health probes have none.

    The word of a trusted proxy that the request is part of a trace is taken. A stranger's is not:
    it would say whether this call is kept, and put it into whatever trace. Theirs is linked to.
    Neither the path nor the query is told: they hold ids, and links their tokens.
    """
    if deps.tracer is None or request.rel_url.raw_path in HEALTH_PATHS:
        return
    method = request.method if request.method in METHODS else "_OTHER"
    about = {"http.request.method": method, "url.scheme": request.scheme}
    values = request.headers.getall("traceparent", [])
    remote = values[0] if len(values) == 1 else ""
    trusted = peer is not None and is_proxy(deps, peer)
    parent, link = (remote, "") if trusted else ("", remote)
    span = deps.tracer.begin(method, "server", about, parent=parent, link=link)
    if span is not None:
        request[_SPAN] = span, enter(span)


@web.middleware
async def span_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """End the span of a request with its answer."""
    entered: _Entered | None = request.get(_SPAN)
    if entered is None:
        return await handler(request)
    span, token = entered
    error: str | None = None
    try:
        response = await handler(request)
        span.add({"http.response.status_code": response.status})
        error = str(response.status) if response.status >= 500 else None
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        resource = request.match_info.route.resource
        if resource is not None:
            span.add({"http.route": resource.canonical})
            span.rename(f"{request.method} {resource.canonical}")
        leave(token)
        span.end(error)
    return response
