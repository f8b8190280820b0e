"""Approvals, and reservations for calldata that was handed out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from domain.mandates.actions import Action
from domain.mandates.approvals import Approval, Reservation
from domain.money import Usdc
from storage.cursors import cursor_of, keys_of
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

_OPEN: Final = (
    "SELECT * FROM approvals WHERE public_id = :mandate AND status = '{}' "
    "AND expires_at > :now ORDER BY requested_at, approval_id"
)
PENDING: Final = _OPEN.format("pending")
APPROVED: Final = _OPEN.format("approved")
LIVE: Final = (
    "SELECT * FROM reservations WHERE public_id = :mandate AND expires_at > :now "
    "AND outcome IS NULL ORDER BY made_at, action_hash"
)


class ApprovalRepository:
    """Approval items."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def add(self, item: Approval) -> None:
        """Store a new item."""
        self._sql.run(
            "INSERT INTO approvals "
            + columns(
                (
                    "owner_id",
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
            owner_id=self._owner(item.public_id),
        )

    def _owner(self, public_id: str) -> str:
        query = "SELECT owner_id FROM mandates WHERE public_id = :id"
        row = first(self._sql, query, id=public_id)
        return row["owner_id"] if row else ""

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

    def expire_pending(self, public_id: str) -> None:
        """No item of this mandate waits for the owner any more."""
        self._sql.run(
            "UPDATE approvals SET status = 'expired' WHERE public_id = :mandate "
            "AND status = 'pending'",
            mandate=public_id,
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

    def pending(self, public_id: str, now: datetime) -> list[Approval]:
        """Items that wait for the owner and are still good, oldest first."""
        rows = self._sql.rows(PENDING, mandate=public_id, now=micros(now))
        return [_item(r) for r in rows]

    def approved(self, public_id: str, now: datetime) -> list[Approval]:
        """Items the owner approved that are not used and still good, oldest first."""
        rows = self._sql.rows(APPROVED, mandate=public_id, now=micros(now))
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
        values: dict[str, object] = {"mandate": public_id, "at": at, "last": last, "most": limit}
        values |= {"now": micros(now)} if ":now" in condition else {}
        values |= {"status": status} if ":status" in condition else {}
        rows = self._sql.rows(
            "SELECT * FROM approvals WHERE public_id = :mandate "
            "AND (requested_at, approval_id) < (:at, :last)"
            f"{condition} ORDER BY requested_at DESC, approval_id DESC LIMIT :most",
            **values,
        )
        return [_item(r) for r in rows]

    def of_owner(
        self, owner_id: str, *, status: str | None, after: str | None, limit: int, now: datetime
    ) -> list[Approval]:
        """The items of all of an owner's mandates, those that are good the longest first; `status`
        as shown at `now`.

        Each stored status is a range of one index, read no further than the page.
        """
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        items: list[Approval] = []
        for stored, when in _STORED_AS[status]:
            rows = self._sql.rows(
                "SELECT * FROM approvals WHERE owner_id = :owner AND status = :status "
                f"AND (expires_at, approval_id) < (:at, :last){when} "
                "ORDER BY expires_at DESC, approval_id DESC LIMIT :most",
                owner=owner_id,
                status=stored,
                at=at,
                last=last,
                most=limit,
                **({"now": micros(now)} if when else {}),
            )
            items += [_item(r) for r in rows]
        return sorted(items, key=lambda i: (i.expires_at, i.approval_id), reverse=True)[:limit]


_GOOD, _OVER = " AND expires_at > :now", " AND expires_at <= :now"
_STORED_AS: Final[Mapping[str | None, tuple[tuple[str, str], ...]]] = {
    None: tuple((s, "") for s in ("pending", "approved", "declined", "expired", "used")),
    "pending": (("pending", _GOOD),),
    "approved": (("approved", _GOOD),),
    "declined": (("declined", ""),),
    "used": (("used", ""),),
    "expired": (("expired", ""), ("pending", _OVER), ("approved", _OVER)),
}


def item_of_owner_after(item: Approval) -> str:
    """The cursor that continues behind this item in `of_owner`."""
    return cursor_of(micros(item.expires_at), item.approval_id)


def item_after(item: Approval) -> str:
    """The cursor that continues behind this item."""
    return cursor_of(micros(item.requested_at), item.approval_id)


def _item_row(item: Approval) -> dict[str, object]:
    body = {
        "target": dict(item.target),
        "data": item.data,
        "amount": item.approve_amount_usdc.micros,
        "why": item.why,
        "note": item.note,
        "until": item.until,
        "signature": item.signature,
        "data_hash": item.data_hash,
        "used_by": item.used_by,
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
        body.get("data_hash"),
        body.get("until"),
        body.get("signature"),
        body.get("used_by"),
    )


KEPT: Final = (
    "public_id",
    "action_hash",
    "target",
    "selector",
    "data_hash",
    "amount_micros",
    "made_at",
    "expires_at",
    "sender",
    "block",
    "approval_id",
    "outcome",
    "tx_hash",
)
_RENEWED = ", ".join(f"{n} = excluded.{n}" for n in KEPT if n not in ("public_id", "action_hash"))

RENEW: Final = f"ON CONFLICT (public_id, action_hash) DO UPDATE SET {_RENEWED}"
HAND_OUT: Final = f"INSERT INTO reservations {columns(KEPT)} {RENEW}"


class ReservationRepository:
    """Calldata that was handed out, one row an action: the newest time, and what became of it."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def put(self, r: Reservation) -> None:
        """Note calldata that is handed out, in place of an earlier time for the same action."""
        self._sql.run(
            HAND_OUT,
            public_id=r.public_id,
            action_hash=r.action.action_hash,
            target=r.action.target,
            selector=r.action.selector,
            data_hash=r.action.data_hash,
            amount_micros=r.action.amount.micros,
            made_at=micros(r.made_at),
            expires_at=micros(r.expires_at),
            sender=r.sender,
            block=r.block,
            approval_id=r.approval_id,
            outcome=r.outcome,
            tx_hash=r.tx_hash,
        )

    def live(self, public_id: str, now: datetime) -> list[Reservation]:
        """Those that still count."""
        rows = self._sql.rows(LIVE, mandate=public_id, now=micros(now))
        return [_reservation(r) for r in rows]

    def of_action(self, public_id: str, action_hash: str) -> Reservation | None:
        """The newest time that an action's calldata was handed out."""
        row = first(
            self._sql,
            "SELECT * FROM reservations WHERE public_id = :mandate AND action_hash = :hash",
            mandate=public_id,
            hash=action_hash,
        )
        return _reservation(row) if row else None

    def of_call(
        self, public_id: str, target: str, data_hash: str, amount: Usdc
    ) -> Reservation | None:
        """The approval of a call, by the fields that a vault's log repeats."""
        row = first(
            self._sql,
            "SELECT * FROM reservations WHERE public_id = :mandate AND data_hash = :data "
            "AND target = :target AND amount_micros = :amount",
            mandate=public_id,
            data=data_hash.lower(),
            target=target.lower(),
            amount=amount.micros,
        )
        return _reservation(row) if row else None

    def give_back(self, public_id: str, action_hash: str, tx_hash: str) -> None:
        """The execution that ended it is in no block any more: it counts again until it expires."""
        self._sql.run(
            "UPDATE reservations SET outcome = NULL, tx_hash = NULL WHERE public_id = :mandate "
            "AND action_hash = :hash AND outcome = 'landed' AND tx_hash = :tx",
            mandate=public_id,
            hash=action_hash,
            tx=tx_hash,
        )

    def end(
        self,
        public_id: str,
        action_hash: str,
        outcome: Literal["landed", "reverted"],
        tx_hash: str,
    ) -> None:
        """Note what became of it; it counts no more."""
        self._sql.run(
            "UPDATE reservations SET outcome = :outcome, tx_hash = :tx "
            "WHERE public_id = :mandate AND action_hash = :hash",
            outcome=outcome,
            tx=tx_hash,
            mandate=public_id,
            hash=action_hash,
        )


def _reservation(row: Row) -> Reservation:
    return Reservation(
        public_id=row["public_id"],
        action=Action(
            action_hash=row["action_hash"],
            target=row["target"],
            selector=row["selector"],
            data_hash=row["data_hash"],
            amount=Usdc(row["amount_micros"]),
        ),
        made_at=moment(row["made_at"]),
        expires_at=moment(row["expires_at"]),
        sender=row["sender"],
        block=row["block"],
        approval_id=row["approval_id"],
        outcome=row["outcome"],
        tx_hash=row["tx_hash"],
    )
