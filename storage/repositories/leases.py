"""Idempotency claims, switches, and claims of the keeper's work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import orjson

from storage.sql import Sql, first, maybe_micros, maybe_moment, micros


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """An idempotency record as a caller meets it; `new` where this call made it.

    `until` is set where something is done outside: without an answer by then, whoever did it is
    gone, and the outcome is unknown.
    """

    new: bool
    request_hash: str
    status: int | None = None
    response: Mapping[str, object] | None = None
    until: datetime | None = None


CLAIM: Final = (
    "INSERT INTO idempotency (scope, key, request_hash, claimed_at, until_at) "
    "VALUES (:scope, :key, :hash, :at, :until) ON CONFLICT (scope, key) DO NOTHING"
)
CLAIMED: Final = "SELECT * FROM idempotency WHERE scope = :scope AND key = :key"
COMPLETE: Final = (
    "UPDATE idempotency SET status = :status, response = :response "
    "WHERE scope = :scope AND key = :key"
)
ANSWERED: Final = (
    "INSERT INTO idempotency (scope, key, request_hash, claimed_at, status, response) "
    "VALUES (:scope, :key, :hash, :at, :status, :response)"
)


def _text(response: Mapping[str, object]) -> str:
    try:
        return orjson.dumps(response).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(response, separators=(",", ":"))


class IdempotencyRepository:
    """Keys of agent writes (spec 2.17)."""

    def __init__(self, sql: Sql):
        self._sql = sql
        self._made: dict[tuple[str, str], dict[str, object]] = {}  # claims that are no rows yet

    def acquire(
        self,
        scope: str,
        key: str,
        request_hash: str,
        now: datetime,
        until: datetime | None = None,
    ) -> IdempotencyRecord:
        """Claim a key, or find who did; two racing callers meet at the unique key, never at
        both.
        """
        if until is None and self._sql.dialect == "sqlite":
            # Nobody else writes while this transaction runs, which completes the claim or leaves
            # nothing behind: the row is written once, with its answer.
            found = self.find(scope, key)
            if found is None and (scope, key) not in self._made:
                self._made[scope, key] = {"hash": request_hash, "at": micros(now)}
                return IdempotencyRecord(True, request_hash)
            return found if found is not None else IdempotencyRecord(False, request_hash)
        created = self._sql.run(
            CLAIM,
            scope=scope,
            key=key,
            hash=request_hash,
            at=micros(now),
            until=maybe_micros(until),
        )
        if created == 1:
            return IdempotencyRecord(True, request_hash, until=until)
        found = self.find(scope, key)
        return found if found is not None else IdempotencyRecord(False, request_hash)

    def find(self, scope: str, key: str) -> IdempotencyRecord | None:
        """The record of a key."""
        row = first(
            self._sql,
            CLAIMED,
            scope=scope,
            key=key,
        )
        if row is None:
            return None
        response = json.loads(row["response"]) if row["response"] is not None else None
        until = maybe_moment(row["until_at"])
        return IdempotencyRecord(False, row["request_hash"], row["status"], response, until)

    def complete(self, scope: str, key: str, status: int, response: Mapping[str, object]) -> None:
        """Store the first answer, so that a repeat is identical."""
        claim = self._made.pop((scope, key), None)
        values = {"status": status, "response": _text(response), "scope": scope, "key": key}
        if claim is None:
            self._sql.run(COMPLETE, **values)
        else:
            self._sql.run(ANSWERED, **values, **claim)

    def abandon(self, scope: str, key: str, now: datetime) -> None:
        """Say that nobody will come to complete a claim: what it stood for may have happened."""
        self._sql.run(
            "UPDATE idempotency SET until_at = :now "
            "WHERE scope = :scope AND key = :key AND status IS NULL",
            scope=scope,
            key=key,
            now=micros(now),
        )

    def release(self, scope: str, key: str) -> None:
        """Give an unfinished claim back."""
        self._sql.run(
            "DELETE FROM idempotency WHERE scope = :scope AND key = :key AND status IS NULL",
            scope=scope,
            key=key,
        )


SWITCHES: Final = "SELECT name, value FROM switches"


class SwitchRepository:
    """Switches that an operator set; the rest have their default from the settings."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def all(self) -> dict[str, str]:
        """Name to value."""
        return {r["name"]: r["value"] for r in self._sql.rows(SWITCHES)}

    def set(self, name: str, value: str, now: datetime, by: str) -> None:
        """Set a switch; acts on the next request of every process."""
        self._sql.run(
            "INSERT INTO switches (name, value, changed_at, changed_by) "
            "VALUES (:name, :value, :at, :by) "
            "ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value, changed_at = excluded.changed_at, changed_by = "
            "excluded.changed_by",
            name=name,
            value=value,
            at=micros(now),
            by=by,
        )


