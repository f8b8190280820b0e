"""The agents' policies, and the log of their changes."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import Final

from domain.agents.policy import Changes, Policy
from storage.codec import Table
from storage.sql import LOCKED, Repository, Row, canonical, columns, first, micros, moment, number

POLICIES: Final = Table(
    "policies",
    Policy,
    key="agent_id",
    body={f.name: f.name for f in fields(Policy) if f.name != "updated_at"},
    more=("agent_id", "accepts"),
)
OF_AGENT: Final = "SELECT body, updated_at FROM policies WHERE agent_id = :id"
OF_MANDATE: Final = (
    "SELECT body, updated_at FROM policies "
    "WHERE agent_id = (SELECT agent_id FROM mandates WHERE public_id = :mandate)"
)
_LOG: Final = "INSERT INTO policy_changes " + columns(("agent_id", "n", "changed_at", "changes"))


class PolicyRepository(Repository):
    """One policy an agent, and the append-only log of its changes."""

    def get(self, agent_id: str) -> Policy | None:
        """The policy, None before the first save."""
        return _policy(first(self._sql, OF_AGENT, id=agent_id))

    def of_mandate(self, public_id: str) -> Policy | None:
        """The policy of a mandate's agent, None before its first save."""
        return _policy(first(self._sql, OF_MANDATE, mandate=public_id))

    def put(self, agent_id: str, policy: Policy, now: datetime) -> None:
        """Replace the policy."""
        accepts = int(policy.accepts_mandates)
        row = POLICIES.row(policy, agent_id=agent_id, accepts=accepts, updated_at=micros(now))
        self._sql.run(POLICIES.upsert, **row)

    def log(self, agent_id: str, changes: Changes, now: datetime) -> None:
        """Add an entry to the change log; two saves of one agent wait for each other."""
        if self._sql.dialect == "postgresql":
            self._sql.rows(f"SELECT agent_id FROM agents WHERE agent_id = :id{LOCKED}", id=agent_id)
        n = number(
            self._sql, "SELECT MAX(n) AS n FROM policy_changes WHERE agent_id = :id", id=agent_id
        )
        row = {"agent_id": agent_id, "n": n + 1, "changes": canonical(changes)}
        self._sql.run(_LOG, **row, changed_at=micros(now))

    def changes(self, agent_id: str, limit: int = 10) -> list[tuple[datetime, Changes]]:
        """The newest entries, newest first."""
        text = (
            "SELECT changed_at, changes FROM policy_changes WHERE agent_id = :id ORDER BY n DESC "
            "LIMIT :most"
        )
        rows = self._sql.rows(text, id=agent_id, most=limit)
        return [(moment(r["changed_at"]), json.loads(r["changes"])) for r in rows]


def _policy(row: Row | None) -> Policy | None:
    return None if row is None else POLICIES.record(row)
