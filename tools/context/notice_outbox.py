"""Notice outbox: queues an owner's notices in the transaction of the event."""

from __future__ import annotations

import hashlib
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import OwnerNoticed
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate
from domain.mandates.notice_choices import (
    Channel,
    MessageKind,
    NoticeSettings,
)
from domain.reads.notices import (
    AcceptanceEndedNotice,
    ApprovalAskedNotice,
    Notice,
    OrderAskedNotice,
    OrderUnknownNotice,
    TransferNotice,
    item_path,
    mandate_of,
)
from domain.times import timestamp
from domain.trading.orders import Order
from storage.repositories.webhooks import Delivery, DeliveryAttempt, Webhook
from storage.unit_of_work import UnitOfWork
from tools.model.serialization import encoded
from tools.model.webhook_signing import WebhookSigning

NOTICES_PAGE: Final = "/app/notices"
SETTINGS_PAGE: Final = "/app/notices/settings"
LINK_LASTS: Final = timedelta(hours=24)
VERIFY_LINK: Final = "verify"
STOP_LINK: Final = "stop"


def enqueue_notice(uow: UnitOfWork, owner_id: str, notice: Notice, now: datetime) -> int:
    """Queue a notice where the owner asks to be told of it; at how many places it is new.

    A webhook is sent its data; what a push service or a mail server carries names its kind and the
    page of the item, and no amount and no address.
    """
    hooks = [h for h in uow.webhooks.of_owner(owner_id) if h.wants(notice.kind)]
    if not hooks:
        return 0
    settings = uow.notice_settings.of_owner(owner_id)
    data = {"type": notice.kind, "timestamp": timestamp(now), "data": asdict(notice.data)}
    link = {"kind": notice.kind, "url": item_path(notice.data)}
    about = mandate_of(notice.data)
    return sum(
        _queue(uow, h, settings, notice.kind, notice.key, data if h.channel == "webhook" else link,
               now, about)
        for h in hooks
        if settings.is_told(h.channel, notice.kind)
    )  # fmt: skip


def enqueue_message(
    uow: UnitOfWork, webhook: Webhook, kind: MessageKind, key: str, now: datetime
) -> bool:
    """Queue what its owner asks for now: a test, or the link that verifies an address."""
    data: dict[str, object] = {"kind": kind, "url": NOTICES_PAGE}
    if webhook.channel == "webhook":
        data = {"type": kind, "timestamp": timestamp(now), "data": {}}
    settings = uow.notice_settings.of_owner(webhook.owner_id)
    return _queue(uow, webhook, settings, kind, key, data, now, None)


def _queue(
    uow: UnitOfWork,
    webhook: Webhook,
    settings: NoticeSettings,
    kind: MessageKind,
    key: str,
    body: Mapping[str, object],
    now: datetime,
    about: str | None,
) -> bool:
    return uow.webhooks.queue(
        webhook,
        delivery_id=message_id(webhook.webhook_id, key),
        key=key,
        kind=kind,
        body=encoded(body).decode(),
        now=now,
        due_at=quiet_until(settings, webhook.channel, kind, now),
        about=about,
    )


def quiet_until(
    settings: NoticeSettings, channel: Channel, kind: MessageKind, at: datetime
) -> datetime | None:
    """The end of the owner's quiet hours, where a message of a kind falls into them; None also
    where this machine does not know their zone.
    """
    hours = settings.hours_for(channel, kind)
    zone = None if hours is None else zone_of(hours.zone)
    return None if hours is None or zone is None else hours.over_at(at, zone)


