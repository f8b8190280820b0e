"""The whole application on the one port: routes, MCP and the screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import web

from app import screens
from http_shim.application import build
from http_shim.asgi_bridge import Asgi
from tools.call.operation import Deps
from tools.catalogue import OPERATIONS

if TYPE_CHECKING:
    from server.demo.wallet import DemoWallet

DEMO_ROUTE: Final = "/app/demo-wallet"


def application(deps: Deps, mcp: Asgi, demo: DemoWallet | None = None) -> web.Application:
    """Put it together; `mcp` is what answers MCP, `demo` the wallet that a demo offers."""
    pages = screens.routes(deps, OPERATIONS, demo=demo is not None)
    if demo is not None:
        pages.append(web.post(DEMO_ROUTE, demo.handle, name="screen.demo"))
    return build(
        deps,
        OPERATIONS,
        mcp=mcp,
        screens=pages,
    )
