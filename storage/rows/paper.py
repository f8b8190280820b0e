"""Paper books: their entries, each chained to the one before, and the snapshots behind them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from domain.trading.paper.entries import (
    Entry,
    Filled,
    Funded,
    Gap,
    Liquidated,
    Model,
    PaperBook,
    What,
)
from domain.trading.paper.filling import Taken, summed
from domain.trading.venue import Book, Level
from storage.sql import Row, Sql, canonical, columns, first, micros, moment

_COLUMNS: Final = (
    "book", "n", "kind", "ref", "at", "snapshot", "body", "prev_hash", "row_hash",
)  # fmt: skip
_KINDS: Final[Mapping[str, type[What]]] = {
    "fill": Filled, "funding": Funded, "liquidation": Liquidated, "gap": Gap,
}  # fmt: skip
_NAMES: Final = {made: kind for kind, made in _KINDS.items()}
_DECIMALS: Final = frozenset({"px", "size", "level", "tenths_bps", "oracle", "rate"})
_TIMES: Final = frozenset({"hour", "since", "until"})
_PRICES: Final = frozenset({"closed"})
ALL_BOOKS: Final = "SELECT * FROM paper_books ORDER BY book"
ENTRIES_OF: Final = "SELECT * FROM paper_entries WHERE book = :book ORDER BY n"
SNAPSHOTS: Final = "SELECT * FROM paper_snapshots ORDER BY hash"
FILLS_ON: Final = (
    "SELECT e.body, b.model FROM paper_entries e JOIN paper_books b ON b.book = e.book "
    "WHERE e.snapshot = :hash"
)
SNAPSHOT: Final = "SELECT * FROM paper_snapshots WHERE hash = :hash"
ORDER_FILL: Final = "SELECT body FROM order_fills WHERE order_id = :order_id AND tid = :n"
BOTH_FILLS: Final = (
    "SELECT (SELECT COUNT(*) FROM order_fills f JOIN orders o ON o.order_id = f.order_id "
    "WHERE o.mode = 'paper') AS told, "
    "(SELECT COUNT(*) FROM paper_entries WHERE kind = 'fill') AS booked"
)


class PaperBooks:
    """The books of people. What is written stays; only `paper_watch` says where the house is."""

    def __init__(self, sql: Sql):
        self._sql = sql
        self._lock = " FOR UPDATE" if sql.dialect == "postgresql" else ""

    # -- books

    def open(self, book: PaperBook) -> bool:
        """Store a new book; False where its owner has one of this name."""
        done = self._sql.run(
            "INSERT INTO paper_books "
            + columns(
                ("book", "owner_id", "agent_id", "name", "start_micros", "model", "created_at")
            )
            + " ON CONFLICT DO NOTHING",
            book=book.book,
            owner_id=book.owner_id,
            agent_id=book.agent_id,
            name=book.name,
            start_micros=book.start_micros,
            model=canonical(_model_body(book.model)),
            created_at=micros(book.created_at),
        )
        if done == 1:
            self._sql.run(
                "INSERT INTO paper_watch (book, seen_at) VALUES (:book, :at)",
                book=book.book,
                at=micros(book.created_at),
            )
        return done == 1

    def get(self, book: str, *, lock: bool = False) -> PaperBook | None:
        """A book by its id; `lock` keeps other writers off it."""
        if lock:
            first(self._sql, "SELECT * FROM paper_watch WHERE book = :b" + self._lock, b=book)
        row = first(self._sql, "SELECT * FROM paper_books WHERE book = :book", book=book)
        return None if row is None else book_of(row)

    def of_owner(self, owner_id: str) -> list[PaperBook]:
        """A person's books, oldest first."""
        rows = self._sql.rows(
            "SELECT * FROM paper_books WHERE owner_id = :who ORDER BY created_at, book",
            who=owner_id,
        )
        return [book_of(row) for row in rows]

    # -- entries

    def entries(self, book: str) -> list[Entry]:
        """Everything in a book, in its order."""
        return [entry_of(row) for row in self._sql.rows(ENTRIES_OF, book=book)]

    def append(
        self, book: str, ref: str, at: datetime, marks: Mapping[str, Decimal], what: What
    ) -> Entry | None:
        """Write an entry, None where there is one with this `ref` of its kind. The book is
        locked.
        """
        kind = _NAMES[type(what)]
        if first(
            self._sql,
            "SELECT n FROM paper_entries WHERE book = :book AND kind = :kind AND ref = :ref",
            book=book,
            kind=kind,
            ref=ref,
        ):
            return None
        last = first(
            self._sql,
            "SELECT n, row_hash FROM paper_entries WHERE book = :book ORDER BY n DESC LIMIT 1",
            book=book,
        )
        row: dict[str, object] = {
            "book": book,
            "n": int(last["n"]) + 1 if last else 1,
            "kind": kind,
            "ref": ref,
            "at": micros(at),
            "snapshot": what.snapshot if isinstance(what, Filled) else None,
            "body": canonical({"marks": _prices(marks), **_body(what)}),
            "prev_hash": last["row_hash"] if last else "",
        }
        row["row_hash"] = paper_hash(row)
        self._sql.run("INSERT INTO paper_entries " + columns(_COLUMNS), **row)
        return entry_of(row)

    # -- snapshots

    def keep(self, seen: Book) -> None:
        """Store a snapshot that is about to fill something, and keep other writers off it."""
        self._sql.run(
            "INSERT INTO paper_snapshots "
            + columns(("hash", "coin", "at", "body"))
            + " ON CONFLICT DO NOTHING",
            hash=seen.hash,
            coin=seen.coin,
            at=micros(seen.at),
            body=canonical({"bids": _levels(seen.bids), "asks": _levels(seen.asks)}),
        )
        first(self._sql, SNAPSHOT + self._lock, hash=seen.hash)

    def taken(self, snapshot: str, *, is_buy: bool) -> Taken:
        """What paper orders took of one side of a snapshot, by level."""
        rows = self._sql.rows(
            "SELECT body FROM paper_entries WHERE snapshot = :hash", hash=snapshot
        )
        bodies = [json.loads(r["body"]) for r in rows]
        return summed(
            (Decimal(b["level"]), Decimal(b["size"])) for b in bodies if b["is_buy"] == is_buy
        )

    # -- the house's own round

    def wake(self, book: str, now: datetime, due: datetime) -> None:
        """Look at a book from now on, if nobody does yet."""
        self._sql.run(
            "UPDATE paper_watch SET seen_at = :now, due_at = :due "
            "WHERE book = :book AND due_at IS NULL",
            book=book,
            now=micros(now),
            due=micros(due),
        )

    def due(self, now: datetime, most: int) -> list[tuple[str, datetime]]:
        """Books that are to be looked at, and when each was last, the longest due first."""
        rows = self._sql.rows(
            "SELECT book, seen_at FROM paper_watch WHERE due_at <= :now "
            "ORDER BY due_at LIMIT :most",
            now=micros(now),
            most=most,
        )
        return [(str(r["book"]), moment(r["seen_at"])) for r in rows]

    def looked(self, book: str, seen: datetime, now: datetime, due: datetime | None) -> bool:
        """Say that a book was looked at, once for each time that it was due; None: nothing there
        needs another look.
        """
        done = self._sql.run(
            "UPDATE paper_watch SET seen_at = :now, due_at = :due "
            "WHERE book = :book AND seen_at = :seen AND due_at IS NOT NULL",
            book=book,
            seen=micros(seen),
            now=micros(now),
            due=None if due is None else micros(due),
        )
        return done == 1


