"""SQL text on a connection of either database: named parameters, rows as mappings."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from domain.refusals import Refused, refusal

if TYPE_CHECKING:
    import asyncpg

_NAME: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_INSERT: Final = re.compile(
    r"INSERT INTO (\w+) \(([^)]*)\) VALUES \(([^)]*)\)((?: ON CONFLICT [^:]*)?)"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INT64: Final = 2**63 - 1
_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

Row = Mapping[str, Any]


class Duplicate(Exception):
    """A unique constraint refused the row; the transaction is of no more use, so let it rise or
    turn it into a refusal.
    """


LOCKED: Final = " FOR UPDATE"  # behind a query, on PostgreSQL


class Sql(Protocol):
    """The connection that repositories run their statements on; one transaction. `locks` stands
    behind a query to lock its rows; it is empty where no other transaction can write in between.
    """

    dialect: str
    locks: str

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query."""
        ...

    def run(self, text: str, /, **values: object) -> int:
        """Run a statement; the number of rows it touched. Errors: `Duplicate`."""
        ...

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each of some rows, all of them sent at once."""
        ...


class Repository:
    """The rows of one subject, in one transaction."""

    def __init__(self, sql: Sql):
        self._sql = sql


def first(sql: Sql, text: str, /, **values: object) -> Row | None:
    """The first row of a query, or None."""
    rows = sql.rows(text, **values)
    return rows[0] if rows else None


def number(sql: Sql, text: str, /, **values: object) -> int:
    """The number `n` in the first row of a query; 0 where there is none."""
    row = first(sql, text, **values)
    return int(row["n"] or 0) if row else 0


def exists(sql: Sql, where: str, /, **values: object) -> bool:
    """True where a query has a row; `where` is its table and condition."""
    return first(sql, f"SELECT 1 AS one FROM {where} LIMIT 1", **values) is not None


class SqliteSql:
    """On the standard library's driver: the shortest way to SQLite."""

    dialect, locks = "sqlite", ""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query."""
        return self._connection.execute(text, values).fetchall()

    def run(self, text: str, /, **values: object) -> int:
        """Run a statement."""
        try:
            return self._connection.execute(text, values).rowcount
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode in (
                sqlite3.SQLITE_CONSTRAINT_UNIQUE,
                sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
            ):
                raise Duplicate(str(error)) from None
            raise

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each of some rows."""
        self._connection.executemany(text, rows)


@cache
def numbered(text: str) -> tuple[str, tuple[str, ...]]:
    """The statement with $1, $2, …, as asyncpg takes it."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    return _NAME.sub(number, text), tuple(names)


def named(text: str, name: Callable[[str], str]) -> str:
    """The statement with other texts for its parameters."""
    return _NAME.sub(lambda match: name(match[1]), text)


@cache
def inserting(text: str) -> str | None:
    """The statement that inserts many rows, in their order, out of one JSON text, which the driver
    passes on as it is; None for one that does more than insert values by the columns' names.
    """
    match = _INSERT.fullmatch(text)
    if match is None or [f":{name}" for name in match[2].split(", ")] != match[3].split(", "):
        return None
    return (
        f"INSERT INTO {match[1]} ({match[2]}) SELECT {match[2]} FROM ROWS FROM "
        f"(json_populate_recordset(NULL::{match[1]}, $1::json)) WITH ORDINALITY "
        f"ORDER BY ordinality{match[4]}"
    )


def _json_rows(rows: Sequence[Row]) -> str | None:
    """Rows as JSON; None where a value of theirs is none of JSON's."""
    try:
        return orjson.dumps([*rows]).decode()
    except TypeError:
        return None


