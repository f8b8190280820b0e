"""The Hall's roll-ups: one row a mandate and day, one row an agent; all of them can be derived
again from the ledgers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from domain.ledger.state.performance import DayParts, PerformanceRecord
from domain.text import escape_unfit
from domain.wire_fields import JsonObject
from storage.codec import Table
from storage.cursors import cursor_of, keys_of, not_a_cursor
from storage.repositories.state_codec import STATES
from storage.sql import Repository, Row, canonical, first, micros

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
    """One UTC day of a mandate; the newest has the `record` that its next rows are folded into."""

    public_id: str
    agent_id: str
    parts: DayParts
    record: PerformanceRecord | None = None

    @property
    def day(self) -> str:
        """Its ISO date."""
        return self.parts.day


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


_AGENTS: Final = Table(
    "hall_agents",
    HallAgent,
    key="agent_id",
    names={"ranked": None, "usdc_working_micros": "usdc_working"},
    more=("unranked", *(f"by_{name}" for name in SORTS)),
)
_PUT_DAY: Final = (
    "INSERT INTO hall_days (public_id, day, agent_id, body) VALUES (:id, :day, :agent, :body) "
    "ON CONFLICT (public_id, day) DO UPDATE SET agent_id = excluded.agent_id, body = excluded.body"
)
_DAYS: Final = (
    "SELECT * FROM hall_days WHERE public_id = :id AND day >= :since AND day < :until ORDER BY day"
)
_WITHOUT_ROW: Final = (
    "SELECT a.agent_id FROM agents a LEFT JOIN hall_agents h ON h.agent_id = a.agent_id "
    f"WHERE h.agent_id IS NULL AND {_FREE.format('a.agent_id')} LIMIT :most"
)
_BEHIND: Final = (
    "SELECT h.agent_id FROM hall_agents h WHERE EXISTS (SELECT 1 FROM mandates m "
    "LEFT JOIN ledger_heads l ON l.public_id = m.public_id WHERE m.agent_id = h.agent_id "
    "AND (h.as_of < :today OR h.as_of > :ahead "
    f"OR l.created_at >= h.as_of - :slack)) AND {_FREE.format('h.agent_id')} "
    "ORDER BY h.as_of LIMIT :most"
)
_RANKED_NAMES: Final = (
    "SELECT a.name FROM hall_agents h JOIN agents a ON a.agent_id = h.agent_id "
    "WHERE h.unranked = 0 AND a.owner_id <> :owner"
)
_TOTALS: Final = (
    "SELECT COUNT(*) AS agents, COALESCE(SUM(mandates_working), 0) AS working, "
    "COALESCE(SUM(usdc_working), 0) AS usdc, COALESCE(SUM(calls), 0) AS calls "
    "FROM hall_agents WHERE mandates > 0"
)


class HallRepository(Repository):
    """Roll-ups that the Hall reads in place of ledgers."""

    def put_day(self, day: HallDay) -> None:
        """Store a day, in place of what was there."""
        body: dict[str, object] = STATES.of(DayParts).dump(day.parts)
        del body["day"]
        if day.record is not None:
            body["record"] = STATES.of(PerformanceRecord).dump(day.record)
        of = {"id": day.public_id, "day": day.day, "agent": day.agent_id}
        self._sql.run(_PUT_DAY, **of, body=canonical(body))

    def drop_days(self, public_id: str, since: str = "") -> None:
        """Drop a mandate's days from an ISO date on, inclusive: before they are derived again."""
        text = "DELETE FROM hall_days WHERE public_id = :id AND day >= :since"
        self._sql.run(text, id=public_id, since=since)

    def days(self, public_id: str, since: str, until: str) -> list[HallDay]:
        """A mandate's days from `since`, inclusive, until `until`, exclusive; oldest first."""
        return [_day(r) for r in self._sql.rows(_DAYS, id=public_id, since=since, until=until)]

    def last_day(self, public_id: str) -> HallDay | None:
        """A mandate's newest day."""
        text = "SELECT * FROM hall_days WHERE public_id = :id ORDER BY day DESC LIMIT 1"
        row = first(self._sql, text, id=public_id)
        return _day(row) if row else None

    def stale(self, today: datetime, now: datetime, limit: int) -> list[str]:
        """Agents whose row is behind: those without one, with ledger rows since, or of a day
        before `today` (00:00 UTC), or of a time to come, as a clock that ran ahead said. Those that
        another process has leased are left to it.

        A row counts from a minute before `as_of` on, because a transaction that began earlier may
        commit later.
        """
        at = {"stale": STALE, "now": micros(now), "most": limit}
        # PostgreSQL knows no type of a sum of two parameters.
        times = {"today": micros(today), "ahead": micros(now) + SLACK_US, "slack": SLACK_US}
        rows = (*self._sql.rows(_WITHOUT_ROW, **at), *self._sql.rows(_BEHIND, **at, **times))
        return [r["agent_id"] for r in rows][:limit]

    def ranked_names(self, except_of: str) -> list[str]:
        """The names of the agents that are ranked, but those of one owner."""
        return [str(r["name"]) for r in self._sql.rows(_RANKED_NAMES, owner=except_of)]

    def put(self, agent: HallAgent) -> None:
        """Store an agent's row, in place of what was there."""
        keys = {f"by_{name}": _key(name, agent.facts[name]) for name in SORTS}
        row = _AGENTS.row(agent, unranked=int(not agent.ranked), **keys)
        self._sql.run(_AGENTS.upsert, **row)

    def get(self, agent_id: str) -> HallAgent | None:
        """One agent's row."""
        row = first(self._sql, "SELECT * FROM hall_agents WHERE agent_id = :id", id=agent_id)
        return _agent(row) if row else None

    def page(
        self, sort: str, *, after: str | None, limit: int, accepting: bool = False
    ) -> list[HallAgent]:
        """Ranked agents, then the others, each by one fact of `SORTS`: best first, unknown last,
        ties by agent id.

        Errors: `invalid_request` for a cursor of another sort; KeyError for a sort that is none.
        """
        if sort not in SORTS:
            raise KeyError(sort)
        unranked, key, last = _after(sort, after)
        place = {"unranked": unranked, "key": key, "last": last}
        rows = self._sql.rows(page_query(sort, accepting=accepting), **place, most=limit)
        return [_agent(r) for r in rows]

    def totals(self) -> HallTotals:
        """Out of an index that holds nothing else."""
        (row,) = self._sql.rows(_TOTALS)
        return HallTotals(*(int(row[n]) for n in ("agents", "working", "usdc", "calls")))


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
    body = json.loads(row["body"])
    parts: DayParts = STATES.of(DayParts).load(body | {"day": row["day"]})
    record = STATES.of(PerformanceRecord | None).load(body.get("record"))
    return HallDay(row["public_id"], row["agent_id"], parts, record)


def _agent(row: Row) -> HallAgent:
    agent = _AGENTS.record(row, ranked=not row["unranked"])
    # Names stored earlier may hold any characters.
    name = agent.body.get("name")
    return (
        replace(agent, body={**agent.body, "name": escape_unfit(name)})
        if isinstance(name, str)
        else agent
    )
