"""The ledgers of all mandates as one stream, in the order in which their rows became the record.

Every row has a position: on PostgreSQL a number that the database gives out, on SQLite the rowid,
which no row of an append-only table ever loses. One poll serves all listeners of a process; each
names the last row that it has, by position and hash, and goes on behind it without a gap.

On PostgreSQL a row may become visible after one with a higher position, since numbers are given out
before the commit. So the stream never passes a missing number while a transaction that may bring it
is still running: whatever was given out before the gap was seen belongs to a transaction whose id
is below one taken at that moment, and none of those runs any more once the oldest that does is
above it. A number that is missing then was rolled back, and never comes.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import anyio

from storage.feed.row_stream import LongReader, long_reader
from storage.sql import Row

log = logging.getLogger("wallet.tail")

PAGE: Final = 500
KEPT: Final = 2_000
# A page takes milliseconds: a database that says nothing for so long was lost without a word.
SILENT_S: Final = 20
_CURSOR: Final = re.compile(r"([1-9][0-9]{0,17})\.([0-9a-f]{16})")
_PLACE: Final = {"sqlite": "rowid", "postgresql": "position"}
# SQLite has one writer: rows become visible in the order of their rowids, and no gap is ever open.
_OLDEST_THAT_RUNS: Final = {
    "sqlite": "SELECT 1 AS n",
    "postgresql": "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS n",
}
_NEXT_TO_RUN: Final = {
    "sqlite": "SELECT 1 AS n",
    "postgresql": "SELECT pg_current_xact_id()::text::bigint AS n",
}


class UnknownCursor(Exception):
    """The row that a cursor names is not in this record: the listener has to read anew.

    So it is after a restore from a backup that is older than what the listener has seen.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """One ledger row, and its place among those of all mandates."""

    position: int
    public_id: str
    row: Row  # as it is stored; `storage.rows.row.event_of` reads it

    @property
    def cursor(self) -> str:
        """The cursor that `LedgerFeed.follow` continues behind: the position, and the beginning of
        the row's hash.
        """
        return f"{self.position}.{self.row['row_hash'][:16]}"


@dataclass(frozen=True, slots=True)
class _Gap:
    """Numbers up to `high` were given out before the transaction id `horizon` was."""

    high: int
    horizon: int


