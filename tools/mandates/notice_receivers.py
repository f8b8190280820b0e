"""Browsers and the mailbox of an owner: how each becomes a place where notices go, and ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Final, Literal

from pydantic import Field

from domain.mandates.notice_choices import (
    VERIFY,
    Channel,
)
from domain.next_steps import OWNER, NextStep
from domain.refusals import Refused, invalid, refusal
from domain.times import Timestamp
from storage.repositories.webhooks import Webhook
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.context.notice_outbox import LINK_LASTS, STOP_LINK, VERIFY_LINK, enqueue_message
from tools.model.fields import Nothing
from tools.model.mail_address import is_email_address
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.url_policy import check_webhook_url
from tools.model.web_push import BrowserKeys, WebPush, bytes_of
from tools.model.webhook_signing import WebhookSigning

BROWSERS_MOST: Final = 10
# Links a day: they go to addresses that nobody has shown to be the owner's.
OWNER_LINKS: Final = 5
ADDRESS_LINKS: Final = 3
UNFUNDED_LINKS: Final = 200

LinkCode = Annotated[
    str,
    Field(
        max_length=64, description="the last part of the link", examples=["kX3vQm0c1u8wB7yZ5tN2pA"]
    ),
]


class BrowserIn(RequestModel):
    """A push subscription, as a browser gives it."""

    endpoint: str = Field(
        max_length=500,
        description="https, port 443 or 8443, on the public internet",
        examples=["https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"],
    )
    p256dh: str = Field(
        max_length=100,
        description="the browser's public key, base64url",
        examples=[
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        ],
    )  # RFC 8291, appendix A
    auth: str = Field(
        max_length=40,
        description="the browser's 16 bytes, base64url",
        examples=["BTBZMqHH6r4Tts7J_aSIgg"],
    )


class SubscriptionIn(RequestModel):
    """Names a browser."""

    subscription_id: str = Field(max_length=64, examples=["wh_abcdefgh23"])


class EmailIn(RequestModel):
    """An e-mail address."""

    address: str = Field(max_length=254, examples=["owner@example.com"])
    language: str | None = Field(
        default=None,
        pattern=r"^[a-z]{2}$",
        description="of the e-mails, by ISO 639-1; English where the service does not have it",
        examples=["de"],
    )


class EmailLinkIn(RequestModel):
    """The code of a link that was sent to an address."""

    code: LinkCode


class EmailVerifyIn(EmailLinkIn):
    """The code of a link, and whether it is used."""

    dry_run: bool = Field(default=False, description="say what the link is for, and do nothing")


class EmailStopIn(EmailLinkIn):
    """The parts of the link that stands in every e-mail."""

    receiver_id: str = Field(
        max_length=64,
        description="the part of the link before its code",
        examples=["wh_abcdefgh23"],
    )


class Subscribed(ResponseModel):
    """A browser is told from now on."""

    subscription_id: str


class EmailAsked(ResponseModel):
    """A link is on its way, where the address was not verified already."""

    address: str
    verified: bool
    valid_until: Timestamp | None = Field(description="of the link; null where none was sent")


class Gone(ResponseModel):
    """Nothing more is told there."""

    removed: Literal[True]


@dataclass(frozen=True, slots=True)
class Reach:
    """The operator's part: a key pair for browsers, a key for links, a mail server."""

    push: WebPush | None
    signing: WebhookSigning | None
    email: bool

    def require_push(self) -> WebPush:
        """Errors: `not_configured`."""
        if self.push is None:
            raise Refused(refusal("not_configured", what="notices in browsers"))
        return self.push

    def require_email(self) -> WebhookSigning:
        """Errors: `not_configured`."""
        if self.signing is None or not self.email:
            raise Refused(refusal("not_configured", what="e-mails"))
        return self.signing


async def gather_reach(deps: Deps, caller: Caller, request: RequestModel) -> Reach:
    """The operator's keys."""
    return Reach(deps.push, deps.webhooks, deps.email)


# -- browsers

_FEWER: Final = (
    NextStep("Look for a browser that can go", None, "GET /wallet/notices/settings", OWNER),
    NextStep("Remove it", None, "DELETE /wallet/notices/push/{subscription_id}", OWNER),
)


