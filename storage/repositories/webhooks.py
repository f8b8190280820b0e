"""Webhooks of owners, and the deliveries that wait for them.

A webhook is claimed, not a delivery: one receiver gets one call at a time, in order, and one that
hangs delays no other. A webhook that is claimed by a process that ends is free again when the claim
runs out: a delivery may come twice, under the same id, and is never lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from storage.cursors import cursor_of, keys_of
from storage.sql import Row, Sql, canonical, columns, first, in_turns, maybe_moment, micros, moment

DeliveryStatus = Literal["waiting", "delivered", "dead"]
WAITING_MOST: Final = 500
KEPT_DAYS: Final = 30
# So many failures in a row, and the receiver is taken to be away.
AWAY: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address at which an owner wants to be notified; `events` empty for all. `generation` names
    the secret.
    """

    webhook_id: str
    owner_id: str
    url: str
    events: tuple[str, ...]
    generation: int
    created_at: datetime
    rotated_at: datetime | None = None
    failures: int = 0

    def wants(self, kind: str) -> bool:
        """True for a kind of notice that it asked for."""
        return not self.events or kind in self.events


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One notice for one webhook; `body` is the very text that is signed and sent.

    `answered` is the HTTP status of the last try, `fault` a word for why there was none.
    """

    delivery_id: str
    webhook_id: str
    kind: str
    body: str
    status: DeliveryStatus
    made_at: datetime
    next_at: datetime
    attempts: int
    last_at: datetime | None
    answered: int | None
    fault: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryAttempt:
    """The result of one delivery attempt; `again_at` None where there is no further one."""

    at: datetime
    ok: bool
    answered: int | None = None
    fault: str | None = None
    again_at: datetime | None = None


class WebhookRepository:
    """Webhooks and deliveries."""

    def __init__(self, sql: Sql):
        self._sql = sql
        self._skip = sql.locks and f"{sql.locks} SKIP LOCKED"

    def add(self, webhook: Webhook) -> None:
        """Store a new one."""
        row = {
            "webhook_id": webhook.webhook_id,
            "owner_id": webhook.owner_id,
            "url": webhook.url,
            "events": canonical(list(webhook.events)),
            "generation": webhook.generation,
            "created_at": micros(webhook.created_at),
            "busy_until": 0,
            "failures": 0,
        }
        self._sql.run(f"INSERT INTO webhooks {columns(row)}", **row)

    def rotate(self, webhook_id: str, generation: int, now: datetime) -> None:
        """Give it the next secret."""
        self._sql.run(
            "UPDATE webhooks SET generation = :generation, rotated_at = :now "
            "WHERE webhook_id = :id",
            generation=generation,
            now=micros(now),
            id=webhook_id,
        )

    def drop(self, webhook_id: str) -> None:
        """Remove it with all its deliveries."""
        for table in ("webhook_deliveries", "webhooks"):
            self._sql.run(f"DELETE FROM {table} WHERE webhook_id = :id", id=webhook_id)

    def get(self, webhook_id: str) -> Webhook | None:
        """One webhook."""
        row = first(self._sql, "SELECT * FROM webhooks WHERE webhook_id = :id", id=webhook_id)
        return _hook(row) if row else None

    def of_owner(self, owner_id: str) -> list[Webhook]:
        """An owner's webhooks, oldest first; there are few."""
        rows = self._sql.rows(
            "SELECT * FROM webhooks WHERE owner_id = :owner ORDER BY created_at, webhook_id",
            owner=owner_id,
        )
        return [_hook(r) for r in rows]

    def listen_to(self, public_id: str) -> bool:
        """True where the owner of a mandate has a webhook."""
        row = first(
            self._sql,
            "SELECT 1 AS there FROM mandates m JOIN webhooks w ON w.owner_id = m.owner_id "
            "WHERE m.public_id = :id LIMIT 1",
            id=public_id,
        )
        return row is not None

    def queue(
        self, webhook: Webhook, *, delivery_id: str, key: str, kind: str, body: str, now: datetime
    ) -> bool:
        """Queue a notice; False where the same notice, by `key`, is there already.

        Where 500 wait, it is dead at once: a receiver that is away fills no database.
        """
        row = first(
            self._sql,
            "SELECT COUNT(*) AS n FROM webhook_deliveries "
            "WHERE webhook_id = :id AND status = 'waiting'",
            id=webhook.webhook_id,
        )
        full = row is not None and int(row["n"]) >= WAITING_MOST
        values = {
            "delivery_id": delivery_id,
            "webhook_id": webhook.webhook_id,
            "notice_key": key,
            "kind": kind,
            "body": body,
            "status": "dead" if full else "waiting",
            "made_at": micros(now),
            "next_at": micros(now),
            "attempts": 0,
            "fault": "too_many_wait" if full else None,
        }
        created = self._sql.run(
            f"INSERT INTO webhook_deliveries {columns(values)} "
            "ON CONFLICT (webhook_id, notice_key) DO NOTHING",
            **values,
        )
        if created and not full:
            self._sql.run(
                "UPDATE webhooks SET next_at = :now WHERE webhook_id = :id "
                "AND (next_at IS NULL OR (next_at > :now AND failures < :away))",
                id=webhook.webhook_id,
                now=micros(now),
                away=AWAY,
            )
        return created == 1

    def due(self, now: datetime) -> bool:
        """True where a webhook is to be called; asked before a claim, which writes."""
        return (
            first(
                self._sql,
                "SELECT 1 AS one FROM webhooks WHERE next_at <= :now AND busy_until <= :now "
                "LIMIT 1",
                now=micros(now),
            )
            is not None
        )

    def claim(self, now: datetime, until: datetime, limit: int) -> list[tuple[Webhook, Delivery]]:
        """Take up to `most` webhooks that are due until a time, each owner's first before any
        owner's second, each with its next delivery.
        """
        due = "t.next_at <= :now AND t.busy_until <= :now"
        turns = in_turns("webhooks t", due, "t.owner_id", "t.next_at")
        rows = self._sql.rows(
            # What is due is asked once more of the row that is locked: another may have taken it.
            f"SELECT t.* FROM webhooks t WHERE {due} AND webhook_id IN "
            f"(SELECT webhook_id FROM ({turns}) AS q){self._skip}",
            now=micros(now),
            most=limit,
        )
        taken = []
        for row in rows:
            webhook = _hook(row)
            delivery = self._next(webhook.webhook_id)
            if delivery is None or delivery.next_at > now:
                self._rest(webhook, now, away_until=None)
                continue
            self._sql.run(
                "UPDATE webhooks SET busy_until = :until WHERE webhook_id = :id",
                until=micros(until),
                id=webhook.webhook_id,
            )
            taken.append((webhook, delivery))
        return taken

    def _next(self, webhook_id: str) -> Delivery | None:
        row = first(
            self._sql,
            "SELECT * FROM webhook_deliveries WHERE webhook_id = :id AND status = 'waiting' "
            "ORDER BY next_at, delivery_id LIMIT 1",
            id=webhook_id,
        )
        return _delivery(row) if row else None

    def tried(self, webhook: Webhook, delivery: Delivery, attempt: DeliveryAttempt) -> None:
        """Note what became of a try, and let the webhook go."""
        status = "delivered" if attempt.ok else "dead" if attempt.again_at is None else "waiting"
        self._sql.run(
            "UPDATE webhook_deliveries SET status = :status, attempts = attempts + 1, "
            "last_at = :at, answered = :answered, fault = :fault, next_at = :next "
            "WHERE delivery_id = :id AND status = 'waiting'",
            status=status,
            at=micros(attempt.at),
            answered=attempt.answered,
            fault=attempt.fault,
            next=micros(attempt.again_at or attempt.at),
            id=delivery.delivery_id,
        )
        failures = 0 if attempt.ok else webhook.failures + 1
        self._sql.run(
            "UPDATE webhooks SET failures = :n, busy_until = 0 WHERE webhook_id = :id",
            n=failures,
            id=webhook.webhook_id,
        )
        self._rest(webhook, attempt.at, away_until=attempt.again_at if failures >= AWAY else None)
        self._sql.run(
            "DELETE FROM webhook_deliveries WHERE webhook_id = :id AND status <> 'waiting' "
            "AND made_at < :old",
            id=webhook.webhook_id,
            old=micros(attempt.at - timedelta(days=KEPT_DAYS)),
        )

    def _rest(self, webhook: Webhook, now: datetime, *, away_until: datetime | None) -> None:
        """Say when the webhook is called next: as its next delivery is due, but one that is away is
        left alone until then.
        """
        delivery = self._next(webhook.webhook_id)
        at = None if delivery is None else max(delivery.next_at, away_until or delivery.next_at)
        self._sql.run(
            "UPDATE webhooks SET next_at = :at WHERE webhook_id = :id",
            at=None if at is None else micros(at),
            id=webhook.webhook_id,
        )

    def deliveries(self, webhook_id: str, *, after: str | None, limit: int) -> list[Delivery]:
        """A webhook's deliveries, newest first."""
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        rows = self._sql.rows(
            "SELECT * FROM webhook_deliveries WHERE webhook_id = :id "
            "AND (made_at, delivery_id) < (:at, :last) "
            "ORDER BY made_at DESC, delivery_id DESC LIMIT :most",
            id=webhook_id,
            at=at,
            last=last,
            most=limit,
        )
        return [_delivery(r) for r in rows]

    def read_upto(self) -> str | None:
        """The cursor of the last ledger row that notices were made of."""
        row = first(self._sql, "SELECT cursor FROM notice_cursor WHERE name = 'ledger'")
        return row["cursor"] if row else None

    def save_cursor(self, cursor: str) -> None:
        """Note it."""
        self._sql.run(
            "INSERT INTO notice_cursor (name, cursor) VALUES ('ledger', :cursor) "
            "ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor",
            cursor=cursor,
        )


def delivery_after(d: Delivery) -> str:
    """The cursor that continues behind this delivery."""
    return cursor_of(micros(d.made_at), d.delivery_id)


def _hook(row: Row) -> Webhook:
    return Webhook(
        webhook_id=row["webhook_id"],
        owner_id=row["owner_id"],
        url=row["url"],
        events=tuple(json.loads(row["events"])),
        generation=int(row["generation"]),
        created_at=moment(row["created_at"]),
        rotated_at=maybe_moment(row["rotated_at"]),
        failures=int(row["failures"]),
    )


def _delivery(row: Row) -> Delivery:
    return Delivery(
        delivery_id=row["delivery_id"],
        webhook_id=row["webhook_id"],
        kind=row["kind"],
        body=row["body"],
        status=row["status"],
        made_at=moment(row["made_at"]),
        next_at=moment(row["next_at"]),
        attempts=int(row["attempts"]),
        last_at=maybe_moment(row["last_at"]),
        answered=None if row["answered"] is None else int(row["answered"]),
        fault=row["fault"],
    )
