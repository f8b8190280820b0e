"""Signed calls of agents, and the keys that are held for them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from domain.agents.sent_calls import HostedKey, SentCall
from storage.codec import Table
from storage.sql import Repository, micros

_CALLS: Final = Table("sent_calls", SentCall, key="agent_id, public_id, key")
_KEYS: Final = Table("hosted_keys", HostedKey, key="agent_id")
_MINE: Final = "agent_id = :agent AND public_id = :mandate AND key = :key"


class SentCallRepository(Repository):
    """One row an idempotency key; one an account and nonce, so that no nonce is given out twice."""

    def find(
        self, agent_id: str, public_id: str, key: str, *, lock: bool = False
    ) -> SentCall | None:
        """The call of a key."""
        tail = self._sql.locks if lock else ""
        named = {"agent": agent_id, "mandate": public_id, "key": key}
        return _CALLS.first(self._sql, _MINE + tail, **named)

    def with_nonce(self, chain_id: int, sender: str, nonce: int) -> SentCall | None:
        """The call that an account's nonce was given to."""
        where = "chain_id = :chain AND sender = :sender AND nonce = :nonce"
        named = {"chain": chain_id, "sender": sender.lower(), "nonce": nonce}
        return _CALLS.first(self._sql, where, **named)

    def of_action(
        self, agent_id: str, public_id: str, action_hash: str, since: datetime
    ) -> SentCall | None:
        """A call of this very action, stored since a time, that landed or may land."""
        where = (
            "agent_id = :agent AND public_id = :mandate AND action_hash = :action "
            "AND stored_at >= :since AND (outcome IS NULL OR outcome = 'landed')"
        )
        named = {"agent": agent_id, "mandate": public_id, "action": action_hash}
        return _CALLS.first(self._sql, where, **named, since=micros(since))

    def add(self, call: SentCall) -> None:
        """Store a new call. Errors: `Duplicate` where its key or its nonce is taken."""
        _CALLS.add(self._sql, call)

    def save(self, call: SentCall) -> None:
        """Store a changed call."""
        self._sql.run(_CALLS.upsert, **_CALLS.row(call))


class HostedKeyRepository(Repository):
    """The keys that the signer holds, one an agent."""

    def get(self, agent_id: str) -> HostedKey | None:
        """The key of an agent, an ended one too."""
        return _KEYS.first(self._sql, "agent_id = :agent", agent=agent_id)

    def put(self, key: HostedKey) -> None:
        """Store a key in place of an agent's earlier one."""
        self._sql.run(_KEYS.upsert, **_KEYS.row(key))
