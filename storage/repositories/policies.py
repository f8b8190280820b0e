"""The agents' policies, and the log of their changes."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import Final

from domain.agents.policy import Changes, Policy
from domain.money import Usdc
from storage.sql import Row, Sql, canonical, columns, first, micros, moment

MONEY: Final = ("per_tx_cap_usdc", "total_cap_usdc")


OF_AGENT: Final = "SELECT body, updated_at FROM policies WHERE agent_id = :id"
OF_MANDATE: Final = (
    "SELECT body, updated_at FROM policies "
    "WHERE agent_id = (SELECT agent_id FROM mandates WHERE public_id = :mandate)"
)


class PolicyRepository:
    """One policy an agent, and the append-only log of its changes."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def get(self, agent_id: str) -> Policy | None:
        """The policy, None before the first save."""
        return self._policy(first(self._sql, OF_AGENT, id=agent_id))

    def of_mandate(self, public_id: str) -> Policy | None:
        """The policy of a mandate's agent, None before its first save."""
        return self._policy(first(self._sql, OF_MANDATE, mandate=public_id))

    def _policy(self, row: Row | None) -> Policy | None:
        if row is None:
            return None
        body = json.loads(row["body"])
        for name in MONEY:
            body[name] = Usdc(body[name]) if body[name] is not None else None
        return Policy(**body, updated_at=moment(row["updated_at"]))

    def put(self, agent_id: str, policy: Policy, now: datetime) -> None:
        """Replace the policy."""
        body = {f.name: getattr(policy, f.name) for f in fields(policy) if f.name != "updated_at"}
        for name in MONEY:
            body[name] = body[name].micros if body[name] is not None else None
        self._sql.run(
            "INSERT INTO policies (agent_id, accepts, body, updated_at) "
            "VALUES (:id, :accepts, :body, :at) "
            "ON CONFLICT (agent_id) DO UPDATE "
            "SET accepts = excluded.accepts, body = excluded.body, "
            "updated_at = excluded.updated_at",
            id=agent_id,
            accepts=int(policy.accepts_mandates),
            body=canonical(body),
            at=micros(now),
        )

    def log(self, agent_id: str, changes: Changes, now: datetime) -> None:
        """Add an entry to the change log; two saves of one agent wait for each other."""
        if self._sql.dialect == "postgresql":
            self._sql.rows(
                "SELECT agent_id FROM agents WHERE agent_id = :id FOR UPDATE", id=agent_id
            )
        row = first(
            self._sql,
            "SELECT COALESCE(MAX(n), 0) AS n FROM policy_changes WHERE agent_id = :id",
            id=agent_id,
        )
        self._sql.run(
            "INSERT INTO policy_changes " + columns(("agent_id", "n", "changed_at", "changes")),
            agent_id=agent_id,
            n=int(row["n"]) + 1 if row else 1,
            changed_at=micros(now),
            changes=canonical(changes),
        )

    def changes(self, agent_id: str, limit: int = 10) -> list[tuple[datetime, Changes]]:
        """The newest entries, newest first."""
        rows = self._sql.rows(
            "SELECT changed_at, changes FROM policy_changes WHERE agent_id = :id ORDER BY n DESC "
            "LIMIT :most",
            id=agent_id,
            most=limit,
        )
        return [(moment(r["changed_at"]), json.loads(r["changes"])) for r in rows]
