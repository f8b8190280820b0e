"""Transfer reports, and the balances they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final

from domain.agents.transfers import REF_CONFIRMED, Delta, StoredTransfer
from storage.codec import Codec, Table
from storage.sql import Repository, Row, columns, in_turns, micros, moment, number, tokens

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
_WHOLE: Final = Codec(None, int)  # PostgreSQL has a token amount as a decimal
_REPORTS: Final = Table(
    "transfer_reports",
    StoredTransfer,
    special={"amount": _WHOLE, "amount_actual": _WHOLE.optional()},
)
_DELTAS: Final = Table(
    "balance_events", Delta, special={"delta": _WHOLE}, more=("agent_id", "n", "created_at")
)
_ADD: Final = f"{_REPORTS.insert} ON CONFLICT (chain_id, tx_hash) DO NOTHING"
_TAKEN: Final = (f.name for f in fields(StoredTransfer) if f.name not in ("chain_id", "tx_hash"))
_TAKE_OVER: Final = (
    f"UPDATE transfer_reports SET next_at = 0, {', '.join(f'{n} = :{n}' for n in _TAKEN)} "
    "WHERE chain_id = :chain_id AND tx_hash = :tx_hash AND status = 'failed' "
    "AND agent_id <> :agent_id"
)
_SAVE: Final = (
    "UPDATE transfer_reports SET status = :status, amount_actual = :amount_actual, confirmed_at = "
    ":confirmed_at, next_at = 0 WHERE chain_id = :chain_id AND tx_hash = :tx_hash"
)
_WITH_OWNERS: Final = "transfer_reports t JOIN agents a ON a.agent_id = t.agent_id"
_DUE: Final = in_turns(
    _WITH_OWNERS,
    "t.chain_id = :chain AND t.status = :status AND t.reported_at >= :since AND t.next_at <= :now",
    "a.owner_id",
    "t.next_at, t.tx_hash",
)
_WAITING: Final = (
    f"SELECT t.agent_id, COUNT(*) AS n, MIN(t.reported_at) AS at FROM {_WITH_OWNERS} "
    "WHERE a.owner_id = :owner AND t.status = 'reported' GROUP BY t.agent_id"
)
_PLACE: Final = "agent_id, chain_id, asset, state"
_SET_BALANCE: Final = (
    f"INSERT INTO balances {columns((*_PLACE.split(', '), 'amount'))} "
    f"ON CONFLICT ({_PLACE}) DO UPDATE SET amount = excluded.amount"
)
_BALANCE: Final = (
    "SELECT amount AS n FROM balances WHERE agent_id = :agent_id AND chain_id = :chain_id "
    "AND asset = :asset AND state = :state"
)


@dataclass(frozen=True, slots=True)
class BalanceEvent:
    """A stored delta with its place and time."""

    n: int
    delta: Delta
    created_at: datetime


class TransferRepository(Repository):
    """Transfer reports and the balances they move."""

    # -- reports

    def add(self, report: StoredTransfer) -> bool:
        """Store a report; False where one with its (chain, tx) is there."""
        return self._sql.run(_ADD, **self._row(report)) == 1

    def take_over(self, report: StoredTransfer) -> bool:
        """Put a report in the place of one that failed for another agent; False where there is no
        such report. Without it any agent could keep a transfer out of the books by reporting its
        hash first.
        """
        return self._sql.run(_TAKE_OVER, **self._row(report)) == 1

    def save(self, report: StoredTransfer) -> None:
        """Store a report's outcome."""
        row = self._row(report)
        changed = ("status", "amount_actual", "confirmed_at", "chain_id", "tx_hash")
        self._sql.run(_SAVE, **{name: row[name] for name in changed})

    def get(self, chain_id: int, tx_hash: str) -> StoredTransfer | None:
        """One report."""
        where = "chain_id = :chain AND tx_hash = :hash"
        return _REPORTS.first(self._sql, where, chain=chain_id, hash=tx_hash.lower())

    def found_since(self, agent_id: str, since: datetime) -> int:
        """Count an agent's transfers that the chain reader recorded without a report, from a time
        on, inclusive.
        """
        text = (
            "SELECT COUNT(*) AS n FROM transfer_reports WHERE agent_id = :id "
            "AND reported_at >= :since AND reported_by = 'chain'"
        )
        return number(self._sql, text, id=agent_id, since=micros(since))

    def due(
        self, chain_id: int, status: str, since: datetime | None, now: datetime, limit: int
    ) -> list[StoredTransfer]:
        """Reports of a status, made from a time on, inclusive, that are due to be checked on the
        chain: each owner's first before any owner's second, the one checked longest ago first.
        """
        times = {"since": -1 if since is None else micros(since), "now": micros(now)}
        rows = self._sql.rows(_DUE, chain=chain_id, status=status, most=limit, **times)
        return [_REPORTS.record(r) for r in rows]

    def mark_polled(self, when: Sequence[tuple[StoredTransfer, datetime]]) -> None:
        """Note when each of some reports is to be asked about again."""
        rows = [{"at": micros(at), "chain": one.chain_id, "hash": one.tx_hash} for one, at in when]
        text = (
            "UPDATE transfer_reports SET next_at = :at WHERE chain_id = :chain AND tx_hash = :hash"
        )
        self._sql.run_all(text, rows)

    def waiting_of(self, owner_id: str) -> dict[str, tuple[int, datetime]]:
        """By agent of an owner: how many reports have no outcome, and when the first was made."""
        rows = self._sql.rows(_WAITING, owner=owner_id)
        return {r["agent_id"]: (int(r["n"]), moment(r["at"])) for r in rows}

    def overdue(self, request: Sequence[int], until: datetime, limit: int) -> list[StoredTransfer]:
        """Reports without an outcome, made until a time, inclusive, on chains that are not among
        those that can be asked; oldest first.
        """
        known = ", ".join(str(int(chain_id)) for chain_id in request) or "-1"
        where = (
            "status = 'reported' AND reported_at <= :until "
            f"AND chain_id NOT IN ({known}) ORDER BY reported_at, tx_hash LIMIT :most"
        )
        return _REPORTS.all(self._sql, where, until=micros(until), most=limit)

    def booked(self, agent_id: str, chain_id: int, tx_hash: str) -> bool:
        """True where what the transaction moved of this agent's is in its balances."""
        events = self.events_of(agent_id, REF_CONFIRMED, tx_hash)
        return any(e.delta.chain_id == chain_id for e in events)

    def _row(self, report: StoredTransfer) -> Row:
        actual = report.amount_actual
        return _REPORTS.row(
            report,
            amount=tokens(self._sql, report.amount),
            amount_actual=None if actual is None else tokens(self._sql, actual),
        )

    # -- balances

    def move(self, agent_id: str, deltas: Sequence[Delta], now: datetime) -> None:
        """Add deltas and keep their sums; the caller holds the agent's lock.

        Errors: `Duplicate` where the cause was booked already; `invalid_number` where a sum
        outgrows the database.
        """
        text = "SELECT MAX(n) AS n FROM balance_events WHERE agent_id = :id"
        for n, d in enumerate(deltas, start=number(self._sql, text, id=agent_id) + 1):
            delta = {"delta": tokens(self._sql, d.delta), "created_at": micros(now)}
            _DELTAS.add(self._sql, d, agent_id=agent_id, n=n, **delta)
            # Summed here: SQLite would turn a sum beyond 64 bits into a float without a word.
            amount = self.balance(agent_id, d.chain_id, d.asset, d.state) + d.delta
            place = {"chain_id": d.chain_id, "asset": d.asset, "state": d.state}
            self._sql.run(
                _SET_BALANCE, agent_id=agent_id, **place, amount=tokens(self._sql, amount)
            )

    def balance(self, agent_id: str, chain_id: int, asset: str, state: str) -> int:
        """One balance in micro-units."""
        place = {"agent_id": agent_id, "chain_id": chain_id, "asset": asset, "state": state}
        return number(self._sql, _BALANCE, **place)

    def balances(self, agent_id: str) -> list[tuple[int, str, str, int]]:
        """(chain_id, asset, state, micro-units), in order."""
        text = (
            "SELECT chain_id, asset, state, amount FROM balances WHERE agent_id = :id "
            "ORDER BY chain_id, asset, state"
        )
        rows = self._sql.rows(text, id=agent_id)
        return [(int(r["chain_id"]), r["asset"], r["state"], int(r["amount"])) for r in rows]

    def events(
        self, agent_id: str, *, before: int, limit: int, before_n: int = 0
    ) -> list[BalanceEvent]:
        """Balance events before a time in micros (exclusive), and at it those below `before_n`;
        newest first.
        """
        text = (
            "SELECT * FROM balance_events WHERE agent_id = :id AND (created_at, n) < (:before, :n) "
            "ORDER BY created_at DESC, n DESC LIMIT :most"
        )
        rows = self._sql.rows(text, id=agent_id, before=before, n=before_n, most=limit)
        return [_balance_event(r) for r in rows]

    def events_of(self, agent_id: str, ref_kind: str, ref_prefix: str) -> list[BalanceEvent]:
        """Balance events of one kind of cause whose `ref_id` begins with the prefix, oldest
        first.
        """
        text = (
            "SELECT * FROM balance_events WHERE agent_id = :id AND ref_kind = :kind "
            "AND substr(ref_id, 1, :n) = :prefix ORDER BY n"
        )
        prefix = {"n": len(ref_prefix), "prefix": ref_prefix}
        rows = self._sql.rows(text, id=agent_id, kind=ref_kind, **prefix)
        return [_balance_event(r) for r in rows]


def _balance_event(row: Row) -> BalanceEvent:
    return BalanceEvent(int(row["n"]), _DELTAS.record(row), moment(row["created_at"]))
