"""Trade permissions: persons allowed to trade live, and the log of each change and limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.trading.limit_log import LimitChange
from storage.codec import Table
from storage.sql import Repository, Sql, micros, number


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowlistEntry:
    """One item of the allowlist, and who put it there."""

    item: str
    changed_at: datetime
    changed_by: str


_ITEMS: Final = Table("trade_allowlist", AllowlistEntry)
_CHANGES: Final = Table("limit_log", LimitChange, more=("n",))
_SEED: Final = f"{_ITEMS.insert} ON CONFLICT (item) DO NOTHING"
_ALLOW: Final = (
    f"{_ITEMS.insert} ON CONFLICT (item) DO UPDATE SET removed_at = NULL, "
    "changed_at = excluded.changed_at, changed_by = excluded.changed_by "
    "WHERE trade_allowlist.removed_at IS NOT NULL"
)
_REMOVE: Final = (
    "UPDATE trade_allowlist SET removed_at = :changed_at, changed_at = :changed_at, "
    "changed_by = :changed_by WHERE item = :item AND removed_at IS NULL"
)
_BEFORE: Final = (
    "SELECT * FROM limit_log WHERE changed_at < :at "
    "OR (changed_at = :at AND (subject < :subject OR (subject = :subject AND n < :n))) "
    "ORDER BY changed_at DESC, subject DESC, n DESC LIMIT :most"
)


class TradeAllowlistRepository(Repository):
    """Wallets and people who may trade live. Every change leaves a row in the limit log."""

    def __init__(self, sql: Sql):
        super().__init__(sql)
        self._log = LimitLogRepository(sql)

    def all(self) -> frozenset[str]:
        """Every item, in lower case."""
        rows = self._sql.rows("SELECT item FROM trade_allowlist WHERE removed_at IS NULL")
        return frozenset(str(r["item"]) for r in rows)

    def page(self, after: str, limit: int) -> list[AllowlistEntry]:
        """Items behind `after`, in their order."""
        where = "removed_at IS NULL AND item > :after ORDER BY item LIMIT :most"
        return _ITEMS.all(self._sql, where, after=after, most=limit)

    def seed(self, items: tuple[str, ...], now: datetime) -> None:
        """Add the items of the settings; one that an operator removed stays removed."""
        for item in items:
            entry = AllowlistEntry(item=item, changed_at=now, changed_by="settings")
            self._change(_SEED, entry, allowed=True, reason="the settings at a start")

    def put(self, item: str, *, allowed: bool, now: datetime, by: str, reason: str) -> bool:
        """Put an item on the list or take it off; False where it is so already, and nothing is
        written.

        The statement is conditional, so that of two that say the same at once one is logged.
        """
        entry = AllowlistEntry(item=item, changed_at=now, changed_by=by)
        return self._change(_ALLOW if allowed else _REMOVE, entry, allowed=allowed, reason=reason)

    def _change(self, text: str, entry: AllowlistEntry, *, allowed: bool, reason: str) -> bool:
        if not self._sql.run(text, **_ITEMS.row(entry)):
            return False
        change = LimitChange(
            what="allowlist",
            subject=entry.item,
            changes={"allowed": {"from": not allowed, "to": allowed}},
            changed_at=entry.changed_at,
            changed_by=entry.changed_by,
            why=reason,
        )
        self._log.add(change)
        return True


class LimitLogRepository(Repository):
    """Every change of who may trade live, and of how much; append-only."""

    def add(self, change: LimitChange) -> None:
        """Append a change. The caller holds the row that it is about, so that the numbers of a
        subject are consecutive.
        """
        text = "SELECT MAX(n) AS n FROM limit_log WHERE subject = :subject"
        n = number(self._sql, text, subject=change.subject)
        _CHANGES.add(self._sql, change, n=n + 1)

    def page(
        self, before: tuple[int, str, int] | None, limit: int
    ) -> list[tuple[tuple[int, str, int], LimitChange]]:
        """Changes before a place (microseconds, subject, number), newest first, each with its
        place."""
        at, subject, n = before or (2**63 - 1, "", 0)
        rows = self._sql.rows(_BEFORE, at=at, subject=subject, n=n, most=limit)
        changes = [(_CHANGES.record(row), int(row["n"])) for row in rows]
        return [((micros(c.changed_at), c.subject, n), c) for c, n in changes]
