"""Idempotency records: the claim of a key, and the answer to every repeat of its call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson

from storage.sql import Repository, Row, Sql, first, maybe_micros, maybe_moment, micros


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """An idempotency record as a caller meets it; `new` where this call made it. `until` is set
    where the call has an effect outside: without an answer by then its process is gone, and the
    outcome is unknown.
    """

    new: bool
    request_hash: str
    status: int | None = None
    response: Mapping[str, object] | None = None
    until: datetime | None = None


CLAIM: Final = (
    "INSERT INTO idempotency (scope, key, request_hash, claimed_at, until_at) "
    "VALUES (:scope, :key, :request_hash, :claimed_at, :until) ON CONFLICT (scope, key) DO NOTHING"
)
CLAIMED: Final = "SELECT * FROM idempotency WHERE scope = :scope AND key = :key"
COMPLETE: Final = (
    "UPDATE idempotency SET status = :status, response = :response "
    "WHERE scope = :scope AND key = :key"
)
ANSWERED: Final = (
    "INSERT INTO idempotency (scope, key, request_hash, claimed_at, status, response) "
    "VALUES (:scope, :key, :request_hash, :claimed_at, :status, :response)"
)
_UNFINISHED: Final = "WHERE scope = :scope AND key = :key AND status IS NULL"


def _text(response: Mapping[str, object]) -> str:
    try:
        return orjson.dumps(response).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(response, separators=(",", ":"))


class IdempotencyRepository(Repository):
    """Keys of agent writes (spec 2.17)."""

    def __init__(self, sql: Sql):
        super().__init__(sql)
        self._made: dict[tuple[str, str], Row] = {}  # claims that are no rows yet

    def acquire(
        self, scope: str, key: str, request_hash: str, now: datetime, until: datetime | None = None
    ) -> IdempotencyRecord:
        """Claim a key, or find who did; two racing callers meet at the unique key, never at
        both.
        """
        claim: Row = {"request_hash": request_hash, "claimed_at": micros(now)}
        # Where nobody else writes while this transaction runs, which completes the claim or leaves
        # nothing behind, the row is written once, with its answer.
        at_once = until is None and not self._sql.locks
        created = not at_once and self._sql.run(
            CLAIM, scope=scope, key=key, **claim, until=maybe_micros(until)
        )
        record = None if created else self.find(scope, key)
        if record is not None:
            return record
        if at_once:
            created = (scope, key) not in self._made
            self._made.setdefault((scope, key), claim)
        return IdempotencyRecord(bool(created), request_hash, until=until if created else None)

    def find(self, scope: str, key: str) -> IdempotencyRecord | None:
        """The record of a key."""
        row = first(self._sql, CLAIMED, scope=scope, key=key)
        if row is None:
            return None
        response = json.loads(row["response"]) if row["response"] is not None else None
        until = maybe_moment(row["until_at"])
        return IdempotencyRecord(False, row["request_hash"], row["status"], response, until)

    def complete(self, scope: str, key: str, status: int, response: Mapping[str, object]) -> None:
        """Store the first answer, so that a repeat is identical."""
        claim = self._made.pop((scope, key), None)
        values = {"status": status, "response": _text(response), "scope": scope, "key": key}
        self._sql.run(COMPLETE if claim is None else ANSWERED, **values, **(claim or {}))

    def abandon(self, scope: str, key: str, now: datetime) -> None:
        """Mark a claim as one that no process will complete: its effect may have happened."""
        text = f"UPDATE idempotency SET until_at = :now {_UNFINISHED}"
        self._sql.run(text, scope=scope, key=key, now=micros(now))

    def release(self, scope: str, key: str) -> None:
        """Give an unfinished claim back."""
        self._sql.run(f"DELETE FROM idempotency {_UNFINISHED}", scope=scope, key=key)
