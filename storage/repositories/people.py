"""People, their sign-in texts and sessions: of tokens only hashes are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.mandates.terms import SignerType
from storage.codec import Table
from storage.sql import Repository, Row, columns, first, micros, placeholders

SESSION: Final = (
    "SELECT s.user_id, u.address, s.created_at, s.expires_at, s.longest_at, s.signer_type, "
    "s.chain_id FROM sessions s JOIN users u ON u.user_id = s.user_id "
    "WHERE s.token_hash = :hash AND s.expires_at > :now"
)
_USER: Final = "SELECT user_id, address, account FROM users WHERE "
# Where something of a person's may be, beside sessions: who has nothing in any of them is one more
# row, and the next sign-in makes it anew.
OF_PERSONS: Final = {
    "agents": "owner_id",
    "approvals": "owner_id",
    "email_links": "owner_id",
    "mandates": "owner_id",
    "notice_settings": "owner_id",
    "oauth_grants": "owner_id",
    "orders": "owner_id",
    "own_limits": "user_id",
    "paper_books": "owner_id",
    "venue_builder_fees": "user_id",
    "venue_challenges": "user_id",
    "venue_intents": "user_id",
    "venue_links": "user_id",
    "webhooks": "owner_id",
}
# Of a person of whom a vault was ever funded.
FUNDED: Final = (
    "SELECT 1 FROM mandates m WHERE m.owner_id = {} "
    "AND m.status IN ('working', 'stopped', 'settled')"
)
_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class User:
    """A person: a key, or a contract on the one chain where its word counts.

    Shapes: `chain_id` is that chain; None for a key, which signs on every chain.
    """

    user_id: str
    address: str
    chain_id: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A live session of a person, and how its text was signed: `chain_id` is of the contract that
    answered, None for a key.
    """

    user_id: str
    address: str
    created_at: datetime
    expires_at: datetime
    longest_at: datetime
    signer_type: SignerType = "eoa"
    chain_id: int | None = None


@dataclass(frozen=True, slots=True)
class SignInChallenge:
    """A sign-in text that waits for its signature."""

    nonce: str
    message: str
    address: str
    chain_id: int


_INSERT: Final = (
    "INSERT INTO users "
    + columns(("user_id", "address", "address_lower", "created_at", "account"))
    + " ON CONFLICT (account) DO NOTHING"
)
_OLDEST_MANDATE: Final = (
    "SELECT chain_id FROM mandates WHERE owner_id = :id ORDER BY created_at, public_id LIMIT 1"
)
_CHALLENGES: Final = Table("challenges", SignInChallenge, more=("expires_at",))
_SESSIONS: Final = Table("sessions", Session, names={"address": None}, more=("token_hash",))
_ENDED: Final = (
    "SELECT s.token_hash, s.user_id FROM sessions s WHERE s.expires_at < :now "
    "OR (s.expires_at <= (SELECT expires_at FROM sessions ORDER BY expires_at DESC LIMIT 1 "
    f"OFFSET :most) AND NOT EXISTS ({FUNDED.format('s.user_id')})) "
    "ORDER BY s.expires_at LIMIT :at_once"
)


