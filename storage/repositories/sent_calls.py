"""Signed calls of agents, and the keys that are held for them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from domain.agents.sent_calls import HostedKey, SentCall
from storage.codec import Table
from storage.sql import Repository, exists, first, micros

# Of one account: acts follow one another, so that more are open after trouble of nodes alone.
OPEN_MOST: Final = 3
_CALLS: Final = Table("sent_calls", SentCall, key="agent_id, public_id, key")
_KEYS: Final = Table("hosted_keys", HostedKey, key="agent_id")
_MINE: Final = "agent_id = :agent AND public_id = :mandate AND key = :key"
# Made at a consent, and no grant that it was kept for lasts (`Grant.lasts`).
_OVER: Final = (
    "(ends_with_apps = 1 AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE "
    "g.agent_id = hosted_keys.agent_id AND g.held_key = hosted_keys.number AND g.ended_at IS NULL "
    "AND :now < CASE WHEN g.redeemed_at IS NULL THEN g.code_until ELSE g.refresh_until END))"
)


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

    def open_before(self, agent_id: str, chain_id: int, sender: str, nonce: int) -> list[SentCall]:
        """An agent's calls without an outcome whose nonces an account has used, oldest first."""
        where = (
            "chain_id = :chain AND sender = :sender AND nonce < :nonce AND agent_id = :agent "
            "AND outcome IS NULL ORDER BY nonce LIMIT :most"
        )
        named = {"chain": chain_id, "sender": sender.lower(), "nonce": nonce, "agent": agent_id}
        return _CALLS.all(self._sql, where, **named, most=OPEN_MOST)

    def remove(self, call: SentCall) -> None:
        """Take out a call that can never be mined, unless its outcome is known."""
        named = {"agent": call.agent_id, "mandate": call.public_id, "key": call.key}
        # Of the same key there may be a newer call, which has another nonce.
        where = f"{_MINE} AND nonce = :nonce AND outcome IS NULL"
        self._sql.run(f"DELETE FROM sent_calls WHERE {where}", **named, nonce=call.nonce)

    def add(self, call: SentCall) -> None:
        """Store a new call. Errors: `Duplicate` where its key or its nonce is taken."""
        _CALLS.add(self._sql, call)

    def save(self, call: SentCall) -> None:
        """Store a changed call."""
        self._sql.run(_CALLS.upsert, **_CALLS.row(call))


class HostedKeyRepository(Repository):
    """The keys that the signer holds, one an agent: the newest."""

    def get(self, agent_id: str, now: datetime) -> HostedKey | None:
        """The key of an agent; an ended one too, as is one whose grants are all over."""
        key = _KEYS.first(self._sql, "agent_id = :agent", agent=agent_id)
        if key is None or key.ended_at is not None:
            return key
        over = exists(
            self._sql,
            f"hosted_keys WHERE agent_id = :agent AND {_OVER}",
            agent=agent_id,
            now=micros(now),
        )
        return key.ended(now) if over else key

    def put(self, key: HostedKey) -> None:
        """Store a key in place of an agent's earlier one."""
        self._sql.run(_KEYS.upsert, **_KEYS.row(key))

    def to_end(self, now: datetime, agent_id: str | None, limit: int) -> list[HostedKey]:
        """Keys that are over and that the signer has not put away, of one agent or of all."""
        where = f"away_at IS NULL AND (ended_at IS NOT NULL OR {_OVER})"
        named = {} if agent_id is None else {"agent": agent_id}
        where += " AND agent_id = :agent" if named else ""
        where += " ORDER BY made_at, agent_id LIMIT :most"
        return _KEYS.all(self._sql, where, now=micros(now), most=limit, **named)

    def put_away(self, key: HostedKey, now: datetime) -> None:
        """Note that the signer has put the key away."""
        text = "UPDATE hosted_keys SET away_at = :at WHERE agent_id = :agent AND number = :number"
        self._sql.run(text, at=micros(now), agent=key.agent_id, number=key.number)

    def count(self, now: datetime) -> int:
        """The number of keys that sign."""
        where = f"SELECT count(*) AS n FROM hosted_keys WHERE ended_at IS NULL AND NOT {_OVER}"
        row = first(self._sql, where, now=micros(now))
        return 0 if row is None else int(row["n"])
