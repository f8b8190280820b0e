"""Request principal of an MCP request, as identified at the HTTP door."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Scope

from http_shim.principal import STATE, RequestPrincipal, asker_of
from tools.model.operation import Deps


async def asker_in(deps: Deps, scope: Scope) -> RequestPrincipal:
    """The principal of a request: identified by the middleware, or where there was none, here."""
    state = scope.setdefault("state", {})
    if STATE not in state:
        client = scope.get("client")
        state[STATE] = await asker_of(
            deps, Headers(scope=scope), client[0] if client else None, on_mcp=True
        )
    principal: RequestPrincipal = state[STATE]
    return principal


def credential_of(scope: Scope) -> str | None:
    """The hash to which a request is bound; None for a stranger."""
    user = scope.get("user")
    return None if user is None else str(user.access_token.token)