def subscribe(uow: UnitOfWork, ctx: RequestContext[BrowserIn, Reach]) -> Subscribed:
    """Tell a browser. It tells one owner, the last who subscribed in it."""
    push, owner_id, config = ctx.facts.require_push(), ctx.caller.user_id or "", ctx.config
    private = config.webhook_allow_private
    endpoint = check_webhook_url(ctx.request.endpoint, base_url=config.base_url, private=private)
    try:
        keys = BrowserKeys(bytes_of(ctx.request.p256dh), bytes_of(ctx.request.auth))
    except ValueError:
        raise invalid("p256dh", "the keys of a browser's push subscription") from None
    sealed = push.sealed(keys)
    uow.identities.user(owner_id, lock=True)
    for hook in uow.webhooks.at("push", endpoint):
        if hook.owner_id == owner_id:
            uow.webhooks.reseal(hook, sealed)
            return Subscribed(subscription_id=hook.webhook_id)
        uow.webhooks.drop(hook.webhook_id)
    if len(uow.webhooks.of_owner(owner_id, "push")) >= BROWSERS_MOST:
        why = f"An owner is told in {BROWSERS_MOST} browsers at the most."
        raise Refused(refusal("rate_limited", why=why, retry_safe=False, next=_FEWER))
    hook = _receiver(ctx.ids.short("wh_"), owner_id, endpoint, "push", ctx.now, sealed)
    uow.webhooks.add(hook)
    return Subscribed(subscription_id=hook.webhook_id)


def _receiver(
    receiver_id: str,
    owner_id: str,
    url: str,
    channel: Channel,
    now: datetime,
    sealed: str | None = None,
) -> Webhook:
    return Webhook(
        webhook_id=receiver_id,
        owner_id=owner_id,
        url=url,
        events=(),
        generation=1,
        created_at=now,
        channel=channel,
        sealed=sealed,
    )


def unsubscribe(uow: UnitOfWork, ctx: RequestContext[SubscriptionIn, None]) -> Gone:
    """Tell a browser nothing more."""
    hook = uow.webhooks.get(ctx.request.subscription_id)
    if hook is None or hook.owner_id != ctx.caller.user_id or hook.channel != "push":
        raise not_found("browser")
    uow.webhooks.drop(hook.webhook_id)
    return Gone(removed=True)


# -- the mailbox


def ask_email(uow: UnitOfWork, ctx: RequestContext[EmailIn, Reach]) -> EmailAsked:
    """Send a link to an address; nothing else is sent there before its owner opens it."""
    ctx.facts.require_email()
    owner_id, address = ctx.caller.user_id or "", ctx.request.address
    if not is_email_address(address):
        raise invalid("address", "one e-mail address in ASCII, such as owner@example.com")
    uow.identities.user(owner_id, lock=True)
    hooks = uow.webhooks.of_owner(owner_id, "email")
    verified = next((h for h in hooks if h.url == address and not h.is_pending), None)
    if verified is not None:
        uow.webhooks.speak(verified.webhook_id, ctx.request.language)
        return EmailAsked(address=address, verified=True, valid_until=None)
    _count_link(uow, owner_id, address, ctx.now)
    for hook in hooks:
        if hook.is_pending:
            uow.webhooks.drop(hook.webhook_id)
    hook = _receiver(ctx.ids.short("wh_"), owner_id, address, "email", ctx.now)
    hook = replace(hook, language=ctx.request.language)
    uow.webhooks.add(hook)
    enqueue_message(uow, hook, VERIFY, f"verify:{hook.webhook_id}", ctx.now)
    return EmailAsked(address=address, verified=False, valid_until=ctx.now + LINK_LASTS)


def _count_link(uow: UnitOfWork, owner_id: str, address: str, now: datetime) -> None:
    """Count a link before it is made. Errors: `rate_limited`."""
    funded = uow.stored.funded(owner_id)
    count = uow.notice_settings.links_asked(owner_id, address, now - timedelta(days=1))
    over = [
        (
            count.of_owner >= OWNER_LINKS,
            f"An owner asks for {OWNER_LINKS} links a day at the most.",
        ),
        (count.of_address >= ADDRESS_LINKS, f"{ADDRESS_LINKS} links a day go to one address."),
        (
            not funded and count.of_unfunded >= UNFUNDED_LINKS,
            "Too many links were asked for today by owners of whom no vault was funded yet.",
        ),
    ]
    for is_over, why in over:
        if is_over:
            raise Refused(refusal("rate_limited", why=why, retry_at=now + timedelta(days=1)))
    uow.notice_settings.note_link(owner_id, address, funded=funded, now=now)


