"""Recorded vectors: every stored JSON is written byte for byte as it was, and reads as it did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payload_codec import read, write
from domain.ledger.state.day_totals import DayTotals, RolledDay
from domain.trading.venue_values import OrderBook
from storage.codec import Codec
from storage.repositories import approvals, mandates, orders, paper_codec
from storage.repositories.policies import POLICIES
from storage.repositories.state_codec import LEDGER, PAPER, STATES, Checkpoints
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


def _policy(text: str) -> tuple[Any, str]:
    policy = POLICIES.record(json.loads(text))
    row = POLICIES.row(policy)
    return policy, canonical({"body": row["body"], "updated_at": row["updated_at"]})


def _order(text: str) -> tuple[Any, str]:
    order = orders.order_of(json.loads(text), ())
    return order, canonical(orders.row_of(order))


def _approval(text: str) -> tuple[Any, str]:
    item = approvals.APPROVALS.record(json.loads(text))
    return item, canonical(approvals.APPROVALS.row(item))


def _entry(text: str) -> tuple[Any, str]:
    row = json.loads(text)
    entry = paper_codec.entry_of(row)
    kind, body = (
        paper_codec.NAMES[type(entry.payload)],
        paper_codec.body_of(entry.payload, entry.marks),
    )
    row = {**row, "kind": kind, "body": body}
    return entry, canonical({**row, "row_hash": paper_codec.paper_hash(row)})


def _snapshot(text: str) -> tuple[Any, str]:
    book: OrderBook = paper_codec.SNAPSHOTS.record(json.loads(text))
    return book, canonical(paper_codec.SNAPSHOTS.row(book))


def _text(codec: Codec) -> Callable[[str], tuple[Any, str]]:
    def both(text: str) -> tuple[Any, str]:
        value = codec.load(text)
        return value, codec.dump(value)

    return both


def _checkpoint(checkpoints: Checkpoints[Any]) -> Callable[[str], tuple[Any, str]]:
    def both(text: str) -> tuple[Any, str]:
        state = checkpoints.state(text, "h")
        assert state is not None
        return state, checkpoints.text(state, "h")

    return both


def _list(kind: type) -> Callable[[str], tuple[Any, str]]:
    def both(text: str) -> tuple[Any, str]:
        value = STATES.of(kind).load(json.loads(text))
        return value, json.dumps(STATES.of(kind).dump(value), separators=(",", ":"))

    return both


COLUMNS: dict[str, Callable[[str], tuple[Any, str]]] = {
    "approvals": _approval, "mandates.body": _text(mandates.BODY), "policies": _policy,
    "orders": _order, "order_fills.body": _text(orders.FILL),
    "paper_books.model": _text(paper_codec.MODEL), "paper_entries": _entry,
    "paper_snapshots": _snapshot, "paper_checkpoints.state": _checkpoint(PAPER),
    "ledger_checkpoints.state": _checkpoint(LEDGER), "day_totals": _list(DayTotals),
    "rolled_day": _list(RolledDay),
}  # fmt: skip


@pytest.mark.parametrize(("column", "text", "digest"), VECTORS["columns"])
def test_a_column_is_read_and_written_as_it_was(column: str, text: str, digest: str) -> None:
    is_old = column.endswith(".old")  # of before a key was added: it is read, and written with it
    value, written = COLUMNS[column.removesuffix(".old")](text)
    assert hashlib.sha256(repr(value).encode()).hexdigest()[:16] == digest
    assert is_old or written == text
