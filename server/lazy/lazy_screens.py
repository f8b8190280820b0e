"""The screens of a process with other doors: loaded in a thread, by the first request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

import anyio
from aiohttp import web

PREFIX: Final = "/app"


class LazyScreens(web.AbstractResource):
    """The pages under /app that are no operation: each is routed by a router of their own, so that
    it is counted and logged under its own path.
    """

    def __init__(self, make: Callable[[], Sequence[web.RouteDef]]):
        super().__init__(name="screens")
        self._make = make
        self._router: web.UrlDispatcher | None = None

    async def resolve(self, request: web.Request) -> Any:
        """The page behind a request and the methods it has; None where there is no page."""
        match = await (self._router or await self._loaded()).resolve(request)
        if isinstance(match.http_exception, web.HTTPMethodNotAllowed):
            return None, match.http_exception.allowed_methods
        return (None if match.http_exception else match), set()

    async def _loaded(self) -> web.UrlDispatcher:
        router = web.UrlDispatcher()
        router.add_routes(await anyio.to_thread.run_sync(self._make))
        # Two may have loaded them at once; what pages keep among themselves is in one of them.
        self._router = self._router or router
        return self._router

    @property
    def canonical(self) -> str:
        """The path that all of them begin with."""
        return PREFIX

    def get_info(self) -> Any:
        """The router's description of the resource."""
        return {"prefix": PREFIX, "routes": None}

    def raw_match(self, path: str) -> bool:
        """No further route joins this one."""
        return False

    def url_for(self, **kwargs: str) -> NoReturn:
        """Pages have no addresses by name. Errors: RuntimeError, as of a sub-application's root."""
        raise RuntimeError("the screens have no addresses by name")

    def add_prefix(self, prefix: str) -> NoReturn:
        """They stand nowhere else. Errors: RuntimeError."""
        raise RuntimeError("the screens stand under /app alone")

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter(())
