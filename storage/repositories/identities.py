"""Agents, and the keys of agents and of the house: only their hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from domain.refusals import Refused, refusal
from domain.text import escape_unfit
from storage.codec import Table
from storage.cursors import cursor_of
from storage.repositories.people import PersonRepository
from storage.sql import LOCKED, Row, first, micros

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
    revoked_at: datetime | None = None


_AGENTS: Final = Table("agents", Agent)
_AGENT_KEYS: Final = Table("agent_keys", ApiKey, names={"holder": "agent_id"}, more=("key_hash",))
_HOUSE_KEYS: Final = Table("house_keys", ApiKey, names={"holder": "role"}, more=("key_hash",))


class Identities(PersonRepository):
    """Principals and credentials: people and their sessions, agents, API keys."""

    # -- agents

    def add_agent(self, agent: Agent) -> None:
        """Register an agent."""
        _AGENTS.add(self._sql, agent)

    def agent(self, agent_id: str, *, lock: bool = False) -> Agent | None:
        """An agent by id; `lock` keeps other writers of its balances off."""
        tail = self._sql.locks if lock else ""
        agent = _AGENTS.first(self._sql, "agent_id = :id" + tail, id=agent_id)
        return None if agent is None else _legible(agent)

    def agents_of(self, owner_id: str, *, after: str | None, limit: int) -> list[Agent]:
        """An owner's agents, newest first."""
        by = "created_at, agent_id"
        page = _AGENTS.page(self._sql, "owner_id = :owner", by, after, limit, owner=owner_id)
        return [_legible(agent) for agent in page]

    def names_of(self, owner_id: str) -> list[str]:
        """The names of an owner's agents."""
        rows = self._sql.rows("SELECT name FROM agents WHERE owner_id = :owner", owner=owner_id)
        return [str(r["name"]) for r in rows]

    # -- keys

    def add_key(self, key_id: str, agent_id: str, key_hash: str, now: datetime) -> None:
        """Give an agent a key.

        Errors: `conflict` with two live keys already, so that one can be rotated without a gap and
        none is forgotten.
        """
        if self._sql.dialect == "postgresql":
            self._sql.rows(f"SELECT agent_id FROM agents WHERE agent_id = :id{LOCKED}", id=agent_id)
        live = [k for k in self.keys_of(agent_id) if k.revoked_at is None]
        if len(live) >= LIVE_KEYS_MAX:
            why = f"The agent has {LIVE_KEYS_MAX} live keys; revoke one first."
            raise Refused(refusal("conflict", why=why))
        _AGENT_KEYS.add(self._sql, ApiKey(key_id, agent_id, now), key_hash=key_hash)

    def keys_of(self, agent_id: str) -> list[ApiKey]:
        """An agent's keys, oldest first."""
        return _AGENT_KEYS.all(self._sql, "agent_id = :id ORDER BY created_at, key_id", id=agent_id)

    def revoke_key(self, agent_id: str, key_id: str, now: datetime) -> bool:
        """Revoke at once; False when there is no such live key."""
        text = (
            "UPDATE agent_keys SET revoked_at = :at WHERE key_id = :key AND agent_id = :id "
            "AND revoked_at IS NULL"
        )
        return self._sql.run(text, at=micros(now), key=key_id, id=agent_id) == 1

    def agent_by_key(self, key_hash: str) -> Agent | None:
        """The agent behind a live key."""
        row = first(self._sql, AGENT_BY_KEY, hash=key_hash)
        return agent_of_row(row) if row else None

    def add_house_key(self, key_id: str, role: str, key_hash: str, now: datetime) -> None:
        """Mint a keeper or admin key."""
        _HOUSE_KEYS.add(self._sql, ApiKey(key_id, role, now), key_hash=key_hash)

    def house_role(self, key_hash: str) -> str | None:
        """The role of a live house key."""
        row = first(self._sql, HOUSE_ROLE, hash=key_hash)
        return str(row["role"]) if row else None

    def house_keys(self) -> list[ApiKey]:
        """Every house key; `holder` is its role."""
        return _HOUSE_KEYS.all(self._sql, "TRUE ORDER BY created_at, key_id")

    def revoke_house_key(self, key_id: str, now: datetime) -> bool:
        """Revoke at once."""
        text = "UPDATE house_keys SET revoked_at = :at WHERE key_id = :key AND revoked_at IS NULL"
        return self._sql.run(text, at=micros(now), key=key_id) == 1


def agent_of_row(row: Row) -> Agent:
    """The agent of a row that has its columns."""
    return _legible(_AGENTS.record(row))


def agent_after(agent: Agent) -> str:
    """The cursor that continues behind this agent."""
    return cursor_of(micros(agent.created_at), agent.agent_id)


def _legible(agent: Agent) -> Agent:
    """The agent with a readable name; names stored earlier may hold any characters."""
    return replace(agent, name=escape_unfit(agent.name))