def book_of(row: Row) -> PaperBook:
    """A book behind its row."""
    told = json.loads(row["model"])
    return PaperBook(
        book=row["book"],
        owner_id=row["owner_id"],
        agent_id=row["agent_id"],
        name=row["name"],
        start_micros=int(row["start_micros"]),
        model=model_of(told),
        created_at=moment(row["created_at"]),
    )


def model_of(told: Any) -> Model:
    """A model behind its stored form."""
    return Model(**{**told, "depth_share": Decimal(told["depth_share"])})


def entry_of(row: Row) -> Entry:
    """An entry behind its row. Errors: ValueError, KeyError, TypeError for what is none."""
    told = json.loads(row["body"])
    marks = {coin: Decimal(px) for coin, px in told.pop("marks").items()}
    made: What = _KINDS[row["kind"]](**{name: _read(name, v) for name, v in told.items()})
    return Entry(n=int(row["n"]), at=moment(row["at"]), marks=marks, what=made)


def snapshot_of(row: Row) -> Book:
    """A snapshot behind its row."""
    told = json.loads(row["body"])
    bids, asks = (
        tuple(Level(Decimal(px), Decimal(size), n) for px, size, n in told[side])
        for side in ("bids", "asks")
    )
    return Book(row["coin"], moment(row["at"]), bids, asks, row["hash"])


def paper_hash(row: Row) -> str:
    """SHA-256 over an entry's columns, the hash of the one before among them."""
    told = canonical({n: row[n] for n in _COLUMNS if n != "row_hash"})
    return hashlib.sha256(told.encode()).hexdigest()


def _model_body(model: Model) -> dict[str, object]:
    return {
        "depth_share": format(model.depth_share, "f"),
        "latency_ms": model.latency_ms,
        "fee_tier": model.fee_tier,
        "version": model.version,
    }


def _levels(levels: Sequence[Level]) -> list[list[Any]]:
    return [[format(v.px, "f"), format(v.size, "f"), v.orders] for v in levels]


def _prices(marks: Mapping[str, Decimal]) -> dict[str, str]:
    return {coin: format(px, "f") for coin, px in marks.items()}


def _fields(made: type[What]) -> Iterable[str]:
    return made.__dataclass_fields__


def _body(what: What) -> dict[str, object]:
    return {name: _written(name, getattr(what, name)) for name in _fields(type(what))}


def _written(name: str, value: Any) -> Any:
    if name in _DECIMALS:
        return format(value, "f")
    if name in _TIMES:
        return micros(value)
    return _prices(value) if name in _PRICES else value


def _read(name: str, value: Any) -> Any:
    if name in _DECIMALS:
        return Decimal(value)
    if name in _TIMES:
        return moment(value)
    if name in _PRICES:
        return {coin: Decimal(px) for coin, px in value.items()}
    return value
