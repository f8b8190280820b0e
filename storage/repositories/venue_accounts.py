"""Own accounts at the venue: links, challenges, approved keys, intents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from domain.trading.venue_account import (
    ZERO_ADDRESS,
    AgentKey,
    KeyKind,
    KeyStatus,
    Link,
    LinkChallenge,
)
from domain.trading.venue_values import Network
from storage.sql import (
    Row,
    Sql,
    canonical,
    columns,
    first,
    maybe_micros,
    maybe_moment,
    micros,
    moment,
)


class VenueAccountRepository:
    """Linked wallets and approved keys of people."""

    def __init__(self, sql: Sql):
        self._sql = sql

    # -- links

    def link_of(self, user_id: str, network: Network) -> Link | None:
        """A person's link on one network."""
        row = first(
            self._sql,
            "SELECT * FROM venue_links WHERE user_id = :user AND network = :network "
            "AND ended_at IS NULL",
            user=user_id,
            network=network,
        )
        return _link(row)

    def link_to(self, wallet: str, network: Network) -> Link | None:
        """The link of a wallet on one network, of any person."""
        row = first(
            self._sql,
            "SELECT * FROM venue_links WHERE wallet_lower = :wallet AND network = :network "
            "AND ended_at IS NULL",
            wallet=wallet.lower(),
            network=network,
        )
        return _link(row)

    def add_link(self, link: Link) -> bool:
        """Link a wallet; False where the wallet or the person has a link on this network."""
        done = self._sql.run(
            "INSERT INTO venue_links "
            + columns(
                (
                    "link_id",
                    "user_id",
                    "network",
                    "wallet",
                    "wallet_lower",
                    "terms_version",
                    "linked_at",
                )
            )
            + " ON CONFLICT DO NOTHING",
            link_id=link.link_id,
            user_id=link.user_id,
            network=link.network,
            wallet=link.wallet,
            wallet_lower=link.wallet.lower(),
            terms_version=link.terms_version,
            linked_at=micros(link.linked_at),
        )
        return done == 1

    def accept_terms(self, link_id: str, version: int) -> None:
        """Note that newer terms were accepted."""
        self._sql.run(
            "UPDATE venue_links SET terms_version = :v WHERE link_id = :id", v=version, id=link_id
        )

    def end_link(self, link_id: str, reason: str, now: datetime) -> bool:
        """End a link, and every key under it with it."""
        done = self._sql.run(
            "UPDATE venue_links SET ended_at = :at, ended_why = :why WHERE link_id = :id "
            "AND ended_at IS NULL",
            at=micros(now),
            why=reason,
            id=link_id,
        )
        self._sql.run(
            "UPDATE venue_agent_keys SET ended_at = :at WHERE link_id = :id AND ended_at IS NULL",
            at=micros(now),
            id=link_id,
        )
        return done == 1

    # -- challenges

    def challenges_since(self, user_id: str, since: datetime, limit: int) -> list[datetime]:
        """Times of a person's newest challenges after a time, newest first, at most `most`."""
        rows = self._sql.rows(
            "SELECT made_at FROM venue_challenges WHERE user_id = :user AND made_at > :since "
            "ORDER BY made_at DESC LIMIT :most",
            user=user_id,
            since=micros(since),
            most=limit,
        )
        return [moment(row["made_at"]) for row in rows]

    def add_challenge(
        self, created: LinkChallenge, now: datetime, *, open_at_most: int, kept: timedelta
    ) -> None:
        """Keep a text; of a person's open ones the oldest is dropped, and long ended ones go."""
        self._sql.run(
            "DELETE FROM venue_challenges WHERE made_at < :before", before=micros(now - kept)
        )
        self._sql.run(
            "UPDATE venue_challenges SET used_at = :at "
            "WHERE challenge_id IN (SELECT challenge_id FROM venue_challenges "
            "WHERE user_id = :user AND used_at IS NULL AND expires_at > :at "
            "ORDER BY made_at DESC, challenge_id DESC LIMIT 1000 OFFSET :most)",
            at=micros(now),
            user=created.user_id,
            most=open_at_most - 1,
        )
        names = (
            "challenge_id", "user_id", "network", "address", "message", "terms_version",
            "terms_sha256", "made_at", "expires_at",
        )  # fmt: skip
        self._sql.run(
            "INSERT INTO venue_challenges " + columns(names),
            challenge_id=created.challenge_id,
            user_id=created.user_id,
            network=created.network,
            address=created.address,
            message=created.message,
            terms_version=created.terms_version,
            terms_sha256=created.terms_sha256,
            made_at=micros(now),
            expires_at=micros(created.expires_at),
        )

    def challenge(self, challenge_id: str) -> tuple[LinkChallenge, bool] | None:
        """A text, and whether it was used."""
        row = first(
            self._sql, "SELECT * FROM venue_challenges WHERE challenge_id = :id", id=challenge_id
        )
        if row is None:
            return None
        challenge = LinkChallenge(
            challenge_id=row["challenge_id"],
            user_id=row["user_id"],
            network=row["network"],
            address=row["address"],
            message=row["message"],
            terms_version=int(row["terms_version"]),
            terms_sha256=row["terms_sha256"],
            expires_at=moment(row["expires_at"]),
        )
        return challenge, row["used_at"] is not None

    def burn(self, challenge_id: str, now: datetime) -> bool:
        """Use a challenge up; False where it was used before."""
        done = self._sql.run(
            "UPDATE venue_challenges SET used_at = :at WHERE challenge_id = :id "
            "AND used_at IS NULL",
            at=micros(now),
            id=challenge_id,
        )
        return done == 1

    # -- keys

    def add_key(self, key: AgentKey, link: Link) -> bool:
        """Note an approval before it is sent. False for an address or a nonce that
        was used before."""
        names = (
            "approval_id", "link_id", "network", "wallet_lower", "kind", "agent_lower", "name",
            "nonce", "signature_chain_id", "valid_until", "status", "requested_at", "listed",
        )  # fmt: skip
        done = self._sql.run(
            "INSERT INTO venue_agent_keys " + columns(names) + " ON CONFLICT DO NOTHING",
            approval_id=key.approval_id,
            link_id=key.link_id,
            network=link.network,
            wallet_lower=link.wallet.lower(),
            kind=key.kind,
            agent_lower=key.agent,
            name=key.name,
            nonce=key.nonce,
            signature_chain_id=key.signature_chain_id,
            valid_until=micros(key.valid_until),
            status=key.status,
            requested_at=micros(key.requested_at),
            listed=int(key.listed),
        )
        return done == 1

    def key_of_agent(self, agent: str) -> AgentKey | None:
        """The approval that named an address."""
        return _key(
            first(
                self._sql,
                "SELECT * FROM venue_agent_keys WHERE agent_lower = :agent",
                agent=agent.lower(),
            )
        )

    def key_of_nonce(self, network: Network, wallet: str, nonce: int) -> AgentKey | None:
        """The approval under a nonce."""
        row = first(
            self._sql,
            "SELECT * FROM venue_agent_keys WHERE network = :network AND wallet_lower = :wallet "
            "AND nonce = :nonce",
            network=network,
            wallet=wallet.lower(),
            nonce=nonce,
        )
        return _key(row)

    def key_in_use(self, link_id: str, kind: KeyKind) -> AgentKey | None:
        """The newest key of a link that was sent and did not end."""
        row = first(
            self._sql,
            "SELECT * FROM venue_agent_keys WHERE link_id = :link AND kind = :kind "
            "AND ended_at IS NULL "
            "AND status IN ('approved', 'unknown', 'sending') AND agent_lower <> :zero_address "
            "ORDER BY requested_at DESC, approval_id DESC LIMIT 1",
            link=link_id,
            kind=kind,
            zero_address=ZERO_ADDRESS,
        )
        return _key(row)

    def last_key(self, link_id: str, kind: KeyKind) -> AgentKey | None:
        """The newest key of a link that the venue took, whether or not it ended."""
        row = first(
            self._sql,
            "SELECT * FROM venue_agent_keys WHERE link_id = :link AND kind = :kind "
            "AND status = 'approved' AND agent_lower <> :zero_address "
            "ORDER BY requested_at DESC, approval_id DESC LIMIT 1",
            link=link_id,
            kind=kind,
            zero_address=ZERO_ADDRESS,
        )
        return _key(row)

    def links_to_check(self, now: datetime, before: datetime, limit: int) -> list[Link]:
        """Links with a keeper key in date that the venue was not asked about since `before`,
        longest ago first."""
        rows = self._sql.rows(
            "SELECT l.* FROM venue_agent_keys k JOIN venue_links l ON l.link_id = k.link_id "
            "WHERE k.kind = 'keeper' AND k.ended_at IS NULL AND k.status = 'approved' "
            "AND k.agent_lower <> :zero_address AND k.valid_until > :now AND l.ended_at IS NULL "
            "AND COALESCE(k.checked_at, 0) < :before "
            "ORDER BY COALESCE(k.checked_at, 0), k.approval_id LIMIT :most",
            zero_address=ZERO_ADDRESS,
            now=micros(now),
            before=micros(before),
            most=limit,
        )
        return [link for r in rows if (link := _link(r)) is not None]

    def names_of(self, link_id: str, kind: KeyKind) -> set[str]:
        """The names that a link's keys were approved under."""
        rows = self._sql.rows(
            "SELECT DISTINCT name FROM venue_agent_keys WHERE link_id = :link AND kind = :kind",
            link=link_id,
            kind=kind,
        )
        return {str(r["name"]) for r in rows}

    def settle_key(self, approval_id: str, status: KeyStatus) -> None:
        """Say how the venue took an approval."""
        self._sql.run(
            "UPDATE venue_agent_keys SET status = :status WHERE approval_id = :id",
            status=status,
            id=approval_id,
        )

    def end_keys(self, key: AgentKey, now: datetime) -> None:
        """End at once the keys of the same link and kind that were asked for before this one, or
        with it."""
        self._sql.run(
            "UPDATE venue_agent_keys SET ended_at = :at WHERE link_id = :link AND kind = :kind "
            "AND ended_at IS NULL "
            "AND approval_id <> :but AND requested_at <= :before",
            at=micros(now),
            link=key.link_id,
            kind=key.kind,
            but=key.approval_id,
            before=micros(key.requested_at),
        )

    def forget_key(self, approval_id: str) -> None:
        """Take out an approval that was never sent."""
        self._sql.run("DELETE FROM venue_agent_keys WHERE approval_id = :id", id=approval_id)

    def check_key(self, approval_id: str, *, listed: bool, now: datetime) -> None:
        """Note whether the venue names a key."""
        self._sql.run(
            "UPDATE venue_agent_keys SET listed = :listed, checked_at = :at "
            "WHERE approval_id = :id",
            listed=int(listed),
            at=micros(now),
            id=approval_id,
        )
        if listed:
            self.settle_key(approval_id, "approved")

    def counts(self, network: Network, now: datetime, soon: datetime) -> tuple[int, int, int, int]:
        """Links; keys that are approved and in date; those of them that end before `soon`, and
        those that the venue did not name when it was asked last."""
        links = first(
            self._sql,
            "SELECT COUNT(*) AS n FROM venue_links WHERE network = :network AND ended_at IS NULL",
            network=network,
        )
        keys = first(
            self._sql,
            "SELECT COUNT(*) AS n, COALESCE(SUM(CASE WHEN valid_until < :soon THEN 1 "
            "ELSE 0 END), 0) AS ending, "
            "COALESCE(SUM(CASE WHEN listed = 0 AND checked_at IS NOT NULL THEN 1 ELSE 0 END), 0) "
            "AS unnamed "
            "FROM venue_agent_keys WHERE network = :network AND ended_at IS NULL "
            "AND status = 'approved' AND valid_until > :now",
            network=network,
            now=micros(now),
            soon=micros(soon),
        )
        if links is None or keys is None:
            return 0, 0, 0, 0
        return int(links["n"]), int(keys["n"]), int(keys["ending"]), int(keys["unnamed"])

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
        self._sql.run(
            "INSERT INTO venue_intents "
            + columns(("intent_id", "user_id", "kind", "body", "created_at", "valid_until")),
            intent_id=intent_id,
            user_id=user_id,
            kind=kind,
            body=canonical(body),
            created_at=micros(now),
            valid_until=maybe_micros(until),
        )


def _link(row: Row | None) -> Link | None:
    if row is None:
        return None
    return Link(
        link_id=row["link_id"],
        user_id=row["user_id"],
        network=row["network"],
        wallet=row["wallet"],
        terms_version=int(row["terms_version"]),
        linked_at=moment(row["linked_at"]),
    )


def _key(row: Row | None) -> AgentKey | None:
    if row is None:
        return None
    return AgentKey(
        approval_id=row["approval_id"],
        link_id=row["link_id"],
        kind=row["kind"],
        agent=row["agent_lower"],
        name=row["name"],
        nonce=int(row["nonce"]),
        signature_chain_id=row["signature_chain_id"],
        valid_until=moment(row["valid_until"]),
        status=row["status"],
        requested_at=moment(row["requested_at"]),
        checked_at=maybe_moment(row["checked_at"]),
        listed=bool(row["listed"]),
        ended_at=maybe_moment(row["ended_at"]),
    )
