"""Paper books: their entries, each chained to the one before, and the snapshots behind them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

from domain.trading.paper.entries import Entry, EntryPayload, Filled, PaperBook
from domain.trading.paper.matching import ConsumedDepth, consumed_depth
from domain.trading.paper.replay import PaperAccount
from domain.trading.venue_values import OrderBook
from storage.repositories.paper_checkpoints import (
    EVERY,
    LAST,
    AccountCache,
    PaperCheckpointRepository,
)
from storage.repositories.paper_codec import (
    BOOKS,
    COLUMNS,
    NAMES,
    SNAPSHOTS,
    body_of,
    entry_of,
    paper_hash,
    take_of,
)
from storage.sql import (
    LOCKED,
    Repository,
    Sql,
    columns,
    first,
    in_turns,
    maybe_micros,
    micros,
    moment,
    number,
)

ALL_BOOKS: Final = "SELECT * FROM paper_books ORDER BY book"
ENTRIES_OF: Final = "SELECT * FROM paper_entries WHERE book = :book ORDER BY n"
ALL_SNAPSHOTS: Final = "SELECT * FROM paper_snapshots ORDER BY hash"
FILLS_ON: Final = (
    "SELECT e.body, b.model FROM paper_entries e JOIN paper_books b ON b.book = e.book "
    "WHERE e.snapshot = :hash"
)
_ENTER: Final = (
    f"INSERT INTO paper_entries {columns(COLUMNS)} ON CONFLICT (book, kind, ref) DO NOTHING"
)
SNAPSHOT: Final = "SELECT * FROM paper_snapshots WHERE hash = :hash"
ORDER_FILL: Final = "SELECT body FROM order_fills WHERE order_id = :order_id AND tid = :n"
BOTH_FILLS: Final = (
    "SELECT (SELECT COUNT(*) FROM order_fills f JOIN orders o ON o.order_id = f.order_id "
    "WHERE o.mode = 'paper') AS told, "
    "(SELECT COUNT(*) FROM paper_entries WHERE kind = 'fill') AS booked"
)


_OPEN: Final = f"{BOOKS.insert} ON CONFLICT DO NOTHING"
_KEEP: Final = f"{SNAPSHOTS.insert} ON CONFLICT DO NOTHING"
_WAKE: Final = (
    "UPDATE paper_watch SET seen_at = :now, due_at = :due WHERE book = :book AND due_at IS NULL"
)
_DUE: Final = in_turns(
    "paper_watch t JOIN paper_books b ON b.book = t.book", "t.due_at <= :now", "b.owner_id",
    "t.due_at",
)  # fmt: skip
_LOOKED: Final = (
    "UPDATE paper_watch SET seen_at = :now, due_at = :due "
    "WHERE book = :book AND seen_at = :seen AND due_at IS NOT NULL"
)


class PaperBookRepository(Repository):
    """The books of people. What is written stays; only `paper_watch` says where the house is."""

    def __init__(self, sql: Sql, cache: AccountCache):
        super().__init__(sql)
        self._states = PaperCheckpointRepository(sql, cache)
        # SQLite has one writer at a time: nothing there has to be locked.
        self._lock = LOCKED if sql.dialect == "postgresql" else None
        self._books: dict[str, PaperBook] = {}  # seen in this transaction; none ever changes

    # -- books

    def open(self, book: PaperBook) -> bool:
        """Store a new book; False where its owner has one of this name."""
        if self._sql.run(_OPEN, **BOOKS.row(book)) != 1:
            return False
        watch = "INSERT INTO paper_watch (book, seen_at) VALUES (:book, :at)"
        self._sql.run(watch, book=book.book, at=micros(book.created_at))
        return True

    def get(self, book: str, *, lock: bool = False) -> PaperBook | None:
        """A book by its id; `lock` keeps other writers off it."""
        if lock and self._lock:
            first(self._sql, "SELECT book FROM paper_watch WHERE book = :b" + self._lock, b=book)
        if book not in self._books:
            self._seen(BOOKS.all(self._sql, "book = :book", book=book))
        return self._books.get(book)

    def of_agent(self, agent_id: str) -> list[PaperBook]:
        """The books that were opened for an agent, oldest first."""
        where = "agent_id = :who ORDER BY created_at, book"
        return self._seen(BOOKS.all(self._sql, where, who=agent_id))

    def of_owner(self, owner_id: str) -> list[PaperBook]:
        """A person's books, oldest first."""
        where = "owner_id = :who ORDER BY created_at, book"
        return self._seen(BOOKS.all(self._sql, where, who=owner_id))

    def _seen(self, books: list[PaperBook]) -> list[PaperBook]:
        self._books |= {book.book: book for book in books}
        return books

    # -- entries

    def append(
        self, book: str, ref: str, at: datetime, marks: Mapping[str, Decimal], body: EntryPayload
    ) -> Entry | None:
        """Write an entry, None where there is one with this `ref` of its kind. The book is
        locked.
        """
        last = first(self._sql, LAST, book=book)
        row: dict[str, object] = {
            "book": book,
            "n": int(last["n"]) + 1 if last else 1,
            "kind": NAMES[type(body)],
            "ref": ref,
            "at": micros(at),
            "snapshot": body.snapshot if isinstance(body, Filled) else None,
            "body": body_of(body, marks),
            "prev_hash": last["row_hash"] if last else "",
        }
        row["row_hash"] = paper_hash(row)
        if not self._sql.run(_ENTER, **row):
            return None
        entry = entry_of(row)
        self._states.entered(row, entry)
        owned = self.get(book) if entry.n % EVERY == 0 else None
        if owned is not None:
            self._states.keep(owned, entry.n)
        return entry

    # -- what they come to

    def account(self, book: PaperBook) -> PaperAccount:
        """The account of a book now, folded from its newest checkpoint on."""
        return self._states.account(book)

    def account_at(self, book: PaperBook, moment_: datetime) -> PaperAccount:
        """The account of a book by its entries up to a time, inclusive."""
        return self._states.at(book, moment_)

    def recent(self, book: PaperBook, limit: int) -> tuple[PaperAccount, list[Entry]]:
        """Its newest entries, at least `most` of them, and the account that they begin from."""
        return self._states.recent(book, limit)

    # -- snapshots

    def keep(self, snapshot: OrderBook, *, known: bool = False) -> None:
        """Store a snapshot that is about to fill something, unless it is `known` to be, and keep
        other writers off it.
        """
        if not known:
            self._sql.run(_KEEP, **SNAPSHOTS.row(snapshot))
        if self._lock:
            first(self._sql, SNAPSHOT + self._lock, hash=snapshot.hash)

    def taken(self, snapshot: str, *, is_buy: bool) -> tuple[ConsumedDepth, int]:
        """The amounts that paper orders took of one side of a snapshot, by level; and the number of
        fills on both its sides, none of which ever changes.
        """
        text = "SELECT body FROM paper_entries WHERE snapshot = :hash"
        takes = [take_of(row["body"]) for row in self._sql.rows(text, hash=snapshot)]
        own = ((level, size) for buys, level, size in takes if buys == is_buy)
        return consumed_depth(own), len(takes)

    def takers(self, snapshot: str) -> int:
        """Count the fills on a snapshot."""
        text = "SELECT COUNT(*) AS n FROM paper_entries WHERE snapshot = :hash"
        return number(self._sql, text, hash=snapshot)

    # -- the house's own round

    def wake(self, book: str, now: datetime, due: datetime) -> None:
        """Schedule a book for its rounds from now on, if it is not scheduled yet."""
        self._sql.run(_WAKE, book=book, now=micros(now), due=micros(due))

    def due(self, now: datetime, limit: int) -> list[tuple[str, datetime]]:
        """Books that are due, and the time of each one's last round: each owner's first before any
        owner's second, the longest due first.
        """
        rows = self._sql.rows(_DUE, now=micros(now), most=limit)
        return [(str(r["book"]), moment(r["seen_at"])) for r in rows]

    def looked(self, book: str, expected_at: datetime, now: datetime, due: datetime | None) -> bool:
        """Say that a book was looked at, once for each time that it was due; None: nothing there
        needs another look.
        """
        times = {"seen": micros(expected_at), "now": micros(now), "due": maybe_micros(due)}
        return self._sql.run(_LOOKED, book=book, **times) == 1
