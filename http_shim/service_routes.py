"""Service routes: health, metrics, documents."""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from functools import cache, partial
from typing import Final

import orjson
from aiohttp import web
from anyio import to_thread

from domain.refusals import invalid
from http_shim.metrics import Metrics
from http_shim.openapi import document
from http_shim.readiness import Readiness
from skill import text
from storage.errors import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.dispatch.run import refused_reply, unavailable
from tools.model.operation import Deps, Operation
from tools.trading.orders.order_end import CONTRADICTIONS
from tools.trading.stop_line.gauges import gauges_of

log = logging.getLogger("wallet.http")

HEALTH_PATHS: Final = frozenset({"/healthz", "/readyz"})
DEPS: Final = web.AppKey("deps", Deps)
METRICS: Final = web.AppKey("metrics", Metrics)
READY: Final = web.AppKey("ready", Readiness)
Gauges = list[Callable[[], Mapping[str, int]]]
GAUGES: Final = web.AppKey("gauges", Gauges)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Catalogue = Callable[[], Sequence[Operation]]


class Document:
    """The OpenAPI document, which takes a second to make: made once, in a thread, for the first
    who asks.
    """

    def __init__(self, catalogue: Catalogue, base_url: str):
        self._make = lambda: orjson.dumps(document(catalogue(), base_url=base_url))
        self._making, self._made = asyncio.Lock(), b""

    async def read(self) -> bytes:
        """The document as it is sent."""
        async with self._making:
            self._made = self._made or await to_thread.run_sync(self._make)
            return self._made


DOCUMENT: Final = web.AppKey("document", Document)


def texts(operations: Sequence[Operation]) -> list[web.RouteDef]:
    """The routes of the texts about all operations that are always on; each is made for the first
    who asks.
    """
    refusals = _fixed(cache(lambda: text.refusals_md(operations)), "text/markdown")
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    docs = cache(lambda: _docs(operations))
    return [
        web.get(
            "/docs",
            _without_query(_fixed(docs, "text/html", **{"Content-Security-Policy": policy})),
        ),
        web.get("/wallet/refusals.md", _without_query(refusals)),
    ]


def query_of(request: web.Request, known: Container[str] | None) -> dict[str, object]:
    """The fields of the query: of `known` names alone, or where that is None, of any.

    Errors: `invalid_request`, for a name that comes twice too.
    """
    query: dict[str, object] = {}
    for name, value in request.query.items():
        if name in query:
            raise invalid(name[:80], "given twice in the query")
        query[name] = value
    unknown = [] if known is None else sorted(n for n in query if n not in known)
    if unknown:
        raise invalid(unknown[0][:80], "not a query parameter of this route")
    return query


def _without_query(handler: Handler) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        query_of(request, ())
        return await handler(request)

    return handle


async def _index(request: web.Request) -> web.StreamResponse:
    """The index of the service; a browser is sent to the screens."""
    vary = {"Vary": "Accept"}
    if "text/html" in request.headers.get("Accept", ""):
        return web.Response(status=302, headers=vary | {"Location": "/app"})
    return web.json_response(text.index(request.app[DEPS].config), headers=vary)


async def _healthz(_: web.Request) -> web.StreamResponse:
    return web.json_response({"ok": True})


async def _readyz(request: web.Request) -> web.StreamResponse:
    """Ready where the database takes writes. A chain of which nothing is believed, and a node that
    is left out, make nothing else unready, and are told.
    """
    known = request.app[DEPS].chains
    chains = [{"chain_id": of, "trouble": why} for of, why in sorted(known.node_problem().items())]
    nodes = [
        {"chain_id": of, "node": n, "fault": why}
        for of, faults in sorted(known.faults().items())
        for n, why in sorted(faults.items())
    ]
    if await request.app[READY].ok():
        return web.json_response({"ok": True, "database": True, "chains": chains, "nodes": nodes})
    refused = unavailable(Unavailable("it takes no write"))
    block = refused_reply(refused, request.app[DEPS].clock.now()).body
    return web.json_response(
        {"ok": False, "database": False, **block}, status=503, headers={"Retry-After": "1"}
    )


