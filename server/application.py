"""The whole application on the one port: routes, MCP and the screens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from aiohttp import web

from app import session_guard
from http_shim.application import build
from http_shim.asgi_bridge import Asgi
from server.lazy.lazy_screens import LazyScreens
from tools.catalogue import OPERATIONS
from tools.model.operation import Deps

DEMO_ROUTE: Final = "/app/demo-wallet"


class PageWallet(Protocol):
    """A wallet that answers the pages of this service, for a visitor who has none."""

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one EIP-1193 request of a page."""
        ...


def application(deps: Deps, mcp: Asgi, demo: PageWallet | None = None) -> web.Application:
    """Put it together; `mcp` is what answers MCP, `demo` the wallet that a demo offers."""

    def pages() -> Sequence[web.RouteDef]:
        from app import screens

        own = [] if demo is None else [web.post(DEMO_ROUTE, demo.handle, name="screen.demo")]
        return [*screens.routes(deps, OPERATIONS, demo=demo is not None), *own]

    cookie = partial(session_guard.token_of, base_url=deps.config.base_url)
    app = build(deps, OPERATIONS, mcp=mcp, cookie=cookie)
    app.router.register_resource(LazyScreens(pages))
    return app
