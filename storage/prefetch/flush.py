"""Flush: the writes of many handlers in one statement.

Of each mandate all or nothing is written, and only where it is still as the handlers saw it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from storage.prefetch.prefetch_query import PrefetchedSql, QueryRows
from storage.repositories import approvals, idempotency
from storage.repositories import ledger_queries as ledger
from storage.repositories.event_row import COLUMNS
from storage.sql import PrefetchMiss, Row, numbered

VERSION: Final = "SELECT version, turn FROM mandates WHERE public_id = :id"

_GUARD: Final = ("public_id", "version", "turn", "expected", "seq", "row_hash", "created_at")
_CHECK: Final = ("public_id", "seq", "created_at", "state")
_CLAIM: Final = ("scope", "key", "request_hash", "claimed_at", "status", "response")
_BIGINTS: Final = frozenset(
    (
        "amount_micros", "block", "block_number", "chain_id", "claimed_at", "created_at",
        "expected", "expires_at", "log_index", "made_at", "occurred_at", "pairs_with", "seq",
        "status", "turn", "version",
    )
)  # fmt: skip


def _rows(name: str, columns: Iterable[str]) -> str:
    """The rows of a table, out of one JSON text."""
    typed = (f"{n} {'bigint' if n in _BIGINTS else 'text'}" for n in columns)
    return f"json_to_recordset(:{name}::json) AS r({', '.join(typed)})"


def _insert(table: str, name: str, columns: Sequence[str], tail: str = "") -> str:
    """Insert the rows of mandates that won."""
    rows, listed = _rows(name, {"public_id": None, **dict.fromkeys(columns)}), ", ".join(columns)
    return (
        f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {rows} JOIN won USING (public_id) "
        f"{tail}"
    )


# No lock is waited for: a mandate whose row somebody else holds is lost, and those beside it in the
# batch do not wait with it.
FLUSH, _NAMES = numbered(f"""
WITH guard AS MATERIALIZED (
  SELECT g.* FROM (SELECT * FROM {_rows("mandates", _GUARD)} ORDER BY public_id) g
  CROSS JOIN LATERAL (
    SELECT version, turn FROM mandates WHERE public_id = g.public_id FOR UPDATE SKIP LOCKED
  ) m WHERE m.version = g.version AND m.turn = g.turn
), moved AS (
  UPDATE ledger_heads h SET seq = g.seq, row_hash = g.row_hash, created_at = g.created_at
  FROM guard g WHERE h.public_id = g.public_id AND h.seq = g.expected RETURNING h.public_id
), begun AS (
  INSERT INTO ledger_heads (public_id, seq, row_hash, created_at)
  SELECT public_id, seq, row_hash, created_at FROM guard WHERE expected = 0 AND seq > 0
    AND NOT EXISTS (SELECT 1 FROM moved m WHERE m.public_id = guard.public_id)
  ON CONFLICT (public_id) DO NOTHING RETURNING public_id
), won AS MATERIALIZED (
  SELECT public_id FROM moved UNION ALL SELECT public_id FROM begun
  UNION ALL SELECT public_id FROM guard g WHERE seq = 0
    AND NOT EXISTS (SELECT 1 FROM ledger_heads h WHERE h.public_id = g.public_id)
), events AS ({_insert("ledger_events", "events", COLUMNS, "ORDER BY public_id, seq")}
), checks AS ({_insert("ledger_checkpoints", "checks", _CHECK, "ON CONFLICT DO NOTHING")}
), claims AS ({_insert("idempotency", "claims", _CLAIM)}
), held AS ({_insert("reservations", "reservations", approvals.KEPT, approvals.RENEW)}
)
SELECT public_id FROM won""")
_EMPTY_HEAD: Final[Row] = {"seq": 0, "row_hash": "", "created_at": 0}
_INSERTS: Final[Mapping[str, str]] = {
    ledger.INSERT: "events",
    ledger.CHECK: "checks",
    idempotency.ANSWERED: "claims",
    approvals.HAND_OUT: "reservations",
}


@dataclass(slots=True)
class MandateWrite:
    """A mandate as a batch found it, and what its handlers want written. `closed`: those behind it
    in the batch would not see all of that.
    """

    public_id: str
    version: int
    turn: int
    read_head: Row
    head: Row
    rows: list[tuple[str, Row]] = field(default_factory=list)
    closed: bool = False


def mandate_write(prefetched: QueryRows, public_id: str) -> MandateWrite | None:
    """A mandate as it was read; None where there is none."""
    versions = prefetched[VERSION, public_id]
    if not versions:
        return None
    (head,) = prefetched[ledger.HEAD, public_id] or (_EMPTY_HEAD,)
    return MandateWrite(public_id, read_head=head, head=head, **versions[0])


def flush_values(writes: Iterable[MandateWrite]) -> list[str]:
    """The parameters of the flush: the rows of each table as JSON, which the driver takes as one
    text, where it would look at each value of an array of its own.
    """
    rows: dict[str, list[Row]] = {name: [] for name in _NAMES}
    for write in writes:
        read = {"version": write.version, "turn": write.turn, "expected": write.read_head["seq"]}
        rows["mandates"].append({**write.head, **read, "public_id": write.public_id})
        for name, row in write.rows:
            rows[name].append({**row, "public_id": write.public_id})
    return [orjson.dumps(rows[name]).decode() for name in _NAMES]


class BufferedSql(PrefetchedSql):
    """Statements of a handler that writes about one mandate: its rows are buffered, and stored
    with those of the others of its batch. Later handlers see the ledger's head where it moved it.
    """

    def __init__(self, prefetched: QueryRows, write: MandateWrite):
        super().__init__(prefetched)
        self._write = write
        self._start = write.head, len(write.rows), write.closed

    def run(self, text: str, /, **values: object) -> int:
        """Keep a row to be written. Errors: `PrefetchMiss` for any other statement."""
        write = self._write
        if values.get("public_id", write.public_id) != write.public_id:
            raise PrefetchMiss(text)
        if text in (ledger.BEGIN_HEAD, ledger.MOVE_HEAD):
            self._move_head({**_EMPTY_HEAD, **values})
        elif text in _INSERTS:
            write.rows.append((_INSERTS[text], values))
            write.closed |= text == approvals.HAND_OUT
        else:
            raise PrefetchMiss(text)
        return 1

    def _move_head(self, head: Row) -> None:
        self._write.head = head
        self.prefetched[ledger.HEAD, self._write.public_id] = (head,)

    @property
    def has_written(self) -> bool:
        """Whether anything is to be stored."""
        return len(self._write.rows) > self._start[1]

    def undo(self) -> None:
        """Drop the handler's buffered writes."""
        head, rows, self._write.closed = self._start
        if self._write.head is not head:
            self._move_head(head)
        del self._write.rows[rows:]
