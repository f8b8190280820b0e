"""Webhooks: receivers of an owner's notices, their signing secrets and delivery logs."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final, Literal

from pydantic import Field

from domain.mandates.notice_choices import NOTICE_KINDS, MessageKind, NoticeKind
from domain.next_steps import OWNER, NextStep
from domain.refusals import Refused, invalid, refusal
from domain.times import Timestamp
from storage.repositories.webhooks import Delivery, Webhook, delivery_after
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.dispatch.idempotency import owner_scope
from tools.model.fields import Cursor, Limit, Nothing, Page
from tools.model.operation import (
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.truncation import page_of
from tools.model.url_policy import check_webhook_url
from tools.model.webhook_signing import WebhookSigning

WebhookId = Annotated[str, Field(max_length=64, examples=["wh_abcdefgh23"])]
SIGNED: Final = "POSTed as JSON and signed in the form of Standard Webhooks"


class HookIn(RequestModel):
    """The URL of a webhook, and its event kinds."""

    url: str = Field(
        max_length=500,
        description="https, port 443 or 8443, on the public internet; redirects are not followed",
        examples=["https://example.com/wallet-notices"],
    )
    events: list[NoticeKind] = Field(
        default_factory=list,
        max_length=len(NOTICE_KINDS),
        description="what to tell; empty: everything",
    )


class WebhookIn(RequestModel):
    """Names a webhook."""

    webhook_id: WebhookId


class DeliveriesIn(WebhookIn):
    """A page of one webhook's deliveries."""

    limit: Limit = 50
    cursor: Cursor = None


class HookTold(ResponseModel):
    """A webhook; its secret is shown when it is made, and when it is rotated."""

    webhook_id: str
    url: str
    events: list[NoticeKind] = Field(description="what is told; empty: everything")
    created_at: Timestamp
    rotated_at: Timestamp | None = Field(
        description="when its secret was changed; the one before signs too for a day"
    )
    failing: bool = Field(description="true after three failed deliveries in a row")


class HookSecret(ResponseModel):
    """A webhook with its secret, which is shown this once."""

    webhook: HookTold
    secret: str | None = Field(
        description="`whsec_` and base64: the key of HMAC-SHA-256; null where an Idempotency-Key "
        "is repeated"
    )


class HookList(Page[HookTold]):
    """The webhooks of an owner."""


class DeliveryTold(ResponseModel):
    """One notice, and what became of it."""

    delivery_id: str = Field(description="the `webhook-id` header, the same in every try")
    event: MessageKind
    status: Literal["waiting", "delivered", "dead"]
    made_at: Timestamp
    attempts: int
    last_at: Timestamp | None
    next_at: Timestamp | None = Field(description="of the next try; null where there is none")
    answered: int | None = Field(description="HTTP status of the last try's answer")
    fault: str | None = Field(description="why the last try had no answer that counts")
    body: str = Field(description="what is sent, byte for byte")


class DeliveryPage(Page[DeliveryTold]):
    """A page of deliveries."""


class Removed(ResponseModel):
    """A webhook is gone, with its deliveries."""

    webhook_id: str
    removed: Literal[True]


async def gather_signing(deps: Deps, caller: Caller, request: RequestModel) -> WebhookSigning:
    """The operator's key. Errors: `not_configured`."""
    if deps.webhooks is None:
        raise Refused(refusal("not_configured", what="webhooks"))
    return deps.webhooks


def _own(uow: UnitOfWork, caller: Caller, webhook_id: str) -> Webhook:
    webhook = uow.webhooks.get(webhook_id)
    if webhook is None or webhook.owner_id != caller.user_id or webhook.channel != "webhook":
        raise not_found("webhook")
    return webhook


_FEWER: Final = (
    NextStep("Look for one that can go", None, "GET /wallet/webhooks", OWNER),
    NextStep("Remove it", None, "DELETE /wallet/webhooks/{webhook_id}", OWNER),
)


def create(
    uow: UnitOfWork, ctx: RequestContext[HookIn, WebhookSigning]
) -> HandlerResult[HookSecret]:
    """Make a webhook; its secret is shown once and stored nowhere."""
    owner_id, config = ctx.caller.user_id or "", ctx.config
    url = check_webhook_url(
        ctx.request.url, base_url=config.base_url, private=config.webhook_allow_private
    )
    if len(set(ctx.request.events)) != len(ctx.request.events):
        raise invalid("events", "each kind once")
    uow.identities.user(owner_id, lock=True)
    if len(uow.webhooks.of_owner(owner_id, "webhook")) >= config.webhooks_per_owner:
        why = f"An owner has {config.webhooks_per_owner} webhooks at the most."
        raise Refused(refusal("rate_limited", why=why, retry_safe=False, next=_FEWER))
    webhook = Webhook(
        webhook_id=ctx.ids.short("wh_"),
        owner_id=owner_id,
        url=url,
        events=tuple(ctx.request.events),
        generation=1,
        created_at=ctx.now,
    )
    uow.webhooks.add(webhook)
    return _secret(ctx.facts, webhook)


