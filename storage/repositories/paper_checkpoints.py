"""Accounts of paper books: the newest checkpoint and the entries after it, so that a read costs the
same in a book of ten entries and of ten thousand. The entries stay the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from domain.trading.paper.entries import Entry, PaperBook
from domain.trading.paper.replay import PaperAccount, apply_entry, open_account
from storage.repositories.paper_codec import entry_of
from storage.repositories.recent_cache import RecentCache
from storage.repositories.state_codec import PAPER
from storage.sql import Repository, Row, Sql, columns, first, micros, number

EVERY: Final = 64
KEPT: Final = 1_024
CHECKPOINTS: Final = "SELECT n, last_at, state FROM paper_checkpoints WHERE book = :book ORDER BY n"
_NEAREST: Final = (
    "SELECT c.n, c.state, e.row_hash FROM paper_checkpoints c "
    "JOIN paper_entries e ON e.book = c.book AND e.n = c.n WHERE c.book = :book AND "
)
LAST: Final = "SELECT n, row_hash FROM paper_entries WHERE book = :book ORDER BY n DESC LIMIT 1"
_HEAD: Final = (
    "SELECT row_hash, (SELECT MAX(at) FROM paper_entries WHERE book = :book) AS last_at "
    "FROM paper_entries WHERE book = :book AND n = :n"
)
_PUT: Final = "INSERT INTO paper_checkpoints " + columns(("book", "n", "last_at", "state"))
AccountCache: TypeAlias = RecentCache[str, PaperAccount]
"""Accounts by the hash of the entry that they end at, which names one state of one book."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAt:
    """An account after entry `n` of its book."""

    account: PaperAccount
    n: int = 0

    def after(self, entries: Iterable[Entry]) -> AccountAt:
        """The account after further entries."""
        at = self
        for entry in entries:
            at = replace(at, account=apply_entry(at.account, entry), n=entry.n)
        return at


class PaperCheckpointRepository(Repository):
    """Accounts of paper books, folded from the nearest checkpoint on."""

    def __init__(self, sql: Sql, cache: AccountCache):
        super().__init__(sql)
        self._cache = cache

    def account(self, book: PaperBook) -> PaperAccount:
        """The account of a book now."""
        head = first(self._sql, LAST, book=book.book)
        if head is None:
            return open_account(book.start_micros)
        cached = self._cache.get(head["row_hash"])
        if cached is None:
            at = self._nearest(book, "c.n <= :most", most=2**62)
            cached = at.after(self._behind(book.book, at.n)).account
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
        return at.after(e for e in self._behind(book.book, at.n) if e.at <= moment).account

    def recent(self, book: PaperBook, limit: int) -> tuple[PaperAccount, list[Entry]]:
        """The newest entries, at least `most` where there are so many, and the account that they
        begin from.
        """
        text = "SELECT MAX(n) AS n FROM paper_entries WHERE book = :book"
        count = number(self._sql, text, book=book.book)
        at = self._nearest(book, "c.n <= :most", most=max(0, count - limit))
        return at.account, self._behind(book.book, at.n)

    def keep(self, book: PaperBook, n: int) -> None:
        """Write a checkpoint where one is due at entry `n`."""
        if n % EVERY:
            return
        at = self._nearest(book, "c.n < :most", most=n)
        account = at.after(self._behind(book.book, at.n)).account
        head = first(self._sql, _HEAD, book=book.book, n=n)
        if head is None:
            raise LookupError(f"{book.book} has no entry {n}")
        row = {"book": book.book, "n": n, "state": PAPER.text(account, head["row_hash"])}
        self._sql.run(_PUT, **row, last_at=int(head["last_at"]))

    def _behind(self, book: str, n: int) -> list[Entry]:
        text = "SELECT * FROM paper_entries WHERE book = :book AND n > :n ORDER BY n"
        return [entry_of(row) for row in self._sql.rows(text, book=book, n=n)]

    def _nearest(self, book: PaperBook, where: str, **values: int) -> AccountAt:
        """The newest checkpoint that fits; the begin of the book where there is none, or where what
        is stored is none: a changed one is never shown, and `db verify` tells of it.
        """
        text = _NEAREST + where + " ORDER BY c.n DESC LIMIT 1"
        row = first(self._sql, text, book=book.book, **values)
        checkpoint = None if row is None else PAPER.state(row["state"], row["row_hash"])
        if row is None or checkpoint is None or checkpoint.start != book.start_micros:
            return AccountAt(account=open_account(book.start_micros))
        return AccountAt(account=checkpoint, n=int(row["n"]))


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
        text, at = str(stored["state"]), row["row_hash"]
        same = text == PAPER.text(account, at) or PAPER.is_of_another_version(text, at)
        if not same or int(stored["last_at"]) != last:
            faults.append((entry.n, "the checkpoint is not what the entries come to"))
    return faults + [(n, "the checkpoint stands at no entry") for n in sorted(due)]
