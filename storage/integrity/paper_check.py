"""Paper book check: hashes recomputed, every fill compared with the snapshot that it names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

from domain.trading.paper.entries import Entry, Filled, PaperBook
from domain.trading.paper.matching import facing
from domain.trading.paper.verification import check_book
from domain.trading.venue_values import OrderBook, book_hash
from storage.feed.row_stream import LongReader
from storage.integrity.hash_chain import HashChain, RecordFault
from storage.repositories.paper_books import (
    ALL_BOOKS,
    ALL_SNAPSHOTS,
    BOTH_FILLS,
    ENTRIES_OF,
    FILLS_ON,
    ORDER_FILL,
    SNAPSHOT,
)
from storage.repositories.paper_checkpoints import CHECKPOINTS, faults_of
from storage.repositories.paper_codec import BOOKS, MODEL, SNAPSHOTS, entry_of, paper_hash, take_of
from storage.sql import Row


async def books_of(reader: LongReader) -> list[PaperBook]:
    """Every paper book."""
    return [BOOKS.record(row) async for row in reader.rows(ALL_BOOKS)]


async def check_stored_book(reader: LongReader, book: PaperBook) -> tuple[int, list[RecordFault]]:
    """The number of a book's entries, and what is wrong with them."""
    rows = [row async for row in reader.rows(ENTRIES_OF, book=book.book)]
    faults = [*_chained(rows)]
    entries: list[Entry] = []
    for row in rows:
        try:
            entries.append(entry_of(row))
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            faults.append((int(row["n"]), f"the entry cannot be read: {error!r}"))
            break
    else:
        faults += await _faults(reader, book, entries, rows)
    return len(rows), [RecordFault(book.book, n, text) for n, text in faults]


async def _faults(
    reader: LongReader, book: PaperBook, entries: list[Entry], rows: list[Row]
) -> list[tuple[int, str]]:
    """The faults of entries that can be read."""
    fills = [(e, e.payload) for e in entries if isinstance(e.payload, Filled)]
    snapshots = {}
    for name in sorted({fill.snapshot for _, fill in fills}):
        async for row in reader.rows(SNAPSHOT, hash=name):
            snapshots[name] = SNAPSHOTS.record(row)
    checkpoints = [row async for row in reader.rows(CHECKPOINTS, book=book.book)]
    faults = [*check_book(book, entries, snapshots), *faults_of(book, entries, rows, checkpoints)]
    for entry, fill in fills:
        rows_of_order = [
            r async for r in reader.rows(ORDER_FILL, order_id=fill.order_id, n=entry.n)
        ]
        if [_taken(row) for row in rows_of_order] != [_own(fill)]:
            faults.append((entry.n, "its order does not tell of this fill"))
    return faults


def _own(fill: Filled) -> tuple[object, ...]:
    return fill.px, fill.size, Decimal(fill.fee + fill.builder_fee).scaleb(-6), fill.snapshot


def _taken(row: Row) -> tuple[object, ...]:
    raw = json.loads(row["body"])
    return (*(Decimal(raw[n]) for n in ("px", "size", "fee")), raw["snapshot"])


async def prove_snapshots(reader: LongReader) -> list[RecordFault]:
    """Faults of snapshots: a hash that is not their own, or more taken of a level than its share of
    it.
    """
    faults: list[RecordFault] = []
    for row in [row async for row in reader.rows(ALL_SNAPSHOTS)]:
        snapshot = SNAPSHOTS.record(row)
        if book_hash(snapshot.coin, snapshot.at, snapshot.bids, snapshot.asks) != snapshot.hash:
            faults.append(RecordFault(snapshot.hash, None, "the snapshot does not have its hash"))
        fills = [row_on_it async for row_on_it in reader.rows(FILLS_ON, hash=snapshot.hash)]
        faults += [RecordFault(snapshot.hash, None, text) for text in _overtaken(snapshot, fills)]
    async for row in reader.rows(BOTH_FILLS):
        if row["told"] != row["booked"]:
            text = f"orders tell of {row['told']} fills, the books of {row['booked']}"
            faults.append(RecordFault("paper", None, text))
    return faults


def _chained(rows: list[Row]) -> Iterator[tuple[int, str]]:
    chain = HashChain("entry")
    for n, row in enumerate(rows, start=1):
        own = paper_hash(row) == row["row_hash"]
        for fault in chain.step(int(row["n"]), row, has_its_hash=own):
            yield fault
            if row["n"] != n:  # of one that is missing everything behind it tells
                return


def _overtaken(snapshot: OrderBook, fills: list[Row]) -> Iterator[str]:
    """Levels of which all books together had more than the largest share."""
    taken: dict[tuple[bool, Decimal], Decimal] = {}
    limit = Decimal(0)
    for row in fills:
        is_buy, level, size = take_of(row["body"])
        taken[is_buy, level] = taken.get((is_buy, level), Decimal(0)) + size
        limit = max(limit, MODEL.load(row["model"]).depth_share)
    for (is_buy, px), size in taken.items():
        shown = {v.px: v.size for v in facing(snapshot, is_buy=is_buy)}
        if size > shown.get(px, Decimal(0)) * limit:
            yield f"{size} was taken at {px}, more than its share"
