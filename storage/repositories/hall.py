"""The Hall's roll-ups: one row a mandate and day, one row an agent; all of them can be derived
again from the ledgers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from domain.text import escape_unfit
from domain.wire_fields import JsonObject
from storage.cursors import cursor_of, keys_of, not_a_cursor
from storage.sql import Row, Sql, canonical, first, micros, moment

UNKNOWN: Final = 2**62


SLACK_US: Final = 60_000_000


STALE: Final = "hall row"  # the work of refreshing an agent's row, by its id
_FREE: Final = (
    "NOT EXISTS (SELECT 1 FROM work_claims w WHERE w.kind = :stale AND w.key = {} "
    "AND w.until_at > :now)"
)


# Which way is better; a stored key sorts the best first and the unknown last, so that one plain
# index serves a page.
SORTS: Final[Mapping[str, int]] = {
    "days_live": -1,
    "trades_total": -1,
    "net_30d": -1,
    "twr_30d": -1,
    "drawdown_30d": 1,
    "working": -1,
}


LISTED: Final = (
    "agent_id, accepts, unranked, facts, mandates_working, usdc_working, as_of, body, mandates, "
    "calls, '{}' AS chart, " + ", ".join(f"by_{name}" for name in SORTS)
)


@dataclass(frozen=True, slots=True)
class HallDay:
    """The sums of one UTC day of a mandate; `day` is its ISO date, `body` its figures as JSON
    values.
    """

    public_id: str
    day: str
    agent_id: str
    body: JsonObject


@dataclass(frozen=True, slots=True)
class HallAgent:
    """An agent's row as of one moment.

    Shapes: `facts` has an integer or None for every name of `SORTS`; `body` is the rest as JSON
    values.
    Units: `usdc_working_micros` micro-USDC in working mandates; `mandates` those that it accepted,
    `calls` what was executed under them; `chart` as JSON values, read with one agent only.
    """

    agent_id: str
    accepts: bool
    ranked: bool
    facts: Mapping[str, int | None]
    mandates_working: int
    usdc_working_micros: int
    as_of: datetime
    body: JsonObject
    mandates: int = 0
    calls: int = 0
    chart: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HallTotals:
    """All agents together: those with an accepted mandate, their working mandates, micro-USDC in
    these, and executed calls.
    """

    agents: int
    mandates_working: int
    usdc_working_micros: int
    calls: int


class HallRepository:
    """Roll-ups that the Hall reads in place of ledgers."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def put_day(self, day: HallDay) -> None:
        """Store a day, in place of what was there."""
        self._sql.run(
            "INSERT INTO hall_days (public_id, day, agent_id, body) "
            "VALUES (:id, :day, :agent, :body) "
            "ON CONFLICT (public_id, day) DO UPDATE "
            "SET agent_id = excluded.agent_id, body = excluded.body",
            id=day.public_id,
            day=day.day,
            agent=day.agent_id,
            body=canonical(dict(day.body)),
        )

    def drop_days(self, public_id: str, since: str = "") -> None:
        """Drop a mandate's days from an ISO date on, inclusive: before they are derived again."""
        self._sql.run(
            "DELETE FROM hall_days WHERE public_id = :id AND day >= :since",
            id=public_id,
            since=since,
        )

    def days(self, public_id: str, since: str, until: str) -> list[HallDay]:
        """A mandate's days from `since`, inclusive, until `until`, exclusive; oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM hall_days WHERE public_id = :id AND day >= :since AND day < :until "
            "ORDER BY day",
            id=public_id,
            since=since,
            until=until,
        )
        return [_day(row) for row in rows]

    def last_day(self, public_id: str) -> HallDay | None:
        """A mandate's newest day."""
        row = first(
            self._sql,
            "SELECT * FROM hall_days WHERE public_id = :id ORDER BY day DESC LIMIT 1",
            id=public_id,
        )
        return _day(row) if row else None

    def stale(self, today: datetime, now: datetime, limit: int) -> list[str]:
        """Agents whose row is behind: those without one, with ledger rows since, or of a day
        before `today` (00:00 UTC), or of a time to come, as a clock that ran ahead said. Those that
        another process has leased are left to it.

        A row counts from a minute before `as_of` on, because a transaction that began earlier may
        commit later.
        """
        new = self._sql.rows(
            "SELECT a.agent_id FROM agents a LEFT JOIN hall_agents h ON h.agent_id = a.agent_id "
            f"WHERE h.agent_id IS NULL AND {_FREE.format('a.agent_id')} LIMIT :most",
            most=limit,
            stale=STALE,
            now=micros(now),
        )
        after = self._sql.rows(
            "SELECT h.agent_id FROM hall_agents h WHERE EXISTS (SELECT 1 FROM mandates m "
            "LEFT JOIN ledger_heads l ON l.public_id = m.public_id WHERE m.agent_id = h.agent_id "
            "AND (h.as_of < :today OR h.as_of > :ahead "
            f"OR l.created_at >= h.as_of - :slack)) AND {_FREE.format('h.agent_id')} "
            "ORDER BY h.as_of LIMIT :most",
            stale=STALE,
            today=micros(today),
            now=micros(now),
            ahead=micros(now) + SLACK_US,  # PostgreSQL knows no type of a sum of two parameters
            slack=SLACK_US,
            most=limit,
        )
        return [r["agent_id"] for r in (*new, *after)][:limit]

    def ranked_names(self, except_of: str) -> list[str]:
        """The names of the agents that are ranked, but those of one owner."""
        rows = self._sql.rows(
            "SELECT a.name FROM hall_agents h JOIN agents a ON a.agent_id = h.agent_id "
            "WHERE h.unranked = 0 AND a.owner_id <> :owner",
            owner=except_of,
        )
        return [str(r["name"]) for r in rows]

    def put(self, agent: HallAgent) -> None:
        """Store an agent's row, in place of what was there."""
        keys = {f"by_{name}": _key(name, agent.facts[name]) for name in SORTS}
        row = {
            "agent_id": agent.agent_id,
            "accepts": int(agent.accepts),
            "unranked": int(not agent.ranked),
            **keys,
            "mandates_working": agent.mandates_working,
            "usdc_working": agent.usdc_working_micros,
            "mandates": agent.mandates,
            "calls": agent.calls,
            "chart": canonical(dict(agent.chart)),
            "as_of": micros(agent.as_of),
            "facts": canonical(dict(agent.facts)),
            "body": canonical(dict(agent.body)),
        }
        names = ", ".join(row)
        sets = ", ".join(f"{n} = excluded.{n}" for n in row if n != "agent_id")
        self._sql.run(
            f"INSERT INTO hall_agents ({names}) VALUES ({', '.join(':' + n for n in row)}) "
            f"ON CONFLICT (agent_id) DO UPDATE SET {sets}",
            **row,
        )

    def get(self, agent_id: str) -> HallAgent | None:
        """One agent's row."""
        row = first(self._sql, "SELECT * FROM hall_agents WHERE agent_id = :id", id=agent_id)
        return _agent(row) if row else None

    def page(
        self,
        sort: str,
        *,
        after: str | None,
        limit: int,
        accepting: bool = False,
    ) -> list[HallAgent]:
        """Ranked agents, then the others, each by one fact of `SORTS`: best first, unknown last,
        ties by agent id.

        Errors: `invalid_request` for a cursor of another sort; KeyError for a sort that is none.
        """
        if sort not in SORTS:
            raise KeyError(sort)
        unranked, key, last = _after(sort, after)
        rows = self._sql.rows(
            page_query(sort, accepting=accepting),
            unranked=unranked,
            key=key,
            last=last,
            most=limit,
        )
        return [_agent(r) for r in rows]

    def totals(self) -> HallTotals:
        """Out of an index that holds nothing else."""
        row = first(
            self._sql,
            "SELECT COUNT(*) AS agents, COALESCE(SUM(mandates_working), 0) AS working, "
            "COALESCE(SUM(usdc_working), 0) AS usdc, COALESCE(SUM(calls), 0) AS calls "
            "FROM hall_agents WHERE mandates > 0",
        )
        numbers = (int(row[n]) for n in ("agents", "working", "usdc", "calls")) if row else (0,) * 4
        return HallTotals(*numbers)


