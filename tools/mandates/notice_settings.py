"""Notice settings: what an owner is told, by which channel and when."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field

from domain.mandates.notice_choices import (
    NOTICE_KINDS,
    TEST,
    Channel,
    NoticeKind,
    NoticeSettings,
    QuietHours,
)
from domain.refusals import invalid
from domain.times import Timestamp
from storage.repositories.webhooks import Webhook
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import enqueue_message, quiet_until, zone_of
from tools.mandates.notice_receivers import Reach, gather_reach
from tools.model.fields import Nothing
from tools.model.operation import (
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)

Kinds = Annotated[
    list[NoticeKind],
    Field(max_length=len(NOTICE_KINDS), examples=[["approval.asked", "mandate.stopped"]]),
]
Clock = Annotated[
    str,
    Field(
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description="hours and minutes, in the owner's zone",
        examples=["22:00"],
    ),
]
Zone = Annotated[
    str,
    Field(
        max_length=64, description="a zone of the IANA database", examples=["Europe/Berlin", "UTC"]
    ),
]


class QuietIn(RequestModel):
    """Hours of each day in which browsers and mailboxes are told nothing."""

    zone: Zone
    begins: Clock
    ends: Clock
    approvals_break_through: bool = Field(
        default=True, description="what waits for an approval or a signature is told all the same"
    )


class NoticeSettingsIn(RequestModel):
    """The kinds that each channel tells (none: nothing), and the quiet hours."""

    webhook: Kinds
    push: Kinds
    email: Kinds
    quiet: QuietIn | None = None


class ChannelIn(RequestModel):
    """Names a channel."""

    channel: Channel


class QuietOut(ResponseModel):
    """The quiet hours."""

    zone: str = Field(description="the service's own name of an IANA zone")
    begins: str = Field(description="the service's own writing of a time of day, 22:00")
    ends: str = Field(description="the same; the service's own writing")
    approvals_break_through: bool


class ReachedOut(ResponseModel):
    """A place where an owner is told, and how it goes there."""

    failing: bool = Field(description="true after three failed tries in a row")
    failing_since: Timestamp | None = Field(
        description="the first of the tries that failed since the last that did not"
    )


class BrowserOut(ReachedOut):
    """A browser that is told."""

    subscription_id: str
    service: str = Field(description="the owner's own words: the host of its push service")
    created_at: Timestamp


class PushOut(ResponseModel):
    """Web Push: the browsers that are told."""

    available: bool = Field(description="false where the operator has set no key")
    public_key: str | None = Field(
        description="the service's own `applicationServerKey`, for a subscription"
    )
    browsers: list[BrowserOut]


class EmailOut(ReachedOut):
    """E-mail: the address that is told, and one that waits to be verified."""

    available: bool = Field(description="false where the operator has set no mail server")
    address: str | None = Field(description="the owner's own words: the verified address")
    pending: str | None = Field(
        description="the owner's own words: an address that is not verified"
    )


class WebhookOut(ResponseModel):
    """Webhooks; `GET /wallet/webhooks` lists them."""

    available: bool = Field(description="false where the operator has set no key")
    count: int
    failing: int


class ChannelsOut(ResponseModel):
    """The channels, as they stand."""

    webhook: WebhookOut
    push: PushOut
    email: EmailOut


class NoticeSettingsOut(ResponseModel):
    """The choices, and how each channel stands."""

    webhook: list[NoticeKind]
    push: list[NoticeKind]
    email: list[NoticeKind]
    quiet: QuietOut | None
    channels: ChannelsOut


class Tested(ResponseModel):
    """A test is on its way to each place of a channel."""

    channel: Channel
    queued: int


# -- the settings


def read_settings(uow: UnitOfWork, ctx: RequestContext[Nothing, Reach]) -> NoticeSettingsOut:
    """The choices, and how each channel stands."""
    return _settings_body(uow, ctx.caller.user_id or "", ctx.facts)


def write_settings(
    uow: UnitOfWork, ctx: RequestContext[NoticeSettingsIn, Reach]
) -> NoticeSettingsOut:
    """Replace all choices; what is held back keeps to the new quiet hours."""
    owner_id, request = ctx.caller.user_id or "", ctx.request
    settings = NoticeSettings(
        webhook=_chosen(request.webhook),
        push=_chosen(request.push),
        email=_chosen(request.email),
        quiet=_quiet(request.quiet),
    )
    uow.notice_settings.put(owner_id, settings)
    for hook in uow.webhooks.of_owner(owner_id, "push", "email"):
        for kind in uow.webhooks.held_back(hook.webhook_id):
            until = quiet_until(settings, hook.channel, kind, ctx.now)
            uow.webhooks.hold(hook.webhook_id, kind, until or ctx.now)
    return _settings_body(uow, owner_id, ctx.facts)


def _chosen(kinds: Iterable[NoticeKind]) -> tuple[NoticeKind, ...]:
    names = set(kinds)
    return tuple(kind for kind in NOTICE_KINDS if kind in names)


def _quiet(request: QuietIn | None) -> QuietHours | None:
    if request is None:
        return None
    begins, ends = _minutes(request.begins), _minutes(request.ends)
    if begins == ends:
        raise invalid("quiet.ends", "another time than they begin")
    if zone_of(request.zone) is None:
        raise invalid("quiet.zone", "a zone of the IANA database, such as Europe/Berlin")
    through = request.approvals_break_through
    return QuietHours(zone=request.zone, begins=begins, ends=ends, approvals_break_through=through)


def _minutes(clock: str) -> int:
    hours, _, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _settings_body(uow: UnitOfWork, owner_id: str, reach: Reach) -> NoticeSettingsOut:
    settings, hooks = uow.notice_settings.of_owner(owner_id), uow.webhooks.of_owner(owner_id)
    webhooks = [h for h in hooks if h.channel == "webhook"]
    quiet = settings.quiet
    return NoticeSettingsOut(
        webhook=list(settings.webhook),
        push=list(settings.push),
        email=list(settings.email),
        quiet=None
        if quiet is None
        else QuietOut(
            zone=quiet.zone,
            begins=_clock(quiet.begins),
            ends=_clock(quiet.ends),
            approvals_break_through=quiet.approvals_break_through,
        ),
        channels=ChannelsOut(
            webhook=WebhookOut(
                available=reach.signing is not None,
                count=len(webhooks),
                failing=sum(h.is_failing for h in webhooks),
            ),
            push=PushOut(
                available=reach.push is not None,
                public_key=None if reach.push is None else reach.push.public_key,
                browsers=[_browser_body(h) for h in hooks if h.channel == "push"],
            ),
            email=_email_body([h for h in hooks if h.channel == "email"], reach),
        ),
    )


def _browser_body(hook: Webhook) -> BrowserOut:
    return BrowserOut(
        subscription_id=hook.webhook_id,
        service=urlsplit(hook.url).hostname or "",
        created_at=hook.created_at,
        failing=hook.is_failing,
        failing_since=hook.failing_since,
    )


def _email_body(hooks: list[Webhook], reach: Reach) -> EmailOut:
    verified = next((h for h in hooks if not h.is_pending), None)
    pending = next((h for h in hooks if h.is_pending), None)
    return EmailOut(
        available=reach.email and reach.signing is not None,
        address=None if verified is None else verified.url,
        pending=None if pending is None else pending.url,
        failing=verified is not None and verified.is_failing,
        failing_since=None if verified is None else verified.failing_since,
    )


# -- a test


def send_test(uow: UnitOfWork, ctx: RequestContext[ChannelIn, None]) -> Tested:
    """Send a test to each place of a channel; one a minute."""
    channel, key = ctx.request.channel, f"test:{ctx.now:%Y-%m-%dT%H:%M}"
    hooks = uow.webhooks.of_owner(ctx.caller.user_id or "", channel)
    queued = sum(enqueue_message(uow, h, TEST, key, ctx.now) for h in hooks if not h.is_pending)
    return Tested(channel=channel, queued=queued)


_notices: Final = partial(Operation, auth="owner", family="webhooks")

OPERATIONS: Final = (
    _notices(
        name="owner_notice_settings",
        title="Read what you are told",
        summary="What each channel tells, the quiet hours, and how each channel stands.",
        route=("GET", "/wallet/notices/settings"),
        request_model=Nothing,
        response_model=NoticeSettingsOut,
        gather=gather_reach,
        handler=read_settings,
    ),
    _notices(
        name="owner_notice_settings_put",
        title="Choose what you are told",
        summary="Replace the kinds that each channel tells, and the quiet hours.",
        route=("PUT", "/wallet/notices/settings"),
        request_model=NoticeSettingsIn,
        response_model=NoticeSettingsOut,
        gather=gather_reach,
        handler=write_settings,
        writes=True,
        idempotent=True,
    ),
    _notices(
        name="owner_notice_test",
        title="Test a channel",
        summary="Send a test to each place of a channel, once a minute.",
        route=("POST", "/wallet/notices/test"),
        request_model=ChannelIn,
        response_model=Tested,
        handler=send_test,
        writes=True,
    ),
)
