"""Accounts of paper books: the newest checkpoint and the entries after it, so that a read costs the
same in a book of ten entries and of ten thousand. The entries stay the truth.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.trading.paper.account_codec import from_json, to_json
from domain.trading.paper.entries import Entry, PaperBook
from domain.trading.paper.replay import PaperAccount, apply_entry, open_account
from storage.repositories.paper_codec import entry_of
from storage.sql import Row, Sql, columns, first, micros

EVERY: Final = 64
KEPT: Final = 1_024
FOLD: Final = 1  # a number more with every change of what a replay comes to
CHECKPOINTS: Final = "SELECT n, last_at, state FROM paper_checkpoints WHERE book = :book ORDER BY n"
_NEAREST: Final = (
    "SELECT c.n, c.state, e.row_hash FROM paper_checkpoints c "
    "JOIN paper_entries e ON e.book = c.book AND e.n = c.n WHERE c.book = :book AND "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAt:
    """An account after entry `n` of its book."""

    account: PaperAccount
    n: int = 0


class AccountCache:
    """Accounts by the hash of the entry that they end at, which names one state of one book."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, PaperAccount] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, row_hash: str) -> PaperAccount | None:
        """The account at that entry, if it is kept."""
        return self._kept.get(row_hash)

    def put(self, row_hash: str, account: PaperAccount) -> None:
        """Keep an account; the one least lately put goes first."""
        with self._lock:
            self._kept[row_hash] = account
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)


class PaperCheckpointRepository:
    """Accounts of paper books, folded from the nearest checkpoint on."""

    def __init__(self, sql: Sql, cache: AccountCache):
        self._sql, self._cache = sql, cache

    def account(self, book: PaperBook) -> PaperAccount:
        """The account of a book now."""
        head = first(
            self._sql,
            "SELECT row_hash FROM paper_entries WHERE book = :book ORDER BY n DESC LIMIT 1",
            book=book.book,
        )
        if head is None:
            return open_account(book.start_micros)
        cached = self._cache.get(head["row_hash"])
        if cached is None:
            at = self._nearest(book, "c.n <= :most", most=2**62)
            cached = _folded(at, self._behind(book.book, at.n)).account
            self._cache.put(head["row_hash"], cached)
        return cached

    def entered(self, row: Row, entry: Entry) -> None:
        """Go on from a kept account to the entry that was just written behind it."""
        before = self._cache.get(str(row["prev_hash"]))
        if before is not None:
            self._cache.put(str(row["row_hash"]), apply_entry(before, entry))

    def at(self, book: PaperBook, moment: datetime) -> PaperAccount:
        """The account of a book by its entries up to a time, inclusive, whatever the order in which
        they were entered.
        """
        at = self._nearest(book, "c.last_at <= :moment", moment=micros(moment))
        return _folded(at, [e for e in self._behind(book.book, at.n) if e.at <= moment]).account

    def recent(self, book: PaperBook, limit: int) -> tuple[PaperAccount, list[Entry]]:
        """The newest entries, at least `most` where there are so many, and the account that they
        begin from.
        """
        last = first(
            self._sql, "SELECT MAX(n) AS n FROM paper_entries WHERE book = :book", book=book.book
        )
        count = int(last["n"] or 0) if last else 0
        at = self._nearest(book, "c.n <= :most", most=max(0, count - limit))
        return at.account, self._behind(book.book, at.n)

    def keep(self, book: PaperBook, n: int) -> None:
        """Write a checkpoint where one is due at entry `n`."""
        if n % EVERY:
            return
        at = self._nearest(book, "c.n < :most", most=n)
        entries = self._behind(book.book, at.n)
        head = first(
            self._sql,
            "SELECT row_hash, (SELECT MAX(at) FROM paper_entries WHERE book = :book) AS last_at "
            "FROM paper_entries WHERE book = :book AND n = :n",
            book=book.book,
            n=n,
        )
        if head is None:
            raise LookupError(f"{book.book} has no entry {n}")
        self._sql.run(
            "INSERT INTO paper_checkpoints " + columns(("book", "n", "last_at", "state")),
            book=book.book,
            n=n,
            last_at=int(head["last_at"]),
            state=checkpoint_text(_folded(at, entries).account, head["row_hash"]),
        )

    def _behind(self, book: str, n: int) -> list[Entry]:
        rows = self._sql.rows(
            "SELECT * FROM paper_entries WHERE book = :book AND n > :n ORDER BY n", book=book, n=n
        )
        return [entry_of(row) for row in rows]

    def _nearest(self, book: PaperBook, where: str, **values: int) -> AccountAt:
        """The newest checkpoint that fits; the begin of the book where there is none, or where what
        is stored is none: a changed one is never shown, and `db verify` tells of it.
        """
        row = first(
            self._sql, _NEAREST + where + " ORDER BY c.n DESC LIMIT 1", book=book.book, **values
        )
        checkpoint = None if row is None else checkpointed(row["state"], row["row_hash"])
        if row is None or checkpoint is None or checkpoint.start != book.start_micros:
            return AccountAt(account=open_account(book.start_micros))
        return AccountAt(account=checkpoint, n=int(row["n"]))


def _folded(at: AccountAt, entries: Sequence[Entry]) -> AccountAt:
    account, n = at.account, at.n
    for entry in entries:
        account, n = apply_entry(account, entry), entry.n
    return AccountAt(account=account, n=n)


def checkpoint_text(account: PaperAccount, row_hash: str) -> str:
    """A checkpoint's text: a digest of what it stands for, and the account."""
    body = json.dumps(to_json(account), separators=(",", ":"))
    return f"{_digest(row_hash, body)}:{body}"


def checkpointed(text: str, row_hash: str) -> PaperAccount | None:
    """The account of a checkpoint; None where it was not made by this replay at this very entry."""
    stored_hash, _, body = text.partition(":")
    return from_json(json.loads(body)) if stored_hash == _digest(row_hash, body) else None


def _digest(row_hash: str, body: str) -> str:
    return hashlib.sha256(f"{FOLD}:{row_hash}:{body}".encode()).hexdigest()


def faults_of(
    book: PaperBook, entries: Sequence[Entry], rows: Sequence[Row], checkpoints: Sequence[Row]
) -> list[tuple[int, str]]:
    """Checkpoints that are not what the replay comes to there, with their entry's number."""
    due = {int(c["n"]): c for c in checkpoints}
    account, last, faults = open_account(book.start_micros), 0, []
    for entry, row in zip(entries, rows, strict=True):
        account, last = apply_entry(account, entry), max(last, int(row["at"]))
        stored = due.pop(entry.n, None)
        if stored is None:
            continue
        same = stored["state"] == checkpoint_text(account, row["row_hash"])
        if not same or int(stored["last_at"]) != last:
            faults.append((entry.n, "the checkpoint is not what the entries come to"))
    return faults + [(n, "the checkpoint stands at no entry") for n in sorted(due)]
