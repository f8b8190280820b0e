"""Page routes: the path of a page, and the callers that may see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from app.page_context import PageRequest

Handler = Callable[[PageRequest], Awaitable[web.Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRoute:
    """A route of the screens.

    `owner`: without a session it leads to sign-in and back. `token`: a form that is sent within a
    session has to be made for it.
    """

    method: Literal["GET", "POST"]
    path: str
    show: Handler
    owner: bool = True
    token: bool = True
