"""Paper book check: hashes recomputed, every fill compared with the snapshot that it names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal

from domain.trading.paper.entries import Entry, Filled, PaperBook
from domain.trading.paper.matching import facing
from domain.trading.paper.verification import check_book
from domain.trading.venue_values import OrderBook, book_hash
from storage.feed.row_stream import LongReader
from storage.repositories.paper_books import (
    ALL_BOOKS,
    BOTH_FILLS,
    ENTRIES_OF,
    FILLS_ON,
    ORDER_FILL,
    SNAPSHOT,
    SNAPSHOTS,
)
from storage.repositories.paper_checkpoints import CHECKPOINTS, faults_of
from storage.repositories.paper_codec import book_of, entry_of, model_of, paper_hash, snapshot_of
from storage.sql import Row

# Of what, which entry, and what is wrong with it.
Found = tuple[str, int | None, str]


async def books_of(reader: LongReader) -> list[PaperBook]:
    """Every paper book."""
    return [book_of(row) async for row in reader.rows(ALL_BOOKS)]


async def check_stored_book(reader: LongReader, book: PaperBook) -> tuple[int, list[Found]]:
    """The entries of a book, and what is wrong with them."""
    rows = [row async for row in reader.rows(ENTRIES_OF, book=book.book)]
    faults: list[Found] = [(book.book, n, text) for n, text in _chained(rows)]
    entries: list[Entry] = []
    for row in rows:
        try:
            entries.append(entry_of(row))
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            faults.append((book.book, int(row["n"]), f"the entry cannot be read: {error!r}"))
            return len(rows), faults
    fills = [e for e in entries if isinstance(e.payload, Filled)]
    snapshots = await _snapshots(reader, fills)
    faults += [(book.book, n, text) for n, text in check_book(book, entries, snapshots)]
    checkpoints = [row async for row in reader.rows(CHECKPOINTS, book=book.book)]
    faults += [(book.book, n, text) for n, text in faults_of(book, entries, rows, checkpoints)]
    for entry in fills:
        if not await _told_alike(reader, entry):
            faults.append((book.book, entry.n, "its order does not tell of this fill"))
    return len(rows), faults


async def prove_snapshots(reader: LongReader) -> list[Found]:
    """Faults of snapshots: a hash that is not their own, or more taken of a level than its share of
    it.
    """
    faults: list[Found] = []
    for row in [row async for row in reader.rows(SNAPSHOTS)]:
        snapshot = snapshot_of(row)
        if book_hash(snapshot.coin, snapshot.at, snapshot.bids, snapshot.asks) != snapshot.hash:
            faults.append((snapshot.hash, None, "the snapshot does not have its hash"))
        fills = [row_on_it async for row_on_it in reader.rows(FILLS_ON, hash=snapshot.hash)]
        faults += [(snapshot.hash, None, text) for text in _overtaken(snapshot, fills)]
    async for row in reader.rows(BOTH_FILLS):
        if row["told"] != row["booked"]:
            text = f"orders tell of {row['told']} fills, the books of {row['booked']}"
            faults.append(("paper", None, text))
    return faults


def _chained(rows: list[Row]) -> Iterator[tuple[int, str]]:
    last = ""
    for n, row in enumerate(rows, start=1):
        if int(row["n"]) != n:
            yield n, f"entry {n} is missing"
            return
        if row["prev_hash"] != last:
            yield n, "the previous hash is not that of the entry before"
        if paper_hash(row) != row["row_hash"]:
            yield n, "the entry does not have its hash"
        last = str(row["row_hash"])


async def _snapshots(reader: LongReader, fills: list[Entry]) -> Mapping[str, OrderBook]:
    names = {e.payload.snapshot for e in fills if isinstance(e.payload, Filled)}
    snapshots = {}
    for name in sorted(names):
        async for row in reader.rows(SNAPSHOT, hash=name):
            snapshots[name] = snapshot_of(row)
    return snapshots


async def _told_alike(reader: LongReader, entry: Entry) -> bool:
    fill = entry.payload
    if not isinstance(fill, Filled):
        return True
    rows = [r async for r in reader.rows(ORDER_FILL, order_id=fill.order_id, n=entry.n)]
    if len(rows) != 1:
        return False
    raw = json.loads(rows[0]["body"])
    prepaid_cost = Decimal(fill.fee + fill.builder_fee).scaleb(-6)
    own = (fill.px, fill.size, prepaid_cost, fill.snapshot)
    return own == (*(Decimal(raw[n]) for n in ("px", "size", "fee")), raw["snapshot"])


def _overtaken(snapshot: OrderBook, fills: list[Row]) -> Iterator[str]:
    """Levels of which all books together had more than the largest share."""
    taken: dict[tuple[bool, Decimal], Decimal] = {}
    limit = Decimal(0)
    for row in fills:
        body = json.loads(row["body"])
        at = (bool(body["is_buy"]), Decimal(body["level"]))
        taken[at] = taken.get(at, Decimal(0)) + Decimal(body["size"])
        limit = max(limit, model_of(json.loads(row["model"])).depth_share)
    for (is_buy, px), size in taken.items():
        shown = {v.px: v.size for v in facing(snapshot, is_buy=is_buy)}
        if size > shown.get(px, Decimal(0)) * limit:
            yield f"{size} was taken at {px}, more than its share"