class PersonRepository(Repository):
    """People, challenges and sessions."""

    def person(
        self,
        address: str,
        *,
        new_id: str,
        now: datetime,
        chain_id: int | None = None,
        default_chain_id: int | None = None,
    ) -> User:
        """The person behind an address, made at the first sign-in; `chain_id` is of the contract
        that answered for it, None for a key.
        """
        account = account_of(address, chain_id)
        row = first(self._sql, _USER + "account = :account", account=account)
        if row is None:
            self._decide(address, account, chain_id, default_chain_id)
            user = {"user_id": new_id, "address": address, "address_lower": address.lower()}
            self._sql.run(_INSERT, **user, created_at=micros(now), account=account)
            row = first(self._sql, _USER + "account = :account", account=account)
        if row is None:
            raise LookupError(account)
        return _user(row)

    def _decide(
        self, address: str, account: str, chain_id: int | None, default_chain_id: int | None
    ) -> None:
        """Decide the signer type of a person stored before signer types were, where this sign-in
        can decide it. An address with a key has one signer; of contracts the one on the chain of
        the person's first mandate is meant, or on the service's own where there is none.
        """
        lower = address.lower()
        before = first(self._sql, _USER + "address_lower = :lower AND account IS NULL", lower=lower)
        if before is None:
            return
        oldest = first(self._sql, _OLDEST_MANDATE, id=before["user_id"])
        if chain_id in (None, oldest["chain_id"] if oldest else default_chain_id):
            text = "UPDATE users SET account = :account WHERE user_id = :id AND account IS NULL"
            self._sql.run(text, account=account, id=before["user_id"])

    def user(self, user_id: str, *, lock: bool = False) -> User | None:
        """A person by id; `lock` keeps other writers of what is theirs off."""
        tail = self._sql.locks if lock else ""
        row = first(self._sql, _USER + "user_id = :id" + tail, id=user_id)
        return _user(row) if row else None

    def add_challenge(
        self,
        nonce: str,
        message: str,
        address: str,
        chain_id: int,
        expires_at: datetime,
        now: datetime,
    ) -> None:
        """Keep a sign-in text; outdated ones go."""
        self._sql.run("DELETE FROM challenges WHERE expires_at < :now", now=micros(now))
        challenge = SignInChallenge(nonce, message, address, chain_id)
        _CHALLENGES.add(self._sql, challenge, expires_at=micros(expires_at))

    def challenge(self, nonce: str, now: datetime) -> SignInChallenge | None:
        """The challenge that waits under a nonce; None when it is unknown, used or too old."""
        where = "nonce = :nonce AND expires_at > :now"
        return _CHALLENGES.first(self._sql, where, nonce=nonce, now=micros(now))

    def take_challenge(self, nonce: str, now: datetime) -> SignInChallenge | None:
        """Take a challenge out: it can be used once; None when it is unknown, used or too old."""
        waiting = self.challenge(nonce, now)
        taken = self._sql.run("DELETE FROM challenges WHERE nonce = :nonce", nonce=nonce)
        return waiting if taken == 1 else None

    def add_session(
        self,
        token_hash: str,
        user_id: str,
        now: datetime,
        expires_at: datetime,
        longest_at: datetime,
        *,
        signer_type: SignerType = "eoa",
        chain_id: int | None = None,
    ) -> None:
        """Open a session, with how its text was signed."""
        session = Session(user_id, "", now, expires_at, longest_at, signer_type, chain_id)
        _SESSIONS.add(self._sql, session, token_hash=token_hash)

    def session(self, token_hash: str, now: datetime) -> Session | None:
        """The live session of a token."""
        row = first(self._sql, SESSION, hash=token_hash, now=micros(now))
        return None if row is None else _SESSIONS.record(row, address=row["address"])

    def slide(self, token_hash: str, expires_at: datetime) -> None:
        """Move a session's end."""
        text = "UPDATE sessions SET expires_at = :at WHERE token_hash = :hash"
        self._sql.run(text, at=micros(expires_at), hash=token_hash)

    def end_session(self, token_hash: str) -> bool:
        """Close a session at once."""
        where = "FROM sessions WHERE token_hash = :hash"
        rows = self._sql.rows("SELECT user_id " + where, hash=token_hash)
        ended = self._sql.run("DELETE " + where, hash=token_hash) == 1
        self._forget([str(r["user_id"]) for r in rows])
        return ended

    def end_sessions(self, now: datetime, limit: int) -> int:
        """Take some sessions out that are over, and of persons of whom no vault was ever funded
        those that would end first, where there are more than `most`; with each its person who has
        nothing else. How many: fewer than at once can be where none is left.
        """
        rows = self._sql.rows(_ENDED, now=micros(now), most=limit, at_once=_AT_ONCE)
        if rows:
            names = {f"i{n}": r["token_hash"] for n, r in enumerate(rows)}
            text = f"DELETE FROM sessions WHERE token_hash IN ({placeholders(names)})"
            self._sql.run(text, **names)
            self._forget(sorted({str(r["user_id"]) for r in rows}))
        return len(rows)

    def end_challenges(self, now: datetime, limit: int) -> None:
        """Take the sign-in texts out that are too old, and the oldest of more than `most`."""
        text = (
            "DELETE FROM challenges WHERE expires_at < :now OR expires_at <= (SELECT expires_at "
            "FROM challenges ORDER BY expires_at DESC LIMIT 1 OFFSET :most)"
        )
        self._sql.run(text, now=micros(now), most=limit)

    def _forget(self, users: list[str]) -> None:
        """Delete those of some persons who have nothing."""
        if not users:
            return
        names = {f"i{n}": user for n, user in enumerate(users)}
        ids, places = placeholders(names), {"sessions": "user_id"} | OF_PERSONS
        nowhere = " ".join(
            f"AND user_id NOT IN (SELECT {column} FROM {table} WHERE {column} IN ({ids}))"
            for table, column in places.items()
        )
        self._sql.run(f"DELETE FROM users WHERE user_id IN ({ids}) {nowhere}", **names)


def account_of(address: str, chain_id: int | None) -> str:
    """A person's account as CAIP-10 writes it; chain 0 stands for every chain, as in EIP-7702."""
    return f"eip155:{chain_id or 0}:{address.lower()}"


def _user(row: Row) -> User:
    chain = int((row["account"] or "eip155:0:").split(":")[1])
    return User(row["user_id"], row["address"], chain or None)