def rotate(
    uow: UnitOfWork, ctx: RequestContext[WebhookIn, WebhookSigning]
) -> HandlerResult[HookSecret]:
    """The next secret; the one before signs beside it for a day."""
    uow.identities.user(ctx.caller.user_id or "", lock=True)
    webhook = _own(uow, ctx.caller, ctx.request.webhook_id)
    uow.webhooks.rotate(webhook.webhook_id, webhook.generation + 1, ctx.now)
    return _secret(ctx.facts, _own(uow, ctx.caller, webhook.webhook_id))


def _secret(signing: WebhookSigning, webhook: Webhook) -> HandlerResult[HookSecret]:
    """The webhook with its secret, which a repeat of the same key does not show again."""
    body, secret = _webhook_body(webhook), signing.secret(webhook.webhook_id, webhook.generation)
    stored_body = HookSecret(webhook=body, secret=None)
    return HandlerResult(HookSecret(webhook=body, secret=secret), stored_body=stored_body)


def _webhook_body(webhook: Webhook) -> HookTold:
    return HookTold(
        webhook_id=webhook.webhook_id,
        url=webhook.url,
        events=[k for k in NOTICE_KINDS if k in webhook.events],
        created_at=webhook.created_at,
        rotated_at=webhook.rotated_at,
        failing=webhook.is_failing,
    )


def listed(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HookList:
    """Your webhooks, oldest first."""
    hooks = uow.webhooks.of_owner(ctx.caller.user_id or "", "webhook")
    return HookList(items=[_webhook_body(h) for h in hooks], next_cursor=None)


def remove(uow: UnitOfWork, ctx: RequestContext[WebhookIn, None]) -> Removed:
    """Remove one; what waits for it is not sent."""
    webhook = _own(uow, ctx.caller, ctx.request.webhook_id)
    uow.webhooks.drop(webhook.webhook_id)
    return Removed(webhook_id=webhook.webhook_id, removed=True)


def deliveries(uow: UnitOfWork, ctx: RequestContext[DeliveriesIn, None]) -> DeliveryPage:
    """Deliveries that were attempted or are due, newest first."""
    webhook, limit = _own(uow, ctx.caller, ctx.request.webhook_id), ctx.request.limit
    rows = uow.webhooks.deliveries(webhook.webhook_id, after=ctx.request.cursor, limit=limit + 1)
    page, more = page_of(rows, limit, delivery_after)
    return DeliveryPage(items=[_delivery(d) for d in page], next_cursor=more)


def _delivery(d: Delivery) -> DeliveryTold:
    return DeliveryTold(
        delivery_id=d.delivery_id,
        event=d.kind,
        status=d.status,
        made_at=d.made_at,
        attempts=d.attempts,
        last_at=d.last_at,
        next_at=d.next_at if d.status == "waiting" else None,
        answered=d.answered,
        fault=d.fault,
        body=d.body,
    )


_webhook_operation: Final = partial(Operation, auth="owner", family="webhooks")


OPERATIONS: Final = (
    _webhook_operation(
        name="owner_webhook_create",
        title="Make a webhook",
        summary=f"Notices of what asks for a look, {SIGNED}; the secret is shown once.",
        route=("POST", "/wallet/webhooks"),
        request_model=HookIn,
        response_model=HookSecret,
        gather=gather_signing,
        handler=create,
        writes=True,
        idempotency=owner_scope("webhooks"),
        statuses={201: "The webhook and its secret"},
        refusals=("not_configured",),
    ),
    _webhook_operation(
        name="owner_webhooks",
        title="List your webhooks",
        summary="Your webhooks, without their secrets.",
        route=("GET", "/wallet/webhooks"),
        request_model=Nothing,
        response_model=HookList,
        handler=listed,
    ),
    _webhook_operation(
        name="owner_webhook_remove",
        title="Remove a webhook",
        summary="Remove a webhook with its deliveries; what waits is not sent.",
        route=("DELETE", "/wallet/webhooks/{webhook_id}"),
        request_model=WebhookIn,
        response_model=Removed,
        handler=remove,
        writes=True,
        destructive=True,
        refusals=("not_found",),
    ),
    _webhook_operation(
        name="owner_webhook_rotate",
        title="Rotate a webhook's secret",
        summary="The next secret, shown once; the one before signs too for a day.",
        route=("POST", "/wallet/webhooks/{webhook_id}/rotate"),
        request_model=WebhookIn,
        response_model=HookSecret,
        gather=gather_signing,
        handler=rotate,
        writes=True,
        idempotency=owner_scope("webhook_secrets", "webhook_id"),
        refusals=("not_found", "not_configured"),
    ),
    _webhook_operation(
        name="owner_webhook_deliveries",
        title="Read a webhook's deliveries",
        summary="What was and will be sent, newest first, with what became of it.",
        route=("GET", "/wallet/webhooks/{webhook_id}/deliveries"),
        request_model=DeliveriesIn,
        response_model=DeliveryPage,
        handler=deliveries,
        refusals=("not_found",),
    ),
)