async def _metrics(request: web.Request) -> web.StreamResponse:
    deps = request.app[DEPS]
    gauges: dict[str, int] = {"wallet_database_up": int(await request.app[READY].ok())}
    if gauges["wallet_database_up"]:
        gauges |= await deps.store.read(partial(_stored_gauges, deps))
    if deps.venues is not None:
        for (network, kind, subject), times in deps.venues.unknown_counts().items():
            labels = f'network="{network}",kind="{kind}",what="{subject}"'
            gauges[f"wallet_venue_unknown_total{{{labels}}}"] = times
        for (network, kind), times in deps.venues.refused().items():
            labels = f'network="{network}",kind="{kind}"'
            gauges[f"wallet_venue_answers_refused_total{{{labels}}}"] = times
        for (network, part), times in CONTRADICTIONS.items():
            labels = f'network="{network}",part="{part}"'
            gauges[f"wallet_venue_contradictions_total{{{labels}}}"] = times
    for more in request.app[GAUGES]:
        gauges |= more()
    return _page(request.app[METRICS].render(gauges), "text/plain")


def _stored_gauges(deps: Deps, uow: UnitOfWork) -> Mapping[str, int]:
    """The figures that rows tell."""
    now, gauges = deps.clock.now(), dict[str, int]()
    for chain_id in deps.chains.ids():
        if (cursor := uow.chainlog.cursor(chain_id)) is None:
            continue
        label, behind = f'{{chain="{chain_id}"}}', (cursor.head or 0) - cursor.block
        gauges[f"wallet_chain_block{label}"] = cursor.block
        gauges[f"wallet_chain_behind_blocks{label}"] = max(0, behind)
        if cursor.read_at is not None:
            age = int((now - cursor.read_at).total_seconds())
            gauges[f"wallet_chain_age_seconds{label}"] = max(0, age)
    return gauges | (gauges_of(uow, now) if deps.venues is not None else {})


HEALTH: Final = (web.get("/healthz", _healthz), web.get("/readyz", _readyz))
FIGURES: Final = web.get("/metrics", _metrics)


def _page(content: str, content_type: str, **headers: str) -> web.Response:
    return web.Response(text=content, content_type=content_type, charset="utf-8", headers=headers)


async def _openapi(request: web.Request) -> web.StreamResponse:
    body = await request.app[DOCUMENT].read()
    return web.Response(body=body, content_type="application/json", charset="utf-8")


def _docs(operations: Sequence[Operation]) -> str:
    """A plain page: the routes, without a script from anywhere."""
    rows = "".join(
        f"<tr><td><code>{op.route[0]}</code></td><td><code>{html.escape(op.route[1])}</code></td>"
        f"<td>{op.auth.replace('_', ' ')}</td><td>{html.escape(op.summary)}</td></tr>"
        for op in operations
        if op.route
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Delegated-spending wallet: "
        "routes</title>"
        "<style>body{font:16px/1.5 system-ui;margin:2rem;max-width:72rem}td{padding:.2rem "
        ".6rem;vertical-align:top}</style>"
        "<h1>Routes</h1><p>The whole description: <a "
        f"href=/openapi.json>openapi.json</a></p><table>{rows}</table></html>"
    )


def _fixed(page: Callable[[], str], content_type: str, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        return _page(page(), content_type, **headers)

    return handle


async def _llms(request: web.Request) -> web.StreamResponse:
    return _page(text.llms_txt(request.app[DEPS].config), "text/plain")


ROUTES: Final = (
    web.get("/", _without_query(_index)),
    *HEALTH,
    web.get("/openapi.json", _without_query(_openapi)),
    web.get("/llms.txt", _without_query(_llms)),
)
"""The routes that are no operation, and need none to answer."""
