"""The screens' routes: each page behind the same gate, each refusal a page of its own."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlsplit

from aiohttp import web
from multidict import MultiDict

from app import assets, session_guard
from app.operations import OperationClient, OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.pages import (
    agents,
    books,
    drafting,
    mandates,
    notices,
    public,
    sending,
    session,
    signing,
    statements,
    trading,
    venue_account,
)
from app.views import arriving, sign_in
from app.views import refused as refused_view
from domain.refusals import Refused, refusal
from tools.context.snapshot_loader import PageVaultCache, one_read_per_vault
from tools.dispatch.run import refusal_of, refused_reply
from tools.model.operation import ANONYMOUS, Deps, Operation

log = logging.getLogger("wallet.screens")
VAULTS_KEPT_S: Final = 2
READING: Final = frozenset({"GET", "HEAD"})

_Answering = Callable[[web.Request], Awaitable[web.Response]]
PAGES: Final[tuple[PageRoute, ...]] = (
    *session.PAGES,
    *mandates.PAGES,
    *drafting.PAGES,
    *signing.PAGES,
    *sending.PAGES,
    *statements.PAGES,
    *agents.PAGES,
    *trading.PAGES,
    *books.PAGES,
    *venue_account.PAGES,
    *notices.PAGES,
    *public.PAGES,
)


def routes(
    deps: Deps, operations: Sequence[Operation], *, demo: bool = False
) -> list[web.RouteDef]:
    """The routes of the screens, each under a name.

    `demo`: pages offer a wallet that answers at `/app/demo-wallet`, which the caller has to serve.
    """
    operation_by_name = {op.name: op for op in operations}
    cache = PageVaultCache(deps.clock, VAULTS_KEPT_S)
    routes_found = [
        web.get("/app/static/{build}/{name:.+}", assets.serve, name="screen.static"),
        *(
            web.route(
                page.method,
                page.path,
                _handler(deps, operation_by_name, page, cache, demo=demo),
                name=f"screen.{page.method}.n{n}",
            )
            for n, page in enumerate(PAGES)
        ),
    ]
    # The trade door has the same prefix and its own not-found responses.
    lost = PageRoute(
        method="GET", path="/app/{tail:(?!trade(/|$)).*}", show=_no_such_page, owner=False
    )
    handle = _handler(deps, operation_by_name, lost, cache, demo=demo)
    return [
        *routes_found,
        web.route("*", session_guard.HOME, handle, name="screen.lost.home"),
        web.route("*", lost.path, handle, name="screen.lost"),
    ]


_PART: Final = re.compile(r"{\w+}")
_PATHS: Final = tuple((re.compile(_PART.sub("[^/]+", page.path)), page.method) for page in PAGES)


async def _no_such_page(visit: PageRequest) -> web.Response:
    """The response where no route matches: no such page, or no such method of it."""
    method, path = visit.request.method, visit.request.path
    allowed = {allowed for shape, allowed in _PATHS if shape.fullmatch(path)}
    if method in READING or not allowed:
        raise Refused(refusal("not_found", what="page"))
    refused = refusal("method_not_allowed", method=method)
    response = _refused(visit, refused.kind.status, refused.as_json(visit.caller.role))
    response.headers["Allow"] = ", ".join(
        sorted(allowed | (READING if "GET" in allowed else set()))
    )
    return response


def _handler(
    deps: Deps,
    operations: Mapping[str, Operation],
    page: PageRoute,
    cache: PageVaultCache,
    *,
    demo: bool,
) -> _Answering:
    async def handle(request: web.Request) -> web.Response:
        address = session_guard.where_from(deps, request)
        visit = PageRequest(
            request=request,
            deps=deps,
            caller=ANONYMOUS,
            token="",
            run=OperationClient(
                deps=deps, operations=operations, caller=ANONYMOUS, address=address
            ),
            now=deps.clock.now(),
            form=MultiDict(),
            demo=demo,
        )
        try:
            visit = await _with_caller(visit)
            return await _respond(page, visit, cache)
        except OperationRefused as stopped:
            return _refused(visit, stopped.status, stopped.block)
        except web.HTTPException:
            raise
        except Exception as error:
            refused = refusal_of(error)
            if refused is None:
                log.exception("screen %s failed", page.path)
                refused = Refused(refusal("internal"))
            reply = refused_reply(refused, visit.now, visit.caller.role)
            return _refused(visit, reply.status, reply.body, reply.headers)

    return handle


async def _with_caller(visit: PageRequest) -> PageRequest:
    """The visit with the caller of its session cookie."""
    caller, token = await session_guard.caller_of(visit.deps, visit.request, visit.run.address)
    return replace(visit, caller=caller, token=token, run=replace(visit.run, caller=caller))


async def _respond(page: PageRoute, visit: PageRequest, cache: PageVaultCache) -> web.Response:
    request, is_anonymous = visit.request, visit.caller is ANONYMOUS
    if page.method == "POST":
        session_guard.check_site(request, visit.deps.config.base_url)
        visit = replace(visit, form=await session_guard.form_of(request))
        if page.token and not is_anonymous:
            session_guard.check_token(visit.form, visit.token)
    elif (location := session_guard.starts_over_unasked(request)) is not None:
        return visit.go(location)
    elif (
        is_anonymous and request.method in READING and session_guard.arrives_from_elsewhere(request)
    ):
        return visit.show("arriving.html", arriving.ArrivingView())
    if page.owner and is_anonymous:
        return _to_sign_in(page, visit)
    if page.method == "POST":
        return await page.show(visit)
    # A page that refreshes itself sends the version it has.
    with one_read_per_vault(cache, use_cached="If-None-Match" in request.headers):
        return await page.show(visit)


def _to_sign_in(page: PageRoute, visit: PageRequest) -> web.Response:
    """Redirect to sign-in and back. A form sent without a session is dropped, and the page says
    so.
    """
    over = session_guard.cookie_name(visit.deps.config.base_url) in visit.request.cookies
    if page.method == "GET":
        next_page = quote(visit.request.path_qs, safe="/")
        ended = "&ended=1" if over else ""
        return visit.go(f"/app/sign-in?next={next_page}{ended}")
    back = session_guard.next_of(urlsplit(visit.request.headers.get("Referer", "")).path)
    view = sign_in.view(back, ended=True, sent=True, base_url=visit.deps.config.base_url)
    return visit.show("sign_in.html", view, status=401)


def _refused(
    visit: PageRequest,
    status: int,
    block: Mapping[str, object],
    extra: Mapping[str, str] | None = None,
) -> web.Response:
    view = refused_view.view(block, visit.request.match_info.get("id"))
    response = visit.show("refused.html", view, status=status)
    if extra and "Retry-After" in extra:
        response.headers["Retry-After"] = extra["Retry-After"]
    return response
