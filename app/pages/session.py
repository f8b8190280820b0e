"""Session pages: the front page, sign-in, sign-out."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app import page_context, session_guard
from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.pages import mandates
from app.views import front, sign_in
from tools.dispatch.run import door_is_open
from tools.model.operation import ANONYMOUS


async def home(visit: PageRequest) -> web.Response:
    """The owner's mandates; for visitors the front page."""
    if _reads_text(visit.request):
        return await front_text(visit)
    if visit.caller is not ANONYMOUS:
        return await mandates.show_mandates(visit)
    return visit.show("front.html", await visit.run("hall_proof"))


def _reads_text(request: web.Request) -> bool:
    """True for a client that asks for text and for no page."""
    accepted = request.headers.get("Accept", "")
    return "text/plain" in accepted and "text/html" not in accepted


async def front_text(visit: PageRequest) -> web.Response:
    """The front page as plain text."""
    view, door = await visit.run("hall_proof"), await door_is_open(visit.deps)
    return page_context.text(front.plain(view, visit.deps.config.base_url, door=door), "text/plain")


async def show_sign_in(visit: PageRequest) -> web.Response:
    """Choose a wallet and sign the service's text."""
    view = sign_in.view(
        session_guard.next_of(visit.query("next") or session_guard.HOME),
        ended=visit.query("ended") is not None,
        base_url=visit.deps.config.base_url,
    )
    return visit.show("sign_in.html", view)


async def open_session(visit: PageRequest) -> web.Response:
    """Take the signed text, put the session into the cookie, and go on."""
    next_page, base_url = (
        session_guard.next_of(visit.form.get("next", "")),
        visit.deps.config.base_url,
    )
    message, signature = visit.form.get("message", ""), visit.field("signature") or ""
    try:
        session = await visit.run("auth_session_open", message=message, signature=signature)
    except OperationRefused as refused:
        view = sign_in.view(next_page, ended=False, base_url=base_url, block=refused.block)
        return visit.show("sign_in.html", view, status=refused.status)
    response = visit.go(next_page)
    session_guard.keep(response, base_url, session["token"])
    return response


async def sign_out(visit: PageRequest) -> web.Response:
    """End the session at once; what the browser kept goes with it."""
    if visit.caller is not ANONYMOUS:
        await visit.run("auth_session_end")
    response = visit.go(session_guard.HOME)
    session_guard.forget(response, visit.deps.config.base_url)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


PAGES: Final = (
    PageRoute(method="GET", path="/app", show=home, owner=False),
    PageRoute(method="GET", path="/app/front.txt", show=front_text, owner=False),
    PageRoute(method="GET", path="/app/sign-in", show=show_sign_in, owner=False),
    PageRoute(method="POST", path="/app/session", show=open_session, owner=False, token=False),
    PageRoute(method="POST", path="/app/sign-out", show=sign_out, owner=False),
)
