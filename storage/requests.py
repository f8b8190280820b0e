"""What a single request leaves besides the ledger: approvals, reservations, idempotency claims, switches, work claims."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.mandates.approvals import Approval, Reservation
from domain.money import Usdc
from storage.paging import cursor_of, keys_of
from storage.sql import Row, Sql, canonical, columns, first, maybe_micros, maybe_moment, micros, moment


class Approvals:
    """Approval items."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def add(self, item: Approval) -> None:
        """Store a new item."""
        self._sql.run(
            "INSERT INTO approvals "
            + columns(("approval_id", "public_id", "status", "action_hash", "requested_at", "expires_at", "decided_at", "body")),
            **_item_row(item),
        )

    def save(self, item: Approval) -> None:
        """Store a changed item."""
        self._sql.run(
            "UPDATE approvals SET status = :status, decided_at = :decided_at, body = :body WHERE approval_id = :id",
            status=item.status, decided_at=maybe_micros(item.decided_at), body=_item_row(item)["body"], id=item.approval_id,
        )  # fmt: skip

    def get(self, public_id: str, approval_id: str) -> Approval | None:
        """One item of a mandate."""
        row = first(
            self._sql,
            "SELECT * FROM approvals WHERE approval_id = :id AND public_id = :mandate",
            id=approval_id, mandate=public_id,
        )  # fmt: skip
        return _item(row) if row else None

    def of_action(self, public_id: str, action_hash: str) -> list[Approval]:
        """Items of one action, newest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND action_hash = :hash ORDER BY requested_at DESC LIMIT 20",
            mandate=public_id, hash=action_hash,
        )  # fmt: skip
        return [_item(r) for r in rows]

    def of_target(self, public_id: str, address: str) -> list[Approval]:
        """Approved or used items for one target, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND status IN ('approved', 'used') "
            "AND action_hash LIKE :prefix ORDER BY requested_at, approval_id",
            mandate=public_id, prefix=address.lower() + ":%",
        )  # fmt: skip
        return [_item(r) for r in rows]

    def pending(self, public_id: str, now: datetime) -> list[Approval]:
        """Items that wait for the owner and are still good, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND status = 'pending' AND expires_at > :now "
            "ORDER BY requested_at, approval_id",
            mandate=public_id, now=micros(now),
        )  # fmt: skip
        return [_item(r) for r in rows]

    def approved(self, public_id: str, now: datetime) -> list[Approval]:
        """Items the owner approved that are not used and still good, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND status = 'approved' AND expires_at > :now "
            "ORDER BY requested_at, approval_id",
            mandate=public_id, now=micros(now),
        )  # fmt: skip
        return [_item(r) for r in rows]

    def page(self, public_id: str, *, status: str | None, after: str | None, limit: int, now: datetime) -> list[Approval]:
        """A mandate's items, newest first; `status` as shown at `now`."""
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        condition = {
            None: "",
            "expired": " AND (status = 'expired' OR (status IN ('pending', 'approved') AND expires_at <= :now))",
        }.get(status, " AND status = :status")
        if status in ("pending", "approved"):
            condition += " AND expires_at > :now"
        values: dict[str, Any] = {"mandate": public_id, "at": at, "last": last, "most": limit}
        values |= {"now": micros(now)} if ":now" in condition else {}
        values |= {"status": status} if ":status" in condition else {}
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND (requested_at, approval_id) < (:at, :last)"
            f"{condition} ORDER BY requested_at DESC, approval_id DESC LIMIT :most",
            **values,
        )
        return [_item(r) for r in rows]


def item_after(item: Approval) -> str:
    """The cursor that continues behind this item."""
    return cursor_of(micros(item.requested_at), item.approval_id)


def _item_row(item: Approval) -> dict[str, Any]:
    body = {
        "target": dict(item.target),
        "data": item.data,
        "amount": item.approve_amount_usdc.micros,
        "why": item.why,
        "note": item.note,
    }
    return {
        "approval_id": item.approval_id,
        "public_id": item.public_id,
        "status": item.status,
        "action_hash": item.action_hash,
        "requested_at": micros(item.requested_at),
        "expires_at": micros(item.expires_at),
        "decided_at": maybe_micros(item.decided_at),
        "body": canonical(body),
    }


def _item(row: Row) -> Approval:
    body = json.loads(row["body"])
    return Approval(
        row["approval_id"], row["public_id"], row["status"], body["target"], body["data"], row["action_hash"],
        Usdc(body["amount"]), body["why"], moment(row["requested_at"]), moment(row["expires_at"]),
        maybe_moment(row["decided_at"]), body["note"],
    )  # fmt: skip


