"""Ledger queries: the frequent statements, each with its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.ledger.events.event import Reporter
from domain.ledger.events.event_kinds import ACTION_KINDS
from storage.repositories.event_row import COLUMNS
from storage.sql import columns

PAGE: Final = 2_000
CHECKPOINT_EVERY: Final = 64
# Rows of others that are folded one by one; beyond, the newest checkpoint is nearer.
FAR_BEHIND: Final = 2 * CHECKPOINT_EVERY

_AGENT_HALVES: Final = ", ".join(f"'{kind.value}'" for kind in sorted(ACTION_KINDS))

HEAD: Final = "SELECT seq, row_hash, created_at FROM ledger_heads WHERE public_id = :public_id"

TAIL: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq > :after AND seq <= :last "
    f"ORDER BY seq LIMIT {PAGE}"
)

CHECKPOINT: Final = (
    "SELECT c.state, e.row_hash FROM ledger_checkpoints c JOIN ledger_events e "
    "ON e.public_id = c.public_id AND e.seq = c.seq "
    "WHERE c.public_id = :public_id AND c.seq <= :last ORDER BY c.seq DESC LIMIT 1"
)

BY_SEQ: Final = "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq = :seq"

BEGIN_HEAD: Final = (
    "INSERT INTO ledger_heads (public_id, seq, row_hash, created_at) VALUES (:public_id, 0, '', 0) "
    "ON CONFLICT (public_id) DO NOTHING"
)

MOVE_HEAD: Final = (
    "UPDATE ledger_heads SET seq = :seq, row_hash = :row_hash, created_at = :created_at "
    "WHERE public_id = :public_id"
)

INSERT: Final = "INSERT INTO ledger_events " + columns(COLUMNS)

CHECK: Final = (
    "INSERT INTO ledger_checkpoints (public_id, seq, created_at, state) "
    "VALUES (:public_id, :seq, :created_at, :state) ON CONFLICT (public_id, seq) DO NOTHING"
)

# By a bare seq SQLite would walk the whole ledger in that order, and not ask the index.
BY_TX: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND tx_hash = :tx_hash ORDER BY +seq"
)

# Heads are locked in the order of their ids, and each ledger is asked by its keys: a plan is made
# once, perhaps while the tables are empty, and kept while they grow.
HEADS: Final[Mapping[str, str]] = {
    "postgresql": """
SELECT h.* FROM (SELECT id FROM unnest(:ids::text[]) AS u(id) ORDER BY id) q CROSS JOIN LATERAL (
  SELECT public_id, seq, row_hash, created_at FROM ledger_heads WHERE public_id = q.id FOR UPDATE
) h""",
    "sqlite": "SELECT public_id, seq, row_hash, created_at FROM ledger_heads "
    "WHERE public_id IN (SELECT value FROM json_each(:ids))",
}
BY_TRANSACTIONS: Final[Mapping[str, str]] = {
    "postgresql": """
SELECT e.* FROM unnest(:ids::text[], :txs::text[]) AS q(id, tx_hash) CROSS JOIN LATERAL (
  SELECT * FROM ledger_events WHERE public_id = q.id AND tx_hash = q.tx_hash OFFSET 0
) e ORDER BY e.public_id, e.seq""",
    "sqlite": "SELECT e.* FROM json_each(:ids) i JOIN json_each(:txs) t ON t.key = i.key "
    "CROSS JOIN ledger_events e ON e.public_id = i.value AND e.tx_hash = t.value "
    "ORDER BY e.public_id, +e.seq",
}


def _partners(kinds: str) -> str:
    return (
        "SELECT * FROM ledger_events e WHERE public_id = :public_id AND tx_hash = :tx_hash "
        f"AND reported_by = :other AND kind IN ({kinds}) AND pairs_with IS NULL AND NOT EXISTS "
        "(SELECT 1 FROM ledger_events p WHERE p.public_id = e.public_id AND p.pairs_with = e.seq) "
        "ORDER BY seq LIMIT :most"
    )


# An agent may name one transaction any number of times: the rows of its own side are never walked.
PARTNERS: Final[Mapping[Reporter, str]] = {
    Reporter.AGENT: _partners(_AGENT_HALVES),
    Reporter.CHAIN: _partners("'move'"),
}
