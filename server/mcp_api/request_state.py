"""Request state of MCP: what a client carries back is sealed by the service's key ring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp.server import ServerRequestContext
from mcp.server.request_state import InvalidRequestState, RequestStateBoundary, RequestStateSecurity

from http_shim.principal import STATE
from tools.model.sealing import KeyRing, SealBroken

if TYPE_CHECKING:
    from starlette.requests import Request

_PURPOSE: Final = "mcp request state"


class SealedState:
    """The SDK's codec over the key ring, so that every process opens what another one sealed."""

    def __init__(self, ring: KeyRing):
        self._ring = ring

    def seal(self, payload: bytes) -> str:
        """The token that the client is given."""
        return self._ring.seal(_PURPOSE, payload)

    def unseal(self, token: str) -> bytes:
        """The payload of a token. Errors: InvalidRequestState."""
        try:
            return self._ring.open(_PURPOSE, token)
        except SealBroken as broken:
            raise InvalidRequestState(str(broken)) from broken


def request_state_boundary(ring: KeyRing, audience: str) -> RequestStateBoundary:
    """The middleware that seals and opens; a state is bound to its caller, tool and arguments."""
    security = RequestStateSecurity(codec=SealedState(ring), bind_principal=_caller_id)
    return RequestStateBoundary(security, default_audience=audience)


def _caller_id(ctx: ServerRequestContext[object, Request]) -> str | None:
    """The user that the HTTP door identified; over stdio there is one user and none to tell apart.

    The user and not the key, so that a key or token may be renewed meanwhile.
    """
    if ctx.request is None:
        return None
    principal = ctx.request.scope.get("state", {}).get(STATE)
    return None if principal is None else principal.caller.user_id
