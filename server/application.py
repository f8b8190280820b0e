"""The whole application on the one port: routes, MCP and the screens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from aiohttp import web

from app import session_guard
from http_shim.application import build
from http_shim.asgi_bridge import Asgi
from http_shim.lazy_routes import LazyRoutes
from tools.model.operation import Deps, Operation
from tools.public import deposits, hall, markets

DEMO_ROUTE: Final = "/app/demo-wallet"
SCREENS: Final = "/app"
# What anybody reads is there at once; the other operations are loaded behind the first answers.
AT_ONCE: Final = (*hall.OPERATIONS, *markets.OPERATIONS, *deposits.OPERATIONS)


class PageWallet(Protocol):
    """A wallet that answers the pages of this service, for a visitor who has none."""

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one EIP-1193 request of a page."""
        ...


def application(deps: Deps, mcp: Asgi, demo: PageWallet | None = None) -> web.Application:
    """Put it together; `mcp` is what answers MCP, `demo` the wallet that a demo offers."""

    def pages(router: web.UrlDispatcher) -> None:
        from app import screens

        router.add_routes(screens.routes(deps, catalogue(), demo=demo is not None))
        if demo is not None:
            router.add_post(DEMO_ROUTE, demo.handle, name="screen.demo")

    cookie = partial(session_guard.token_of, base_url=deps.config.base_url)
    app = build(deps, AT_ONCE, catalogue=catalogue, mcp=mcp, cookie=cookie)
    app.router.register_resource(LazyRoutes(SCREENS, pages))
    return app


def catalogue() -> Sequence[Operation]:
    """Every operation; the first call loads them, in a fraction of a second."""
    from tools.catalogue import OPERATIONS

    return OPERATIONS
