"""Builder fees, the venue's request budget, who may trade live, and the limit log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from domain.trading.builder_fee import BuilderFeeRecord
from domain.trading.limit_log import LimitChange
from domain.trading.venue_values import Network
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

T = TypeVar("T")


class BuilderFeeRepository:
    """Approvals of the builder fee, as told and as the venue confirmed them."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def put(self, record: BuilderFeeRecord) -> None:
        """Record an approval, or what the venue said of it now."""
        self._sql.run(
            "INSERT INTO venue_builder_fees "
            + columns(
                (
                    "network",
                    "wallet_lower",
                    "builder_lower",
                    "user_id",
                    "wallet",
                    "max_fee_rate",
                    "recorded_at",
                    "approved_tenths_bps",
                    "ever_approved",
                    "checked_at",
                )
            )
            + " ON CONFLICT (network, wallet_lower, builder_lower) "
            "DO UPDATE SET user_id = excluded.user_id, "
            "max_fee_rate = excluded.max_fee_rate, "
            "approved_tenths_bps = COALESCE(excluded.approved_tenths_bps, "
            "venue_builder_fees.approved_tenths_bps), "
            "ever_approved = CASE WHEN excluded.ever_approved = 1 THEN 1 "
            "ELSE venue_builder_fees.ever_approved END, "
            "checked_at = COALESCE(excluded.checked_at, venue_builder_fees.checked_at)",
            network=record.network,
            wallet_lower=record.wallet.lower(),
            builder_lower=record.builder.lower(),
            user_id=record.user_id,
            wallet=record.wallet,
            max_fee_rate=record.max_fee_rate,
            recorded_at=micros(record.recorded_at),
            approved_tenths_bps=record.approved_tenths_bps,
            ever_approved=int(record.ever_approved),
            checked_at=maybe_micros(record.checked_at),
        )

    def get(self, network: Network, wallet: str, builder: str) -> BuilderFeeRecord | None:
        """What is known of a wallet's approval."""
        row = first(
            self._sql,
            "SELECT * FROM venue_builder_fees WHERE network = :network "
            "AND wallet_lower = :wallet AND builder_lower = :builder",
            network=network,
            wallet=wallet.lower(),
            builder=builder.lower(),
        )
        if row is None:
            return None
        return BuilderFeeRecord(
            user_id=row["user_id"],
            network=row["network"],
            wallet=row["wallet"],
            builder=builder,
            max_fee_rate=row["max_fee_rate"],
            recorded_at=moment(row["recorded_at"]),
            approved_tenths_bps=row["approved_tenths_bps"],
            ever_approved=bool(row["ever_approved"]),
            checked_at=maybe_moment(row["checked_at"]),
        )

    def counts(
        self, network: Network, builder: str, enough_tenths_bps: int
    ) -> tuple[int, int, int]:
        """Recorded; verified by the venue last; approved once and not any more."""
        row = first(
            self._sql,
            "SELECT COUNT(*) AS recorded, "
            "COALESCE(SUM(CASE WHEN approved_tenths_bps >= :enough THEN 1 "
            "ELSE 0 END), 0) AS verified, "
            "COALESCE(SUM(CASE WHEN ever_approved = 1 AND approved_tenths_bps = 0 THEN 1 "
            "ELSE 0 END), 0) AS revoked "
            "FROM venue_builder_fees WHERE network = :network AND builder_lower = :builder",
            enough=enough_tenths_bps,
            network=network,
            builder=builder.lower(),
        )
        return (
            (int(row["recorded"]), int(row["verified"]), int(row["revoked"])) if row else (0, 0, 0)
        )


class VenueWeightRepository:
    """The request budget that the processes of one outgoing address share."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key; others who change it wait."""
        self._sql.run(
            "INSERT INTO venue_weights (key, body) VALUES (:key, '') ON CONFLICT (key) DO NOTHING",
            key=key,
        )
        tail = " FOR UPDATE" if self._sql.dialect == "postgresql" else ""
        row = first(self._sql, "SELECT body FROM venue_weights WHERE key = :key" + tail, key=key)
        body, statement = work(row["body"] or None if row else None)
        self._sql.run("UPDATE venue_weights SET body = :body WHERE key = :key", body=body, key=key)
        return statement


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
        """Write a change down. Whoever changes holds the row that it is about, so that the numbers
        of a subject follow each other."""
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
