"""MCP places: the sessions and streams of all serving processes, and messages between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal

from domain.refusals import Refused, refusal
from domain.shares import holder_to_displace
from storage.sql import Repository, Row, exists, first, micros, moment, number, placeholders

PlaceKind = Literal["session", "sse", "listen"]
# What counts together: the older era's sessions over streamable HTTP; streams of either era.
_ALIKE: Final = {
    "session": "('session')",
    "sse": "('sse', 'listen')",
    "listen": "('sse', 'listen')",
}
MOST_WAITING: Final = 64
"""Messages that wait for one stream."""

# A session that nobody used for so long has ended. A stream's process says in shorter turns that
# it is there; one that says nothing was killed.
SESSION_RESTS: Final = timedelta(seconds=600)
STREAM_RESTS: Final = timedelta(seconds=60)
INBOX_LASTS: Final = timedelta(seconds=60)

_LIVE: Final = (
    "ended_at IS NULL AND used_at >= :session AND (kind = 'session' OR used_at >= :stream)"
)
_INSERT: Final = (
    "INSERT INTO mcp_places (place_hash, kind, process, credential, owner, used_at) "
    "VALUES (:place_hash, :kind, :process, :credential, :owner, :used_at)"
)
_TOUCH: Final = "UPDATE mcp_places SET used_at = :at WHERE place_hash = :place AND used_at < :at"
_END: Final = "UPDATE mcp_places SET ended_at = :at WHERE place_hash = :place AND ended_at IS NULL"
_PUT: Final = (
    "INSERT INTO mcp_inbox (place_hash, n, process, body, created_at) "
    "VALUES (:place_hash, :n, :process, :body, :created_at)"
)
_SWEEP: Final = (
    f"DELETE FROM mcp_places WHERE NOT ({_LIVE}) AND (ended_at IS NULL OR ended_at < :gone)"
)

_SUBSCRIBE: Final = (
    "INSERT INTO mcp_subscriptions (place_hash, uri, version) VALUES (:place, :uri, :version) "
    "ON CONFLICT (place_hash, uri) DO NOTHING"
)
_SWEEP_SUBSCRIPTIONS: Final = (
    "DELETE FROM mcp_subscriptions WHERE place_hash NOT IN (SELECT place_hash FROM mcp_places)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPlace:
    """One session or stream. `place_hash` is the hash of its id, `credential` of the key that
    opened it (None for a stranger), `owner` the person behind the key, `process` who holds it.
    """

    place_hash: str
    kind: PlaceKind
    process: str
    credential: str | None
    owner: str | None
    used_at: datetime


def _lives(now: datetime) -> dict[str, int]:
    return {"session": micros(now - SESSION_RESTS), "stream": micros(now - STREAM_RESTS)}


class McpPlaceRepository(Repository):
    """Places of all processes; only those that share a key ring write here."""

    def add(self, place: McpPlace, *, limit: int, rest: timedelta) -> None:
        """Take a place. An owner who has `limit` of them gives up one: the oldest of the key that
        has more than its share, else one that rested so long.

        Errors: `rate_limited`.
        """
        if place.owner is not None:
            self._lock(place.owner)
            self._make_room(place, place.owner, limit, rest)
        self._sql.run(
            _INSERT,
            place_hash=place.place_hash,
            kind=place.kind,
            process=place.process,
            credential=place.credential,
            owner=place.owner,
            used_at=micros(place.used_at),
        )

    def _lock(self, subject: str) -> None:
        """One transaction at a time counts a subject's rows and adds one."""
        if self._sql.dialect == "postgresql":
            n = int.from_bytes(sha256(f"mcp {subject}".encode()).digest()[:7])
            self._sql.rows("SELECT pg_advisory_xact_lock(:n)", n=n)

    def _make_room(self, place: McpPlace, owner: str, limit: int, rest: timedelta) -> None:
        rows = self._sql.rows(
            "SELECT place_hash, credential, used_at FROM mcp_places WHERE owner = :owner "
            f"AND kind IN {_ALIKE[place.kind]} AND {_LIVE} ORDER BY used_at, place_hash",
            owner=owner,
            **_lives(place.used_at),
        )
        if len(rows) < limit:
            return
        keys = Counter(str(row["credential"]) for row in rows)
        most = holder_to_displace(keys, str(place.credential))
        last = micros(place.used_at - rest)
        oldest = next(
            (r for r in rows if r["credential"] == most if most is not None),
            rows[0] if rows[0]["used_at"] <= last else None,
        )
        if oldest is None:
            why = "As many sessions or streams of yours are open as there can be."
            rested = moment(rows[0]["used_at"]) + rest
            raise Refused(refusal("rate_limited", why=why, retry_at=rested))
        self.end(oldest["place_hash"], place.used_at)

    def live(self, place_hash: str, now: datetime) -> McpPlace | None:
        """The place by the hash of its id; None where it is unknown, has ended or rested."""
        text = f"SELECT * FROM mcp_places WHERE place_hash = :place AND {_LIVE}"
        row = first(self._sql, text, place=place_hash, **_lives(now))
        return None if row is None else _place(row)

    def rename(self, place_hash: str, new_hash: str) -> None:
        """Give a place the name by which its client will ask for it."""
        text = "UPDATE mcp_places SET place_hash = :new WHERE place_hash = :place"
        self._sql.run(text, place=place_hash, new=new_hash)

    def end(self, place_hash: str, now: datetime) -> None:
        """End a place; the process that holds it sees that within a second."""
        self._sql.run(_END, place=place_hash, at=micros(now))

    def touch(self, place_hashes: Iterable[str], now: datetime) -> None:
        """They are used now."""
        rows = [{"place": p, "at": micros(now)} for p in sorted(place_hashes)]
        if rows:
            self._sql.run_all(_TOUCH, rows)

    def ended(self, process: str) -> Sequence[str]:
        """The places of a process that another one ended."""
        text = (
            "SELECT place_hash FROM mcp_places WHERE process = :process AND ended_at IS NOT NULL "
            "LIMIT 1000"
        )
        return [row["place_hash"] for row in self._sql.rows(text, process=process)]

    def known(self, process: str) -> frozenset[str]:
        """The places of a process that have a row."""
        text = "SELECT place_hash FROM mcp_places WHERE process = :process"
        return frozenset(r["place_hash"] for r in self._sql.rows(text, process=process))

    def remove(self, place_hashes: Iterable[str]) -> None:
        """Forget places that are over, and what waits for them."""
        rows = [{"place": place} for place in sorted(place_hashes)]
        if rows:
            self._sql.run_all("DELETE FROM mcp_places WHERE place_hash = :place", rows)
            self._sql.run_all("DELETE FROM mcp_inbox WHERE place_hash = :place", rows)
            self._sql.run_all("DELETE FROM mcp_subscriptions WHERE place_hash = :place", rows)

    def sweep(self, now: datetime) -> None:
        """Forget what has ended or rested too long, and messages that nobody took. A place that
        was ended is known as such to a process that stands still, for as long as it may come back.
        """
        self._sql.run(_SWEEP, gone=micros(now - SESSION_RESTS), **_lives(now))
        self._sql.run(_SWEEP_SUBSCRIPTIONS)
        before = micros(now - INBOX_LASTS)
        self._sql.run("DELETE FROM mcp_inbox WHERE created_at < :before", before=before)

    def subscribe(self, place_hash: str, uri: str, version: str, *, limit: int) -> bool:
        """Note that a session subscribes to a resource; False where it has as many as it can."""
        self._lock(place_hash)
        others = (
            "SELECT COUNT(*) AS n FROM mcp_subscriptions WHERE place_hash = :place AND uri <> :uri"
        )
        if number(self._sql, others, place=place_hash, uri=uri) >= limit:
            return False
        self._sql.run(_SUBSCRIBE, place=place_hash, uri=uri, version=version)
        return True

    def unsubscribe(self, place_hash: str, uri: str) -> None:
        """Note that it does no more."""
        text = "DELETE FROM mcp_subscriptions WHERE place_hash = :place AND uri = :uri"
        self._sql.run(text, place=place_hash, uri=uri)

    def subscriptions(
        self, process: str, elsewhere: Iterable[str], now: datetime
    ) -> Mapping[str, Mapping[str, str]]:
        """The subscriptions, with their versions, of the live sessions that a process holds, and of
        others that it names.
        """
        some = {f"n{n}": name for n, name in enumerate(sorted(elsewhere))}
        named = f"OR p.place_hash IN ({placeholders(some)}) " if some else ""
        text = (
            "SELECT p.place_hash, s.uri, s.version FROM mcp_places p "
            "LEFT JOIN mcp_subscriptions s ON s.place_hash = p.place_hash "
            f"WHERE p.kind = 'session' AND (p.process = :process {named}) AND {_LIVE}"
        )
        versions: dict[str, dict[str, str]] = {}
        for row in self._sql.rows(text, process=process, **some, **_lives(now)):
            uris = versions.setdefault(row["place_hash"], {})
            if row["uri"] is not None:
                uris[row["uri"]] = row["version"]
        return versions

    def send(self, place: McpPlace, body: str, now: datetime) -> None:
        """Leave a message for the process that holds a stream. Errors: `rate_limited`."""
        self._lock(place.place_hash)
        text = "SELECT COUNT(*) AS n, MAX(n) AS last FROM mcp_inbox WHERE place_hash = :place"
        row = first(self._sql, text, place=place.place_hash) or {"n": 0, "last": None}
        if row["n"] >= MOST_WAITING:
            why = "Too many messages wait for this stream."
            soon = now + timedelta(seconds=1)
            raise Refused(refusal("rate_limited", why=why, retry_at=soon))
        self._sql.run(
            _PUT,
            place_hash=place.place_hash,
            n=1 + (row["last"] or 0),
            process=place.process,
            body=body,
            created_at=micros(now),
        )

    def waiting(self, process: str) -> list[str]:
        """The streams of a process for which messages wait."""
        text = "SELECT DISTINCT place_hash FROM mcp_inbox WHERE process = :process LIMIT 1000"
        return [row["place_hash"] for row in self._sql.rows(text, process=process)]

    def has_messages(self, place_hash: str) -> bool:
        """True where messages wait for a stream."""
        return exists(self._sql, "mcp_inbox WHERE place_hash = :place", place=place_hash)

    def take(self, place_hash: str) -> Sequence[str]:
        """The messages for a stream, in their order; they are given once."""
        text = (
            f"SELECT n, body FROM mcp_inbox WHERE place_hash = :place ORDER BY n{self._sql.locks}"
        )
        rows = self._sql.rows(text, place=place_hash)
        keys = [{"place": place_hash, "n": row["n"]} for row in rows]
        if keys:
            self._sql.run_all("DELETE FROM mcp_inbox WHERE place_hash = :place AND n = :n", keys)
        return [row["body"] for row in rows]


def _place(row: Row) -> McpPlace:
    return McpPlace(
        place_hash=row["place_hash"],
        kind=row["kind"],
        process=row["process"],
        credential=row["credential"],
        owner=row["owner"],
        used_at=moment(row["used_at"]),
    )
