"""The door of apps on MCP: an access token for this address, good for what is called, or else the
challenge that tells an app how to get one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from domain.agents.grants import READ
from domain.agents.grants import Scope as AccessScope
from domain.next_steps import NextStep
from domain.refusals import Refused, refusal
from http_shim.json_body import aside, read
from http_shim.oauth_routes import CONNECT, RESOURCE_METADATA
from http_shim.principal import RequestPrincipal
from server.mcp_api.principal import asker_in
from server.mcp_api.session_limits import headers_of, replayed
from storage.errors import Unavailable
from tools.dispatch.run import refused_reply, unavailable
from tools.model.operation import Deps
from tools.model.serialization import encoded

MCP: Final = "/mcp"
CALL: Final = "tools/call"
BATCH_MAX: Final = 100
HOW: Final = NextStep(
    "Connect with OAuth: the WWW-Authenticate header names where to begin; for an agent key use "
    "the address /mcp",
    None,
    "GET /.well-known/oauth-protected-resource/mcp/connect",
)
ScopeOf = Callable[[str], Awaitable[AccessScope | None]]


class ConnectDoor:
    """Stands before the guard. `/mcp/connect` is `/mcp` for apps: there a request without a good
    token is answered 401. A token that was given for `/mcp` is good there; nowhere is one good for
    another address than its own.
    """

    def __init__(self, app: ASGIApp, *, deps: Deps, scope_of: ScopeOf):
        self._app, self._deps, self._scope_of = app, deps, scope_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or challenge it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asker = await asker_in(self._deps, scope)
        access, path = asker.caller.access, str(scope["path"])
        if path != CONNECT and access is None:
            await self._app(scope, receive, send)
            return
        if (problem := self._problem(asker, path, scope)) is not None:
            await problem(scope, receive, send)
            return
        if scope["method"] == "POST":
            message = await receive()
            receive = replayed(message, receive)
            named = headers_of(scope).get("mcp-name")
            called = await aside(_called, message.get("body", b""))
            needed = [await self._scope_of(name) for name in {*called, *([named] if named else [])}]
            held = () if access is None else access.scopes
            missing = [s for s in needed if s is not None and s not in held]
            if missing:
                await self._forbidden(held, missing)(scope, receive, send)
                return
        await self._app({**scope, "path": MCP, "raw_path": MCP.encode()}, receive, send)

    def _problem(self, asker: RequestPrincipal, path: str, scope: Scope) -> Response | None:
        """The answer to a request whose caller is no app with a token for this address."""
        access, base = asker.caller.access, self._deps.config.base_url
        if isinstance(asker.trouble, Unavailable):
            return self._answer(unavailable(asker.trouble))
        if asker.limited is not None:
            return self._answer(asker.limited)
        if access is not None and access.resource == base + path:
            return None
        headers = headers_of(scope)
        sent = "authorization" in headers or "x-service-user-key" in headers
        needs = "an access token of an app for this address"
        refused = Refused(refusal("unauthenticated", needs=needs, next=(HOW,)))
        return self._answer(refused, self._challenge("invalid_token" if sent else None, [READ]))

    def _forbidden(self, held: Iterable[str], missing: Iterable[str]) -> Response:
        """The step-up: every scope that is held and every one that is needed, in one challenge."""
        needed = sorted(set(missing))
        detail = {"scope": needed[0]}
        refused = Refused(refusal("insufficient_scope", scope=" ".join(needed), detail=detail))
        all_of_them = dict.fromkeys((*held, *needed))
        return self._answer(refused, self._challenge("insufficient_scope", all_of_them))

    def _challenge(self, error: str | None, scopes: Iterable[str]) -> str:
        base = self._deps.config.base_url
        parts = {"error": error, "resource_metadata": f"{base}{RESOURCE_METADATA}{CONNECT}"}
        parts |= {"scope": " ".join(scopes)}
        return "Bearer " + ", ".join(f'{n}="{v}"' for n, v in parts.items() if v)

    def _answer(self, refused: Refused, challenge: str | None = None) -> Response:
        reply = refused_reply(refused, self._deps.clock.now())
        headers = dict(reply.headers)
        if challenge is not None:
            headers["WWW-Authenticate"] = challenge
        return Response(
            encoded(reply.body), reply.status, headers, "application/json; charset=utf-8"
        )


def _called(body: bytes) -> frozenset[str]:
    """The tools that a message calls, as it says them itself; what is no message calls none, and is
    refused where it is read.
    """
    try:
        message = read(body.decode())
    except (Refused, ValueError):
        return frozenset()
    messages = message if isinstance(message, list) else [message]
    parts = [
        m.get("params")
        for m in messages[:BATCH_MAX]
        if isinstance(m, dict) and m.get("method") == CALL
    ]
    return frozenset(
        p["name"] for p in parts if isinstance(p, dict) and isinstance(p.get("name"), str)
    )
