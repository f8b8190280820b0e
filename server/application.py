"""The whole application on the one port: routes, MCP and the screens."""

from __future__ import annotations

from aiohttp import web

from app import screens
from http_shim.application import build
from http_shim.asgi_bridge import Asgi
from tools.call.operation import Deps
from tools.catalogue import OPERATIONS


def application(deps: Deps, mcp: Asgi) -> web.Application:
    """Put it together; `mcp` is what answers MCP."""
    return build(
        deps,
        OPERATIONS,
        mcp=mcp,
        screens=screens.routes(deps, OPERATIONS),
    )