def page_query(sort: str, *, accepting: bool) -> str:
    """The query of a page in the order of `sort`; it reads one range of one index."""
    place = f"unranked, by_{sort}, agent_id"
    only = " AND accepts = 1" if accepting else ""
    return (
        f"SELECT {LISTED} FROM hall_agents WHERE ({place}) > (:unranked, :key, :last){only} "
        f"ORDER BY {place} LIMIT :most"
    )


def cursor_after(sort: str, agent: HallAgent) -> str:
    """The cursor that continues behind this agent."""
    key = _key(sort, agent.facts[sort])
    return cursor_of(sort, int(not agent.ranked), key, agent.agent_id)


def _after(sort: str, cursor: str | None) -> tuple[int, int, str]:
    if cursor is None:
        return 0, -UNKNOWN - 1, ""
    of, unranked, key, last = keys_of(cursor, (str, int, int, str))
    if of != sort:
        raise not_a_cursor()
    return unranked, key, last


def _key(name: str, value: int | None) -> int:
    return UNKNOWN if value is None else SORTS[name] * value


def _day(row: Row) -> HallDay:
    return HallDay(row["public_id"], row["day"], row["agent_id"], json.loads(row["body"]))


def _agent(row: Row) -> HallAgent:
    return HallAgent(
        row["agent_id"],
        bool(row["accepts"]),
        not row["unranked"],
        json.loads(row["facts"]),
        int(row["mandates_working"]),
        int(row["usdc_working"]),
        moment(row["as_of"]),
        _legible(json.loads(row["body"])),
        int(row["mandates"]),
        int(row["calls"]),
        json.loads(row["chart"]),
    )


def _legible(body: dict[str, object]) -> dict[str, object]:
    """The body with a readable name; names stored earlier may hold any characters."""
    name = body.get("name")
    return body | {"name": escape_unfit(name)} if isinstance(name, str) else body
