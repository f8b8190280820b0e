"""The screens' routes: each page behind the same gate, each refusal a page of its own."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import quote

from aiohttp import web
from multidict import MultiDict

from app import assets, session_guard
from app.components import refusal as refusals
from app.language import came_from, language_of
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages import (
    acting,
    agents,
    approval,
    books,
    connect,
    drafting,
    exports,
    funding,
    mandate,
    mandates,
    notice_settings,
    notices,
    order,
    orders,
    phone,
    public,
    session,
    signing,
    statements,
    transactions,
    venue_account,
    way_out,
)
from app.replies import Record
from app.words.text import use_language
from domain.refusals import Refused, refusal
from tools.context.snapshot_loader import PageVaultCache, one_read_per_vault
from tools.dispatch.run import refusal_of, refused_reply
from tools.model.operation import ANONYMOUS, Deps, Operation

log = logging.getLogger("wallet.screens")
VAULTS_KEPT_S: Final = 2
READING: Final = frozenset({"GET", "HEAD"})

PAGES: Final[tuple[PageRoute, ...]] = (
    *session.PAGES,
    *phone.PAGES,
    *mandates.PAGES,
    *mandate.PAGES,
    *approval.PAGES,
    *drafting.PAGES,
    *signing.PAGES,
    *funding.PAGES,
    *acting.PAGES,
    *way_out.PAGES,
    *transactions.PAGES,
    *statements.PAGES,
    *exports.PAGES,
    *agents.PAGES,
    *connect.PAGES,
    *orders.PAGES,
    *order.PAGES,
    *books.PAGES,
    *venue_account.PAGES,
    *notice_settings.PAGES,
    *notices.PAGES,
    *public.PAGES,
)
_OPENED: Final = frozenset(page.path for page in PAGES if page.method == "GET")


def page_above(path: str) -> str:
    """The page on which the answer to a form stands, by its shape: a form may have an address of
    its own below it.
    """
    while path not in _OPENED:
        path = path.rpartition("/")[0]
    return path


async def _open_page_above(shape: str, visit: PageRequest) -> web.Response:
    """Open the answer to a form again: by a reload, after signing in, in another language, on a
    phone.
    """
    parts = visit.request.rel_url.raw_path.split("/")
    return visit.go("/".join(parts[: shape.count("/") + 1]))


_FORMS: Final = tuple(
    PageRoute("GET", page.path, partial(_open_page_above, page_above(page.path)), owner=False)
    for page in PAGES
    if page.path not in _OPENED
)


def routes(
    deps: Deps, operations: Sequence[Operation], *, demo: bool = False
) -> list[web.RouteDef]:
    """The routes of the screens, each under a name.

    `demo`: pages offer a wallet that answers at `/app/demo-wallet`, which the caller has to serve.
    """
    by_name = {op.name: op for op in operations}
    answer = partial(_answer, deps, by_name, PageVaultCache(deps.clock, VAULTS_KEPT_S), demo)
    # The trade door has the same prefix and its own not-found responses.
    lost = PageRoute("GET", "/app/{tail:(?!trade(/|$)).*}", _no_such_page, owner=False)
    return [
        web.get("/app/static/{build}/{name:.+}", assets.serve, name="screen.static"),
        web.get(notice_settings.WORKER, notice_settings.serve_worker, name="screen.worker"),
        web.get(notice_settings.MANIFEST, notice_settings.serve_manifest, name="screen.manifest"),
        *(
            web.route(p.method, p.path, partial(answer, p), name=f"screen.{p.method}.n{n}")
            for n, p in enumerate((*_FORMS, *PAGES))
        ),
        web.route("*", session_guard.HOME, partial(answer, lost), name="screen.lost.home"),
        web.route("*", lost.path, partial(answer, lost), name="screen.lost"),
    ]


_PART: Final = re.compile(r"{\w+}")
_PATHS: Final = tuple((re.compile(_PART.sub("[^/]+", page.path)), page.method) for page in PAGES)


async def _no_such_page(visit: PageRequest) -> web.Response:
    """The response where no route matches: no such page, or no such method of it."""
    method, path = visit.request.method, visit.request.path
    allowed: set[str] = {allowed for shape, allowed in _PATHS if shape.fullmatch(path)}
    if method in READING or not allowed:
        raise Refused(refusal("not_found", what="page"))
    refused = refusal("method_not_allowed", method=method)
    response = _refused(visit, refused.kind.status, refused.as_json(visit.caller.role))
    if "GET" in allowed:
        allowed |= READING
    response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


async def _answer(
    deps: Deps,
    operations: Mapping[str, Operation],
    cache: PageVaultCache,
    demo: bool,
    page: PageRoute,
    request: web.Request,
) -> web.StreamResponse:
    use_language(language_of(request))
    visit = PageRequest(
        request=request,
        deps=deps,
        operations=operations,
        caller=ANONYMOUS,
        token="",
        address=session_guard.where_from(deps, request),
        now=deps.clock.now(),
        form=MultiDict(),
        demo=demo,
    )
    try:
        caller, token = await session_guard.caller_of(deps, request, visit.address)
        visit = replace(visit, caller=caller, token=token)
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
        response = _refused(visit, reply.status, reply.body)
        if "Retry-After" in reply.headers:
            response.headers["Retry-After"] = reply.headers["Retry-After"]
        return response


async def _respond(
    page: PageRoute, visit: PageRequest, cache: PageVaultCache
) -> web.StreamResponse:
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
        # It loads itself again, so that the session cookie is sent: the owner is not known yet.
        return visit.show("arriving.html", None)
    if page.owner and is_anonymous:
        return _to_sign_in(page, visit)
    if page.method == "POST":
        try:
            return await page.show(visit)
        except OperationRefused as refused:
            if page.refused is None:
                raise
            return await page.refused(visit, refused)
    # A page that refreshes itself sends the version it has.
    with one_read_per_vault(cache, use_cached="If-None-Match" in request.headers):
        return await page.show(visit)


def _to_sign_in(page: PageRoute, visit: PageRequest) -> web.Response:
    """Redirect to sign-in and back. A form sent without a session is dropped, and the page says
    so.
    """
    if page.method == "GET":
        next_page = quote(visit.request.path_qs, safe="/")
        over = session_guard.cookie_name(visit.deps.config.base_url) in visit.request.cookies
        ended = "&ended=1" if over else ""
        return visit.go(f"/app/sign-in?next={next_page}{ended}")
    back = session_guard.next_of(came_from(visit.request))
    return session.show_signing_in(visit, back, ended=True, sent=True)


def _refused(visit: PageRequest, status: int, block: Mapping[str, object]) -> web.Response:
    """A refusal as a page, with the way back to the form that was not taken, or to the mandate that
    it is about.
    """
    public_id = visit.request.match_info.get("id")
    is_found = block["error"] != "not_found" and public_id is not None
    back = f"/app/mandates/{public_id}" if is_found else "/app"
    lost = visit.request.method == "POST"
    if lost:
        back = session_guard.next_of(came_from(visit.request) or back)
    view = Record(refusal=refusals.view(block, public_id), back=back, lost=lost)
    return visit.show("refused.html", view, status=status)
