"""Stop line state: the keeper's progress on each mandate with a position at the venue."""

from __future__ import annotations

from domain.trading.stop_line import StopLineState
from domain.trading.venue_values import Network
from storage.sql import Row, Sql, columns, first, maybe_micros, maybe_moment, micros, moment

_COLUMNS = ("public_id", "network", "episode", "state", "why", "changed_at", "again_at")
_REST = ", ".join(f"{n} = excluded.{n}" for n in _COLUMNS[2:])


class StopLineStateRepository:
    """One row a mandate and network, from the first time that something was to be done or told."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def get(self, public_id: str, network: Network) -> StopLineState | None:
        """The keeper's state for a mandate; None where there was nothing to do yet."""
        row = first(
            self._sql,
            "SELECT * FROM venue_keeping WHERE public_id = :id AND network = :network",
            id=public_id,
            network=network,
        )
        return None if row is None else _keeping(row)

    def put(self, keeping: StopLineState) -> None:
        """Write down how the keeper stands with a mandate now."""
        self._sql.run(
            "INSERT INTO venue_keeping "
            + columns(_COLUMNS)
            + f" ON CONFLICT (public_id, network) DO UPDATE SET {_REST}",
            public_id=keeping.public_id,
            network=keeping.network,
            episode=keeping.episode,
            state=keeping.state,
            why=keeping.why,
            changed_at=micros(keeping.changed_at),
            again_at=maybe_micros(keeping.again_at),
        )

    def watched(self) -> list[tuple[str, Network]]:
        """Mandates that live orders of a linked account cite, and what is not done with.

        A mandate that its owner stopped holds what it holds: only one that stands at its line is
        still asked for.
        """
        rows = self._sql.rows(
            "SELECT m.public_id, l.network FROM venue_links l "
            "JOIN mandates m ON m.owner_id = l.user_id "
            "LEFT JOIN venue_keeping k ON k.public_id = m.public_id AND k.network = l.network "
            "WHERE l.ended_at IS NULL AND m.status IN ('working', 'stopped') "
            "AND COALESCE(k.state, '') <> 'done' AND EXISTS (SELECT 1 FROM orders o "
            "WHERE o.mandate_id = m.public_id AND o.network = l.network AND o.mode = 'live') "
            "ORDER BY m.created_at, m.public_id, l.network"
        )
        return [(r["public_id"], r["network"]) for r in rows]

    def counts(self) -> dict[tuple[str, str], int]:
        """Count mandates by network and stop-line state."""
        rows = self._sql.rows(
            "SELECT network, state, COUNT(*) AS n FROM venue_keeping GROUP BY network, state"
        )
        return {(r["network"], r["state"]): int(r["n"]) for r in rows}


def _keeping(row: Row) -> StopLineState:
    return StopLineState(
        public_id=row["public_id"],
        network=row["network"],
        episode=int(row["episode"]),
        state=row["state"],
        why=row["why"],
        changed_at=moment(row["changed_at"]),
        again_at=maybe_moment(row["again_at"]),
    )
