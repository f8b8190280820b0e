"""Mandate polling: queries that read no whole mandate, and the columns that no version
guards.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from storage.repositories.leases import UNPAID_FEE
from storage.sql import Repository, exists, first, micros, moment, number, placeholders

IDS_AT_ONCE: Final = 200
_TO_KEEP: Final = (
    "SELECT COUNT(*) AS n FROM mandates WHERE chain_id = :chain "
    "AND vault_lower IS NOT NULL AND (status <> 'settled' OR EXISTS ("
    "SELECT 1 FROM work_claims w WHERE w.kind = :unpaid AND w.key = mandates.public_id))"
)
_VERSIONS: Final = (
    "SELECT m.public_id, m.version, h.seq FROM mandates m LEFT JOIN ledger_heads h "
    "ON h.public_id = m.public_id WHERE m.public_id IN ({})"
)
_COUNTS: Final = (
    "SELECT COUNT(*) AS n, SUM(CASE WHEN status = 'working' THEN 1 ELSE 0 END) AS w FROM mandates"
)


class MandatePollingRepository(Repository):
    """Columns of the mandates table alone."""

    def refreshed(self, public_ids: Sequence[str], at: datetime) -> None:
        """Note when the poller read these vaults; set when the RPC failed too."""
        for n in range(0, len(public_ids), IDS_AT_ONCE):
            some = {f"i{k}": of for k, of in enumerate(public_ids[n : n + IDS_AT_ONCE])}
            where = f"WHERE public_id IN ({placeholders(some)})"
            text = f"UPDATE mandates SET refreshed_at = :at {where}"
            self._sql.run(text, at=micros(at), **some)

    def versions(self, public_ids: Sequence[str]) -> dict[str, str]:
        """A text for each of some mandates that differs once the mandate or its ledger changed."""
        versions: dict[str, str] = {}
        for n in range(0, len(public_ids), IDS_AT_ONCE):
            some = {f"i{k}": of for k, of in enumerate(public_ids[n : n + IDS_AT_ONCE])}
            rows = self._sql.rows(_VERSIONS.format(placeholders(some)), **some)
            versions |= {r["public_id"]: f"{r['version']}.{r['seq'] or 0}" for r in rows}
        return versions

    def vaults_to_keep(self, chain_id: int) -> int:
        """Count the vaults of a chain that are read periodically: all but the settled ones that are
        known to be empty.
        """
        return number(self._sql, _TO_KEEP, chain=chain_id, unpaid=UNPAID_FEE)

    def live_vault_naming(self, agent_id: str, chain_id: int) -> bool:
        """True while an open mandate with a vault on the chain names the agent."""
        where = (
            "mandates WHERE agent_id = :agent AND chain_id = :chain AND vault_lower IS NOT NULL "
            "AND status IN ('signed', 'working')"
        )
        return exists(self._sql, where, agent=agent_id, chain=chain_id)

    def created_since(
        self, owner_id: str, since: datetime, limit: int, *, proposed_only: bool = False
    ) -> list[datetime]:
        """Creation times of the owner's newest mandates, newest first, at most `most`."""
        proposed = "AND proposed_by IS NOT NULL " if proposed_only else ""
        text = (
            "SELECT created_at FROM mandates WHERE owner_id = :owner AND created_at > :since "
            f"{proposed}ORDER BY created_at DESC LIMIT :most"
        )
        rows = self._sql.rows(text, owner=owner_id, since=micros(since), most=limit)
        return [moment(r["created_at"]) for r in rows]

    def counts(self) -> tuple[int, int]:
        """(working mandates, all mandates)."""
        row = first(self._sql, _COUNTS)
        return (int(row["w"] or 0), int(row["n"])) if row else (0, 0)
