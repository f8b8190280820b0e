"""Receivers of owners (webhooks, browsers, a mailbox), and the deliveries that wait for them.

A receiver is claimed, not a delivery: one receiver gets one call at a time, in order, and one that
hangs delays no other. One that is claimed by a process that ends is free again when the claim
runs out: a delivery may come twice, under the same id, and is never lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from typing import Final, Literal

from domain.mandates.notice_choices import CHANNELS, URGENT, VERIFY, Channel, MessageKind
from storage.codec import Table
from storage.cursors import cursor_of
from storage.sql import Repository, Sql, exists, first, in_turns, maybe_micros, micros, number

DeliveryStatus = Literal["waiting", "delivered", "dead"]
Lane = tuple[Channel, bool]
"""A channel, and whether its receivers are proven: each took a notice, and the last that it was
sent. Who hangs keeps others of its kind waiting, and none that is proven.
"""
LANES: Final[tuple[Lane, ...]] = tuple(product(CHANNELS, (True, False)))
WAITING_MOST: Final = 500
KEPT_DAYS: Final = 30
# So many failures in a row, and the receiver is taken to be away.
AWAY: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address at which an owner wants to be notified; `events` empty for all. `generation` names
    the secret.

    Shapes: `url` is a webhook's, the endpoint of a browser's push service, or an e-mail address
    that counts once it is verified. `sealed` holds a browser's keys, under the operator's.
    `language` is that of e-mails (ISO 639-1), None for English. Of `failing_since` on every try
    failed.
    """

    webhook_id: str
    owner_id: str
    url: str
    events: tuple[str, ...]
    generation: int
    created_at: datetime
    rotated_at: datetime | None = None
    failures: int = 0
    channel: Channel = "webhook"
    sealed: str | None = None
    verified_at: datetime | None = None
    failing_since: datetime | None = None
    language: str | None = None

    def wants(self, kind: str) -> bool:
        """True for a kind of notice that it asked for and may be told."""
        return not self.is_pending and (not self.events or kind in self.events)

    @property
    def is_pending(self) -> bool:
        """True for an e-mail address that is not verified yet."""
        return self.channel == "email" and self.verified_at is None

    @property
    def is_failing(self) -> bool:
        """True after three failures in a row."""
        return self.failures >= AWAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One notice for one webhook; `body` is the very text that is signed and sent. `about` is the
    mandate that it is about.

    `answered` is the HTTP status of the last try, `fault` a word for why there was none.
    """

    delivery_id: str
    webhook_id: str
    kind: MessageKind
    body: str
    status: DeliveryStatus
    made_at: datetime
    next_at: datetime
    attempts: int
    last_at: datetime | None
    answered: int | None
    fault: str | None
    notice_key: str
    about: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryAttempt:
    """The result of one delivery attempt; `again_at` None where there is no further one. `gone`:
    the receiver said that it is no more; before `rest_until` it wants to be called for nothing.
    """

    at: datetime
    ok: bool
    answered: int | None = None
    fault: str | None = None
    again_at: datetime | None = None
    gone: bool = False
    rest_until: datetime | None = None

    @property
    def status(self) -> DeliveryStatus:
        """The state of the delivery after it."""
        return "delivered" if self.ok else "dead" if self.again_at is None else "waiting"


_HOOKS: Final = Table("webhooks", Webhook, more=("busy_until",))
_DELIVERIES: Final = Table("webhook_deliveries", Delivery)
_QUEUE: Final = f"{_DELIVERIES.insert} ON CONFLICT (webhook_id, notice_key) DO NOTHING"
_WAITING: Final = (
    "SELECT COUNT(*) AS n FROM webhook_deliveries WHERE webhook_id = :id AND status = 'waiting'"
)
_CALL_NOW: Final = (
    "UPDATE webhooks SET next_at = :at "
    "WHERE webhook_id = :id AND (next_at IS NULL OR next_at > :at)"
)
_CALL_SOON: Final = _CALL_NOW + " AND (next_at IS NULL OR failures < :away)"
_IS_PROVEN: Final = (
    "(t.failures = 0 AND EXISTS (SELECT 1 FROM webhook_deliveries d "
    "WHERE d.webhook_id = t.webhook_id AND d.status = 'delivered'))"
)
_IS_FREE: Final = "t.next_at <= :now AND t.busy_until <= :now AND t.channel = :channel AND "
_IS_DUE: Final = {True: _IS_FREE + _IS_PROVEN, False: _IS_FREE + f"NOT {_IS_PROVEN}"}


def _due(is_proven: bool) -> str:
    """The query of a lane: it asks once more of each row that is locked, which may be taken."""
    is_due = _IS_DUE[is_proven]
    turns = in_turns("webhooks t", is_due, "t.owner_id", "t.next_at")
    return (
        f"SELECT t.* FROM webhooks t WHERE {is_due} AND webhook_id IN "
        f"(SELECT webhook_id FROM ({turns}) AS q)"
    )


_DUE: Final = {is_proven: _due(is_proven) for is_proven in _IS_DUE}
_TRIED: Final = (
    "UPDATE webhook_deliveries SET status = :status, attempts = attempts + 1, "
    "last_at = :at, answered = :answered, fault = :fault, next_at = :next "
    "WHERE delivery_id = :id AND status = 'waiting'"
)
_FIRST_TRY: Final = "WHERE webhook_id = :id AND status = 'waiting' AND attempts = 0"
_HELD: Final = f"SELECT DISTINCT kind FROM webhook_deliveries {_FIRST_TRY}"
_HOLD: Final = f"UPDATE webhook_deliveries SET next_at = :at {_FIRST_TRY} AND kind = :kind"
_MOVE: Final = (
    "UPDATE webhook_deliveries SET webhook_id = :id WHERE webhook_id = :before "
    "AND status = 'waiting' AND kind <> :link"
)
_OUTCOMES: Final = (
    "SELECT d.status FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.webhook_id "
    "WHERE w.owner_id = :owner AND w.channel = :channel AND d.notice_key = :key"
)
_DROP_OLD: Final = (
    "DELETE FROM webhook_deliveries WHERE webhook_id = :id AND status <> 'waiting' "
    "AND made_at < :old"
)


class WebhookRepository(Repository):
    """Webhooks and deliveries."""

    def __init__(self, sql: Sql):
        super().__init__(sql)
        self._skip = sql.locks and f"{sql.locks} SKIP LOCKED"

    def add(self, webhook: Webhook) -> None:
        """Store a new one."""
        _HOOKS.add(self._sql, webhook, busy_until=0)

    def rotate(self, webhook_id: str, generation: int, now: datetime) -> None:
        """Give it the next secret."""
        sets = {"generation": generation, "rotated_at": micros(now)}
        self._set(webhook_id, **sets)

    def _set(self, webhook_id: str, **values: int | str | None) -> None:
        sets = ", ".join(f"{name} = :{name}" for name in values)
        self._sql.run(f"UPDATE webhooks SET {sets} WHERE webhook_id = :id", id=webhook_id, **values)

    def drop(self, webhook_id: str) -> None:
        """Remove it with all its deliveries."""
        for table in ("webhook_deliveries", "webhooks"):
            self._sql.run(f"DELETE FROM {table} WHERE webhook_id = :id", id=webhook_id)

    def get(self, webhook_id: str) -> Webhook | None:
        """One webhook."""
        return _HOOKS.first(self._sql, "webhook_id = :id", id=webhook_id)

    def of_owner(self, owner_id: str, *channels: Channel) -> list[Webhook]:
        """An owner's receivers, of some channels or of all, oldest first; there are few."""
        where = "owner_id = :owner ORDER BY created_at, webhook_id"
        some = channels or CHANNELS
        return [h for h in _HOOKS.all(self._sql, where, owner=owner_id) if h.channel in some]

    def at(self, channel: Channel, url: str) -> list[Webhook]:
        """The receivers of a channel at an address, of whoever."""
        return _HOOKS.all(self._sql, "url = :url AND channel = :channel", url=url, channel=channel)

    def verify(self, webhook_id: str, now: datetime) -> None:
        """The owner of an address answered from it."""
        self._set(webhook_id, verified_at=micros(now))

    def speak(self, webhook_id: str, language: str | None) -> None:
        """The language of the e-mails to an address."""
        self._set(webhook_id, language=language)

    def reseal(self, browser: Webhook, sealed: str) -> None:
        """A browser's keys anew: it is away no more, and one that failed has to prove itself."""
        failures = min(browser.failures, 1)
        self._set(browser.webhook_id, sealed=sealed, failures=failures, failing_since=None)

    def take_over(self, webhook: Webhook, before: Webhook) -> None:
        """Hand over the notices that wait for another receiver, which is gone then."""
        self._sql.run(_MOVE, id=webhook.webhook_id, before=before.webhook_id, link=VERIFY)
        self.drop(before.webhook_id)
        self._rest(webhook, away_until=None)

    def listen_to(self, public_id: str) -> bool:
        """True where the owner of a mandate is told anywhere."""
        where = "mandates m JOIN webhooks w ON w.owner_id = m.owner_id WHERE m.public_id = :id"
        return exists(self._sql, where, id=public_id)

    def queue(
        self,
        webhook: Webhook,
        *,
        delivery_id: str,
        key: str,
        kind: MessageKind,
        body: str,
        now: datetime,
        due_at: datetime | None = None,
        about: str | None = None,
    ) -> bool:
        """Queue a notice, due now or at a later time; False where the same notice, by `key`, is
        there already. A receiver that is away is called again before its time for what is urgent.

        Where 500 wait, it is dead at once: a receiver that is away fills no database.
        """
        full = number(self._sql, _WAITING, id=webhook.webhook_id) >= WAITING_MOST
        delivery = Delivery(
            delivery_id=delivery_id,
            webhook_id=webhook.webhook_id,
            kind=kind,
            body=body,
            status="dead" if full else "waiting",
            made_at=now,
            next_at=due_at or now,
            attempts=0,
            last_at=None,
            answered=None,
            fault="too_many_wait" if full else None,
            notice_key=key,
            about=about,
        )
        created = self._sql.run(_QUEUE, **_DELIVERIES.row(delivery))
        if created and not full:
            at = micros(delivery.next_at)
            if kind in URGENT:
                self._sql.run(_CALL_NOW, id=webhook.webhook_id, at=at)
            else:
                self._sql.run(_CALL_SOON, id=webhook.webhook_id, at=at, away=AWAY)
        return created == 1

    def held_back(self, webhook_id: str) -> list[MessageKind]:
        """The kinds of the notices that wait for their first try."""
        return [row["kind"] for row in self._sql.rows(_HELD, id=webhook_id)]

    def hold(self, webhook_id: str, kind: MessageKind, until: datetime) -> None:
        """Give the notices of a kind that wait for their first try another time of it."""
        self._sql.run(_HOLD, id=webhook_id, kind=kind, at=micros(until))
        self._sql.run(_CALL_SOON, id=webhook_id, at=micros(until), away=AWAY)

    def due(self, now: datetime, lanes: Iterable[Lane] = LANES) -> bool:
        """True where a webhook of one of the lanes is to be called; asked before a claim, which
        writes.
        """
        at = micros(now)
        return any(
            exists(self._sql, f"webhooks t WHERE {_IS_DUE[is_proven]}", now=at, channel=channel)
            for channel, is_proven in lanes
        )

    def claim(
        self, now: datetime, until: datetime, room: Mapping[Lane, int]
    ) -> list[tuple[Lane, Webhook, Delivery]]:
        """Take webhooks that are due until a time, of each lane as many as it has room for, each
        owner's first before any owner's second, each with its next delivery.
        """
        at, taken = micros(now), []
        for lane, most in room.items():
            channel, is_proven = lane
            query = _DUE[is_proven] + self._skip
            for row in self._sql.rows(query, now=at, channel=channel, most=most):
                webhook = _HOOKS.record(row)
                delivery = self._next(webhook.webhook_id)
                if delivery is None or delivery.next_at > now:
                    self._rest(webhook, away_until=None)
                    continue
                self._set(webhook.webhook_id, busy_until=micros(until))
                taken.append((lane, webhook, delivery))
        return taken

    def _next(self, webhook_id: str) -> Delivery | None:
        where = "webhook_id = :id AND status = 'waiting' ORDER BY next_at, delivery_id LIMIT 1"
        return _DELIVERIES.first(self._sql, where, id=webhook_id)

    def tried(self, webhook: Webhook, delivery: Delivery, attempt: DeliveryAttempt) -> bool:
        """Note what became of a try, and let the webhook go; False where another noted one."""
        result = {"status": attempt.status, "answered": attempt.answered, "fault": attempt.fault}
        times = {"at": micros(attempt.at), "next": micros(attempt.again_at or attempt.at)}
        noted = self._sql.run(_TRIED, id=delivery.delivery_id, **result, **times)
        failures = 0 if attempt.ok else webhook.failures + 1
        since = None if attempt.ok else maybe_micros(webhook.failing_since or attempt.at)
        busy_until = maybe_micros(attempt.rest_until) or 0
        sets = {"failures": failures, "failing_since": since, "busy_until": busy_until}
        self._set(webhook.webhook_id, **sets)
        self._rest(webhook, away_until=attempt.again_at if failures >= AWAY else None)
        old = micros(attempt.at - timedelta(days=KEPT_DAYS))
        self._sql.run(_DROP_OLD, id=webhook.webhook_id, old=old)
        return noted == 1

    def _rest(self, webhook: Webhook, *, away_until: datetime | None) -> None:
        """Say when the webhook is called next: as its next delivery is due, but one that is away is
        left alone until then.
        """
        delivery = self._next(webhook.webhook_id)
        at = None if delivery is None else max(delivery.next_at, away_until or delivery.next_at)
        self._set(webhook.webhook_id, next_at=maybe_micros(at))

    def outcomes(self, owner_id: str, channel: Channel, key: str) -> list[DeliveryStatus]:
        """The states of one notice at the receivers of an owner's channel."""
        rows = self._sql.rows(_OUTCOMES, owner=owner_id, channel=channel, key=key)
        return [row["status"] for row in rows]

    def deliveries(self, webhook_id: str, *, after: str | None, limit: int) -> list[Delivery]:
        """A webhook's deliveries, newest first."""
        by = "made_at, delivery_id"
        return _DELIVERIES.page(self._sql, "webhook_id = :id", by, after, limit, id=webhook_id)

    def read_upto(self) -> str | None:
        """The cursor of the last ledger row that notices were made of."""
        row = first(self._sql, "SELECT cursor FROM notice_cursor WHERE name = 'ledger'")
        return row["cursor"] if row else None

    def save_cursor(self, cursor: str) -> None:
        """Note it."""
        text = (
            "INSERT INTO notice_cursor (name, cursor) VALUES ('ledger', :cursor) "
            "ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor"
        )
        self._sql.run(text, cursor=cursor)


def delivery_after(d: Delivery) -> str:
    """The cursor that continues behind this delivery."""
    return cursor_of(micros(d.made_at), d.delivery_id)
