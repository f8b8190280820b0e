"""Notice outbox: queues an owner's notices in the transaction of the event."""

from __future__ import annotations

import hashlib
from base64 import b32encode
from dataclasses import asdict
from datetime import datetime

from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate
from domain.reads.notices import (
    AcceptanceEndedNotice,
    ApprovalAskedNotice,
    Notice,
    OrderUnknownNotice,
    TransferNotice,
)
from domain.times import timestamp
from domain.trading.orders import Order
from storage.repositories.webhooks import Webhook
from storage.unit_of_work import UnitOfWork
from tools.model.serialization import encoded


def enqueue_notice(uow: UnitOfWork, owner_id: str, notice: Notice, now: datetime) -> int:
    """Queue a notice for the owner's webhooks that ask for it; how many it is new to."""
    hooks = [h for h in uow.webhooks.of_owner(owner_id) if h.wants(notice.kind)]
    body = {"type": notice.kind, "timestamp": timestamp(now), "data": asdict(notice.data)}
    return sum(_queued(uow, hook, notice, encoded(body).decode(), now) for hook in hooks)


def _queued(uow: UnitOfWork, webhook: Webhook, notice: Notice, body: str, now: datetime) -> bool:
    return uow.webhooks.queue(
        webhook,
        delivery_id=message_id(webhook.webhook_id, notice.key),
        key=notice.key,
        kind=notice.kind,
        body=body,
        now=now,
    )


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
