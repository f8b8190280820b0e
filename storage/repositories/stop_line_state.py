"""Stop line state: the keeper's progress on each mandate with a position at the venue."""

from __future__ import annotations

from typing import Final

from domain.trading.stop_line import StopLineState
from domain.trading.venue_values import Network
from storage.codec import Table
from storage.sql import Repository

_STATES: Final = Table("venue_keeping", StopLineState, key="public_id, network")
_WATCHED: Final = (
    "SELECT m.public_id, l.network FROM venue_links l "
    "JOIN mandates m ON m.owner_id = l.user_id "
    "LEFT JOIN venue_keeping k ON k.public_id = m.public_id AND k.network = l.network "
    "WHERE l.ended_at IS NULL AND m.status IN ('working', 'stopped') "
    "AND COALESCE(k.state, '') <> 'done' AND EXISTS (SELECT 1 FROM orders o "
    "WHERE o.mandate_id = m.public_id AND o.network = l.network AND o.mode = 'live') "
    "ORDER BY m.created_at, m.public_id, l.network"
)


class StopLineStateRepository(Repository):
    """One row a mandate and network, from the first time that something was to be done or told."""

    def get(self, public_id: str, network: Network) -> StopLineState | None:
        """The keeper's state for a mandate; None where there was nothing to do yet."""
        where = "public_id = :id AND network = :network"
        return _STATES.first(self._sql, where, id=public_id, network=network)

    def put(self, keeping: StopLineState) -> None:
        """Write down how the keeper stands with a mandate now."""
        self._sql.run(_STATES.upsert, **_STATES.row(keeping))

    def watched(self) -> list[tuple[str, Network]]:
        """Mandates that live orders of a linked account cite, and what is not done with.

        A mandate that its owner stopped holds what it holds: only one that stands at its line is
        still asked for.
        """
        return [(r["public_id"], r["network"]) for r in self._sql.rows(_WATCHED)]

    def counts(self) -> dict[tuple[str, str], int]:
        """Count mandates by network and stop-line state."""
        text = "SELECT network, state, COUNT(*) AS n FROM venue_keeping GROUP BY network, state"
        return {(r["network"], r["state"]): int(r["n"]) for r in self._sql.rows(text)}
