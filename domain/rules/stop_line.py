"""The stop line: what the keeper asks before it closes anything."""

from __future__ import annotations

from datetime import datetime

from domain.rules.case import Book


def at_stop_line(book: Book) -> bool:
    """True where two fresh marks in a row stand at or below the floor (contract 5); an unknown or
    stale mark says nothing.

    A funded vault only: before the first deposit there is nothing to lose.
    """
    marks = (book.state.whole_mark, book.state.earlier_mark)
    if not book.state.deposits:
        return False
    return all(
        m is not None and _fresh(book, str(m["at"])) and m["cash"] + m["positions"] <= m["floor"]
        for m in marks
    )


def _fresh(book: Book, at: str) -> bool:
    try:
        return (book.now - datetime.fromisoformat(at)).total_seconds() <= book.config.mark_fresh_s
    except ValueError:
        return False
