"""Transfer reports, and the balances they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

from domain.agents.transfers import REF_CONFIRMED, Delta, StoredTransfer
from storage.sql import (
    Row,
    Sql,
    columns,
    first,
    in_turns,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
    tokens,
)

# Every place of every agent: the kept sum beside that of its append-only rows.
BOTH_SUMS: Final = (
    "SELECT agent_id, chain_id, asset, state, SUM(kept) AS kept, SUM(delta) AS summed, "
    "SUM(of_deltas) AS deltas FROM ("
    "SELECT agent_id, chain_id, asset, state, amount AS kept, 0 AS delta, 0 AS of_deltas "
    "FROM balances UNION ALL "
    "SELECT agent_id, chain_id, asset, state, 0, delta, 1 FROM balance_events"
    ") AS both_sides GROUP BY agent_id, chain_id, asset, state "
    "ORDER BY agent_id, chain_id, asset, state"
)


_WITH_OWNERS: Final = "transfer_reports t JOIN agents a ON a.agent_id = t.agent_id"


@dataclass(frozen=True, slots=True)
class BalanceEvent:
    """A stored delta with its place and time."""

    n: int
    delta: Delta
    created_at: datetime


class TransferRepository:
    """Transfer reports and the balances they move."""

    def __init__(self, sql: Sql):
        self._sql = sql

    # -- reports
    # ---------------------------------------------------------------------------------------------

    def add(self, report: StoredTransfer) -> bool:
        """Store a report; False where one with its (chain, tx) is there."""
        names = [f.name for f in fields(report)]
        text = (
            "INSERT INTO transfer_reports "
            + columns(names)
            + " ON CONFLICT (chain_id, tx_hash) DO NOTHING"
        )
        return self._sql.run(text, **self._row(report)) == 1

    def take_over(self, report: StoredTransfer) -> bool:
        """Put a report in the place of one that failed for another agent; False where there is no
        such report. Without it any agent could keep a transfer out of the books by reporting its
        hash first.
        """
        names = [f.name for f in fields(report) if f.name not in ("chain_id", "tx_hash")]
        return (
            self._sql.run(
                "UPDATE transfer_reports SET next_at = 0, "
                f"{', '.join(f'{n} = :{n}' for n in names)} "
                "WHERE chain_id = :chain_id "
                "AND tx_hash = :tx_hash AND status = 'failed' AND agent_id <> :agent_id",
                **self._row(report),
            )
            == 1
        )

    def save(self, report: StoredTransfer) -> None:
        """Store a report's outcome."""
        self._sql.run(
            "UPDATE transfer_reports SET status = :status, amount_actual = :actual, confirmed_at = "
            ":at, next_at = 0 "
            "WHERE chain_id = :chain AND tx_hash = :hash",
            status=report.status,
            at=maybe_micros(report.confirmed_at),
            chain=report.chain_id,
            hash=report.tx_hash,
            actual=None
            if report.amount_actual is None
            else tokens(self._sql, report.amount_actual),
        )

    def get(self, chain_id: int, tx_hash: str) -> StoredTransfer | None:
        """One report."""
        row = first(
            self._sql,
            "SELECT * FROM transfer_reports WHERE chain_id = :chain AND tx_hash = :hash",
            chain=chain_id,
            hash=tx_hash.lower(),
        )
        return _report(row) if row else None

    def found_since(self, agent_id: str, since: datetime) -> int:
        """Count an agent's transfers that the chain reader recorded without a report, from a time
        on, inclusive.
        """
        row = first(
            self._sql,
            "SELECT COUNT(*) AS n FROM transfer_reports WHERE agent_id = :id "
            "AND reported_at >= :since AND reported_by = 'chain'",
            id=agent_id,
            since=micros(since),
        )
        return int(row["n"]) if row else 0

    def due(
        self, chain_id: int, status: str, since: datetime | None, now: datetime, limit: int
    ) -> list[StoredTransfer]:
        """Reports of a status, made from a time on, inclusive, that are due to be checked on the
        chain: each owner's first before any owner's second, the one checked longest ago first.
        """
        where = (
            "t.chain_id = :chain AND t.status = :status AND t.reported_at >= :since "
            "AND t.next_at <= :now"
        )
        rows = self._sql.rows(
            in_turns(_WITH_OWNERS, where, "a.owner_id", "t.next_at, t.tx_hash"),
            chain=chain_id,
            status=status,
            since=-1 if since is None else micros(since),
            now=micros(now),
            most=limit,
        )
        return [_report(r) for r in rows]

    def mark_polled(self, when: Sequence[tuple[StoredTransfer, datetime]]) -> None:
        """Note when each of some reports is to be asked about again."""
        rows = [{"at": micros(at), "chain": one.chain_id, "hash": one.tx_hash} for one, at in when]
        self._sql.run_all(
            "UPDATE transfer_reports SET next_at = :at WHERE chain_id = :chain AND tx_hash = :hash",
            rows,
        )

    def waiting_of(self, owner_id: str) -> dict[str, tuple[int, datetime]]:
        """By agent of an owner: how many reports have no outcome, and when the first was made."""
        rows = self._sql.rows(
            "SELECT t.agent_id, COUNT(*) AS n, MIN(t.reported_at) AS at "
            f"FROM {_WITH_OWNERS} WHERE a.owner_id = :owner AND t.status = 'reported' "
            "GROUP BY t.agent_id",
            owner=owner_id,
        )
        return {r["agent_id"]: (int(r["n"]), moment(r["at"])) for r in rows}

    def overdue(self, request: Sequence[int], until: datetime, limit: int) -> list[StoredTransfer]:
        """Reports without an outcome, made until a time, inclusive, on chains that are not among
        those that can be asked; oldest first.
        """
        known = ", ".join(str(int(chain_id)) for chain_id in request) or "-1"
        rows = self._sql.rows(
            "SELECT * FROM transfer_reports WHERE status = 'reported' AND reported_at <= :until "
            f"AND chain_id NOT IN ({known}) ORDER BY reported_at, tx_hash LIMIT :most",
            until=micros(until),
            most=limit,
        )
        return [_report(r) for r in rows]

    def booked(self, agent_id: str, chain_id: int, tx_hash: str) -> bool:
        """True where what the transaction moved of this agent's is in its balances."""
        events = self.events_of(agent_id, REF_CONFIRMED, tx_hash)
        return any(e.delta.chain_id == chain_id for e in events)

    def _row(self, report: StoredTransfer) -> dict[str, object]:
        row: dict[str, object] = {f.name: getattr(report, f.name) for f in fields(report)}
        actual = report.amount_actual
        return row | {
            "amount": tokens(self._sql, report.amount),
            "amount_actual": None if actual is None else tokens(self._sql, actual),
            "reported_at": micros(report.reported_at),
            "confirmed_at": maybe_micros(report.confirmed_at),
        }

    # -- balances
    # --------------------------------------------------------------------------------------------

    def move(self, agent_id: str, deltas: Sequence[Delta], now: datetime) -> None:
        """Add deltas and keep their sums; the caller holds the agent's lock.

        Errors: `Duplicate` where the cause was booked already; `invalid_number` where a sum
        outgrows the database.
        """
        row = first(
            self._sql,
            "SELECT COALESCE(MAX(n), 0) AS n FROM balance_events WHERE agent_id = :id",
            id=agent_id,
        )
        n = int(row["n"]) if row else 0
        names = (
            "agent_id",
            "n",
            "chain_id",
            "asset",
            "state",
            "delta",
            "ref_kind",
            "ref_id",
            "created_at",
        )
        for step, d in enumerate(deltas, start=1):
            delta = tokens(self._sql, d.delta)
            self._sql.run(
                "INSERT INTO balance_events " + columns(names),
                agent_id=agent_id,
                n=n + step,
                chain_id=d.chain_id,
                asset=d.asset,
                state=d.state,
                delta=delta,
                ref_kind=d.ref_kind,
                ref_id=d.ref_id,
                created_at=micros(now),
            )
            # Summed here: SQLite would turn a sum beyond 64 bits into a float without a word.
            amount = tokens(
                self._sql, self.balance(agent_id, d.chain_id, d.asset, d.state) + d.delta
            )
            self._sql.run(
                "INSERT INTO balances (agent_id, chain_id, asset, state, amount) "
                "VALUES (:id, :chain, :asset, :state, :amount) "
                "ON CONFLICT (agent_id, chain_id, asset, state) DO UPDATE "
                "SET amount = excluded.amount",
                id=agent_id,
                chain=d.chain_id,
                asset=d.asset,
                state=d.state,
                amount=amount,
            )

    def balance(self, agent_id: str, chain_id: int, asset: str, state: str) -> int:
        """One balance in micro-units."""
        row = first(
            self._sql,
            "SELECT amount FROM balances WHERE agent_id = :id AND chain_id = :chain "
            "AND asset = :asset AND state = :state",
            id=agent_id,
            chain=chain_id,
            asset=asset,
            state=state,
        )
        return int(row["amount"]) if row else 0

    def balances(self, agent_id: str) -> list[tuple[int, str, str, int]]:
        """(chain_id, asset, state, micro-units), in order."""
        rows = self._sql.rows(
            "SELECT chain_id, asset, state, amount FROM balances WHERE agent_id = :id "
            "ORDER BY chain_id, asset, state",
            id=agent_id,
        )
        return [(int(r["chain_id"]), r["asset"], r["state"], int(r["amount"])) for r in rows]

    def events(
        self, agent_id: str, *, before: int, limit: int, before_n: int = 0
    ) -> list[BalanceEvent]:
        """Balance events before a time in micros (exclusive), and at it those below `before_n`;
        newest first.
        """
        rows = self._sql.rows(
            "SELECT * FROM balance_events WHERE agent_id = :id AND (created_at, n) < (:before, :n) "
            "ORDER BY created_at DESC, n DESC LIMIT :most",
            id=agent_id,
            before=before,
            n=before_n,
            most=limit,
        )
        return [_balance_event(r) for r in rows]

    def events_of(self, agent_id: str, ref_kind: str, ref_prefix: str) -> list[BalanceEvent]:
        """Balance events of one kind of cause whose `ref_id` begins with the prefix, oldest
        first.
        """
        rows = self._sql.rows(
            "SELECT * FROM balance_events WHERE agent_id = :id AND ref_kind = :kind "
            "AND substr(ref_id, 1, :n) = :prefix "
            "ORDER BY n",
            id=agent_id,
            kind=ref_kind,
            n=len(ref_prefix),
            prefix=ref_prefix,
        )
        return [_balance_event(r) for r in rows]


def _balance_event(row: Row) -> BalanceEvent:
    delta = Delta(
        chain_id=int(row["chain_id"]),
        asset=row["asset"],
        state=row["state"],
        delta=int(row["delta"]),
        ref_kind=row["ref_kind"],
        ref_id=row["ref_id"],
    )
    return BalanceEvent(int(row["n"]), delta, moment(row["created_at"]))


def _report(row: Row) -> StoredTransfer:
    values = {f.name: row[f.name] for f in fields(StoredTransfer)}
    actual = values["amount_actual"]
    return StoredTransfer(
        **values
        | {
            "amount": int(values["amount"]),
            "amount_actual": None if actual is None else int(actual),
            "reported_at": moment(values["reported_at"]),
            "confirmed_at": maybe_moment(values["confirmed_at"]),
        }
    )