class PostgresSql:
    """On an asyncpg connection, inside `greenlet_spawn`."""

    dialect, locks = "postgresql", LOCKED

    def __init__(self, connection: asyncpg.Connection):
        # SQLite's driver is the standard library's: what is loaded here is PostgreSQL's alone.
        from asyncpg import UniqueViolationError
        from sqlalchemy.util import await_only

        self._connection, self._duplicate = connection, UniqueViolationError
        self._answer = await_only

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query."""
        statement, names = numbered(text)
        rows: Sequence[Row] = self._answer(
            self._connection.fetch(statement, *(values[n] for n in names))
        )
        return rows

    def run(self, text: str, /, **values: object) -> int:
        """Run a statement."""
        statement, names = numbered(text)
        values_of = (values[n] for n in names)
        try:
            status = self._answer(self._connection.execute(statement, *values_of))
        except self._duplicate as error:
            raise Duplicate(str(error)) from None
        touched = status.rpartition(" ")[2]  # `INSERT 0 1`, `UPDATE 3`; `CREATE TABLE` counts none
        return int(touched) if touched.isdigit() else 0

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each of some rows: one way there and back; an INSERT of plain values
        is one statement for all of them.
        """
        many, rows_of = inserting(text), _json_rows(rows)
        if many is not None and rows_of is not None:
            if rows:
                self._answer(self._connection.execute(many, rows_of))
            return
        statement, names = numbered(text)
        values = [tuple(row[n] for n in names) for row in rows]
        if values:
            self._answer(self._connection.executemany(statement, values))


class PrefetchMiss(Exception):
    """A handler asks for more than it said it would: it runs in a transaction of its own."""


class ReadOnlySql:
    """A connection that only reads."""

    dialect, locks = "postgresql", ""

    def run(self, text: str, /, **values: object) -> int:
        """Refuse the write. Errors: `PrefetchMiss`."""
        raise PrefetchMiss(text)

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Refuse the writes. Errors: `PrefetchMiss`."""
        raise PrefetchMiss(text)


class SingleQuery(ReadOnlySql):
    """One query and no more: without a transaction a second one would see another moment."""

    def __init__(self, sql: Sql):
        self._sql, self._has_run = sql, False
        self.dialect, self.locks = sql.dialect, sql.locks

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query. Errors: `PrefetchMiss`, the second time."""
        if self._has_run:
            raise PrefetchMiss(text)
        self._has_run = True
        return self._sql.rows(text, **values)


def micros(at: datetime) -> int:
    """Microseconds since 1970, UTC."""
    delta = at - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def moment(stored: int) -> datetime:
    """The time behind `micros`."""
    return _EPOCH + timedelta(0, 0, int(stored))  # by its place: a name takes half as long again


def maybe_micros(at: datetime | None) -> int | None:
    """`micros`, or None."""
    return None if at is None else micros(at)


def maybe_moment(stored: int | None) -> datetime | None:
    """`moment`, or None."""
    return None if stored is None else moment(stored)


def canonical(value: object) -> str:
    """JSON in ASCII with sorted keys and no spaces: one text for one value, and bytes for any
    string.
    """
    return _CANONICAL.encode(value)


def tokens(sql: Sql, amount: int) -> int | Decimal:
    """A token amount in micro-units, as the database keeps it.

    Errors: `invalid_number` beyond 64 bits on SQLite, beyond 38 digits anywhere.
    """
    if abs(amount) >= 10**38 or (sql.dialect == "sqlite" and abs(amount) > _INT64):
        raise Refused(
            refusal(
                "invalid_number",
                value=str(amount)[:60],
                why="it is larger than this database keeps exactly",
            )
        )
    return amount if sql.dialect == "sqlite" else Decimal(amount)


def in_turns(table: str, where: str, whose: str, by: str) -> str:
    """A query of up to `:most` rows of a table in which each owner's first, in an order, comes
    before any owner's second. `table` may be a join, of which `t` is the table given.
    """
    return (
        f"SELECT * FROM (SELECT t.*, ROW_NUMBER() OVER (PARTITION BY {whose} ORDER BY {by}) "
        f"AS turn FROM {table} WHERE {where}) AS t ORDER BY turn, {by} LIMIT :most"
    )


def columns(names: Iterable[str]) -> str:
    """`(a, b) VALUES (:a, :b)` for an INSERT."""
    listed = list(names)
    return f"({', '.join(listed)}) VALUES ({placeholders(listed)})"


def placeholders(names: Iterable[str]) -> str:
    """The parameters of a list in a statement."""
    return ", ".join(f":{name}" for name in names)