def verify_email(uow: UnitOfWork, ctx: RequestContext[EmailVerifyIn, Reach]) -> EmailAsked:
    """The owner who asked opened the link, within a day; a repeat changes nothing. What
    waits for the address before goes to this one.
    """
    signing, owner_id = ctx.facts.require_email(), ctx.caller.user_id or ""
    uow.identities.user(owner_id, lock=True)
    hooks = uow.webhooks.of_owner(owner_id, "email")

    def is_its_link(hook: Webhook) -> bool:
        is_late = hook.is_pending and ctx.now >= hook.created_at + LINK_LASTS
        code = ctx.request.code
        return not is_late and signing.is_link_code(VERIFY_LINK, hook.webhook_id, code)

    match = next(filter(is_its_link, hooks), None)
    if match is None:
        raise not_found("link that waits")
    if not match.is_pending:
        return EmailAsked(address=match.url, verified=True, valid_until=None)
    if ctx.request.dry_run:
        until = match.created_at + LINK_LASTS
        return EmailAsked(address=match.url, verified=False, valid_until=until)
    for hook in hooks:
        if hook.webhook_id != match.webhook_id:
            uow.webhooks.take_over(match, hook)
    uow.webhooks.verify(match.webhook_id, ctx.now)
    return EmailAsked(address=match.url, verified=True, valid_until=None)


def remove_email(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Gone:
    """Tell no mailbox of this owner anything more."""
    for hook in uow.webhooks.of_owner(ctx.caller.user_id or "", "email"):
        uow.webhooks.drop(hook.webhook_id)
    return Gone(removed=True)


def stop_email(uow: UnitOfWork, ctx: RequestContext[EmailStopIn, Reach]) -> Gone:
    """End e-mails by a link in one of them, without signing in; a repeat changes nothing."""
    signing, receiver_id = ctx.facts.require_email(), ctx.request.receiver_id
    if not signing.is_link_code(STOP_LINK, receiver_id, ctx.request.code):
        raise not_found("link")
    hook = uow.webhooks.get(receiver_id)
    if hook is not None and hook.channel == "email":
        uow.webhooks.drop(hook.webhook_id)
    return Gone(removed=True)


_notices: Final = partial(Operation, family="webhooks")
_owned: Final = partial(_notices, auth="owner")

OPERATIONS: Final = (
    _owned(
        name="owner_push_subscribe",
        title="Tell a browser",
        summary="Tell a browser by Web Push; a repeat renews its keys.",
        route=("POST", "/wallet/notices/push"),
        request_model=BrowserIn,
        response_model=Subscribed,
        gather=gather_reach,
        handler=subscribe,
        writes=True,
        idempotent=True,
        refusals=("not_configured",),
    ),
    _owned(
        name="owner_push_remove",
        title="Tell a browser no more",
        summary="Remove a browser; what waits for it is not sent.",
        route=("DELETE", "/wallet/notices/push/{subscription_id}"),
        request_model=SubscriptionIn,
        response_model=Gone,
        handler=unsubscribe,
        writes=True,
        destructive=True,
        refusals=("not_found",),
    ),
    _owned(
        name="owner_email_ask",
        title="Be told by e-mail",
        summary="Send a link to an address; it is told once you open the link, within a day.",
        route=("POST", "/wallet/notices/email"),
        request_model=EmailIn,
        response_model=EmailAsked,
        gather=gather_reach,
        handler=ask_email,
        writes=True,
        refusals=("not_configured",),
    ),
    _owned(
        name="owner_email_verify",
        title="Verify an e-mail address",
        summary="Take the code of the link that was sent to you; a repeat changes nothing.",
        route=("POST", "/wallet/notices/email/verify"),
        request_model=EmailVerifyIn,
        response_model=EmailAsked,
        gather=gather_reach,
        handler=verify_email,
        writes=True,
        refusals=("not_configured", "not_found"),
    ),
    _owned(
        name="owner_email_remove",
        title="Be told by e-mail no more",
        summary="Remove your address, and one that waits to be verified.",
        route=("DELETE", "/wallet/notices/email"),
        request_model=Nothing,
        response_model=Gone,
        handler=remove_email,
        writes=True,
        destructive=True,
    ),
    _notices(
        name="email_stop",
        title="End e-mails by their link",
        summary="End all e-mails to the address that the link was sent to; no sign-in.",
        auth="open",
        route=("POST", "/wallet/notices/email/stop"),
        request_model=EmailStopIn,
        response_model=Gone,
        gather=gather_reach,
        handler=stop_email,
        writes=True,
        destructive=True,
        refusals=("not_configured", "not_found"),
    ),
)
