"""Statements on what was brought: no database is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.brought.answers import ANSWERS
from storage.brought.snapshot import Snapshot
from storage.sql import NotBrought, Row


class BroughtSql:
    """The statements of a handler that reads, answered by a snapshot."""

    dialect = "postgresql"

    def __init__(self, snapshot: Snapshot):
        self._snapshot = snapshot

    def rows(self, text: str, /, **values: Any) -> Sequence[Row]:
        """Run a query. Errors: `NotBrought`."""
        answer = ANSWERS.get(text)
        if answer is None:
            raise NotBrought(text)
        return answer(self._snapshot, values)

    def run(self, text: str, /, **values: Any) -> int:
        """Nothing is written here. Errors: `NotBrought`."""
        raise NotBrought(text)
