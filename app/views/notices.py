"""Notices: open items for the owner, and the webhooks that report them elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from app.replies import Json, Record
from app.views.components import refusal
from app.words import notices
from app.words.status import Pill
from app.words.text import _
from app.words.untrusted_text import agent_of

STATUS: Final[Mapping[str, Pill]] = {
    "waiting": Pill(tone="warn", text=_("Waits")),
    "delivered": Pill(tone="good", text=_("Delivered")),
    "dead": Pill(tone="bad", text=_("Given up")),
}


def _open(id: str, announcement: str, href: str, agent: Record | None) -> Record:
    """An item for the owner; `announcement` is the service's own sentence about it."""
    return Record(id=id, announcement=announcement, href=href, agent=agent)


def _asks(items: Iterable[Json]) -> Iterable[Record]:
    for item in items:
        href = f"/app/mandates/{item['public_id']}/approvals/{item['approval_id']}"
        announcement = notices.approval_notice(item["approve_amount_usdc"])
        yield _open(item["approval_id"], announcement, href, agent_of(item))


def _mandates(rows: Iterable[Json]) -> Iterable[Record]:
    for row in rows:
        announcement = notices.mandate_notice(row["mandate"], row["progress"])
        href = f"/app/mandates/{row['public_id']}"
        # What is over is told where it ends, and asks for nothing afterwards.
        if announcement and row["progress"]["status"] != "settled":
            yield _open(row["public_id"], announcement, href, agent_of(row["mandate"]))


def _orders(rows: Iterable[Json]) -> Iterable[Record]:
    for row in rows:
        if announcement := notices.order_notice(row):
            order_id = row["order_id"]
            yield _open(order_id, announcement, f"/app/orders/{order_id}", None)


def _webhook(raw: Json) -> Record:
    """A webhook without its secret; `kinds` is empty where it is told everything."""
    return Record(raw, kinds=tuple(notices.KINDS[k] for k in raw["events"]))


def _kinds(chosen: Iterable[str]) -> tuple[Record, ...]:
    """The boxes of the form."""
    names = set(chosen)
    return tuple(Record(name=n, text=t, chosen=n in names) for n, t in notices.KINDS.items())


def view(asks: Json, mandates: Json, orders: Iterable[Json], hooks: Json, *, sends: bool) -> Record:
    """The pending ones of owner_approvals, mandate_list, rows of order_pending and
    order_under_way, owner_webhooks; `sends` is false without a key for webhooks.
    """
    return Record(
        now=(*_asks(asks["items"]), *_orders(orders), *_mandates(mandates["items"])),
        more=asks["next_cursor"] is not None or mandates["next_cursor"] is not None,
        sends=sends,
        hooks=tuple(_webhook(h) for h in hooks["items"]),
        kinds=_kinds(()),
        url="",
        new=None,
        problem=None,
    )


def refused(view: Record, block: Json, url: str, chosen: Iterable[str]) -> Record:
    """The page after a webhook was refused; what was typed stays."""
    return Record(view, problem=refusal.view(block, None), url=url, kinds=_kinds(chosen))


def webhook_view(webhook: Json, page: Json) -> Record:
    """`webhook` a row of owner_webhooks, `page` of owner_webhook_deliveries."""
    return Record(
        hook=webhook,
        deliveries=tuple(_delivery(d) for d in page["items"]),
        older=page["next_cursor"],
        new=None,
    )


def _delivery(raw: Json) -> Record:
    """One notice and its delivery."""
    return Record(
        raw,
        pill=STATUS[raw["status"]],
        text=notices.KINDS[raw["event"]],
        fault=(raw["fault"] or "").replace("_", " "),
        body=json.dumps(json.loads(raw["body"]), indent=1, ensure_ascii=False),
    )
