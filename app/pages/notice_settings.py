"""Notice settings: what an owner is told, by which channel and when; the links of e-mails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from app import assets, headers
from app.components import asks, shown
from app.components import refusal as refusals
from app.language import language_of
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record
from app.words import notices
from app.words.text import _, use_language
from domain.refusals import Refused, refusal

HERE: Final = "/app/notices/settings"
CHANNELS: Final = ("push", "email", "webhook")
WORKER: Final = "/app/notices-worker.js"
MANIFEST: Final = "/app/manifest.webmanifest"
_PLACE: Final = b"WORDS={}"


async def show_settings(
    visit: PageRequest, refused: OperationRefused | None = None
) -> web.Response:
    """All choices on one page; after a refusal what was typed stays."""
    read = await visit.run("owner_notice_settings")
    # The forms of the channels are refused on this page too, and hold none of the choices.
    is_typed = "zone" in visit.form
    chosen = _typed(visit) if is_typed else read
    view = Record(
        read,
        shown=visit.form.get("shown", "") if is_typed else shown.marks(_values(read)),
        quiet=chosen["quiet"],
        kinds=tuple(
            Record(
                name=name,
                text=text,
                on=tuple(name in chosen[c] for c in CHANNELS),
            )
            for name, text in notices.KINDS.items()
        ),
        names=tuple(zip(CHANNELS, (_("Browsers"), _("E-mail"), _("Webhooks")), strict=True)),
        queued=visit.query("queued"),
        address=(visit.field("address") or "") if refused else "",
        problem=refusals.view(refused and refused.block),
    )
    return visit.show("notice_settings.html", view, refused=refused, registers=True)


def _typed(visit: PageRequest) -> Record:
    """The choices of the form."""
    kinds = {c: tuple(map(str, visit.form.getall(c, []))) for c in CHANNELS}
    quiet: Record | None = None
    if visit.field("quiet"):
        hours = {name: visit.field(name) or "" for name in ("zone", "begins", "ends")}
        quiet = Record(hours, approvals_break_through=visit.field("through") is not None)
    return Record(kinds, quiet=quiet)


def _values(choices: Json) -> dict[str, str]:
    """Each choice as a text; the quiet hours are one."""
    values = {f"{c}:{kind}": str(kind in choices[c]) for c in CHANNELS for kind in notices.KINDS}
    hours = choices["quiet"] or {}
    return values | {"quiet": " ".join(f"{name}:{hours[name]}" for name in sorted(hours))}


async def save(visit: PageRequest) -> web.Response:
    """Store the choices that were changed in the form; the others stay as they are stored."""
    read, typed = await visit.run("owner_notice_settings"), _typed(visit)
    kept = shown.untouched(_values(typed), visit.form.get("shown", ""))

    def chosen(channel: str) -> list[str]:
        return [
            k for k in notices.KINDS if k in (read if f"{channel}:{k}" in kept else typed)[channel]
        ]

    kinds = {channel: chosen(channel) for channel in CHANNELS}
    quiet = (read if "quiet" in kept else typed)["quiet"]
    await visit.run("owner_notice_settings_put", **kinds, quiet=quiet)
    return visit.go(HERE)


async def add_browser(visit: PageRequest) -> web.Response:
    """Tell the browser whose subscription the form brings."""
    names = ("endpoint", "p256dh", "auth")
    await visit.run("owner_push_subscribe", **{n: visit.field(n) or "" for n in names})
    return visit.go(HERE)


async def remove_browser(visit: PageRequest) -> web.Response:
    """Tell a browser no more."""
    await visit.run("owner_push_remove", subscription_id=visit.path_part("browser"))
    return visit.go(HERE)


async def ask_email(visit: PageRequest) -> web.Response:
    """Send a link to the address that was typed, in the language of the page."""
    language = language_of(visit.request)
    await visit.run("owner_email_ask", address=visit.field("address") or "", language=language)
    return visit.go(HERE)


async def remove_email(visit: PageRequest) -> web.Response:
    """Tell no mailbox any more."""
    await visit.run("owner_email_remove")
    return visit.go(HERE)


async def send_test(visit: PageRequest) -> web.Response:
    """Send a test to each place of a channel."""
    tested = await visit.run("owner_notice_test", channel=visit.field("channel") or "")
    return visit.go(f"{HERE}?queued={tested['queued']}")


# -- the links of e-mails: opened by a look, carried out by a press, for mail servers look too


async def show_verify(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    """The page that a link of an address leads to: what it confirms, or has confirmed."""
    link = None
    try:
        link = await visit.run("owner_email_verify", code=visit.path_part("code"), dry_run=True)
    except OperationRefused as without:
        if without.code != "not_found":
            raise
    # Why a link confirms nothing, the page says itself.
    problem = None if link is None else refusals.view(refused and refused.block)
    view = Record(link=link, stop=False, done=False, problem=problem)
    return visit.show("notice_link.html", view, refused=refused)


async def verify(visit: PageRequest) -> web.Response:
    """The owner confirms an address."""
    await visit.run("owner_email_verify", code=visit.path_part("code"))
    return visit.go(HERE)


async def show_stop(
    visit: PageRequest, refused: OperationRefused | None = None, *, done: bool = False
) -> web.Response:
    """The page that ends e-mails, for a reader who need not sign in."""
    view = Record(link=None, stop=True, done=done, problem=refusals.view(refused and refused.block))
    return visit.show("notice_link.html", view, refused=refused)


async def stop(visit: PageRequest) -> web.Response:
    """End e-mails to the address that the link was sent to."""
    parts = {"receiver_id": visit.path_part("receiver"), "code": visit.path_part("code")}
    await visit.run("email_stop", **parts)
    return await show_stop(visit, done=True)


async def show_item(visit: PageRequest) -> web.Response:
    """The short address of a held action leads to its page."""
    approval_id = visit.path_part("approval")
    items = (await visit.run("owner_approvals", approval_id=approval_id))["items"]
    if not items:
        raise Refused(refusal("not_found", what="action"))
    return visit.go(asks.page_of(items[0]))


# -- what the browser itself fetches


async def serve_worker(request: web.Request) -> web.Response:
    """The worker of notices, with the words of the reader's language."""
    use_language(language_of(request))
    words = {kind: notices.letter_subject(kind) + "." for kind in notices.MESSAGES}
    words |= {"title": str(notices.SENDER), "other": str(notices.OTHER)}
    source = assets.FILES["js/worker.js"]
    body = source.replace(_PLACE, b"WORDS=" + json.dumps(words).encode(), 1)
    return _answer(body, "text/javascript")


