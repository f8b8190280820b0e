"""Statements on what was brought: no database is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from storage.prefetch.prefetched_rows import PrefetchedRows, pair
from storage.prefetch.statement_answers import READ_ANSWERS, WRITING
from storage.repositories import approvals, idempotency
from storage.repositories import ledger_queries as ledger
from storage.sql import PrefetchMiss, Row


class PrefetchedSql:
    """The statements of a handler that reads, answered by a snapshot."""

    dialect = "postgresql"

    def __init__(self, snapshot: PrefetchedRows):
        self._snapshot = snapshot

    def rows(self, text: str, /, **values: Any) -> Sequence[Row]:
        """Run a query. Errors: `PrefetchMiss`."""
        return _answered(READ_ANSWERS, text, self._snapshot, values)

    def run(self, text: str, /, **values: Any) -> int:
        """Nothing is written here. Errors: `PrefetchMiss`."""
        raise PrefetchMiss(text)

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Nothing is written here. Errors: `PrefetchMiss`."""
        raise PrefetchMiss(text)


@dataclass(slots=True)
class Changes:
    """What handlers want written under one mandate, in their order."""

    events: list[Row] = field(default_factory=list)
    checkpoints: list[Row] = field(default_factory=list)
    claims: dict[str, Row] = field(default_factory=dict)
    reservations: dict[str, Row] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.events or self.checkpoints or self.claims or self.reservations)

    def join(self, others: Changes) -> None:
        """Add those of a handler that returned."""
        self.events += others.events
        self.checkpoints += others.checkpoints
        self.claims |= others.claims
        self.reservations |= others.reservations


class BufferedSql:
    """The statements of a handler that writes about one mandate: those behind it in the batch see
    what it wrote, and `undo` takes it all back.
    """

    dialect = "postgresql"

    def __init__(self, snapshot: PrefetchedRows, public_id: str):
        self.public_id, self.changes = public_id, Changes()
        self._snapshot = snapshot
        self._before: list[tuple[str, str, Sequence[Row]]] = []

    def rows(self, text: str, /, **values: Any) -> Sequence[Row]:
        """Run a query. Errors: `PrefetchMiss`."""
        return _answered(WRITING, text, self._snapshot, values)

    def run(self, text: str, /, **values: Any) -> int:
        """Run a statement; the number of rows it touched. Errors: `PrefetchMiss`."""
        write = WRITES.get(text)
        if write is None or values.get("public_id", self.public_id) != self.public_id:
            raise PrefetchMiss(text)
        return write(self, values)

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Many rows have a transaction of their own. Errors: `PrefetchMiss`."""
        raise PrefetchMiss(text)

    def undo(self) -> None:
        """As if it had not been run."""
        for kind, key, rows in reversed(self._before):
            self._snapshot.rows.setdefault(kind, {})[key] = [*rows]

    def known(self, kind: str, key: str) -> Sequence[Row]:
        """The rows of a key as they are now."""
        return self._snapshot.of(kind, key)

    def covers(self, key: str) -> bool:
        """Whether a claim, or a transaction's rows, were brought."""
        return key in self._snapshot.pairs

    def put(self, kind: str, key: str, *rows: Row) -> None:
        """Rows in place of those of a key."""
        self._before.append((kind, key, self.known(kind, key)))
        self._snapshot.rows.setdefault(kind, {})[key] = [*rows]


def _answered(
    answers: Mapping[str, Callable[[PrefetchedRows, Row], Sequence[Row]]],
    text: str,
    snapshot: PrefetchedRows,
    values: Row,
) -> Sequence[Row]:
    answer = answers.get(text)
    if answer is None:
        raise PrefetchMiss(text)
    return answer(snapshot, values)


def _add_row(b: BufferedSql, row: Row) -> int:
    b.put("row", b.public_id, *b.known("row", b.public_id), row)
    named = pair(b.public_id, row["tx_hash"] or "")
    if b.covers(named):
        b.put("of_tx", named, *b.known("of_tx", named), row)
    b.changes.events.append(row)
    return 1


def _begin_head(b: BufferedSql, _: Row) -> int:
    if b.known("head", b.public_id):
        return 0
    started = {"seq": 0, "row_hash": "", "created_at": 0}
    b.put("head", b.public_id, started | {"sought": True, "state": None, "behind": 0})
    return 1


def _move_head(b: BufferedSql, values: Row) -> int:
    heads = b.known("head", b.public_id)
    b.put("head", b.public_id, *({**head, **values} for head in heads))
    return len(heads)


def _check(b: BufferedSql, row: Row) -> int:
    b.changes.checkpoints.append(row)
    return 1


def _claim(b: BufferedSql, values: Row) -> int:
    key = pair(values["scope"], values["key"])
    # What is done outside is claimed until a time; it has a transaction of its own.
    if not b.covers(key) or values["until"] is not None:
        raise PrefetchMiss(key)
    if b.known("claim", key):
        return 0
    _keep(
        b,
        key,
        {
            "scope": values["scope"],
            "key": values["key"],
            "request_hash": values["hash"],
            "claimed_at": values["at"],
            "status": None,
            "response": None,
            "until_at": None,
        },
    )
    return 1


def _complete(b: BufferedSql, values: Row) -> int:
    key = pair(values["scope"], values["key"])
    claim = b.changes.claims.get(key)
    if claim is None:
        raise PrefetchMiss(key)
    _keep(b, key, {**claim, "status": values["status"], "response": values["response"]})
    return 1


def _keep(b: BufferedSql, key: str, claim: Row) -> None:
    b.put("claim", key, claim)
    b.changes.claims[key] = claim


def _hand_out(b: BufferedSql, row: Row) -> int:
    others = [
        r for r in b.known("reservation", b.public_id) if r["action_hash"] != row["action_hash"]
    ]
    b.put("reservation", b.public_id, *others, row)
    b.changes.reservations[row["action_hash"]] = row
    return 1


WRITES: Final[Mapping[str, Callable[[BufferedSql, Row], int]]] = {
    ledger.INSERT: _add_row,
    ledger.BEGIN_HEAD: _begin_head,
    ledger.MOVE_HEAD: _move_head,
    ledger.CHECK: _check,
    idempotency.CLAIM: _claim,
    idempotency.COMPLETE: _complete,
    approvals.HAND_OUT: _hand_out,
}
