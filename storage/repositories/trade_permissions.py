"""Trade permissions: persons allowed to trade live, and the log of each change and limit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from domain.trading.limit_log import LimitChange
from storage.sql import Row, Sql, canonical, columns, first, micros, moment


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistEntry:
    """One item of the allowlist, and who put it there."""

    item: str
    changed_at: datetime
    changed_by: str


class TradeAllowlistRepository:
    """Wallets and people who may trade live. Every change leaves a row in the limit log."""

    def __init__(self, sql: Sql):
        self._sql, self._log = sql, LimitLogRepository(sql)

    def all(self) -> frozenset[str]:
        """Every item, in lower case."""
        return frozenset(
            str(r["item"])
            for r in self._sql.rows("SELECT item FROM trade_allowlist WHERE removed_at IS NULL")
        )

    def page(self, after: str, limit: int) -> list[AllowlistEntry]:
        """Items behind `after`, in their order."""
        rows = self._sql.rows(
            "SELECT item, changed_at, changed_by FROM trade_allowlist "
            "WHERE removed_at IS NULL AND item > :after ORDER BY item LIMIT :most",
            after=after,
            most=limit,
        )
        return [
            AllowlistEntry(
                item=r["item"], changed_at=moment(r["changed_at"]), changed_by=r["changed_by"]
            )
            for r in rows
        ]

    def seed(self, items: tuple[str, ...], now: datetime) -> None:
        """Add the items of the settings; one that an operator removed stays removed."""
        for item in items:
            done = self._sql.run(
                "INSERT INTO trade_allowlist (item, changed_at, changed_by) "
                "VALUES (:item, :at, 'settings') ON CONFLICT (item) DO NOTHING",
                item=item,
                at=micros(now),
            )
            if done:
                self._log.add(_membership(item, True, now, "settings", "the settings at a start"))

    def put(self, item: str, *, allowed: bool, now: datetime, by: str, reason: str) -> bool:
        """Put an item on the list or take it off; False where it is so already, and nothing is
        written.

        The statement is conditional, so that of two that say the same at once one is logged.
        """
        if allowed:
            done = self._sql.run(
                "INSERT INTO trade_allowlist (item, changed_at, changed_by) "
                "VALUES (:item, :at, :by) ON CONFLICT (item) DO UPDATE SET removed_at = NULL, "
                "changed_at = excluded.changed_at, changed_by = excluded.changed_by "
                "WHERE trade_allowlist.removed_at IS NOT NULL",
                item=item,
                at=micros(now),
                by=by,
            )
        else:
            done = self._sql.run(
                "UPDATE trade_allowlist SET removed_at = :at, changed_at = :at, changed_by = :by "
                "WHERE item = :item AND removed_at IS NULL",
                item=item,
                at=micros(now),
                by=by,
            )
        if done:
            self._log.add(_membership(item, allowed, now, by, reason))
        return done == 1


def _membership(item: str, allowed: bool, now: datetime, by: str, reason: str) -> LimitChange:
    return LimitChange(
        what="allowlist",
        subject=item,
        changes={"allowed": {"from": not allowed, "to": allowed}},
        changed_at=now,
        changed_by=by,
        why=reason,
    )


class LimitLogRepository:
    """Every change of who may trade live, and of how much; append-only."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def add(self, change: LimitChange) -> None:
        """Append a change. The caller holds the row that it is about, so that the numbers of a
        subject are consecutive.
        """
        row = first(
            self._sql,
            "SELECT COALESCE(MAX(n), 0) AS n FROM limit_log WHERE subject = :subject",
            subject=change.subject,
        )
        names = ("subject", "n", "what", "changed_at", "changed_by", "changes", "why")
        self._sql.run(
            "INSERT INTO limit_log " + columns(names),
            subject=change.subject,
            n=int(row["n"]) + 1 if row else 1,
            what=change.what,
            changed_at=micros(change.changed_at),
            changed_by=change.changed_by,
            changes=canonical(dict(change.changes)),
            why=change.why,
        )

    def page(
        self, before: tuple[int, str, int] | None, limit: int
    ) -> list[tuple[tuple[int, str, int], LimitChange]]:
        """Changes before a place (microseconds, subject, number), newest first, each with its
        place."""
        at, subject, n = before or (2**63 - 1, "", 0)
        rows = self._sql.rows(
            "SELECT * FROM limit_log WHERE changed_at < :at "
            "OR (changed_at = :at AND (subject < :subject OR (subject = :subject AND n < :n))) "
            "ORDER BY changed_at DESC, subject DESC, n DESC LIMIT :most",
            at=at,
            subject=subject,
            n=n,
            most=limit,
        )
        return [((int(r["changed_at"]), r["subject"], int(r["n"])), _change(r)) for r in rows]


def _change(row: Row) -> LimitChange:
    return LimitChange(
        what=row["what"],
        subject=row["subject"],
        changes=json.loads(row["changes"]),
        changed_at=moment(row["changed_at"]),
        changed_by=row["changed_by"],
        why=row["why"],
    )
