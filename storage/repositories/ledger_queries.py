"""Ledger queries: the frequent statements, each with its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.ledger.events.event import Reporter
from domain.ledger.events.event_kinds import ACTION_KINDS
from storage.repositories.event_row import COLUMNS
from storage.sql import Row, columns

PAGE: Final = 2_000
CHECKPOINT_EVERY: Final = 64
# Rows of others that are folded one by one; beyond, the newest checkpoint is nearer.
FAR_BEHIND: Final = 2 * CHECKPOINT_EVERY
# More rows than lie above such a checkpoint are folded page by page. With a larger limit the
# planner takes a small table whole.
NEWS_MAX: Final = 2 * FAR_BEHIND

_AGENT_HALVES: Final = ", ".join(f"'{kind.value}'" for kind in sorted(ACTION_KINDS))

HEAD: Final = "SELECT seq, row_hash, created_at FROM ledger_heads WHERE public_id = :public_id"

ALL_HEADS: Final = "SELECT public_id, seq, row_hash FROM ledger_heads ORDER BY public_id"

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

BY_ID: Final = "SELECT * FROM ledger_events WHERE event_id = :event_id AND public_id = :public_id"

# The rows that a process does not know of a ledger: those above the newest that it has folded
# (`after`, 0 for none), or above the newest checkpoint where that lies `far` above; that
# checkpoint; and the rows that they pair with.
_NEAREST: Final = (
    "FROM ledger_checkpoints c WHERE public_id = :public_id AND seq > :far "
    "ORDER BY seq DESC LIMIT 1"
)
_ABOVE: Final = f"public_id = :public_id AND seq > COALESCE((SELECT seq {_NEAREST}), :after)"
NEAREST: Final = (
    "SELECT seq, state, (SELECT row_hash FROM ledger_events e WHERE e.public_id = c.public_id "
    f"AND e.seq >= c.seq ORDER BY e.seq LIMIT 1) AS row_hash {_NEAREST}"
)
NEWS: Final = f"SELECT * FROM ledger_events WHERE {_ABOVE} ORDER BY seq LIMIT {NEWS_MAX}"
_PAIRS: Final = f"SELECT pairs_with FROM ({NEWS}) news WHERE pairs_with IS NOT NULL"
# One by one, in the order of their index: a list of keys may be turned into a join.
PAIRED: Final[Mapping[str, str]] = {
    "postgresql": f"SELECT p.* FROM ({_PAIRS}) r CROSS JOIN LATERAL (SELECT * FROM ledger_events "
    "WHERE public_id = :public_id AND seq >= r.pairs_with ORDER BY seq LIMIT 1) p "
    "WHERE p.seq = r.pairs_with",
    "sqlite": f"SELECT * FROM ledger_events WHERE public_id = :public_id AND seq IN ({_PAIRS})",
}


def rows_above(public_id: str, after: int) -> Row:
    """The values of those three."""
    return {"public_id": public_id, "after": after, "far": after + FAR_BEHIND if after else 0}


# The newest rows above one that is known, newest first.
NEWEST: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq > :after "
    "ORDER BY seq DESC LIMIT :most"
)

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

# In the order of the index that has both keys: by a seq either database may walk the whole ledger.
BY_TX: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND tx_hash = :tx_hash "
    "ORDER BY reported_by, seq"
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
  SELECT * FROM ledger_events WHERE public_id = q.id AND tx_hash = q.tx_hash
  ORDER BY reported_by, seq OFFSET 0
) e ORDER BY e.public_id, e.seq""",
    "sqlite": "SELECT e.* FROM json_each(:ids) i JOIN json_each(:txs) t ON t.key = i.key "
    "CROSS JOIN ledger_events e ON e.public_id = i.value AND e.tx_hash = t.value "
    "ORDER BY e.public_id, +e.seq",
}


def _partners(kinds: str) -> str:
    return (
        "SELECT * FROM ledger_events e WHERE public_id = :public_id AND tx_hash = :tx_hash "
        f"AND reported_by = :other AND kind IN ({kinds}) AND pairs_with IS NULL AND 0 = "
        "(SELECT COUNT(*) FROM ledger_events p WHERE p.public_id = e.public_id "
        "AND p.pairs_with = e.seq) "
        "ORDER BY seq LIMIT :most"
    )


# An agent may name one transaction any number of times: the rows of its own side are never walked.
PARTNERS: Final[Mapping[Reporter, str]] = {
    Reporter.AGENT: _partners(_AGENT_HALVES),
    Reporter.CHAIN: _partners("'move'"),
}