async def serve_manifest(request: web.Request) -> web.Response:
    """The manifest, by which a phone puts the pages on its home screen."""
    use_language(language_of(request))
    icons = [
        {"src": assets.url("mark.svg"), "sizes": "any", "type": "image/svg+xml"},
        *(_icon(f"icon-{size}.png", size) for size in (192, 512)),
    ]
    manifest: Mapping[str, object] = {
        "id": "/app",
        "name": str(notices.SENDER),
        "short_name": str(notices.SENDER),
        "start_url": "/app",
        "scope": "/app",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#0b6a5d",
        "icons": icons,
    }
    return _answer(json.dumps(manifest).encode(), "application/manifest+json")


def _icon(name: str, size: int) -> dict[str, str]:
    return {
        "src": assets.url(name),
        "sizes": f"{size}x{size}",
        "type": "image/png",
        "purpose": "any maskable",
    }


def _answer(body: bytes, content_type: str) -> web.Response:
    own = {**headers.STATIC, "Cache-Control": "no-cache", "Vary": "Accept-Language, Cookie"}
    return web.Response(body=body, content_type=content_type, charset="utf-8", headers=own)


STOP: Final = "/app/notices/stop/{receiver}/{code}"
VERIFY: Final = "/app/notices/email/{code}"
PAGES: Final = (
    PageRoute("GET", HERE, show_settings),
    PageRoute("POST", HERE, save, refused=show_settings),
    PageRoute("POST", f"{HERE}/push", add_browser, refused=show_settings),
    PageRoute("POST", f"{HERE}/push/{{browser}}", remove_browser),
    PageRoute("POST", f"{HERE}/email", ask_email, refused=show_settings),
    PageRoute("POST", f"{HERE}/email/remove", remove_email),
    PageRoute("POST", f"{HERE}/test", send_test),
    PageRoute("GET", VERIFY, show_verify),
    PageRoute("POST", VERIFY, verify, refused=show_verify),
    PageRoute("GET", STOP, show_stop, owner=False),
    PageRoute("POST", STOP, stop, refused=show_stop, owner=False, token=False),
    PageRoute("GET", "/app/approvals/{approval}", show_item),
)