class LedgerFeed:
    """Polls a database, and tells its listeners of new rows; belongs to one event loop."""

    def __init__(self, url: str):
        self._url = url
        self._lock = anyio.Lock()
        self._open = AsyncExitStack()
        self._reader: LongReader | None = None
        self._upto: int | None = None  # nothing at or below it is still to come
        self._gap: _Gap | None = None
        self._kept: list[FeedEntry] = []  # the newest rows, complete above `_kept_above`
        self._kept_above = 0
        self._moved = anyio.Event()
        self._ended = False

    async def run(self, every_ms: int = 250) -> None:
        """Poll until cancelled, whatever becomes of the database; then the listeners end too."""
        try:
            while True:
                try:
                    await self.poll()
                except Exception:
                    log.exception("the ledgers cannot be followed; trying again")
                await anyio.sleep(every_ms / 1_000)
        finally:
            await self.close()

    async def close(self) -> None:
        """Let the listeners go, and the connection."""
        self._ended = True
        self._wake()
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._drop()

    async def poll(self) -> None:
        """Look once for rows that are new and settled, and wake the listeners for them."""
        async with self._reading() as reader:
            oldest = await _number(reader, _OLDEST_THAT_RUNS[reader.dialect])
            over = self._gap is not None and oldest >= self._gap.horizon
            if self._upto is None:
                await self._begin(reader, over)
                return
            rows = await _page(reader, self._upto, 2**62)
            known = max(self._upto, self._gap.high) if self._gap and over else self._upto
            if len(rows) == PAGE:  # what is beyond the page was not looked at
                known = min(known, rows[-1].position)
            new, reached = _settled(rows, known)
            if self._gap is not None and over and reached >= self._gap.high:
                self._gap = None
            if self._gap is None and len(new) < len(rows):
                started = await _number(reader, _NEXT_TO_RUN[reader.dialect])
                self._gap = _Gap(rows[-1].position, started)
        self._advance(new, reached)

    async def _begin(self, reader: LongReader, over: bool) -> None:
        """Start behind the newest row, once nothing below it is still to come."""
        if self._gap is None:
            place = _PLACE[reader.dialect]
            high = await _number(reader, f"SELECT MAX({place}) AS n FROM ledger_events")
            self._gap = _Gap(high, await _number(reader, _NEXT_TO_RUN[reader.dialect]))
        elif over:
            self._upto = self._kept_above = self._gap.high
            self._gap = None
            self._wake()

    def _advance(self, new: Sequence[FeedEntry], until_seq: int) -> None:
        if until_seq == self._upto:
            return
        self._upto = until_seq
        self._kept += new
        if len(self._kept) > 2 * KEPT:
            self._kept_above = self._kept[-KEPT - 1].position
            del self._kept[:-KEPT]
        self._wake()

    def _wake(self) -> None:
        moved, self._moved = self._moved, anyio.Event()
        moved.set()

    async def newest(self) -> str:
        """The cursor of the newest settled row, "" of an empty record.

        A page that shows the present and then follows takes this first: what comes between is told
        twice rather than never.
        """
        while self._upto is None and not self._ended:
            await self._moved.wait()
        async with self._reading() as reader:
            rows = await _page(reader, -1, self._upto or 0, newest=True)
        return rows[0].cursor if rows else ""

    async def follow(self, cursor: str = "") -> AsyncGenerator[FeedEntry, None]:
        """Every row behind a cursor, in order, as it comes; "" is the very beginning.

        The stream waits for its listener, so that a slow one costs no memory. It ends with `run`.
        Errors: `UnknownCursor` where the row of the cursor is not there, or is another.
        """
        after = await self._resumed(cursor)
        while not self._ended:
            moved = self._moved
            rows = await self._behind(after)
            for entry in rows:
                yield entry
                after = entry.position
            if not rows and not self._ended:
                await moved.wait()

    async def _resumed(self, cursor: str) -> int:
        if not cursor:
            return 0
        form = _CURSOR.fullmatch(cursor)
        if form is None:
            raise UnknownCursor(cursor)
        position = int(form[1])
        async with self._reading() as reader:
            rows = await _page(reader, position - 1, position)
        if [entry.cursor for entry in rows] != [cursor]:
            raise UnknownCursor(cursor)
        return position

    async def _behind(self, after: int) -> Sequence[FeedEntry]:
        """The next rows after a position: from memory where they are, else from the database."""
        if self._upto is None or after >= self._upto:
            return ()
        if after >= self._kept_above:
            start = bisect_right(self._kept, after, key=attrgetter("position"))
            return self._kept[start : start + PAGE]
        async with self._reading() as reader:
            return await _page(reader, after, self._upto)

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[LongReader]:
        """A snapshot on the one connection; it is opened anew after anything that went wrong.

        Errors: TimeoutError after `SILENT_S`.
        """
        async with self._lock:
            try:
                with anyio.fail_after(SILENT_S):
                    if self._reader is None:
                        self._reader = await self._open.enter_async_context(long_reader(self._url))
                    async with self._reader.snapshot():
                        yield self._reader
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._drop()
                raise

    async def _drop(self) -> None:
        self._reader = None
        await self._open.aclose()


def _settled(rows: Sequence[FeedEntry], known: int) -> tuple[Sequence[FeedEntry], int]:
    """The rows before the first missing number above `known`, and the position reached."""
    for at, entry in enumerate(rows):
        if entry.position > known + 1:
            return rows[:at], known
        known = max(known, entry.position)
    return rows, known


async def _number(reader: LongReader, query: str) -> int:
    (n,) = [int(row["n"] or 0) async for row in reader.rows(query)]
    return n


async def _page(
    reader: LongReader, after: int, until_seq: int, *, newest: bool = False
) -> Sequence[FeedEntry]:
    """Up to a page of rows above `after`, exclusive, up to `upto`, inclusive."""
    place = _PLACE[reader.dialect]
    columns = "rowid AS position, *" if place == "rowid" else "*"
    rows = reader.rows(
        f"SELECT {columns} FROM ledger_events WHERE {place} > :after AND {place} <= :upto "
        f"ORDER BY {place} {'DESC' if newest else 'ASC'} LIMIT {1 if newest else PAGE}",
        after=after,
        upto=until_seq,
    )
    return [
        FeedEntry(position=int(row["position"]), public_id=row["public_id"], row=row)
        async for row in rows
    ]
