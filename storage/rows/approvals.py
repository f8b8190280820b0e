"""Approval items and soft reservations."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from domain.mandates.approvals import Approval, Reservation
from domain.money import Usdc
from storage.paging import cursor_of, keys_of
from storage.sql import (
    Row,
    Sql,
    canonical,
    columns,
    first,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
)


class Approvals:
    """Approval items."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def add(self, item: Approval) -> None:
        """Store a new item."""
        self._sql.run(
            "INSERT INTO approvals "
            + columns(
                (
                    "approval_id",
                    "public_id",
                    "status",
                    "action_hash",
                    "requested_at",
                    "expires_at",
                    "decided_at",
                    "body",
                )
            ),
            **_item_row(item),
        )

    def save(self, item: Approval) -> None:
        """Store a changed item."""
        self._sql.run(
            "UPDATE approvals SET status = :status, decided_at = :decided_at, body = :body "
            "WHERE approval_id = :id",
            status=item.status,
            decided_at=maybe_micros(item.decided_at),
            body=_item_row(item)["body"],
            id=item.approval_id,
        )

    def get(self, public_id: str, approval_id: str) -> Approval | None:
        """One item of a mandate."""
        row = first(
            self._sql,
            "SELECT * FROM approvals WHERE approval_id = :id AND public_id = :mandate",
            id=approval_id,
            mandate=public_id,
        )
        return _item(row) if row else None

    def of_action(self, public_id: str, action_hash: str) -> list[Approval]:
        """Items of one action, newest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND action_hash = :hash "
            "ORDER BY requested_at DESC LIMIT 20",
            mandate=public_id,
            hash=action_hash,
        )
        return [_item(r) for r in rows]

    def of_target(self, public_id: str, address: str) -> list[Approval]:
        """Approved or used items for one target, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND status IN ('approved', 'used') "
            "AND action_hash LIKE :prefix ORDER BY requested_at, approval_id",
            mandate=public_id,
            prefix=address.lower() + ":%",
        )
        return [_item(r) for r in rows]

    def pending(self, public_id: str, now: datetime) -> list[Approval]:
        """Items that wait for the owner and are still good, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND status = 'pending' "
            "AND expires_at > :now "
            "ORDER BY requested_at, approval_id",
            mandate=public_id,
            now=micros(now),
        )
        return [_item(r) for r in rows]

    def approved(self, public_id: str, now: datetime) -> list[Approval]:
        """Items the owner approved that are not used and still good, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate AND status = 'approved' "
            "AND expires_at > :now "
            "ORDER BY requested_at, approval_id",
            mandate=public_id,
            now=micros(now),
        )
        return [_item(r) for r in rows]

    def page(
        self, public_id: str, *, status: str | None, after: str | None, limit: int, now: datetime
    ) -> list[Approval]:
        """A mandate's items, newest first; `status` as shown at `now`."""
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        condition = {
            None: "",
            "expired": " AND (status = 'expired' OR (status IN ('pending', 'approved') "
            "AND expires_at <= :now))",
        }.get(status, " AND status = :status")
        if status in ("pending", "approved"):
            condition += " AND expires_at > :now"
        values: dict[str, Any] = {"mandate": public_id, "at": at, "last": last, "most": limit}
        values |= {"now": micros(now)} if ":now" in condition else {}
        values |= {"status": status} if ":status" in condition else {}
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate "
            "AND (requested_at, approval_id) < (:at, :last)"
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
        row["approval_id"],
        row["public_id"],
        row["status"],
        body["target"],
        body["data"],
        row["action_hash"],
        Usdc(body["amount"]),
        body["why"],
        moment(row["requested_at"]),
        moment(row["expires_at"]),
        maybe_moment(row["decided_at"]),
        body["note"],
    )


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
            "INSERT INTO reservations (public_id, action_hash, amount_micros, made_at, expires_at, "
            "approval_id) "
            "VALUES (:mandate, :hash, :amount, :made, :expires, :approval) "
            "ON CONFLICT (public_id, action_hash) DO UPDATE "
            "SET amount_micros = excluded.amount_micros, "
            "made_at = excluded.made_at, expires_at = excluded.expires_at, approval_id = "
            "excluded.approval_id",
            mandate=r.public_id,
            hash=r.action_hash,
            amount=r.amount.micros,
            made=micros(r.made_at),
            expires=micros(r.expires_at),
            approval=r.approval_id,
        )

    def live(self, public_id: str, now: datetime) -> list[Reservation]:
        """Reservations that still count."""
        rows = self._sql.rows(
            "SELECT * FROM reservations WHERE public_id = :mandate AND expires_at > :now",
            mandate=public_id,
            now=micros(now),
        )
        return [_reservation(r) for r in rows]

    def of_mandate(self, public_id: str) -> list[Reservation]:
        """Every reservation that was not released, outdated ones too, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM reservations WHERE public_id = :mandate ORDER BY made_at",
            mandate=public_id,
        )
        return [_reservation(r) for r in rows]

    def release(self, public_id: str, action_hash: str) -> None:
        """End a reservation."""
        self._sql.run(
            "DELETE FROM reservations WHERE public_id = :mandate AND action_hash = :hash",
            mandate=public_id,
            hash=action_hash,
        )


def _reservation(row: Row) -> Reservation:
    return Reservation(
        row["public_id"],
        row["action_hash"],
        Usdc(row["amount_micros"]),
        moment(row["made_at"]),
        moment(row["expires_at"]),
        row["approval_id"],
    )
