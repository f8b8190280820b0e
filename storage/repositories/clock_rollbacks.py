"""Clock rollbacks: ledger rows whose order differs from the order of their
times.
"""

from __future__ import annotations

from typing import Final

from storage.sql import Sql, first

# Rows that several processes stamp one after another may be this much out of order.
APART_US: Final = 60_000_000

BACK_STEPS_OF: Final = (
    "SELECT seq, from_at FROM ledger_back_steps WHERE public_id = :public_id ORDER BY seq"
)


def note_clock_rollback(sql: Sql, public_id: str, seq: int, from_at: int) -> None:
    """Note that a row was stored by a clock that stands before `from_at`, the time of the row above
    it.
    """
    sql.run(
        "INSERT INTO ledger_back_steps (public_id, seq, from_at) "
        "VALUES (:public_id, :seq, :from_at)",
        public_id=public_id,
        seq=seq,
        from_at=from_at,
    )


def safe_start_before(sql: Sql, public_id: str, at: int) -> tuple[int, int]:
    """A row up to which, inclusive, every row was stored before a time, and a time before which
    none behind it was; 0 where there is no such row.

    While the clocks agree that is the newest row before the time. Once one was set back, rows that
    it had stamped ahead stand among the others: a checkpoint before the first of them is gone back
    to, and the rows behind it are looked at one by one.
    """
    steps = sql.rows(BACK_STEPS_OF, public_id=public_id)
    if not steps:
        row = first(
            sql,
            "SELECT seq, created_at FROM ledger_events WHERE public_id = :public_id "
            "AND created_at < :at ORDER BY created_at DESC, seq DESC LIMIT 1",
            public_id=public_id,
            at=at,
        )
        return (int(row["seq"]), int(row["created_at"]) - APART_US) if row else (0, 0)
    ahead = min((int(s["seq"]) for s in steps if int(s["from_at"]) >= at), default=2**62)
    row = first(
        sql,
        "SELECT seq FROM ledger_checkpoints WHERE public_id = :public_id AND created_at < :at "
        "AND seq < :ahead ORDER BY seq DESC LIMIT 1",
        public_id=public_id,
        at=at,
        ahead=ahead,
    )
    return (int(row["seq"]) if row else 0), 0
