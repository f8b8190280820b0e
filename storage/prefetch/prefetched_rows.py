"""One statement that brings what many handlers need, and what it brought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import orjson

from domain.times import day_of
from storage.prefetch.read_set import ROWS_SHOWN, ReadSet
from storage.repositories.chain_index import STAGED_SHOWN
from storage.repositories.ledger_queries import FAR_BEHIND, PAGE
from storage.repositories.orders import SUMS
from storage.repositories.state_cache import StateCache
from storage.sql import Row, micros, numbered

# Every table is asked key by key (`LATERAL` with an `OFFSET 0`, or a limit, which the planner does
# not turn into a join), in the order of the index that has the key: a plan is made once, perhaps
# while the tables are empty, and kept while they grow. Left to itself it reads them whole.
#
# Rows above what this process has folded, or above the last checkpoint where it has folded nothing
# or is far behind; and the newest of a page that is to be shown, above those that it has. LEAST and
# GREATEST pass over nulls.
_AT: Final = f"""
SELECT q.public_id, h.seq, h.row_hash, h.created_at,
  k.seq IS NULL OR h.seq - k.seq > {FAR_BEHIND} AS sought, c.state, e.row_hash AS state_hash,
  LEAST(
    coalesce(GREATEST(k.seq, c.seq), 0),
    CASE WHEN q.shown IS NOT NULL THEN GREATEST(q.shown, h.seq - {ROWS_SHOWN}) END
  ) AS behind
FROM unnest(:mandates::text[], :folded::bigint[], :hashes::text[], :shown::bigint[])
  AS q(public_id, folded, row_hash, shown)
