"""OAuth routes: the metadata of this service and of its authorization server, and the four
endpoints of the latter. Their errors have the form of the standards, not that of a refusal.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import parse_qsl

import orjson
from aiohttp import web
from anyio import to_thread

from domain.agents.grants import READ, SCOPES
from domain.refusals import Refused
from http_shim.admission import ASKER, where_from
from http_shim.asgi_bridge import BODY_S, read_body
from http_shim.json_body import aside, parsed
from http_shim.service_routes import DEPS
from storage.unit_of_work import UnitOfWork
from tools.agents.app_clients import App, NotRegistered, app_of, known_app, register
from tools.dispatch.rate_charging import WRONG_CREDENTIAL, charge_stranger
from tools.keeper.held_keys import try_to_end_keys
from tools.model.operation import HEAVY, Deps

if TYPE_CHECKING:
    from tools.agents.authorization_server import EndpointAnswer, Pairs

CONNECT: Final = "/mcp/connect"
RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource"
FORM_MAX: Final = 16 * 1024
FIELDS_MAX: Final = 30
# Metadata is the same for everybody; hosts read it at every connection.
SHORTLY: Final = {"Cache-Control": "public, max-age=300"}
NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8">{more}'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>{title}</title><h1>{title}</h1><p>{text}</p></html>"
)
# What a person is told where it is not known to which app an error belongs.
PROBLEMS: Final = {
    "invalid_client": "This service does not know the app, or cannot read what it says of itself.",
    "insecure_transport": "This service has to be reached over https.",
}
OTHERWISE: Final = "The app sent a request that this service cannot take."
Endpoint: TypeAlias = (
    "Callable[[Deps, UnitOfWork, Callable[[str], App | None], Pairs], EndpointAnswer]"
)


def routes() -> list[web.RouteDef]:
    """The routes; the authorization server behind them is loaded by the first who needs it."""
    return [
        web.get(RESOURCE_METADATA, _resource),
        web.get(RESOURCE_METADATA + CONNECT, _resource),
        web.get("/.well-known/oauth-authorization-server", _server),
        web.get("/oauth/authorize", _authorize),
        web.post("/oauth/token", partial(_endpoint, "issue")),
        web.post("/oauth/revoke", partial(_endpoint, "revoke")),
        web.post("/oauth/register", _register),
    ]


def resource_metadata(base_url: str) -> Mapping[str, object]:
    """RFC 9728: the MCP address for apps, and who gives out tokens for it."""
    return {
        "resource": base_url + CONNECT,
        "authorization_servers": [base_url],
        "scopes_supported": [READ],
        "bearer_methods_supported": ["header"],
        "resource_name": "Delegated-spending wallet",
        "resource_documentation": f"{base_url}/docs",
    }


def server_metadata(base_url: str) -> Mapping[str, object]:
    """RFC 8414: what the authorization server takes."""
    return {
        "issuer": base_url,
        "authorization_endpoint": f"{base_url}/oauth/authorize",
        "token_endpoint": f"{base_url}/oauth/token",
        "revocation_endpoint": f"{base_url}/oauth/revoke",
        "registration_endpoint": f"{base_url}/oauth/register",
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }


async def _resource(request: web.Request) -> web.StreamResponse:
    return _json(200, resource_metadata(request.app[DEPS].config.base_url), SHORTLY)


async def _server(request: web.Request) -> web.StreamResponse:
    return _json(200, server_metadata(request.app[DEPS].config.base_url), SHORTLY)


async def _authorize(request: web.Request) -> web.StreamResponse:
    """Check a request to connect. A page of ours goes on to the page of consent by itself: what
    follows a redirect of another site comes without the owner's cookie.
    """
    deps, loaded = request.app[DEPS], await to_thread.run_sync(_library)
    pairs = [*request.query.items()]
    named = request.query.getall("client_id", [])
    app = None
    if len(named) == 1:
        # What an app says of itself may have to be fetched from where it says it.
        address = where_from(deps, request)
        charge_stranger(deps, address, cost=HEAVY)
        app = await app_of(deps, named[0], address or "")
    result = loaded.authorize(deps, app, pairs)
    if isinstance(result, loaded.Shown):
        return _page(400, "This app cannot connect", PROBLEMS.get(result.error, OTHERWISE))
    if not result.location.startswith("/"):
        return web.Response(status=302, headers={**NO_STORE, "Location": result.location})
    link = html.escape(result.location)
    go = f'<meta http-equiv="refresh" content="0;url={link}">'
    return _page(200, "One moment", f'<a href="{link}">Go on to your wallet</a>', go)


async def _endpoint(name: str, request: web.Request) -> web.StreamResponse:
    deps, loaded = request.app[DEPS], await to_thread.run_sync(_library)
    pairs = await _form(request)
    answer: Endpoint = getattr(loaded, name)
    if pairs is None:
        return _json(*_as_error("invalid_request", "A form is needed."))

    def work(uow: UnitOfWork) -> EndpointAnswer:
        return answer(deps, uow, partial(known_app, deps), pairs)

    answered = await deps.store.write(work)
    if answered.ended_of is not None:
        await try_to_end_keys(deps, answered.ended_of)
    if answered.status >= 400:
        charge_stranger(deps, request[ASKER].address, cost=WRONG_CREDENTIAL)
    return _json(answered.status, answered.body, NO_STORE)


async def _register(request: web.Request) -> web.StreamResponse:
    """RFC 7591, without a row: the id that is given out is the registration itself."""
    try:
        metadata = await aside(parsed, await _bounded(request))
    except Refused:
        return _json(*_as_error("invalid_client_metadata", "A JSON object is needed."))
    deps = request.app[DEPS]
    try:
        app = register(deps.sealing, metadata)
    except NotRegistered as problem:
        return _json(*_as_error(problem.code, problem.text))
    body: dict[str, object] = {
        "client_id": app.client_id,
        "client_id_issued_at": int(deps.clock.now().timestamp()),
        "redirect_uris": list(app.redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": " ".join(SCOPES),
    }
    return _json(201, body | ({"client_name": app.name} if app.name else {}), NO_STORE)


def _library() -> ModuleType:
    """The authorization server, whose library takes a while to load."""
    from tools.agents import authorization_server

    return authorization_server


async def _bounded(request: web.Request) -> bytes:
    if (request.content_length or 0) > FORM_MAX:
        return b""
    body = await read_body(request, BODY_S)
    return body if len(body) <= FORM_MAX else b""


async def _form(request: web.Request) -> Pairs | None:
    """The fields of a form; None for what is none."""
    if request.content_type != "application/x-www-form-urlencoded" or request.query_string:
        return None
    try:
        text = (await _bounded(request)).decode()
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        return None


def _as_error(code: str, text: str) -> tuple[int, Mapping[str, object], dict[str, str]]:
    return 400, {"error": code, "error_description": text}, NO_STORE


def _json(status: int, body: Mapping[str, object], headers: dict[str, str]) -> web.Response:
    return web.Response(
        body=orjson.dumps(body), status=status, content_type="application/json", headers=headers
    )


def _page(status: int, title: str, text: str, more: str = "") -> web.Response:
    """A plain page of ours; nothing that was sent stands in it."""
    return web.Response(
        text=PAGE.format(title=title, text=text, more=more),
        status=status,
        content_type="text/html",
        charset="utf-8",
        headers={**NO_STORE, "Content-Security-Policy": POLICY},
    )
