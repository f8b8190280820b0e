"""Prefetch query: the queries of many handlers, run by one statement before the handlers are.

A handler declares its reads (`storage.prefetch.read_set`), `queries_of` says which statements of
the repositories that comes to, and one statement made from their texts runs them all. The handler
then runs unchanged on `PrefetchedSql`: a query that was run has its rows, any other is a
`PrefetchMiss`, and the store runs the handler in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import orjson

from domain.ledger.events.event import Reporter
from domain.times import day_of
from storage.prefetch.read_set import ROWS_SHOWN, ReadSet
from storage.repositories import (
    approvals,
    chain_index,
    grants,
    idempotency,
    identities,
    mandates,
    orders,
    people,
    policies,
    switches,
)
from storage.repositories import ledger_queries as ledger
from storage.repositories.state_cache import StateCache
from storage.sql import PrefetchMiss, ReadOnlySql, Row, micros, named, numbered

Query: TypeAlias = tuple[Any, ...]
"""A statement's text, and its values in the order in which it names them."""

QueryRows: TypeAlias = dict[Query, Sequence[Row]]

_BIGINTS: Final = frozenset({"now", "after", "far", "most"})  # every other parameter is text


def query(text: str, values: Row) -> Query:
    """A statement with its values."""
    return (text, *(values[name] for name in numbered(text)[1]))


def queries_of(read_set: ReadSet, cache: StateCache, *, writes: bool) -> Iterator[Query]:
    """The queries of a handler with these reads. A writer learns of no order, which counts by
    itself while no number of the mandate's tells of it; nor of a page, which rows of its batch
    would be missing from.
    """
    now = micros(read_set.now)
    for public_id in read_set.mandates:
        known = cache.newest(public_id)
        yield (switches.SWITCHES,)
        yield mandates.BY_ID, public_id
        yield ledger.HEAD, public_id
        above = ledger.rows_above(public_id, known[1].seq if known else 0)
        for text in (ledger.NEAREST, ledger.NEWS, ledger.PAIRED["postgresql"]):
            yield query(text, above)
        for text in (approvals.PENDING, approvals.APPROVED, approvals.LIVE):
            yield query(text, {"mandate": public_id, "now": now})
        yield policies.OF_MANDATE, public_id
        yield chain_index.STAGED, public_id
        if not writes:
            yield orders.COUNTED, public_id, day_of(read_set.now)
        if read_set.shows_rows and not writes:
            page = cache.newest_page(public_id, ROWS_SHOWN)[1]
            yield ledger.NEWEST, public_id, page[0].seq if page else 0, ROWS_SHOWN
        if read_set.tx_hash is not None:
            yield ledger.BY_TX, public_id, read_set.tx_hash
            chain = Reporter.CHAIN
            yield ledger.PARTNERS[chain], public_id, read_set.tx_hash, chain.value, ledger.PAGE
    if read_set.credential is not None:
        yield identities.AGENT_BY_KEY, read_set.credential
        yield grants.HOLDER, read_set.credential, now
        yield people.SESSION, read_set.credential, now
        yield identities.HOUSE_ROLE, read_set.credential
    if read_set.key is not None:
        yield idempotency.CLAIMED, *read_set.key


def prefetch_query(queries: Iterable[Query]) -> tuple[list[Query], str, list[object]]:
    """The queries, each once, by their statements; the statement that runs them all; its values."""
    by_text: dict[str, dict[Query, None]] = {}
    for one in queries:
        by_text.setdefault(one[0], {})[one] = None
    texts = tuple(sorted(by_text))
    values: list[object] = []
    for text in texts:
        columns = zip(*(one[1:] for one in by_text[text]), strict=True)
        values += [list(column) for column in columns]
    return [one for text in texts for one in by_text[text]], _statement(texts), values


@cache
def _statement(texts: tuple[str, ...]) -> str:
    """(number of the text, number of the query, rows as JSON) of every query that has rows: each
    text is run once for each row of its arrays of values. What is aggregated so is not turned into
    a join, which would read the tables whole: a plan is made once, perhaps while they are empty,
    and kept while they grow.
    """
    branches: list[str] = []
    values = 0
    for text in texts:
        names = numbered(text)[1]
        arrays = ", ".join(
            f"${values + n}::{'bigint' if name in _BIGINTS else 'text'}[]"
            for n, name in enumerate(names, 1)
        )
        values += len(names)
        keys = f"unnest({arrays}) WITH ORDINALITY" if names else "(VALUES (1))"
        columns = ", ".join((*(f"key_{name}" for name in names), "nth"))
        one = named(text, lambda name: f"query.key_{name}")
        branches.append(
            f"SELECT {len(branches)} AS text, query.nth, answer.rows FROM {keys} "
            f"AS query({columns}) CROSS JOIN LATERAL (SELECT json_agg(answer_row) AS rows "
            f"FROM ({one}) answer_row) answer WHERE answer.rows IS NOT NULL"
        )
    return "\nUNION ALL ".join(branches)


def rows_by_query(queries: Sequence[Query], records: Iterable[tuple[int, int, str]]) -> QueryRows:
    """The rows of every query, none where it has none."""
    rows: QueryRows = dict.fromkeys(queries, ())
    firsts: dict[str, int] = {}
    for place, one in enumerate(queries):
        firsts.setdefault(one[0], place)
    places = [*firsts.values()]
    for text, nth, answer in records:
        rows[queries[places[text] + nth - 1]] = orjson.loads(answer)
    return rows


class PrefetchedSql(ReadOnlySql):
    """The queries of a handler, as they were answered beforehand; nothing is written."""

    def __init__(self, prefetched: QueryRows):
        self.prefetched = prefetched

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Look a query up. Errors: `PrefetchMiss`."""
        rows = self.prefetched.get(query(text, values))
        if rows is None:
            raise PrefetchMiss(text)
        return rows
