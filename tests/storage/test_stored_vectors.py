"""Recorded vectors: every stored JSON is written byte for byte as it was, and reads as it did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payload_codec import read, write
from domain.ledger.state.day_totals import DayTotals, RolledDay
from storage.repositories import approvals, mandates, order_codec, paper_codec
from storage.repositories.paper_checkpoints import checkpoint_text as account_text
from storage.repositories.paper_checkpoints import checkpointed as account_of
from storage.repositories.policies import PolicyRepository
from storage.repositories.state_cache import checkpoint_text, checkpointed
from storage.sql import canonical

VECTORS = json.loads(Path(__file__).with_name("stored_vectors.json").read_text())
"""`payloads`: kind of row, stored text, the text that is written of what was read, what was read.
`columns`: name, stored text (of a row where other columns are part of the value), and the first
half of a SHA-256 of what was read.
"""


@pytest.mark.parametrize(("kind", "text", "written", "value"), VECTORS["payloads"])
def test_a_payload_is_read_and_written_as_it_was(
    kind: str, text: str, written: str, value: str
) -> None:
    content = read(LedgerKind(kind), json.loads(text))
    assert repr(content) == value
    assert canonical(write(content)) == written


class _Put:
    dialect, locks = "sqlite", ""

    def run(self, text: str, /, **values: Any) -> int:
        self.values = values
        return 1


def _policy(text: str) -> tuple[Any, str]:
    row, sql = json.loads(text), _Put()
    policies = PolicyRepository(sql)  # type: ignore[arg-type]
    policy: Any = policies._policy(row)
    policies.put("a", policy, datetime(2026, 1, 1, tzinfo=UTC))
    return policy, canonical({"body": sql.values["body"], "updated_at": row["updated_at"]})


def _order(text: str) -> tuple[Any, str]:
    order = order_codec.order_of(json.loads(text), ())
    return order, canonical(order_codec.row_of(order))


def _approval(text: str) -> tuple[Any, str]:
    item = approvals._item(json.loads(text))
    return item, canonical(approvals._item_row(item))


def _mandate(text: str) -> tuple[Any, str]:
    mandate = mandates._decoded(text)
    return mandate, str(mandates._row(mandate, 1)["body"])


def _fill(text: str) -> tuple[Any, str]:
    fill = order_codec.fill_of(text)
    return fill, order_codec.fill_body(fill)


def _model(text: str) -> tuple[Any, str]:
    model = paper_codec.model_of(json.loads(text))
    return model, canonical(paper_codec.model_body(model))


def _entry(text: str) -> tuple[Any, str]:
    row = json.loads(text)
    entry = paper_codec.entry_of(row)
    body = {"marks": paper_codec.prices(entry.marks), **paper_codec.body_of(entry.payload)}
    row = {**row, "kind": paper_codec.NAMES[type(entry.payload)], "body": canonical(body)}
    return entry, canonical({**row, "row_hash": paper_codec.paper_hash(row)})


def _snapshot(text: str) -> tuple[Any, str]:
    row = json.loads(text)
    book = paper_codec.snapshot_of(row)
    body = {"bids": paper_codec.levels(book.bids), "asks": paper_codec.levels(book.asks)}
    return book, canonical({**row, "body": canonical(body)})


def _account(text: str) -> tuple[Any, str]:
    account = account_of(text, "h")
    assert account is not None
    return replace(account, holdings=dict(account.holdings)), account_text(account, "h")


def _state(text: str) -> tuple[Any, str]:
    state = checkpointed(text, "h")
    assert state is not None
    return state, checkpoint_text(state, "h")


def _day(text: str) -> tuple[Any, str]:
    day = DayTotals.from_json(json.loads(text))
    return day, json.dumps(day.as_json(), separators=(",", ":"))


def _rolled(text: str) -> tuple[Any, str]:
    day = RolledDay.from_json(json.loads(text))
    return day, json.dumps(day.as_json(), separators=(",", ":"))


COLUMNS: dict[str, Callable[[str], tuple[Any, str]]] = {
    "approvals": _approval, "mandates.body": _mandate, "policies": _policy, "orders": _order,
    "order_fills.body": _fill, "paper_books.model": _model, "paper_entries": _entry,
    "paper_snapshots": _snapshot, "paper_checkpoints.state": _account,
    "ledger_checkpoints.state": _state, "day_totals": _day, "rolled_day": _rolled,
}  # fmt: skip


@pytest.mark.parametrize(("column", "text", "digest"), VECTORS["columns"])
def test_a_column_is_read_and_written_as_it_was(column: str, text: str, digest: str) -> None:
    is_old = column.endswith(".old")  # of before a key was added: it is read, and written with it
    value, written = COLUMNS[column.removesuffix(".old")](text)
    assert hashlib.sha256(repr(value).encode()).hexdigest()[:16] == digest
    assert is_old or written == text
