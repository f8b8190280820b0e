"""Leases on keeper work: a process's right to a piece of it until a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from storage.sql import Sql, first, maybe_moment, micros

UNPAID_FEE: Final = "unpaid fee"  # or other money left in a settled vault, by its mandate
SENT_BY: Final = "sent by: "  # before the kind of work; the holder is the figures
LONGEST: Final = timedelta(days=1)


class LeaseRepository:
    """Claims of keeper work: two keepers share it and never do it twice."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def acquire(self, kind: str, key: str, holder: str, now: datetime, until: datetime) -> bool:
        """Take a piece of work until a time; False while another process has it. No lease is longer
        than `LONGEST`: one that ends later was taken by a clock that ran ahead, and is free.
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
        """The end of the lease on a piece of work; None where no process has it."""
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
