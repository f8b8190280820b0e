"""Bills of purses: stored before they can be paid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from domain.mandates.bills import Bill
from storage.codec import Table
from storage.sql import Repository, exists, micros

BILLS: Final = Table(
    "bills",
    Bill,
    key="bill_id",
    names={"amount": "amount_micros"},
    body={n: n for n in ("token", "accepted", "echoed", "why", "payment_identifier", "signature")},
)
_UNSETTLED: Final = "event_id IS NULL AND voided_at IS NULL"
_OPEN: Final = f"{_UNSETTLED} AND valid_before > :now"
# What the owner has declined takes nothing out of the purse: no other payment waits for it.
_NOT_DECLINED: Final = (
    "NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.approval_id = bills.approval_id "
    "AND approvals.status = 'declined')"
)
_KEY: Final = "agent_id = :agent AND public_id = :mandate"
_EXPIRE: Final = (
    "UPDATE approvals SET status = 'expired' WHERE status IN ('pending', 'approved') "
    "AND approval_id IN (SELECT approval_id FROM bills WHERE {} AND approval_id IS NOT NULL)"
)
OPEN_MOST: Final = 500


class BillRepository(Repository):
    """One row a bill; one a key of an agent's mandate, and one a nonce of a purse."""

    def add(self, bill: Bill) -> None:
        """Store a new bill. Errors: `Duplicate` where its key or its nonce is taken."""
        BILLS.add(self._sql, bill)

    def save(self, bill: Bill) -> None:
        """Store a changed bill."""
        self._sql.run(BILLS.upsert, **BILLS.row(bill))

    def get(self, public_id: str, bill_id: str) -> Bill | None:
        """One bill of a mandate."""
        where = "bill_id = :id AND public_id = :mandate"
        return BILLS.first(self._sql, where, id=bill_id, mandate=public_id)

    def find(self, agent_id: str, public_id: str, key: str) -> Bill | None:
        """The bill of an agent's key."""
        where = f"{_KEY} AND key = :key"
        return BILLS.first(self._sql, where, agent=agent_id, mandate=public_id, key=key)

    def open_of_request(
        self, agent_id: str, public_id: str, request_hash: str, now: datetime
    ) -> Bill | None:
        """The newest open bill that an agent asked for by this very request."""
        where = f"{_KEY} AND request_hash = :hash AND {_OPEN} ORDER BY made_at DESC LIMIT 1"
        named = {"agent": agent_id, "mandate": public_id, "hash": request_hash}
        return BILLS.first(self._sql, where, now=int(now.timestamp()), **named)

    def by_nonce(self, purse: str, nonce: str) -> Bill | None:
        """The bill that a payment of a purse settles."""
        where = "purse = :purse AND nonce = :nonce"
        return BILLS.first(self._sql, where, purse=purse, nonce=nonce.lower())

    def open(self, public_id: str, now: datetime) -> list[Bill]:
        """A mandate's bills that may still be paid, oldest first; none that the owner declined."""
        where = (
            f"public_id = :mandate AND {_OPEN} AND {_NOT_DECLINED} "
            "ORDER BY made_at, bill_id LIMIT :most"
        )
        named = {"mandate": public_id, "now": int(now.timestamp()), "most": OPEN_MOST}
        return BILLS.all(self._sql, where, **named)

    def open_of_agent(self, agent_id: str, now: datetime) -> list[Bill]:
        """An agent's bills that may still be paid, of all its mandates."""
        where = f"agent_id = :agent AND {_OPEN} AND {_NOT_DECLINED} ORDER BY made_at, bill_id"
        return BILLS.all(self._sql, where, agent=agent_id, now=int(now.timestamp()))

    def unsettled(self, public_id: str, since: datetime, after: datetime) -> list[Bill]:
        """A mandate's bills whose time was not over at `since`, and that no payment settles by the
        rows of blocks up to the time of `after`, without those that the owner declined; those
        whose time ends last come first.
        """
        where = (
            f"public_id = :mandate AND valid_before > :since AND ({_UNSETTLED} "
            f"OR paid_at > :after) AND {_NOT_DECLINED} "
            "ORDER BY valid_before DESC, bill_id LIMIT :most"
        )
        times = {"since": int(since.timestamp()), "after": micros(after)}
        return BILLS.all(self._sql, where, mandate=public_id, most=2 * OPEN_MOST, **times)

    def page(self, public_id: str, *, after: str | None, limit: int) -> Sequence[Bill]:
        """A mandate's bills, newest first."""
        by = "made_at, bill_id"
        return BILLS.page(self._sql, "public_id = :mandate", by, after, limit, mandate=public_id)

    def void(self, purse: str, epoch: int, at: datetime) -> None:
        """No unpaid bill of an epoch before this one can be paid any more, and none of them waits
        for its owner.
        """
        bills = "purse = :purse AND epoch < :epoch AND paid_at IS NULL AND voided_at IS NULL"
        self._sql.run(_EXPIRE.format(bills), purse=purse, epoch=epoch)
        text = f"UPDATE bills SET voided_at = :at WHERE {bills}"
        self._sql.run(text, at=micros(at), purse=purse, epoch=epoch)

    def revive(self, purse: str, epoch: int) -> None:
        """Bills of this epoch and of later ones are not void: what ended it is gone."""
        text = "UPDATE bills SET voided_at = NULL WHERE purse = :purse AND epoch >= :epoch"
        self._sql.run(text, purse=purse, epoch=epoch)

    def names(self, address: str) -> bool:
        """True for the address of a purse or a hub that bills are of."""
        return exists(self._sql, "bills WHERE purse = :at OR hub = :at", at=address)
