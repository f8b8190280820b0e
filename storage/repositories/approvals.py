"""Approvals, and reservations for calldata that was handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from domain.mandates.actions import Action
from domain.mandates.approvals import Approval, HeldTask, Reservation
from domain.money import Usdc
from storage.codec import Table
from storage.cursors import cursor_of
from storage.repositories.mandate_polling import IDS_AT_ONCE
from storage.sql import Repository, Row, columns, first, micros, placeholders

APPROVALS: Final = Table(
    "approvals",
    Approval,
    body={"approve_amount_usdc": "amount"}
    | {
        name: name
        for name in (
            "target", "data", "why", "note", "until", "signature", "data_hash", "used_by",
        )
    },
    more=("owner_id",),
)  # fmt: skip
_OPEN: Final = (
    "SELECT * FROM approvals WHERE public_id = :mandate AND status = '{}' "
    "AND expires_at > :now ORDER BY requested_at, approval_id"
)
PENDING: Final = _OPEN.format("pending")
APPROVED: Final = _OPEN.format("approved")
_SAVE: Final = (
    "UPDATE approvals SET status = :status, decided_at = :decided_at, body = :body "
    "WHERE approval_id = :approval_id"
)
_TASKS: Final = Table("held_tasks", HeldTask)
_FOLLOW: Final = f"{_TASKS.insert} ON CONFLICT (approval_id) DO NOTHING"
_ANSWER: Final = (
    "UPDATE held_tasks SET status = :status, answer = :answer "
    "WHERE approval_id = :approval_id AND public_id = :public_id AND status IS NULL"
)
_ACTIONS: Final = Table("reservations", Action, names={"amount": "amount_micros"})
_RESERVATIONS: Final = Table("reservations", Reservation, names={"action": None})
KEPT: Final = (
    "public_id", "action_hash", "target", "selector", "data_hash", "amount_micros", "made_at",
    "expires_at", "sender", "block", "approval_id", "outcome", "tx_hash",
)  # fmt: skip
_RENEWED = ", ".join(f"{n} = excluded.{n}" for n in KEPT if n not in ("public_id", "action_hash"))
RENEW: Final = f"ON CONFLICT (public_id, action_hash) DO UPDATE SET {_RENEWED}"
HAND_OUT: Final = f"INSERT INTO reservations {columns(KEPT)} {RENEW}"
LIVE: Final = (
    "SELECT * FROM reservations WHERE public_id = :mandate AND expires_at > :now "
    "AND outcome IS NULL ORDER BY made_at, action_hash"
)
_OF_ACTION: Final = "SELECT * FROM reservations WHERE public_id = :mandate AND action_hash = :hash"
_OF_CALL: Final = (
    "SELECT * FROM reservations WHERE public_id = :mandate AND data_hash = :data "
    "AND target = :target AND amount_micros = :amount"
)
_END: Final = (
    "UPDATE reservations SET outcome = :outcome, tx_hash = :tx "
    "WHERE public_id = :mandate AND action_hash = :hash"
)
_GIVE_BACK: Final = (
    "UPDATE reservations SET outcome = NULL, tx_hash = NULL WHERE public_id = :mandate "
    "AND action_hash = :hash AND outcome = 'landed' AND tx_hash = :tx"
)
_GOOD, _OVER = " AND expires_at > :now", " AND expires_at <= :now"
_STORED_AS: Final[Mapping[str | None, tuple[tuple[str, str], ...]]] = {
    None: tuple((s, "") for s in ("pending", "approved", "declined", "expired", "used")),
    "pending": (("pending", _GOOD),),
    "approved": (("approved", _GOOD),),
    "declined": (("declined", ""),),
    "used": (("used", ""),),
    "expired": (("expired", ""), ("pending", _OVER), ("approved", _OVER)),
}


class ApprovalRepository(Repository):
    """Approval items."""

    def add(self, item: Approval) -> None:
        """Store a new item."""
        text = "SELECT owner_id FROM mandates WHERE public_id = :id"
        owner = first(self._sql, text, id=item.public_id)
        APPROVALS.add(self._sql, item, owner_id=owner["owner_id"] if owner else "")

    def save(self, item: Approval) -> None:
        """Store a changed item."""
        row = APPROVALS.row(item)
        changed = {name: row[name] for name in ("status", "decided_at", "body", "approval_id")}
        self._sql.run(_SAVE, **changed)

    def expire_pending(self, public_id: str) -> None:
        """No item of this mandate waits for the owner any more."""
        where = "WHERE public_id = :mandate AND status = 'pending'"
        self._sql.run(f"UPDATE approvals SET status = 'expired' {where}", mandate=public_id)

    def get(self, public_id: str, approval_id: str) -> Approval | None:
        """One item of a mandate."""
        where = "approval_id = :id AND public_id = :mandate"
        return APPROVALS.first(self._sql, where, id=approval_id, mandate=public_id)

    def mandate_of(self, approval_id: str) -> str | None:
        """The mandate of an item; None where there is no such item."""
        text = "SELECT public_id FROM approvals WHERE approval_id = :id"
        row = first(self._sql, text, id=approval_id)
        return None if row is None else str(row["public_id"])

    def versions(self, approval_ids: Sequence[str], now: datetime) -> dict[str, str]:
        """A text for each of some items that differs once its status does, as of now."""
        return {
            item.approval_id: f"{item.status_at(now)}.{item.decided_at}"
            for some in _at_once(approval_ids)
            for item in APPROVALS.all(self._sql, f"approval_id IN ({placeholders(some)})", **some)
        }

    def answered_tasks(self, approval_ids: Sequence[str]) -> set[str]:
        """Those of some items whose task was answered."""
        text = "SELECT approval_id FROM held_tasks WHERE approval_id IN ({}) AND status IS NOT NULL"
        return {
            str(row["approval_id"])
            for some in _at_once(approval_ids)
            for row in self._sql.rows(text.format(placeholders(some)), **some)
        }

    def by_id(self, approval_id: str) -> Approval | None:
        """One item, whatever its mandate."""
        return APPROVALS.first(self._sql, "approval_id = :id", id=approval_id)

    def follow(self, task: HeldTask) -> HeldTask:
        """The task of a held call: this one, where the item had none before."""
        self._sql.run(_FOLLOW, **_TASKS.row(task))
        return self.task(task.public_id, task.approval_id) or task

    def task(self, public_id: str, approval_id: str) -> HeldTask | None:
        """The task of an item."""
        where = "approval_id = :id AND public_id = :mandate"
        return _TASKS.first(self._sql, where, id=approval_id, mandate=public_id)

    def answer_task(self, task: HeldTask) -> HeldTask:
        """Keep how a task was answered; the answer that was first stays."""
        row = _TASKS.row(task)
        named = ("status", "answer", "approval_id", "public_id")
        self._sql.run(_ANSWER, **{n: row[n] for n in named})
        return self.task(task.public_id, task.approval_id) or task

    def of_action(self, public_id: str, action_hash: str) -> list[Approval]:
        """Items of one action, newest first."""
        where = "public_id = :mandate AND action_hash = :hash ORDER BY requested_at DESC LIMIT 20"
        return APPROVALS.all(self._sql, where, mandate=public_id, hash=action_hash)

    def pending(self, public_id: str, now: datetime) -> list[Approval]:
        """Items that wait for the owner and are still good, oldest first."""
        rows = self._sql.rows(PENDING, mandate=public_id, now=micros(now))
        return [APPROVALS.record(r) for r in rows]

    def approved(self, public_id: str, now: datetime) -> list[Approval]:
        """Items the owner approved that are not used and still good, oldest first."""
        rows = self._sql.rows(APPROVED, mandate=public_id, now=micros(now))
        return [APPROVALS.record(r) for r in rows]

    def page(
        self, public_id: str, *, status: str | None, after: str | None, limit: int, now: datetime
    ) -> list[Approval]:
        """A mandate's items, newest first; `status` as shown at `now`."""
        condition = {
            None: "",
            "expired": " AND (status = 'expired' OR (status IN ('pending', 'approved') "
            "AND expires_at <= :now))",
        }.get(status, " AND status = :status")
        if status in ("pending", "approved"):
            condition += _GOOD
        values: dict[str, object] = {"mandate": public_id}
        values |= {"now": micros(now)} if ":now" in condition else {}
        values |= {"status": status} if ":status" in condition else {}
        where, by = f"public_id = :mandate{condition}", "requested_at, approval_id"
        return APPROVALS.page(self._sql, where, by, after, limit, **values)

    def of_owner(
        self,
        owner_id: str,
        *,
        status: str | None,
        after: str | None,
        limit: int,
        now: datetime,
        approval_id: str | None = None,
    ) -> list[Approval]:
        """The items of all of an owner's mandates, or one of them, those that are good the longest
        first; `status` as shown at `now`.

        Each stored status is a range of one index, read no further than the page.
        """
        items: list[Approval] = []
        for stored, when in _STORED_AS[status]:
            where, by = f"owner_id = :owner AND status = :status{when}", "expires_at, approval_id"
            values: dict[str, object] = {"now": micros(now)} if when else {}
            values |= {"owner": owner_id, "status": stored}
            if approval_id is not None:
                where += " AND approval_id = :one"
                values["one"] = approval_id
            items += APPROVALS.page(self._sql, where, by, after, limit, **values)
        return sorted(items, key=lambda i: (i.expires_at, i.approval_id), reverse=True)[:limit]


