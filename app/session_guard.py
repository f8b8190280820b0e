"""Session guard: the session cookie, and the protection against forged writes."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp import web
from multidict import MultiDict
from yarl import URL

from domain.refusals import Refused, invalid, refusal
from tools.dispatch.rate_charging import WRONG_CREDENTIAL, charge_stranger, counted_address
from tools.model.operation import ANONYMOUS, Caller, Deps
from tools.sign_in import caller_of_credential

COOKIE: Final = "__Host-Http-wallet"
LOCAL_COOKIE: Final = "wallet"
COOKIE_S: Final = 604_800
FORM_MAX: Final = 64 * 1024
FORM_S: Final = 20
FIELDS_MAX: Final = 300
NEXT_MAX: Final = 1_100  # a request of an app to connect is the longest address
HOME: Final = "/app"
AGAIN: Final = "again"
NOT_FROM_HERE: Final = "this form was not sent from this site"
OUT_OF_DATE: Final = "this page belongs to another sign-in; open it again and repeat what you did"


def is_secure(base_url: str) -> bool:
    """False where the service stands on plain http, as it may on this machine only."""
    return base_url.startswith("https://")


def cookie_name(base_url: str) -> str:
    """The cookie's name; Safari takes no prefixed one over plain http."""
    return COOKIE if is_secure(base_url) else LOCAL_COOKIE


def token_of(request: web.Request, base_url: str) -> str:
    """The session's token that a request brings in its cookie, "" without one."""
    return request.cookies.get(cookie_name(base_url), "")


def keep(response: web.Response, base_url: str, token: str) -> None:
    """Put the session into the cookie: for screens only, out of reach of any script."""
    response.set_cookie(
        cookie_name(base_url),
        token,
        path="/",
        secure=is_secure(base_url),
        httponly=True,
        samesite="Strict",
        max_age=COOKIE_S,
    )


def forget(response: web.Response, base_url: str) -> None:
    """Take the cookie back."""
    response.del_cookie(
        cookie_name(base_url),
        path="/",
        secure=is_secure(base_url),
        httponly=True,
        samesite="Strict",
    )


def form_token(token: str) -> str:
    """The CSRF token of a session's forms; it does not reveal the session token."""
    digest = hashlib.sha256(b"csrf:" + token.encode()).digest()
    return urlsafe_b64encode(digest).decode()[:32]


def where_from(deps: Deps, request: web.Request) -> str | None:
    """The network address that a request counts for."""
    peer = request.transport.get_extra_info("peername") if request.transport else None
    forwarded = request.headers.getall("X-Forwarded-For", [])
    return counted_address(deps, peer[0] if peer else None, forwarded)


async def caller_of(deps: Deps, request: web.Request, address: str | None) -> tuple[Caller, str]:
    """(the owner of the session cookie, its token); anonymous and "" where there is none, or it is
    over. A Bearer is never looked at.

    Errors: `rate_limited` after too many cookies that are none.
    """
    token = token_of(request, deps.config.base_url)
    if not token:
        return ANONYMOUS, ""
    try:
        caller = await caller_of_credential(deps, "bearer", token)
    except Refused as refused:
        if refused.code != "unauthenticated":
            raise
        charge_stranger(deps, address, cost=WRONG_CREDENTIAL)
        return ANONYMOUS, ""
    return (caller, token) if caller.role == "owner" else (ANONYMOUS, "")


def arrives_from_elsewhere(request: web.Request) -> bool:
    """True where a link on another site led here: a Strict cookie did not come along, and says
    nothing yet by its absence."""
    return request.headers.get("Sec-Fetch-Site") == "cross-site"


def starts_over_unasked(request: web.Request) -> str | None:
    """The page's address without `again`, where no page of ours led to it: what was handed to a
    wallet is forgotten by who was told on a page of ours when that is safe, and by no link.
    """
    if AGAIN not in request.query or request.headers.get("Sec-Fetch-Site") in (None, "same-origin"):
        return None
    return str(request.rel_url.without_query_params(AGAIN))


def own_site(headers: Mapping[str, str], base_url: str) -> bool:
    """True where a write was sent by a page of ours: by fetch metadata, or where a browser has
    none, by its Origin."""
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    parts = urlsplit(base_url)
    return headers.get("Origin") == f"{parts.scheme}://{parts.netloc}"


def check_site(request: web.Request, base_url: str) -> None:
    """Errors: `forbidden` for a write that no page of ours sent."""
    if not own_site(request.headers, base_url):
        raise Refused(refusal("forbidden", why=NOT_FROM_HERE))


def check_token(form: MultiDict[str], token: str) -> None:
    """Errors: `forbidden` for a form that was made for another session."""
    if not hmac.compare_digest(form.get("csrf", "").encode(), form_token(token).encode()):
        raise Refused(refusal("forbidden", why=OUT_OF_DATE))


async def form_of(request: web.Request) -> MultiDict[str]:
    """The fields of a form, line ends as they were typed.

    Errors: `body_too_large` above 64 KiB, `invalid_request` for what is no form.
    """
    if request.content_type != "application/x-www-form-urlencoded":
        raise invalid("content-type", "application/x-www-form-urlencoded is needed")
    if (request.content_length or 0) > FORM_MAX:
        raise Refused(refusal("body_too_large", limit=FORM_MAX))
    try:
        async with asyncio.timeout(FORM_S):
            raw = await request.read()
    except TimeoutError:
        raise invalid("body", "it does not arrive as it was announced") from None
    if len(raw) > FORM_MAX:
        raise Refused(refusal("body_too_large", limit=FORM_MAX))
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX
        )
    except ValueError:
        raise invalid("body", "it is no form") from None
    return MultiDict((name, value.replace("\r\n", "\n")) for name, value in pairs)


def next_of(path: str) -> str:
    """The page to open after signing in: always one of this site, whatever a link says, and never
    one that starts signing in over.
    """
    inside = path == HOME or path.startswith((HOME + "/", HOME + "?"))
    steps = unquote(path.partition("?")[0]).split("/")
    odd = "//" in path or "\\" in path or not path.isascii() or not path.isprintable()
    odd = odd or not {".", ".."}.isdisjoint(steps)  # a browser climbs out of the pages by them
    if not inside or odd or len(path) > NEXT_MAX:
        return HOME
    return str(URL(path).without_query_params(AGAIN)) if AGAIN in path else path