CROSS JOIN LATERAL (
  SELECT seq, row_hash, created_at FROM ledger_heads WHERE public_id = q.public_id OFFSET 0
) h
LEFT JOIN LATERAL (
  SELECT seq, row_hash FROM ledger_events
  WHERE public_id = q.public_id AND seq >= q.folded ORDER BY seq LIMIT 1
) k ON k.seq = q.folded AND k.row_hash = q.row_hash
LEFT JOIN LATERAL (
  SELECT seq, state FROM ledger_checkpoints
  WHERE public_id = q.public_id AND (k.seq IS NULL OR h.seq - k.seq > {FAR_BEHIND})
  ORDER BY seq DESC LIMIT 1
) c ON true
LEFT JOIN LATERAL (
  SELECT seq, row_hash FROM ledger_events
  WHERE public_id = q.public_id AND seq >= c.seq ORDER BY seq LIMIT 1
) e ON e.seq = c.seq"""
_ABOVE: Final = f"""
SELECT e.* FROM l CROSS JOIN LATERAL (
  SELECT * FROM ledger_events e
  WHERE e.public_id = l.public_id AND e.seq > l.behind AND e.seq <= l.seq
  ORDER BY e.seq LIMIT {PAGE}
) e"""
_THEMSELVES: Final = """
SELECT m.* FROM unnest(:mandates::text[]) AS q(id) CROSS JOIN LATERAL (
  SELECT public_id, agent_id, chain_id, vault_lower, body, version, turn, refreshed_at, differs_at
  FROM mandates WHERE public_id = q.id OFFSET 0
) m"""


def _each(request: str, rows: str) -> str:
    """(key, row as JSON) of the rows that a query finds for each key `q.id` among those asked."""
    keys = f"unnest(:{request}::text[]) AS q(id)"
    return (
        "SELECT q.id AS a, row_to_json(x)::text AS j "
        f"FROM {keys} CROSS JOIN LATERAL ({rows} OFFSET 0) x"
    )


_OF_MANDATES: Final[Mapping[str, str]] = {
    "head": "SELECT public_id AS a, row_to_json(l)::text AS j FROM l",
    "row": "SELECT public_id, row_to_json(r)::text FROM r",
    # What rows pair with may lie further down.
    "pair": "SELECT r.public_id, row_to_json(p)::text FROM r CROSS JOIN LATERAL "
    "(SELECT * FROM ledger_events p WHERE p.public_id = r.public_id AND p.seq >= r.pairs_with "
    "ORDER BY p.seq LIMIT 1) p WHERE p.seq = r.pairs_with",
    "mandate": "SELECT public_id, row_to_json(x)::text FROM (SELECT public_id, agent_id, body, "
    "version, turn, refreshed_at, differs_at FROM m) x",
    "approval": _each(
        "mandates",
        "SELECT * FROM approvals WHERE public_id = q.id AND status IN ('pending', 'approved') "
        "AND expires_at > :now ORDER BY requested_at, approval_id",
    ),
    "reservation": _each(
        "mandates",
        "SELECT * FROM reservations WHERE public_id = q.id AND expires_at > :now "
        "AND outcome IS NULL ORDER BY expires_at",
    ),
    "policy": "SELECT a.agent_id, row_to_json(p)::text FROM (SELECT DISTINCT agent_id FROM m) a "
    "CROSS JOIN LATERAL (SELECT * FROM policies WHERE agent_id = a.agent_id OFFSET 0) p",
    "staged": "SELECT m.public_id, row_to_json(s)::text FROM m CROSS JOIN LATERAL "
    "(SELECT s.* FROM chain_staging s WHERE s.chain_id = m.chain_id "
    "AND s.address_lower = m.vault_lower AND NOT EXISTS (SELECT 1 FROM ledger_events e "
    "WHERE e.public_id = m.public_id AND e.tx_hash = s.tx_hash AND e.log_index = s.log_index "
    "AND e.reported_by = 'chain' OFFSET 0) "
    f"ORDER BY block_number, log_index LIMIT {STAGED_SHOWN}) s",
    "counted": _each(
        "mandates",
        f"SELECT mandate_id, mode, counted_day AS day, {SUMS}WHERE mandate_id = q.id "
        "AND counted_day = ANY(:days) GROUP BY mandate_id, mode, counted_day",
    ),
    "switch": "SELECT name, row_to_json(w)::text FROM (SELECT name, value FROM switches) w",
}
_OF_CREDENTIALS: Final[Mapping[str, str]] = {
    "agent": _each(
        "credentials",
        "SELECT a.* FROM agent_keys k JOIN agents a ON a.agent_id = k.agent_id "
        "WHERE k.key_hash = q.id AND k.revoked_at IS NULL",
    ),
    "session": _each(
        "credentials",
        "SELECT s.token_hash, s.user_id, u.address, s.created_at, s.expires_at, s.longest_at, "
        "s.signer_type, s.chain_id FROM sessions s JOIN users u ON u.user_id = s.user_id "
        "WHERE s.token_hash = q.id AND s.expires_at > :now",
    ),
    "house": _each(
        "credentials", "SELECT * FROM house_keys WHERE key_hash = q.id AND revoked_at IS NULL"
    ),
}


_OF_WRITES: Final[Mapping[str, str]] = {
    "claim": "SELECT q.scope || chr(10) || q.key AS a, row_to_json(i)::text AS j "
    "FROM unnest(:scopes::text[], :keys::text[]) AS q(scope, key) CROSS JOIN LATERAL "
    "(SELECT * FROM idempotency WHERE scope = q.scope AND key = q.key OFFSET 0) i",
    # Any of them, in the order of their index: where there are more, none of them is used.
    "of_tx": "SELECT e.public_id || chr(10) || e.tx_hash, row_to_json(e)::text "
    "FROM unnest(:tx_of::text[], :txs::text[]) AS q(public_id, tx_hash) CROSS JOIN LATERAL "
    "(SELECT * FROM ledger_events e WHERE e.public_id = q.public_id AND e.tx_hash = q.tx_hash "
    f"ORDER BY e.reported_by, e.seq LIMIT {PAGE}) e",
}


@cache
def statement(*, mandates: bool, credentials: bool, writes: bool) -> tuple[str, tuple[str, ...]]:
    """The statement that brings any of the three, and the names of its values."""
    parts = dict(_OF_MANDATES) if mandates else {}
    parts |= _OF_WRITES if writes else {}
    parts |= _OF_CREDENTIALS if credentials else {}
    query = "\nUNION ALL ".join(f"SELECT '{t}' AS t, p.* FROM ({q}) p" for t, q in parts.items())
    known = (
        f"WITH m AS MATERIALIZED ({_THEMSELVES}),\n"
        f"l AS MATERIALIZED ({_AT}),\nr AS MATERIALIZED ({_ABOVE})\n"
    )
    return numbered(known + query if mandates else query)


def pair(first: str, second: str) -> str:
    """One key of two texts, as the statement makes it."""
    return f"{first}\n{second}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchedRows:
    """What was brought, as of one moment: by kind and key, rows as the database would give them.

    A key that is among those asked for and has no rows is known to have none. Of a ledger the rows
    above that of the checkpoint are there.
    """

    mandates: frozenset[str]
    credentials: frozenset[str]
    days: frozenset[str]
    pairs: frozenset[str]  # keys of claims, and of transactions under a mandate
    now: int
    rows: dict[str, dict[str, list[Row]]] = field(default_factory=dict)

    def of(self, kind: str, key: str) -> Sequence[Row]:
        """The rows of a key."""
        return self.rows.get(kind, {}).get(key, ())

    def every(self, kind: str) -> list[Row]:
        """The rows of all keys."""
        return [row for rows in self.rows.get(kind, {}).values() for row in rows]


def prefetch_query(
    needs: Sequence[ReadSet], cache: StateCache
) -> tuple[PrefetchedRows, str, list[object]]:
    """An empty snapshot for some handlers, the statement that fills it, and its values."""
    shows: dict[str, bool] = {}
    for one in needs:
        for public_id in one.mandates:
            shows[public_id] = shows.get(public_id, False) or one.shows_rows
    keys = {one.key for one in needs if one.key is not None}
    txs = {(of, one.tx_hash) for one in needs for of in one.mandates if one.tx_hash is not None}
    empty = PrefetchedRows(
        mandates=frozenset(shows),
        credentials=frozenset(one.credential for one in needs if one.credential is not None),
        days=frozenset(day_of(one.now) for one in needs),
        pairs=frozenset(pair(*key) for key in keys) | frozenset(pair(*tx) for tx in txs),
        now=min(micros(one.now) for one in needs),
    )
    folded = [cache.newest(of) for of in shows]
    values: dict[str, object] = {
        "mandates": list(shows),
        "folded": [None if known is None else known[1].seq for known in folded],
        "hashes": [None if known is None else known[0] for known in folded],
        "shown": [_shown(cache, of) if more else None for of, more in shows.items()],
        "credentials": list(empty.credentials),
        "days": list(empty.days),
        "now": empty.now,
        "scopes": [scope for scope, _ in keys],
        "keys": [key for _, key in keys],
        "tx_of": [of for of, _ in txs],
        "txs": [tx for _, tx in txs],
    }
    text, names = statement(
        mandates=bool(shows), credentials=bool(empty.credentials), writes=bool(keys or txs)
    )
    return empty, text, [values[name] for name in names]


def _shown(cache: StateCache, public_id: str) -> int:
    page = cache.newest_page(public_id, ROWS_SHOWN)[1]
    return page[0].seq if page else 0


def with_rows(snapshot: PrefetchedRows, answer: Iterable[tuple[str, str, str]]) -> PrefetchedRows:
    """The snapshot with what the statement gave: (kind, key, row as JSON)."""
    for kind, key, row in answer:
        snapshot.rows.setdefault(kind, {}).setdefault(key, []).append(orjson.loads(row))
    return snapshot