UNPAID_FEE: Final = "unpaid fee"  # or other money left in a settled vault, by its mandate
SENT_BY: Final = "sent by: "  # before the kind of work; the holder is the figures
LONGEST: Final = timedelta(days=1)


class LeaseRepository:
    """Claims of keeper work: two keepers share it and never do it twice."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def acquire(self, kind: str, key: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take a piece of work until a time; False while somebody else has it.

        Nobody has any for longer than `LONGEST`: what is claimed until later was claimed by a clock
        that ran ahead, and is free.
        """
        done = self._sql.run(
            "INSERT INTO work_claims (kind, key, holder, until_at) "
            "VALUES (:kind, :key, :holder, :until) "
            "ON CONFLICT (kind, key) DO UPDATE "
            "SET holder = excluded.holder, until_at = excluded.until_at "
            "WHERE work_claims.until_at <= :now OR work_claims.until_at > :latest "
            "OR work_claims.holder = :holder",
            kind=kind,
            key=key,
            holder=holder,
            until=micros(until),
            now=micros(now),
            latest=micros(now + LONGEST),
        )
        return done == 1

    def until(self, kind: str, key: str) -> datetime | None:
        """Until when somebody has a piece of work; None where nobody does."""
        row = first(
            self._sql,
            "SELECT until_at FROM work_claims WHERE kind = :kind AND key = :key",
            kind=kind,
            key=key,
        )
        return maybe_moment(row["until_at"]) if row is not None else None

    def note_figures(self, kind: str, key: str, figures: str) -> None:
        """Note the figures by which a transaction was sent."""
        self._sql.run(
            "INSERT INTO work_claims (kind, key, holder, until_at) "
            "VALUES (:kind, :key, :figures, 0) "
            "ON CONFLICT (kind, key) DO UPDATE SET holder = excluded.holder",
            kind=SENT_BY + kind,
            key=key,
            figures=figures,
        )

    def figures(self, kind: str, key: str) -> str | None:
        """The figures by which such a transaction was sent last."""
        row = first(
            self._sql,
            "SELECT holder FROM work_claims WHERE kind = :kind AND key = :key",
            kind=SENT_BY + kind,
            key=key,
        )
        return None if row is None else str(row["holder"])

    def owe_fee(self, public_id: str) -> None:
        """Note that a settled mandate is not done with: its vault holds the agent's fee, or its
        owner's money; it stays until `fee_paid`.
        """
        self._sql.run(
            "INSERT INTO work_claims (kind, key, holder, until_at) "
            "VALUES (:kind, :key, :holder, 0) ON CONFLICT (kind, key) DO NOTHING",
            kind=UNPAID_FEE,
            key=public_id,
            holder="",
        )

    def rest_fee(self, public_id: str, until: datetime) -> None:
        """There is nothing to do for it now, and it is left alone until then; nothing where it is
        done with.
        """
        self._sql.run(
            "UPDATE work_claims SET until_at = :until WHERE kind = :kind AND key = :key",
            kind=UNPAID_FEE,
            key=public_id,
            until=micros(until),
        )

    def fee_paid(self, public_id: str) -> None:
        """The vault is empty, and the ledger says so."""
        self.release(UNPAID_FEE, public_id, "")

    def release(self, kind: str, key: str, holder: str) -> None:
        """Give it back."""
        self._sql.run(
            "DELETE FROM work_claims WHERE kind = :kind AND key = :key AND holder = :holder",
            kind=kind,
            key=key,
            holder=holder,
        )