def _at_once(ids: Sequence[str]) -> list[dict[str, str]]:
    """Some ids as the values of one statement, as many as it takes."""
    parts = [ids[n : n + IDS_AT_ONCE] for n in range(0, len(ids), IDS_AT_ONCE)]
    return [{f"i{k}": of for k, of in enumerate(part)} for part in parts]


def item_of_owner_after(item: Approval) -> str:
    """The cursor that continues behind this item in `of_owner`."""
    return cursor_of(micros(item.expires_at), item.approval_id)


def item_after(item: Approval) -> str:
    """The cursor that continues behind this item."""
    return cursor_of(micros(item.requested_at), item.approval_id)


class ReservationRepository(Repository):
    """Calldata that was handed out, one row an action: the newest time, and what became of it."""

    def put(self, r: Reservation) -> None:
        """Note calldata that is handed out, in place of an earlier time for the same action."""
        self._sql.run(HAND_OUT, **_RESERVATIONS.row(r), **_ACTIONS.row(r.action))

    def live(self, public_id: str, now: datetime) -> list[Reservation]:
        """Those that still count."""
        rows = self._sql.rows(LIVE, mandate=public_id, now=micros(now))
        return [_reservation(r) for r in rows]

    def of_action(self, public_id: str, action_hash: str) -> Reservation | None:
        """The newest time that an action's calldata was handed out."""
        row = first(self._sql, _OF_ACTION, mandate=public_id, hash=action_hash)
        return _reservation(row) if row else None

    def of_call(
        self, public_id: str, target: str, data_hash: str, amount: Usdc
    ) -> Reservation | None:
        """The approval of a call, by the fields that a vault's log repeats."""
        call = {"data": data_hash.lower(), "target": target.lower(), "amount": amount.micros}
        row = first(self._sql, _OF_CALL, mandate=public_id, **call)
        return _reservation(row) if row else None

    def give_back(self, public_id: str, action_hash: str, tx_hash: str) -> None:
        """The execution that ended it is in no block any more: it counts again until it expires."""
        self._sql.run(_GIVE_BACK, mandate=public_id, hash=action_hash, tx=tx_hash)

    def end(
        self, public_id: str, action_hash: str, outcome: Literal["landed", "reverted"], tx_hash: str
    ) -> None:
        """Note what became of it; it counts no more."""
        self._sql.run(_END, outcome=outcome, tx=tx_hash, mandate=public_id, hash=action_hash)


def _reservation(row: Row) -> Reservation:
    return _RESERVATIONS.record(row, action=_ACTIONS.record(row))