class Reservations:
    """Soft reservations of handed-out calldata; one per action."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def put(self, r: Reservation) -> None:
        """Make or renew a reservation; outdated ones of the mandate go."""
        self._sql.run(
            "DELETE FROM reservations WHERE public_id = :mandate AND expires_at <= :now",
            mandate=r.public_id,
            now=micros(r.made_at),
        )
        self._sql.run(
            "INSERT INTO reservations (public_id, action_hash, amount_micros, made_at, expires_at, approval_id) "
            "VALUES (:mandate, :hash, :amount, :made, :expires, :approval) "
            "ON CONFLICT (public_id, action_hash) DO UPDATE SET amount_micros = excluded.amount_micros, "
            "made_at = excluded.made_at, expires_at = excluded.expires_at, approval_id = excluded.approval_id",
            mandate=r.public_id, hash=r.action_hash, amount=r.amount.micros, made=micros(r.made_at),
            expires=micros(r.expires_at), approval=r.approval_id,
        )  # fmt: skip

    def live(self, public_id: str, now: datetime) -> list[Reservation]:
        """Reservations that still count."""
        rows = self._sql.rows(
            "SELECT * FROM reservations WHERE public_id = :mandate AND expires_at > :now", mandate=public_id, now=micros(now)
        )
        return [_reservation(r) for r in rows]

    def of_mandate(self, public_id: str) -> list[Reservation]:
        """Every reservation that was not released, outdated ones too, oldest first."""
        rows = self._sql.rows("SELECT * FROM reservations WHERE public_id = :mandate ORDER BY made_at", mandate=public_id)
        return [_reservation(r) for r in rows]

    def release(self, public_id: str, action_hash: str) -> None:
        """End a reservation."""
        self._sql.run(
            "DELETE FROM reservations WHERE public_id = :mandate AND action_hash = :hash", mandate=public_id, hash=action_hash
        )


def _reservation(row: Row) -> Reservation:
    return Reservation(
        row["public_id"], row["action_hash"], Usdc(row["amount_micros"]), moment(row["made_at"]), moment(row["expires_at"]),
        row["approval_id"],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Claim:
    """An idempotency record as a caller meets it; `new` where this call made it."""

    new: bool
    request_hash: str
    status: int | None = None
    response: Mapping[str, Any] | None = None


class Idempotency:
    """Keys of agent writes (spec 2.17)."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def claim(self, scope: str, key: str, request_hash: str, now: datetime) -> Claim:
        """Claim a key, or find who did; two racing callers meet at the unique key, never at both."""
        made = self._sql.run(
            "INSERT INTO idempotency (scope, key, request_hash, claimed_at) VALUES (:scope, :key, :hash, :at) "
            "ON CONFLICT (scope, key) DO NOTHING",
            scope=scope, key=key, hash=request_hash, at=micros(now),
        )  # fmt: skip
        if made == 1:
            return Claim(True, request_hash)
        found = self.find(scope, key)
        return found if found is not None else Claim(False, request_hash)

    def find(self, scope: str, key: str) -> Claim | None:
        """The record of a key."""
        row = first(self._sql, "SELECT * FROM idempotency WHERE scope = :scope AND key = :key", scope=scope, key=key)
        if row is None:
            return None
        response = json.loads(row["response"]) if row["response"] is not None else None
        return Claim(False, row["request_hash"], row["status"], response)

    def complete(self, scope: str, key: str, status: int, response: Mapping[str, Any]) -> None:
        """Store the first answer, so that a repeat is identical."""
        text = json.dumps(response, separators=(",", ":"))
        self._sql.run(
            "UPDATE idempotency SET status = :status, response = :response WHERE scope = :scope AND key = :key",
            status=status, response=text, scope=scope, key=key,
        )  # fmt: skip

    def release(self, scope: str, key: str) -> None:
        """Give an unfinished claim back."""
        self._sql.run("DELETE FROM idempotency WHERE scope = :scope AND key = :key AND status IS NULL", scope=scope, key=key)


class SwitchRows:
    """Switches that an operator set; the rest have their default from the settings."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def all(self) -> dict[str, str]:
        """Name to value."""
        return {r["name"]: r["value"] for r in self._sql.rows("SELECT name, value FROM switches")}

    def set(self, name: str, value: str, now: datetime, by: str) -> None:
        """Set a switch; acts on the next request of every process."""
        self._sql.run(
            "INSERT INTO switches (name, value, changed_at, changed_by) VALUES (:name, :value, :at, :by) "
            "ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value, changed_at = excluded.changed_at, changed_by = excluded.changed_by",
            name=name, value=value, at=micros(now), by=by,
        )  # fmt: skip


class Work:
    """Claims of keeper work: two keepers share it and never do it twice."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def claim(self, kind: str, key: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take a piece of work until a time; False while somebody else has it."""
        done = self._sql.run(
            "INSERT INTO work_claims (kind, key, holder, until_at) VALUES (:kind, :key, :holder, :until) "
            "ON CONFLICT (kind, key) DO UPDATE SET holder = excluded.holder, until_at = excluded.until_at "
            "WHERE work_claims.until_at <= :now OR work_claims.holder = :holder",
            kind=kind, key=key, holder=holder, until=micros(until), now=micros(now),
        )  # fmt: skip
        return done == 1

    def release(self, kind: str, key: str, holder: str) -> None:
        """Give it back."""
        self._sql.run(
            "DELETE FROM work_claims WHERE kind = :kind AND key = :key AND holder = :holder", kind=kind, key=key, holder=holder
        )
