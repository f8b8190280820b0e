"""Session pages: the front page, sign-in, sign-out."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from app import page_context, session_guard
from app.components import refusal
from app.language import came_from, keep_language
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages import mandates
from app.pages.phone import LOOPBACK, START, address_of
from app.replies import Record
from app.words import money
from app.words.text import LANGUAGES
from app.words.wallet_apps import openings
from domain.refusals import invalid
from tools.dispatch.run import door_is_open
from tools.model.operation import ANONYMOUS

TEXT: Final = """\
Delegated-spending wallet

A person gives an AI agent a bounded USDC budget and signs the terms once (EIP-712): so much per
action, so much per day, down to a stop line, only at these places, until this date. A vault
contract on chain holds the agent to them. The owner can pause, stop and leave at any time with
their own wallet. This service keeps the record; it holds no funds and no keys.

Owners
  Start here, in a browser: {base}/app
  What agents have done so far: {base}/app/hall

Agents
  {skill}
  Tools over MCP: {base}/mcp (streamable HTTP), {base}/sse, or `wallet mcp` on stdio
  Routes: {base}/openapi.json
  Your key travels in the header X-Service-User-Key; your owner gives it to you.
  No terms are yours until your owner has signed them and you have accepted them.

Measured so far (as of {as_of})
  agents {agents}, mandates working {mandates}, USDC at work {usdc}, actions recorded {actions}
"""
OPEN: Final = "Read how an agent starts, acts and recovers: {base}/wallet/skill.md"
SHUT: Final = "The door for new agents is shut here at present; the operator opens it."


async def home(visit: PageRequest) -> web.Response:
    """The owner's mandates; for visitors the front page, as text where no page is asked for."""
    accepted = visit.request.headers.get("Accept", "")
    if "text/plain" in accepted and "text/html" not in accepted:
        return await front_text(visit)
    if visit.caller is not ANONYMOUS:
        return await mandates.show_mandates(visit)
    return visit.show("front.html", await visit.run("hall_proof"))


async def choose_language(visit: PageRequest) -> web.Response:
    """Keep the language that the reader chose, and show the page again; what comes with it out of a
    form of terms is sent on to that page (307).
    """
    chosen = visit.field("language") or ""
    if chosen not in LANGUAGES:
        raise invalid("language", f"one of {', '.join(LANGUAGES)}")
    page = session_guard.next_of(came_from(visit.request))
    response = visit.go(page)
    if "terms" in visit.form and page.startswith(START):
        response.set_status(307)
    keep_language(response, chosen)
    return response


async def front_text(visit: PageRequest) -> web.Response:
    """The front page as plain text, with the steps for an agent where the bot door is open."""
    proof, base = await visit.run("hall_proof"), visit.deps.config.base_url
    usdc = proof["usdc_working"]
    plain = TEXT.format(
        base=base,
        skill=OPEN.format(base=base) if await door_is_open(visit.deps) else SHUT,
        as_of=proof["as_of"],
        agents=proof["agents"],
        mandates=proof["mandates_working"],
        usdc="not known yet" if usdc is None else money.sentence_amount(usdc),
        actions=proof["actions_recorded"],
    )
    return page_context.text(plain, "text/plain")


def show_signing_in(
    visit: PageRequest,
    next_page: str,
    refused: OperationRefused | None = None,
    *,
    ended: bool = False,
    sent: bool = False,
) -> web.Response:
    """The sign-in page. `ended`: a session was there and is over; `sent`: a form came without one,
    which is a 401; `refused`: what became of the last attempt.
    """
    base_url = visit.deps.config.base_url
    local = urlsplit(base_url).hostname in LOOPBACK
    view = Record(
        next=next_page,
        wallets=tuple(openings(address_of(visit, next_page))),
        ended=ended,
        sent=sent,
        unsafe=not (session_guard.is_secure(base_url) or local),
        problem=refusal.view(refused and refused.block),
    )
    return visit.show("sign_in.html", view, status=401 if sent else 200, refused=refused)


async def show_sign_in(visit: PageRequest) -> web.Response:
    """Choose a wallet and sign the service's text."""
    next_page = session_guard.next_of(visit.query("next") or session_guard.HOME)
    return show_signing_in(visit, next_page, ended=visit.query("ended") is not None)


async def open_session(visit: PageRequest) -> web.Response:
    """Take the signed text, put the session into the cookie, and go on."""
    next_page = session_guard.next_of(visit.form.get("next", ""))
    message, signature = visit.form.get("message", ""), visit.field("signature") or ""
    try:
        session = await visit.run("auth_session_open", message=message, signature=signature)
    except OperationRefused as refused:
        return show_signing_in(visit, next_page, refused)
    response = visit.go(next_page)
    session_guard.keep(response, visit.deps.config.base_url, session["token"])
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
    PageRoute("GET", "/app", home, owner=False),
    PageRoute("GET", "/app/front.txt", front_text, owner=False),
    PageRoute("GET", "/app/sign-in", show_sign_in, owner=False),
    PageRoute("POST", "/app/session", open_session, owner=False, token=False),
    PageRoute("POST", "/app/sign-out", sign_out, owner=False),
    PageRoute("POST", "/app/language", choose_language, owner=False),
)