def zone_of(name: str) -> ZoneInfo | None:
    """A zone of the IANA database; None for a name that it does not have, or has no more."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def note_attempt(
    uow: UnitOfWork, webhook: Webhook, delivery: Delivery, attempt: DeliveryAttempt
) -> DeliveryAttempt:
    """Note what became of a try; what is tried again keeps to the quiet hours. A browser that its
    push service knows no more is told nothing more.
    """
    is_gone = attempt.gone and webhook.channel == "push"
    if is_gone:
        attempt = replace(attempt, again_at=None)
    elif attempt.again_at is not None:
        settings = uow.notice_settings.of_owner(webhook.owner_id)
        later = quiet_until(settings, webhook.channel, delivery.kind, attempt.again_at)
        attempt = replace(attempt, again_at=later or attempt.again_at)
    # The mandate first, as where a notice is queued: two that wait in turn wait for ever.
    is_last = attempt.status != "waiting" and delivery.about is not None
    mandate = uow.mandates.get(delivery.about or "", lock=True) if is_last else None
    is_new = uow.webhooks.tried(webhook, delivery, attempt)
    if is_gone:
        uow.webhooks.drop(webhook.webhook_id)
    if mandate is not None and is_new:
        _record(uow, mandate, webhook, delivery, attempt)
    return attempt


def _record(
    uow: UnitOfWork,
    mandate: Mandate,
    webhook: Webhook,
    delivery: Delivery,
    attempt: DeliveryAttempt,
) -> None:
    """Tell the mandate's record, once a notice and channel: that a first place was reached, or that
    none was.
    """
    channel, key = webhook.channel, delivery.notice_key
    states = uow.webhooks.outcomes(webhook.owner_id, channel, key)
    reached = states.count("delivered")
    if reached != 1 if attempt.ok else reached or "waiting" in states:
        return
    outcome: Literal["delivered", "failed"] = "delivered" if attempt.ok else "failed"
    row = NewEvent(
        kind=LedgerKind.NOTE,
        reported_by=Reporter.KEEPER,
        occurred_at=attempt.at,
        chain_id=mandate.chain_id,
        payload=written(OwnerNoticed(kind=delivery.kind, channel=channel, outcome=outcome)),
    )
    event_id = "ev_" + message_id(webhook.webhook_id, f"told:{key}")[4:14]
    uow.ledger.append(mandate.public_id, row, event_id=event_id, now=attempt.at)


def stop_path(signing: WebhookSigning, receiver_id: str) -> str:
    """The page that ends e-mails to a receiver, for whoever opens it."""
    return f"{NOTICES_PAGE}/stop/{receiver_id}/{signing.link_code(STOP_LINK, receiver_id)}"


def verify_path(signing: WebhookSigning, receiver_id: str) -> str:
    """The page on which the owner who asked verifies an address."""
    return f"{NOTICES_PAGE}/email/{signing.link_code(VERIFY_LINK, receiver_id)}"


def message_id(webhook_id: str, key: str) -> str:
    """The message id of a notice: equal for equal notices, whichever process writes them."""
    digest = hashlib.sha256(f"{webhook_id}:{key}".encode()).digest()
    return "msg_" + b32encode(digest[:15]).decode().lower()


def enqueue_approval_notice(uow: UnitOfWork, owner_id: str, item: Approval, now: datetime) -> None:
    """An action waits for its owner."""
    data = ApprovalAskedNotice(
        public_id=item.public_id,
        approval_id=item.approval_id,
        amount_usdc=str(item.approve_amount_usdc),
        target=item.target.get("address"),
        expires_at=timestamp(item.expires_at),
    )
    notice = Notice(kind="approval.asked", key=f"asked:{item.approval_id}", data=data)
    enqueue_notice(uow, owner_id, notice, now)


def acceptance_ended(uow: UnitOfWork, mandate: Mandate, now: datetime) -> None:
    """The owner changed terms that an agent had accepted; nothing where none had."""
    if mandate.accepted_at is None:
        return
    accepted_at = timestamp(mandate.accepted_at)
    data = AcceptanceEndedNotice(
        public_id=mandate.public_id, agent_id=mandate.agent_id, accepted_at=accepted_at
    )
    key = f"acceptance:{mandate.public_id}:{accepted_at}"
    enqueue_notice(
        uow, mandate.owner_id, Notice(kind="mandate.acceptance_ended", key=key, data=data), now
    )


def order_asked(uow: UnitOfWork, order: Order, now: datetime) -> None:
    """Notice: an order that an agent prepared waits for its owner's signature."""
    data = OrderAskedNotice(
        order_id=order.order_id,
        mode=order.mode,
        product=order.product,
        side=order.side,
        notional=str(order.notional),
        expires_at=timestamp(order.expires_at),
    )
    notice = Notice(kind="order.asked", key=f"asked:{order.order_id}", data=data)
    enqueue_notice(uow, order.owner_id, notice, now)


def order_unknown(uow: UnitOfWork, order: Order, now: datetime) -> None:
    """Notice: an order was sent, and its outcome is not known yet."""
    data = OrderUnknownNotice(
        order_id=order.order_id,
        mode=order.mode,
        product=order.product,
        side=order.side,
        notional=str(order.notional),
    )
    key = f"unknown:{order.order_id}:{order.attempt}"
    enqueue_notice(uow, order.owner_id, Notice(kind="order.unknown", key=key, data=data), now)


def transfer_in(
    uow: UnitOfWork, agent_id: str, chain_id: int, tx_hash: str, amount: str, now: datetime
) -> None:
    """Notice: USDC that was not reported came to an agent's own address; `amount` in USDC."""
    agent = uow.identities.agent(agent_id)
    if agent is None:
        return
    data = TransferNotice(agent_id=agent_id, chain_id=chain_id, tx_hash=tx_hash, amount_usdc=amount)
    key = f"transfer:{chain_id}:{tx_hash}:{agent_id}"
    enqueue_notice(uow, agent.owner_id, Notice(kind="transfer.in", key=key, data=data), now)
