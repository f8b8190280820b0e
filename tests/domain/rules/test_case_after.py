"""A case with newer books is the same case in everything else."""

from __future__ import annotations

from dataclasses import fields

from domain.ledger.state.ledger_state import LedgerState
from domain.rules.snapshot import MandateSnapshot


def test_only_the_books_are_newer() -> None:
    """Each field holds a thing of its own, so that none is left out or in another's place."""
    names = [f.name for f in fields(MandateSnapshot)]
    case = MandateSnapshot(**{name: object() for name in names})  # type: ignore[arg-type]  # what is in a field does not matter here
    books = LedgerState(seq=7)
    newer = case.with_state(books)
    assert newer.state is books
    assert [n for n in names if getattr(newer, n) is not getattr(case, n)] == ["state"]
