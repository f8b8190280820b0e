"""The whole application on the one port: routes, MCP and the screens."""

from __future__ import annotations

from aiohttp import web

from app import screens
from http_shim.application import build
from server.mcp_http import mcp_app
from server.mcp_server import WalletServer
from tools.call.operation import Deps
from tools.catalogue import OPERATIONS


def application(deps: Deps, server: WalletServer) -> web.Application:
    """Put it together; `server` is what answers MCP."""
    return build(
        deps,
        OPERATIONS,
        mcp=mcp_app(server, deps.config.base_url),
        screens=screens.routes(deps, OPERATIONS),
    )
