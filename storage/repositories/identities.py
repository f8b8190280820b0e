"""Agents, and the keys of agents and of the house: only their hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.refusals import Refused, refusal
from domain.text import escape_unfit
from storage.cursors import cursor_of, keys_of
from storage.repositories.people import PersonRepository
from storage.sql import Row, columns, first, maybe_moment, micros, moment

LIVE_KEYS_MAX = 2
AGENT_BY_KEY: Final = (
    "SELECT a.* FROM agent_keys k JOIN agents a ON a.agent_id = k.agent_id "
    "WHERE k.key_hash = :hash AND k.revoked_at IS NULL"
)
HOUSE_ROLE: Final = "SELECT role FROM house_keys WHERE key_hash = :hash AND revoked_at IS NULL"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's account and who registered it; `address` is its wallet, where it was given."""

    agent_id: str
    owner_id: str
    name: str
    address: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key of an agent or of the house, without its secret."""

    key_id: str
    holder: str
    created_at: datetime
    revoked_at: datetime | None


class Identities(PersonRepository):
    """Principals and credentials: people and their sessions, agents, API keys."""

    # -- agents
    # ----------------------------------------------------------------------------------------------

    def add_agent(self, agent: Agent) -> None:
        """Register an agent."""
        self._sql.run(
            "INSERT INTO agents "
            + columns(("agent_id", "owner_id", "name", "address", "created_at")),
            agent_id=agent.agent_id,
            owner_id=agent.owner_id,
            name=agent.name,
            address=agent.address,
            created_at=micros(agent.created_at),
        )

    def agent(self, agent_id: str, *, lock: bool = False) -> Agent | None:
        """An agent by id; `lock` keeps other writers of its balances off."""
        tail = self._sql.locks if lock else ""
        row = first(self._sql, "SELECT * FROM agents WHERE agent_id = :id" + tail, id=agent_id)
        return _agent(row) if row else None

    def agents_of(self, owner_id: str, *, after: str | None, limit: int) -> list[Agent]:
        """An owner's agents, newest first."""
        at, last = keys_of(after, (int, str)) if after else (2**62, "")
        rows = self._sql.rows(
            "SELECT * FROM agents WHERE owner_id = :owner "
            "AND (created_at, agent_id) < (:at, :last) "
            "ORDER BY created_at DESC, agent_id DESC LIMIT :most",
            owner=owner_id,
            at=at,
            last=last,
            most=limit,
        )
        return [_agent(r) for r in rows]

    def names_of(self, owner_id: str) -> list[str]:
        """The names of an owner's agents."""
        rows = self._sql.rows("SELECT name FROM agents WHERE owner_id = :owner", owner=owner_id)
        return [str(r["name"]) for r in rows]

    # -- keys
    # ---------------------------------------------------------------------------------------------

    def add_key(self, key_id: str, agent_id: str, key_hash: str, now: datetime) -> None:
        """Give an agent a key.

        Errors: `conflict` with two live keys already, so that one can be rotated without a gap and
        none is forgotten.
        """
        if self._sql.dialect == "postgresql":
            self._sql.rows(
                "SELECT agent_id FROM agents WHERE agent_id = :id FOR UPDATE", id=agent_id
            )
        live = [k for k in self.keys_of(agent_id) if k.revoked_at is None]
        if len(live) >= LIVE_KEYS_MAX:
            raise Refused(
                refusal(
                    "conflict", why=f"The agent has {LIVE_KEYS_MAX} live keys; revoke one first."
                )
            )
        self._sql.run(
            "INSERT INTO agent_keys " + columns(("key_id", "agent_id", "key_hash", "created_at")),
            key_id=key_id,
            agent_id=agent_id,
            key_hash=key_hash,
            created_at=micros(now),
        )

    def keys_of(self, agent_id: str) -> list[ApiKey]:
        """An agent's keys, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM agent_keys WHERE agent_id = :id ORDER BY created_at, key_id", id=agent_id
        )
        return [
            ApiKey(
                r["key_id"], r["agent_id"], moment(r["created_at"]), maybe_moment(r["revoked_at"])
            )
            for r in rows
        ]

    def revoke_key(self, agent_id: str, key_id: str, now: datetime) -> bool:
        """Revoke at once; False when there is no such live key."""
        done = self._sql.run(
            "UPDATE agent_keys SET revoked_at = :at WHERE key_id = :key AND agent_id = :id "
            "AND revoked_at IS NULL",
            at=micros(now),
            key=key_id,
            id=agent_id,
        )
        return done == 1

    def agent_by_key(self, key_hash: str) -> Agent | None:
        """The agent behind a live key."""
        row = first(
            self._sql,
            AGENT_BY_KEY,
            hash=key_hash,
        )
        return _agent(row) if row else None

    def add_house_key(self, key_id: str, role: str, key_hash: str, now: datetime) -> None:
        """Mint a keeper or admin key."""
        self._sql.run(
            "INSERT INTO house_keys " + columns(("key_id", "role", "key_hash", "created_at")),
            key_id=key_id,
            role=role,
            key_hash=key_hash,
            created_at=micros(now),
        )

    def house_role(self, key_hash: str) -> str | None:
        """The role of a live house key."""
        row = first(
            self._sql,
            HOUSE_ROLE,
            hash=key_hash,
        )
        return str(row["role"]) if row else None

    def house_keys(self) -> list[ApiKey]:
        """Every house key; `holder` is its role."""
        rows = self._sql.rows("SELECT * FROM house_keys ORDER BY created_at, key_id")
        return [
            ApiKey(r["key_id"], r["role"], moment(r["created_at"]), maybe_moment(r["revoked_at"]))
            for r in rows
        ]

    def revoke_house_key(self, key_id: str, now: datetime) -> bool:
        """Revoke at once."""
        done = self._sql.run(
            "UPDATE house_keys SET revoked_at = :at WHERE key_id = :key AND revoked_at IS NULL",
            at=micros(now),
            key=key_id,
        )
        return done == 1


def agent_after(agent: Agent) -> str:
    """The cursor that continues behind this agent."""
    return cursor_of(micros(agent.created_at), agent.agent_id)


def _agent(row: Row) -> Agent:
    return Agent(
        row["agent_id"],
        row["owner_id"],
        escape_unfit(row["name"]),
        row["address"],
        moment(row["created_at"]),
    )
