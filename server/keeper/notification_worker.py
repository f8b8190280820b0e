"""Notification worker: ledger rows become notices, and notices go to webhooks, browsers and
mailboxes.

One process at a time reads the ledgers for it, by a claim that another takes over when it ends;
what it had not noted yet is read again, and the same notice is queued once. Sending is shared: each
webhook is claimed in the database before it is called.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import anyio
from anyio.abc import TaskGroup

from domain.ledger.events.event import Event
from domain.mandates.notice_choices import URGENT, VERIFY, Channel
from domain.reads.notices import may_tell
from server.mail import Letter, MailClient
from server.outbound import AT_ONCE, OutboundClient, PostResult
from storage.feed.ledger_feed import FeedEntry, LedgerFeed, UnknownCursor
from storage.repositories.event_row import event_of
from storage.repositories.webhooks import LANES, Delivery, DeliveryAttempt, Lane, Webhook
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import (
    LINK_LASTS,
    SETTINGS_PAGE,
    note_attempt,
    stop_path,
    verify_path,
)
from tools.keeper.notice_feed import LEASE, enqueue_notices
from tools.model.operation import Deps
from tools.model.sealing import SealBroken
from tools.model.web_push import encrypt

log = logging.getLogger("wallet.notices")

LEASE_S: Final = 15
CLAIM_S: Final = 60
POLL_S: Final = 0.5
LOOK_S: Final = 5
# Most rows are told to nobody: of such only the place is noted, every so often.
SKIPPED: Final = 500
DEAD_AFTER: Final = timedelta(days=3)
PUSH_LASTS: Final = timedelta(days=1)
# A receiver that asks for more is called all the same: what lapses cannot wait longer.
LONGEST_WAIT_S: Final = 3_600
# How many are sent at once. Each lane has its own, so that none waits for the receivers of another:
# a mail server that hangs delays letters alone.
_ROOM: Final[Mapping[Channel, int]] = {"push": AT_ONCE // 4, "webhook": AT_ONCE // 4, "email": 4}
ROOM: Final[Mapping[Lane, int]] = {lane: _ROOM[lane[0]] for lane in LANES}
# A push service knows the subscription no more (RFC 8030, 7.3).
GONE: Final = (404, 410)
PAUSES_S: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200)


def next_attempt_at(delivery: Delivery, attempts: int, now: datetime) -> datetime | None:
    """The time of the next attempt after the n-th failure of a delivery; None three days after it
    was made. Each pause is up to a fifth longer, by the delivery's own id, so that not all come at
    once.
    """
    pause = PAUSES_S[min(attempts, len(PAUSES_S)) - 1]
    spread = hashlib.sha256(f"{delivery.delivery_id}:{attempts}".encode()).digest()[0]
    then = now + timedelta(seconds=pause * (1 + spread / 1_280))
    return then if then < delivery.made_at + DEAD_AFTER else None


class NotificationWorker:
    """The two halves, each running until cancelled."""

    def __init__(
        self,
        deps: Deps,
        tail: LedgerFeed,
        outbound: OutboundClient,
        holder: str,
        mail: MailClient | None = None,
    ):
        self._deps, self._tail, self._out, self._holder = deps, tail, outbound, holder
        self._mail = mail
        self._sending = Counter[Lane]()
        self.counted = Counter[str]({"delivered": 0, "failed": 0, "dead": 0})

    def gauges(self) -> Mapping[str, int]:
        """For the metrics."""
        counts = {
            f'wallet_webhook_tries_total{{outcome="{n}"}}': v for n, v in self.counted.items()
        }
        return counts | {"wallet_webhooks_sending": self._sending.total()}

    async def run(self) -> None:
        """Both, until cancelled, whatever becomes of the database."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._reading)
            group.start_soon(self._sending_all)

    # -- reading

    async def _reading(self) -> None:
        while True:
            try:
                if await self.lead():
                    await self._followed()
            except Exception:
                log.exception("notices are not read; trying again")
            await anyio.sleep(LOOK_S)

    async def _followed(self) -> None:
        try:
            await self.follow()
        except UnknownCursor:
            log.warning("the record is older than what was read: notices begin anew")
            await self._begin(await self._tail.newest())

    async def lead(self) -> bool:
        """Take or keep the claim of the one who reads."""
        now = self._deps.clock.now()
        return await self._deps.store.write(partial(self._leads, now))

    def _leads(self, now: datetime, uow: UnitOfWork) -> bool:
        return uow.work.acquire(*LEASE, self._holder, now, now + timedelta(seconds=LEASE_S))

    async def _begin(self, cursor: str) -> None:
        await self._deps.store.write(lambda uow: uow.webhooks.save_cursor(cursor))

    async def follow(self) -> None:
        """Follow the feed from the stored cursor until another process takes over."""
        cursor = await self._deps.store.read(lambda uow: uow.webhooks.read_upto())
        if cursor is None:
            cursor = await self._tail.newest()
            await self._begin(cursor)
        skipped = 0
        async with aclosing(self._tail.follow(cursor)) as rows:
            async for entry in rows:
                event = event_of(entry.row)
                if skipped < SKIPPED and not await self._concerns(entry.public_id, event):
                    skipped += 1
                    continue
                skipped = 0
                if not await self._take(entry, event):
                    return

    async def _concerns(self, public_id: str, event: Event) -> bool:
        """Whether a row may have a recipient: no query for most rows, one for the rest."""
        return may_tell(event) and await self._deps.store.read(
            lambda uow: uow.webhooks.listen_to(public_id)
        )

    async def _take(self, entry: FeedEntry, event: Event) -> bool:
        """Take one row, if the claim is still ours."""
        now = self._deps.clock.now()
        rows = [(entry.public_id, event)]

        def taken(uow: UnitOfWork) -> bool:
            if not self._leads(now, uow):
                return False
            enqueue_notices(uow, rows, entry.cursor, now)
            return True

        return await self._deps.store.write(taken)

    # -- sending

    async def _sending_all(self) -> None:
        async with anyio.create_task_group() as group:
            while True:
                try:
                    await self.round(group)
                except Exception:
                    log.exception("notices cannot be claimed; trying again")
                await anyio.sleep(POLL_S)

    async def round(self, group: TaskGroup) -> int:
        """Claim what is due, as far as there is room, and start sending it; how many."""
        now = self._deps.clock.now()
        busy = self._sending
        room = {lane: most - busy[lane] for lane, most in ROOM.items() if most > busy[lane]}
        if not await self._deps.store.read(lambda uow: uow.webhooks.due(now, room)):
            return 0
        until = now + timedelta(seconds=CLAIM_S)
        taken = await self._deps.store.write(lambda uow: uow.webhooks.claim(now, until, room))
        for lane, webhook, delivery in taken:
            self._sending[lane] += 1
            group.start_soon(self._send, lane, webhook, delivery)
        return len(taken)

    async def _send(self, lane: Lane, webhook: Webhook, delivery: Delivery) -> None:
        try:
            outcome = await self._outcome(webhook, delivery)
            now = self._deps.clock.now()
            noted = await self._deps.store.write(
                lambda uow: note_attempt(uow, webhook, delivery, _attempt(delivery, outcome, now))
            )
            self.counted["delivered" if noted.ok else "failed"] += 1
            self.counted["dead"] += noted.status == "dead"
        except Exception:
            # The claim runs out, and it is sent again under the same id.
            log.exception("delivery %s is not noted", delivery.delivery_id)
        finally:
            self._sending[lane] -= 1

    async def _outcome(self, webhook: Webhook, delivery: Delivery) -> PostResult:
        now = self._deps.clock.now()
        lasts = LINK_LASTS if delivery.kind == VERIFY else DEAD_AFTER
        if now >= delivery.made_at + lasts:
            return PostResult(fault="too_old")
        match webhook.channel:
            case "push":
                return await self._push(webhook, delivery, now)
            case "email":
                return await self._write(webhook, delivery, now)
        return await self._post(webhook, delivery, now)

    async def _post(self, webhook: Webhook, delivery: Delivery, now: datetime) -> PostResult:
        signing = self._deps.webhooks
        if signing is None:
            return PostResult(fault="not_configured")
        headers = signing.headers(
            webhook.webhook_id,
            webhook.generation,
            webhook.rotated_at,
            message_id=delivery.delivery_id,
            body=delivery.body,
            now=now,
        )
        return await self._out.post(webhook.url, headers, delivery.body)

    async def _push(self, webhook: Webhook, delivery: Delivery, now: datetime) -> PostResult:
        push = self._deps.push
        if push is None or webhook.sealed is None:
            return PostResult(fault="not_configured")
        try:
            keys = push.opened(webhook.sealed)
        except SealBroken:
            return PostResult(fault="other_key")
        headers = push.headers(
            webhook.url,
            message_id=delivery.delivery_id,
            ttl=PUSH_LASTS,
            urgent=delivery.kind in URGENT,
            now=now,
        )
        return await self._out.post(webhook.url, headers, encrypt(keys, delivery.body.encode()))

    async def _write(self, webhook: Webhook, delivery: Delivery, now: datetime) -> PostResult:
        signing, base = self._deps.webhooks, self._deps.config.base_url
        if signing is None or self._mail is None:
            return PostResult(fault="not_configured")
        path = str(json.loads(delivery.body)["url"])
        if delivery.kind == VERIFY:
            path = verify_path(signing, webhook.webhook_id)
        letter = Letter(
            to=webhook.url,
            kind=delivery.kind,
            message_id=delivery.delivery_id,
            link=base + path,
            settings_link=base + SETTINGS_PAGE,
            stop_link=base + stop_path(signing, webhook.webhook_id),
            at=now,
            language=webhook.language,
        )
        return await self._mail.send(letter)


def _attempt(delivery: Delivery, outcome: PostResult, now: datetime) -> DeliveryAttempt:
    """The outcome of a try; a receiver that asks to be left alone for a while is, within the time
    that a notice lasts.
    """
    retry_at = rest_until = None
    if not outcome.taken:
        retry_at = next_attempt_at(delivery, delivery.attempts + 1, now)
        if outcome.wait_s is not None:
            rest_until = now + timedelta(seconds=min(outcome.wait_s, LONGEST_WAIT_S))
    return DeliveryAttempt(
        at=now,
        ok=outcome.taken,
        answered=outcome.status,
        fault=outcome.fault,
        again_at=retry_at,
        gone=outcome.status in GONE,
        rest_until=rest_until,
    )
