"""Notices: open items for the owner, and the webhooks that report them elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView
from app.words import notices
from app.words.status import Pill
from app.words.text import _
from app.words.untrusted_text import AgentName, agent_of

STATUS: Final[Mapping[str, Pill]] = {
    "waiting": Pill(tone="warn", text=_("Waits")),
    "delivered": Pill(tone="good", text=_("Delivered")),
    "dead": Pill(tone="bad", text=_("Given up")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenNoticeView:
    """An item for the owner; `announcement` is the service's own sentence about it."""

    id: str
    announcement: str
    href: str
    agent: AgentName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookView:
    """A webhook without its secret; `kinds` is empty where it is told everything."""

    webhook_id: str
    url: str
    kinds: tuple[str, ...]
    created_at: str
    rotated_at: str | None
    failing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """A webhook's secret, shown this once; None where its form came again."""

    url: str
    secret: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeKindView:
    """A box of the form."""

    name: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticesView:
    """The page; `sends` is false where the operator has set no key for webhooks."""

    now: tuple[OpenNoticeView, ...]
    more: bool
    sends: bool
    hooks: tuple[HookView, ...]
    kinds: tuple[NoticeKindView, ...]
    url: str = ""
    new: SecretView | None = None
    problem: RefusalView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryView:
    """One notice and its delivery."""

    pill: Pill
    text: str
    made_at: str
    attempts: int
    next_at: str | None
    response_status: int | None
    fault: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHookView:
    """A webhook with a page of its deliveries."""

    hook: HookView
    deliveries: tuple[DeliveryView, ...]
    older: str | None
    new: SecretView | None = None


def _asks(items: Iterable[Json]) -> Iterable[OpenNoticeView]:
    for item in items:
        yield OpenNoticeView(
            id=item["approval_id"],
            announcement=notices.approval_notice(item["approve_amount_usdc"]),
            href=f"/app/mandates/{item['public_id']}/approvals/{item['approval_id']}",
            agent=agent_of(item),
        )


def _mandates(rows: Iterable[Json]) -> Iterable[OpenNoticeView]:
    for row in rows:
        announcement = notices.mandate_notice(row["mandate"], row["progress"])
        href, agent = f"/app/mandates/{row['public_id']}", agent_of(row["mandate"])
        # What is over is told where it ends, and asks for nothing afterwards.
        if announcement and row["progress"]["status"] != "settled":
            yield OpenNoticeView(
                id=row["public_id"], announcement=announcement, href=href, agent=agent
            )


def _orders(rows: Iterable[Json]) -> Iterable[OpenNoticeView]:
    for row in rows:
        announcement, order_id = notices.order_notice(row), row["order_id"]
        if announcement:
            yield OpenNoticeView(
                id=order_id, announcement=announcement, href=f"/app/orders/{order_id}", agent=None
            )


def _hook(raw: Json) -> HookView:
    return HookView(
        webhook_id=raw["webhook_id"],
        url=raw["url"],
        kinds=tuple(notices.KINDS[k] for k in raw["events"]),
        created_at=raw["created_at"],
        rotated_at=raw["rotated_at"],
        failing=raw["failing"],
    )


def view(
    asks: Json, mandates: Json, orders: Iterable[Json], hooks: Json, *, sends: bool
) -> NoticesView:
    """The pending ones of owner_approvals, mandate_list, rows of order_pending and
    order_under_way, owner_webhooks.
    """
    return NoticesView(
        now=(*_asks(asks["items"]), *_orders(orders), *_mandates(mandates["items"])),
        more=asks["next_cursor"] is not None or mandates["next_cursor"] is not None,
        sends=sends,
        hooks=tuple(_hook(h) for h in hooks["items"]),
        kinds=tuple(NoticeKindView(name=n, text=t, chosen=False) for n, t in notices.KINDS.items()),
    )


def secret(raw: Json) -> SecretView:
    """The secret that owner_webhook_create and owner_webhook_rotate show once."""
    return SecretView(url=raw["webhook"]["url"], secret=raw["secret"])


def refused(view: NoticesView, block: Json, url: str, chosen: Iterable[str]) -> NoticesView:
    """The page after a webhook was refused; what was typed stays."""
    name = set(chosen)
    kinds = tuple(replace(k, chosen=k.name in name) for k in view.kinds)
    return replace(view, problem=refusal.view(block, None), url=url, kinds=kinds)


def webhook_view(webhook: Json, page: Json) -> OneHookView:
    """`hook` a row of owner_webhooks, `page` of owner_webhook_deliveries."""
    return OneHookView(
        hook=_hook(webhook),
        deliveries=tuple(_delivery(d) for d in page["items"]),
        older=page["next_cursor"],
    )


def _delivery(raw: Json) -> DeliveryView:
    return DeliveryView(
        pill=STATUS[raw["status"]],
        text=notices.KINDS[raw["event"]],
        made_at=raw["made_at"],
        attempts=raw["attempts"],
        next_at=raw["next_at"],
        response_status=raw["answered"],
        fault=(raw["fault"] or "").replace("_", " "),
        body=json.dumps(json.loads(raw["body"]), indent=1, ensure_ascii=False),
    )
