"""One statement that writes what a batch of handlers wants, mandate by mandate, all or nothing of
each: a mandate wins where it is still as the handlers saw it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from storage.prefetch.memory_sql import Changes
from storage.prefetch.prefetched_rows import PrefetchedRows
from storage.repositories.approvals import KEPT, RENEW
from storage.repositories.event_row import COLUMNS
from storage.sql import Row, numbered

_NUMBERS: Final = frozenset(
    (
        "seq", "amount_micros", "chain_id", "log_index", "block_number", "pairs_with",
        "occurred_at", "created_at", "claimed_at", "until_at", "status", "made_at", "expires_at",
        "block",
    )
)  # fmt: skip
_CLAIM: Final = (
    "public_id", "scope", "key", "request_hash", "claimed_at", "until_at", "status", "response",
)  # fmt: skip
_CHECK: Final = ("public_id", "seq", "created_at", "state")
_TABLES: Final[Mapping[str, Sequence[str]]] = {
    "event": COLUMNS, "claim": _CLAIM, "check": _CHECK, "held": KEPT,
}  # fmt: skip


def _out_of(table: str) -> str:
    """The rows that are to be written to a table, in their order, of mandates that won."""
    names = _TABLES[table]
    typed = ", ".join(f"{n} {'bigint' if n in _NUMBERS else 'text'}" for n in names)
    return (
        f"FROM ROWS FROM (json_to_recordset(:{table}::json) AS ({typed})) "
        f"WITH ORDINALITY AS g({', '.join(names)}, nth) "
        "JOIN won ON won.public_id = g.public_id ORDER BY g.nth"
    )


def _all(names: Iterable[str]) -> str:
    return ", ".join(f"g.{n}" for n in names)


# A lock is held for as long as this statement takes, and none is waited for: a mandate whose row
# somebody else holds is lost, so that those beside it in the batch do not wait with it. It is
# locked before it is looked at next time, which waits.
_FLUSH: Final = f"""
WITH guard AS MATERIALIZED (
  SELECT m.* FROM (SELECT id FROM unnest(:ids::text[]) AS u(id) ORDER BY id) q
  CROSS JOIN LATERAL (
    SELECT public_id, version, turn FROM mandates WHERE public_id = q.id FOR UPDATE SKIP LOCKED
  ) m
), fit AS MATERIALIZED (
  SELECT i.* FROM unnest(:ids::text[], :versions::bigint[], :turns::bigint[], :expected::bigint[],
    :seqs::bigint[], :hashes::text[], :times::bigint[])
    AS i(public_id, version, turn, expected, seq, row_hash, created_at)
  JOIN guard g ON g.public_id = i.public_id AND g.version = i.version AND g.turn = i.turn
), moved AS (
  UPDATE ledger_heads h SET seq = f.seq, row_hash = f.row_hash, created_at = f.created_at
  FROM fit f WHERE h.public_id = f.public_id AND h.seq = f.expected RETURNING h.public_id
), begun AS (
  INSERT INTO ledger_heads (public_id, seq, row_hash, created_at)
  SELECT f.public_id, f.seq, f.row_hash, f.created_at FROM fit f
  WHERE f.expected = 0 AND f.seq > 0
    AND NOT EXISTS (SELECT 1 FROM moved m WHERE m.public_id = f.public_id)
  ON CONFLICT (public_id) DO NOTHING RETURNING public_id
), won AS MATERIALIZED (
  SELECT public_id FROM moved UNION ALL SELECT public_id FROM begun
  UNION ALL SELECT f.public_id FROM fit f WHERE f.seq = 0
    AND NOT EXISTS (SELECT 1 FROM ledger_heads h WHERE h.public_id = f.public_id)
), events AS (
  INSERT INTO ledger_events ({", ".join(COLUMNS)}) SELECT {_all(COLUMNS)} {_out_of("event")}
), claims AS (
  INSERT INTO idempotency ({", ".join(_CLAIM[1:])}) SELECT {_all(_CLAIM[1:])} {_out_of("claim")}
), checks AS (
  INSERT INTO ledger_checkpoints ({", ".join(_CHECK)}) SELECT {_all(_CHECK)} {_out_of("check")}
  ON CONFLICT (public_id, seq) DO NOTHING
), held AS (
  INSERT INTO reservations ({", ".join(KEPT)}) SELECT {_all(KEPT)} {_out_of("held")} {RENEW}
)
SELECT public_id FROM won"""
FLUSH, _NAMES = numbered(_FLUSH)


@dataclass(slots=True)
class MandateWrite:
    """A mandate as a batch found it, and what the batch wants written under it."""

    public_id: str
    version: int
    turn: int
    seq: int
    row_hash: str
    changes: Changes = field(default_factory=Changes)


def standing(snapshot: PrefetchedRows, public_id: str) -> MandateWrite | None:
    """How a mandate stands; None where there is none."""
    rows = snapshot.of("mandate", public_id)
    if not rows:
        return None
    seq, row_hash, _ = head_of(snapshot, public_id)
    return MandateWrite(public_id, rows[0]["version"], rows[0]["turn"], seq, row_hash)


def head_of(snapshot: PrefetchedRows, public_id: str) -> tuple[int, str, int]:
    """(seq, row hash, time) of the newest row."""
    rows = snapshot.of("head", public_id)
    if not rows:
        return 0, "", 0
    return int(rows[0]["seq"]), str(rows[0]["row_hash"]), int(rows[0]["created_at"])


def values_of(snapshot: PrefetchedRows, changed: Sequence[MandateWrite]) -> list[object]:
    """What the statement takes: of each mandate a place in each array; the rows as JSON, which the
    driver takes as one text, where it would look at each value of an array of its own.
    """
    heads = [head_of(snapshot, one.public_id) for one in changed]
    claims = [
        {"public_id": one.public_id, **row}
        for one in changed
        for row in one.changes.claims.values()
    ]
    values: dict[str, object] = {
        "ids": [one.public_id for one in changed],
        "versions": [one.version for one in changed],
        "turns": [one.turn for one in changed],
        "expected": [one.seq for one in changed],
        "seqs": [seq for seq, _, _ in heads],
        "hashes": [row_hash for _, row_hash, _ in heads],
        "times": [at for _, _, at in heads],
        "event": _json(row for one in changed for row in one.changes.events),
        "claim": _json(claims),
        "check": _json(row for one in changed for row in one.changes.checkpoints),
        "held": _json(row for one in changed for row in one.changes.reservations.values()),
    }
    return [values[name] for name in _NAMES]


def _json(rows: Iterable[Row]) -> str:
    return orjson.dumps([*rows]).decode()
