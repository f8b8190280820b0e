"""Own accounts at the venue: links, challenges, approved keys, intents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from domain.trading.venue_account import (
    ZERO_ADDRESS,
    AgentKey,
    KeyKind,
    KeyStatus,
    Link,
    LinkChallenge,
)
from domain.trading.venue_values import Network
from storage.codec import Table
from storage.sql import Repository, canonical, columns, first, maybe_micros, micros, moment, number

_LINKS: Final = Table("venue_links", Link, more=("wallet_lower",))
_ADD_LINK: Final = f"{_LINKS.insert} ON CONFLICT DO NOTHING"
_END_LINK: Final = (
    "UPDATE venue_links SET ended_at = :at, ended_why = :why WHERE link_id = :id "
    "AND ended_at IS NULL"
)
_END_KEYS_OF_LINK: Final = (
    "UPDATE venue_agent_keys SET ended_at = :at WHERE link_id = :id AND ended_at IS NULL"
)
_TO_CHECK: Final = (
    "SELECT l.* FROM venue_agent_keys k JOIN venue_links l ON l.link_id = k.link_id "
    "WHERE k.kind = 'keeper' AND k.ended_at IS NULL AND k.status = 'approved' "
    "AND k.agent_lower <> :zero_address AND k.valid_until > :now AND l.ended_at IS NULL "
    "AND COALESCE(k.checked_at, 0) < :before "
    "ORDER BY COALESCE(k.checked_at, 0), k.approval_id LIMIT :most"
)
_CHALLENGES: Final = Table("venue_challenges", LinkChallenge, more=("made_at",))
_CHALLENGES_SINCE: Final = (
    "SELECT made_at FROM venue_challenges WHERE user_id = :user AND made_at > :since "
    "ORDER BY made_at DESC LIMIT :most"
)
_USE_UP_OLD: Final = (
    "UPDATE venue_challenges SET used_at = :at "
    "WHERE challenge_id IN (SELECT challenge_id FROM venue_challenges "
    "WHERE user_id = :user AND used_at IS NULL AND expires_at > :at "
    "ORDER BY made_at DESC, challenge_id DESC LIMIT 1000 OFFSET :most)"
)
_KEYS: Final = Table(
    "venue_agent_keys", AgentKey, names={"agent": "agent_lower"}, more=("network", "wallet_lower")
)
_ADD_KEY: Final = f"{_KEYS.insert} ON CONFLICT DO NOTHING"
_NEWEST_KEY: Final = (
    "link_id = :link AND kind = :kind AND {} AND agent_lower <> :zero_address "
    "ORDER BY requested_at DESC, approval_id DESC LIMIT 1"
)
_IN_USE: Final = _NEWEST_KEY.format(
    "ended_at IS NULL AND status IN ('approved', 'unknown', 'sending')"
)
_TAKEN: Final = _NEWEST_KEY.format("status = 'approved'")
_END_KEYS: Final = (
    "UPDATE venue_agent_keys SET ended_at = :at WHERE link_id = :link AND kind = :kind "
    "AND ended_at IS NULL AND approval_id <> :but AND requested_at <= :before"
)
_COUNT_LINKS: Final = (
    "SELECT COUNT(*) AS n FROM venue_links WHERE network = :network AND ended_at IS NULL"
)
_COUNT_KEYS: Final = (
    "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN valid_until < :soon THEN 1 "
    "ELSE 0 END), 0) AS ending, "
    "COALESCE(SUM(CASE WHEN listed = 0 AND checked_at IS NOT NULL THEN 1 ELSE 0 END), 0) "
    "AS unnamed FROM venue_agent_keys WHERE network = :network AND ended_at IS NULL "
    "AND status = 'approved' AND valid_until > :now"
)
_ADD_INTENT: Final = "INSERT INTO venue_intents " + columns(
    ("intent_id", "user_id", "kind", "body", "created_at", "valid_until")
)


class VenueAccountRepository(Repository):
    """Linked wallets and approved keys of people."""

    # -- links

    def link_of(self, user_id: str, network: Network) -> Link | None:
        """A person's link on one network."""
        where = "user_id = :user AND network = :network AND ended_at IS NULL"
        return _LINKS.first(self._sql, where, user=user_id, network=network)

    def link_to(self, wallet: str, network: Network) -> Link | None:
        """The link of a wallet on one network, of any person."""
        where = "wallet_lower = :wallet AND network = :network AND ended_at IS NULL"
        return _LINKS.first(self._sql, where, wallet=wallet.lower(), network=network)

    def add_link(self, link: Link) -> bool:
        """Link a wallet; False where the wallet or the person has a link on this network."""
        return self._sql.run(_ADD_LINK, **_LINKS.row(link, wallet_lower=link.wallet.lower())) == 1

    def accept_terms(self, link_id: str, version: int) -> None:
        """Note that newer terms were accepted."""
        text = "UPDATE venue_links SET terms_version = :v WHERE link_id = :id"
        self._sql.run(text, v=version, id=link_id)

    def end_link(self, link_id: str, reason: str, now: datetime) -> bool:
        """End a link, and every key under it with it."""
        done = self._sql.run(_END_LINK, at=micros(now), why=reason, id=link_id)
        self._sql.run(_END_KEYS_OF_LINK, at=micros(now), id=link_id)
        return done == 1

    # -- challenges

    def challenges_since(self, user_id: str, since: datetime, limit: int) -> list[datetime]:
        """Times of a person's newest challenges after a time, newest first, at most `most`."""
        rows = self._sql.rows(_CHALLENGES_SINCE, user=user_id, since=micros(since), most=limit)
        return [moment(row["made_at"]) for row in rows]

    def add_challenge(
        self, created: LinkChallenge, now: datetime, *, open_at_most: int, kept: timedelta
    ) -> None:
        """Keep a text; of a person's open ones the oldest is dropped, and long ended ones go."""
        ended = "DELETE FROM venue_challenges WHERE made_at < :before"
        self._sql.run(ended, before=micros(now - kept))
        self._sql.run(_USE_UP_OLD, at=micros(now), user=created.user_id, most=open_at_most - 1)
        _CHALLENGES.add(self._sql, created, made_at=micros(now))

    def challenge(self, challenge_id: str) -> tuple[LinkChallenge, bool] | None:
        """A text, and whether it was used."""
        text = "SELECT * FROM venue_challenges WHERE challenge_id = :id"
        row = first(self._sql, text, id=challenge_id)
        return None if row is None else (_CHALLENGES.record(row), row["used_at"] is not None)

    def burn(self, challenge_id: str, now: datetime) -> bool:
        """Use a challenge up; False where it was used before."""
        where = "WHERE challenge_id = :id AND used_at IS NULL"
        text = f"UPDATE venue_challenges SET used_at = :at {where}"
        return self._sql.run(text, at=micros(now), id=challenge_id) == 1

    # -- keys

    def add_key(self, key: AgentKey, link: Link) -> bool:
        """Note an approval before it is sent. False for an address or a nonce that
        was used before."""
        row = _KEYS.row(key, network=link.network, wallet_lower=link.wallet.lower())
        return self._sql.run(_ADD_KEY, **row) == 1

    def key_of_agent(self, agent: str) -> AgentKey | None:
        """The approval that named an address."""
        return _KEYS.first(self._sql, "agent_lower = :agent", agent=agent.lower())

    def key_of_nonce(self, network: Network, wallet: str, nonce: int) -> AgentKey | None:
        """The approval under a nonce."""
        where = "network = :network AND wallet_lower = :wallet AND nonce = :nonce"
        return _KEYS.first(self._sql, where, network=network, wallet=wallet.lower(), nonce=nonce)

    def key_in_use(self, link_id: str, kind: KeyKind) -> AgentKey | None:
        """The newest key of a link that was sent and did not end."""
        return _KEYS.first(self._sql, _IN_USE, link=link_id, kind=kind, zero_address=ZERO_ADDRESS)

    def last_key(self, link_id: str, kind: KeyKind) -> AgentKey | None:
        """The newest key of a link that the venue took, whether or not it ended."""
        return _KEYS.first(self._sql, _TAKEN, link=link_id, kind=kind, zero_address=ZERO_ADDRESS)

    def links_to_check(self, now: datetime, before: datetime, limit: int) -> list[Link]:
        """Links with a keeper key in date that the venue was not asked about since `before`,
        longest ago first."""
        values = {"now": micros(now), "before": micros(before), "most": limit}
        rows = self._sql.rows(_TO_CHECK, zero_address=ZERO_ADDRESS, **values)
        return [_LINKS.record(r) for r in rows]

    def names_of(self, link_id: str, kind: KeyKind) -> set[str]:
        """The names that a link's keys were approved under."""
        text = "SELECT DISTINCT name FROM venue_agent_keys WHERE link_id = :link AND kind = :kind"
        return {str(r["name"]) for r in self._sql.rows(text, link=link_id, kind=kind)}

    def settle_key(self, approval_id: str, status: KeyStatus) -> None:
        """Say how the venue took an approval."""
        text = "UPDATE venue_agent_keys SET status = :status WHERE approval_id = :id"
        self._sql.run(text, status=status, id=approval_id)

    def end_keys(self, key: AgentKey, now: datetime) -> None:
        """End at once the keys of the same link and kind that were asked for before this one, or
        with it."""
        of = {"link": key.link_id, "kind": key.kind, "but": key.approval_id}
        self._sql.run(_END_KEYS, at=micros(now), before=micros(key.requested_at), **of)

    def forget_key(self, approval_id: str) -> None:
        """Take out an approval that was never sent."""
        self._sql.run("DELETE FROM venue_agent_keys WHERE approval_id = :id", id=approval_id)

    def check_key(self, approval_id: str, *, listed: bool, now: datetime) -> None:
        """Note whether the venue names a key."""
        sets = "SET listed = :listed, checked_at = :at WHERE approval_id = :id"
        values = {"listed": int(listed), "at": micros(now)}
        self._sql.run(f"UPDATE venue_agent_keys {sets}", id=approval_id, **values)
        if listed:
            self.settle_key(approval_id, "approved")

    def counts(self, network: Network, now: datetime, soon: datetime) -> tuple[int, int, int, int]:
        """Links; keys that are approved and in date; those of them that end before `soon`, and
        those that the venue did not name when it was asked last."""
        links = number(self._sql, _COUNT_LINKS, network=network)
        times = {"now": micros(now), "soon": micros(soon)}
        (keys,) = self._sql.rows(_COUNT_KEYS, network=network, **times)
        return links, int(keys["n"]), int(keys["ending"]), int(keys["unnamed"])

    # -- intents

    def add_intent(
        self,
        intent_id: str,
        user_id: str,
        kind: str,
        body: Mapping[str, object],
        now: datetime,
        until: datetime | None,
    ) -> None:
        """Write down what an owner said; it is never changed."""
        intent = {"intent_id": intent_id, "user_id": user_id, "kind": kind, "body": canonical(body)}
        times = {"created_at": micros(now), "valid_until": maybe_micros(until)}
        self._sql.run(_ADD_INTENT, **intent, **times)
