"""Leases on keeper work: a process's right to a piece of it until a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from storage.sql import Repository, Row, first, maybe_moment, micros

UNPAID_FEE: Final = "unpaid fee"  # or other money left in a settled vault, by its mandate
SENT_BY: Final = "sent by: "  # before the kind of work; the holder is the figures
LONGEST: Final = timedelta(days=1)
_INSERT: Final = (
    "INSERT INTO work_claims (kind, key, holder, until_at) VALUES (:kind, :key, :holder, :until) "
    "ON CONFLICT (kind, key) DO "
)
_ACQUIRE: Final = (
    f"{_INSERT}UPDATE SET holder = excluded.holder, until_at = excluded.until_at "
    "WHERE work_claims.until_at <= :now OR work_claims.until_at > :latest "
    "OR work_claims.holder = :holder"
)
_NOTE: Final = f"{_INSERT}UPDATE SET holder = excluded.holder"
_OWE: Final = f"{_INSERT}NOTHING"


class LeaseRepository(Repository):
    """Claims of keeper work: two keepers share it and never do it twice."""

    def acquire(self, kind: str, key: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take a piece of work until a time; False while another process has it. No lease is longer
        than `LONGEST`: one that ends later was taken by a clock that ran ahead, and is free.
        """
        times = {"until": micros(until), "now": micros(now), "latest": micros(now + LONGEST)}
        return self._sql.run(_ACQUIRE, kind=kind, key=key, holder=holder, **times) == 1

    def until(self, kind: str, key: str) -> datetime | None:
        """The end of the lease on a piece of work; None where no process has it."""
        row = self._of(kind, key)
        return None if row is None else maybe_moment(row["until_at"])

    def _of(self, kind: str, key: str) -> Row | None:
        text = "SELECT holder, until_at FROM work_claims WHERE kind = :kind AND key = :key"
        return first(self._sql, text, kind=kind, key=key)

    def note_figures(self, kind: str, key: str, figures: str) -> None:
        """Note the figures by which a transaction was sent."""
        self._sql.run(_NOTE, kind=SENT_BY + kind, key=key, holder=figures, until=0)

    def figures(self, kind: str, key: str) -> str | None:
        """The figures by which such a transaction was sent last."""
        row = self._of(SENT_BY + kind, key)
        return None if row is None else str(row["holder"])

    def owe_fee(self, public_id: str) -> None:
        """Note that a settled mandate is not done with: its vault holds the agent's fee, or its
        owner's money; it stays until `fee_paid`.
        """
        self._sql.run(_OWE, kind=UNPAID_FEE, key=public_id, holder="", until=0)

    def rest_fee(self, public_id: str, until: datetime) -> None:
        """There is nothing to do for it now, and it is left alone until then; nothing where it is
        done with.
        """
        text = "UPDATE work_claims SET until_at = :until WHERE kind = :kind AND key = :key"
        self._sql.run(text, kind=UNPAID_FEE, key=public_id, until=micros(until))

    def fee_paid(self, public_id: str) -> None:
        """The vault is empty, and the ledger says so."""
        self.release(UNPAID_FEE, public_id, "")

    def release(self, kind: str, key: str, holder: str) -> None:
        """Give it back."""
        text = "DELETE FROM work_claims WHERE kind = :kind AND key = :key AND holder = :holder"
        self._sql.run(text, kind=kind, key=key, holder=holder)
