"""Routes that are made when a request needs them: loaded in a thread, by the first one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import anyio
from aiohttp import web

# Every path: the router comes to it where nothing longer matches.
REST: Final = "/"


class LazyRoutes(web.AbstractResource):
    """Routes below a prefix, which `fill` adds to a router of their own: each request is counted
    and logged under its own path.
    """

    def __init__(self, prefix: str, fill: Callable[[web.UrlDispatcher], None]):
        super().__init__()
        self._prefix, self._fill = prefix, fill
        self._router: web.UrlDispatcher | None = None
        self._loading = anyio.Lock()

    async def resolve(self, request: web.Request) -> Any:
        """The route behind a request, None where there is none, and the methods of its path."""
        match = await (self._router or await self.load()).resolve(request)
        if isinstance(match.http_exception, web.HTTPMethodNotAllowed):
            return None, match.http_exception.allowed_methods
        return (None if match.http_exception else match), set()

    async def load(self) -> web.UrlDispatcher:
        """The router of the routes, made by the first call."""
        # Of those that come first one loads them, and the others wait for it.
        async with self._loading:
            if self._router is None:
                router = web.UrlDispatcher()
                await anyio.to_thread.run_sync(self._fill, router)
                self._router = router
            return self._router

    @property
    def canonical(self) -> str:
        """The path that all of them begin with."""
        return self._prefix

    def get_info(self) -> Any:
        """The router's description of the resource."""
        return {"prefix": self._prefix, "routes": None}

    def raw_match(self, path: str) -> bool:
        """No further route joins this one."""
        return False

    def url_for(self, **kwargs: str) -> NoReturn:
        """They have no addresses by name. Errors: RuntimeError, as of a sub-application's root."""
        raise RuntimeError("lazy routes have no addresses by name")

    def add_prefix(self, prefix: str) -> NoReturn:
        """They stand nowhere else. Errors: RuntimeError."""
        raise RuntimeError("lazy routes stand under their own prefix alone")

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter(())
