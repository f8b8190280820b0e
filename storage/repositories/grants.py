"""Grants of owners to apps, and the access tokens of each: of tokens only hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.agents.grants import Ending, Grant, Scopes
from storage.codec import Table
from storage.repositories.identities import Agent, agent_of_row
from storage.sql import LOCKED, Repository, first, micros

# Of one agent: grants that last, and those of which only the record is left.
LIVE_MAX: Final = 20
ENDED_KEPT: Final = 50
# Of one grant: a client may still be using the token before its last.
TOKENS_MAX: Final = 2
# A token that is good belongs to a grant that lasts: its end deletes its tokens.
HOLDER: Final = (
    "SELECT t.grant_id, t.client_hash, t.scopes, t.resource, t.expires_at, t.used_at, a.* "
    "FROM oauth_tokens t JOIN agents a ON a.agent_id = t.agent_id "
    "WHERE t.token_hash = :hash AND t.expires_at > :now"
)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """One access token, without its secret: what a call has to know of its grant stands here."""

    grant_id: str
    agent_id: str
    client_hash: str
    scopes: Scopes
    resource: str
    expires_at: datetime
    used_at: datetime | None


_GRANTS: Final = Table(
    "oauth_grants", Grant, key="grant_id", fixed=("owner_id", "agent_id", "created_at")
)
_TOKENS: Final = Table("oauth_tokens", AccessToken, more=("token_hash",))


class GrantRepository(Repository):
    """The grants of agents, and their tokens."""

    def add(self, grant: Grant, now: datetime) -> None:
        """Store a new grant. Codes that nobody redeemed in time go,
        and one that the same request was given before; above `LIVE_MAX` the grant that was
        used longest ago ends, and of ended ones only the newest stay.
        """
        stale = "DELETE FROM oauth_grants WHERE agent_id = :id AND redeemed_at IS NULL "
        stale += "AND (code_until <= :now OR client_hash = :client AND code_challenge = :challenge)"
        self._sql.run(
            stale, id=grant.agent_id, now=micros(now),
            client=grant.client_hash, challenge=grant.code_challenge,
        )  # fmt: skip
        rows = self.of_agent(grant.agent_id, lock=True)
        lasting = [g for g in rows if g.lasts(now)]
        if len(lasting) >= LIVE_MAX:
            oldest = min(lasting, key=lambda g: g.used_at or g.created_at)
            self.end(oldest.grant_id, now, "replaced")
        over = [g for g in rows if not g.lasts(now)][ENDED_KEPT - 1 :]
        for gone in over:
            self._sql.run("DELETE FROM oauth_tokens WHERE grant_id = :id", id=gone.grant_id)
            self._sql.run("DELETE FROM oauth_grants WHERE grant_id = :id", id=gone.grant_id)
        _GRANTS.add(self._sql, grant)

    def save(self, grant: Grant) -> None:
        """Store a grant as it became."""
        self._sql.run(_GRANTS.upsert, **_GRANTS.row(grant))

    def of_agent(self, agent_id: str, *, lock: bool = False) -> list[Grant]:
        """An agent's grants, newest first; `lock` keeps other grants of it off."""
        if lock and self._sql.dialect == "postgresql":
            self._sql.rows(f"SELECT agent_id FROM agents WHERE agent_id = :id{LOCKED}", id=agent_id)
        where = "agent_id = :id ORDER BY created_at DESC, grant_id DESC"
        return _GRANTS.all(self._sql, where, id=agent_id)

    def by_code(self, code_hash: str) -> Grant | None:
        """The grant behind a code, whose use it waits for."""
        return _GRANTS.first(self._sql, "code_hash = :hash" + self._sql.locks, hash=code_hash)

    def by_family(self, family_hash: str) -> Grant | None:
        """The grant of a refresh token, by the part that all of its tokens share."""
        where = "family_hash = :hash" + self._sql.locks
        return _GRANTS.first(self._sql, where, hash=family_hash)

    def by_access_token(self, token_hash: str) -> Grant | None:
        """The grant of an access token, whether that is still good or not."""
        where = "grant_id IN (SELECT grant_id FROM oauth_tokens WHERE token_hash = :hash)"
        return _GRANTS.first(self._sql, where + self._sql.locks, hash=token_hash)

    def lasts(self, grant_id: str, now: datetime) -> bool:
        """True while a token of a grant can be good."""
        grant = _GRANTS.first(self._sql, "grant_id = :id", id=grant_id)
        return grant is not None and grant.lasts(now)

    def holder(self, token_hash: str, now: datetime) -> tuple[Agent, AccessToken] | None:
        """The agent behind a good access token, and the token."""
        row = first(self._sql, HOLDER, hash=token_hash, now=micros(now))
        return None if row is None else (agent_of_row(row), _TOKENS.record(row))

    def add_token(self, grant: Grant, token_hash: str, scopes: Scopes, until: datetime) -> None:
        """Store an access token; of a grant's the newest few stay."""
        newest = "SELECT token_hash FROM oauth_tokens WHERE grant_id = :id "
        newest += "ORDER BY expires_at DESC, token_hash LIMIT :most"
        text = f"DELETE FROM oauth_tokens WHERE grant_id = :id AND token_hash NOT IN ({newest})"
        self._sql.run(text, id=grant.grant_id, most=TOKENS_MAX - 1)
        token = AccessToken(
            grant_id=grant.grant_id,
            agent_id=grant.agent_id,
            client_hash=grant.client_hash,
            scopes=scopes,
            resource=grant.resource,
            expires_at=until,
            used_at=grant.used_at,
        )
        _TOKENS.add(self._sql, token, token_hash=token_hash)

    def touch(self, grant_id: str, now: datetime) -> None:
        """Note that a token of it is used."""
        for table in ("oauth_grants", "oauth_tokens"):
            text = f"UPDATE {table} SET used_at = :at WHERE grant_id = :id"
            self._sql.run(text, at=micros(now), id=grant_id)

    def end(self, grant_id: str, now: datetime, by: Ending) -> bool:
        """End a grant and its tokens at once; False where it was over already."""
        text = (
            "UPDATE oauth_grants SET ended_at = :at, ended_by = :by "
            "WHERE grant_id = :id AND ended_at IS NULL"
        )
        ended = self._sql.run(text, at=micros(now), by=by, id=grant_id) == 1
        # After the grant, whose row a refresh holds while it adds one.
        self._sql.run("DELETE FROM oauth_tokens WHERE grant_id = :id", id=grant_id)
        return ended
