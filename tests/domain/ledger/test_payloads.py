"""Payloads: what is written is read back, and nothing that is stored makes a read fail."""

from __future__ import annotations

import typing
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ledger.events import payloads as p
from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payload_codec import read, write
from domain.ledger.events.payload_schema import FORMS
from domain.money import Usdc

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
KEYS = st.sampled_from(
    ["position", "mark", "target", "next_at", "text", "why", "fee_kind", "resource", "preview", "direction", "executed", "unwound",
     "settled", "marked", "control", "reverses", "restates", "claim", "notice", "channel", "refusal", "approval", "violation", "log_index", "from", "agent",
     "reason", "by", "record_only", "spent", "received", "payload", "kind", "amount_usdc", "codes", "detail", "what", "block", "venue",
     "purse_moved", "purse", "payee", "nonce", "salt", "change", "to_owner", "epoch"]
)  # fmt: skip
STORED = st.recursive(JSON, lambda inner: st.dictionaries(KEYS, inner, max_size=5), max_leaves=10)
TEXT = st.none() | st.text(max_size=20)
MONEY = st.integers(0, 10**15).map(Usdc)
KIND_OF: dict[type, list[LedgerKind]] = {
    p.Deposited: [LedgerKind.DEPOSIT], p.Withdrawn: [LedgerKind.WITHDRAW], p.AgentPaid: [LedgerKind.PAYOUT], p.Stopped: [LedgerKind.STOP],
    p.TermsSigned: [LedgerKind.SIGNED], p.PaidFee: [LedgerKind.FEE], p.Settled: [LedgerKind.RESOLVE], p.Executed: [LedgerKind.MOVE], p.Unwound: [LedgerKind.MOVE],
    p.VenueFilled: [LedgerKind.BUY, LedgerKind.SELL], p.Reported: [LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE, LedgerKind.RESOLVE],
}  # fmt: skip
PLACES = st.builds(p.CallTarget, market=TEXT, address=TEXT, selector=TEXT, label=TEXT)


DATES = st.integers(1_600_000_000, 1_900_000_000).map(lambda n: datetime.fromtimestamp(n, UTC))
NOTICED = (typing.Literal["webhook", "push", "email"], typing.Literal["delivered", "failed"])
BY_HINT: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (Usdc, MONEY),
    (Usdc | None, st.none() | MONEY),
    (p.CallTarget, PLACES),
    (
        p.LotLabel | None,
        st.none() | st.builds(p.LotLabel, id=TEXT, market=TEXT, side=TEXT, label=TEXT),
    ),
    (bool, st.booleans()),
    (Decimal, st.decimals(-(10**9), 10**9, places=6)),
    (int | None, st.none() | st.integers(0, 10**9)),
    (datetime | None, st.none() | DATES),
    (str, st.text(min_size=1, max_size=12)),
    (str | None, TEXT),
    (p.Json | None, st.sampled_from([None, {}, {"a": 1}])),
    (object, st.sampled_from([None, "a", 1, {"a": [1]}])),
    (typing.Literal["in", "out"] | None, st.sampled_from([None, "in", "out"])),
    (typing.Literal["paused", "resumed"], st.sampled_from(["paused", "resumed"])),
    (p.Outcome, st.sampled_from(p.OUTCOMES)),
    (p.PurseChange, st.sampled_from(typing.get_args(p.PurseChange))),
    *((words, st.sampled_from(typing.get_args(words))) for words in NOTICED),
]


def _field(hint: Any) -> st.SearchStrategy[Any]:
    return next(made for of, made in BY_HINT if of == hint)


def _of(kind: type) -> st.SearchStrategy[Any]:
    if kind is p.LogReversed:
        return st.one_of(*(_reversal(k) for k in (p.Deposited, p.Executed, p.Settled, p.Control)))
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{f.name: _field(hints[f.name]) for f in fields(kind)})


def _reversal(kind: type) -> st.SearchStrategy[Any]:
    row = KIND_OF.get(kind, [LedgerKind.NOTE])[0]
    return st.builds(
        p.LogReversed, event_id=st.just("ev_1"), kind=st.just(row), occurred_at=st.none(), seq=st.integers(1, 9), tx_hash=TEXT,
        amount=st.none(), body=_of(kind), text=TEXT,
    )  # fmt: skip


WHAT = st.sampled_from(typing.get_args(p.Payload)).flatmap(_of)
TOLD = st.builds(
    p.EventPayload, body=WHAT, log_index=st.none() | st.integers(0, 10**6),
    violation=st.none() | st.builds(p.Violation, codes=st.lists(st.sampled_from(["a", "b"])).map(tuple), detail=st.just({"a": 1})),
    restates=st.none() | st.builds(p.LogMoved, event_id=st.text(min_size=1), log_index=st.none() | st.integers(0, 99)),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400)
@given(told=TOLD)
def test_what_is_written_is_read_back(told: p.EventPayload) -> None:
    for kind in KIND_OF.get(type(told.body), [LedgerKind.NOTE]):
        assert read(kind, write(told)) == told


@pytest.mark.slow
@settings(max_examples=600)
@given(kind=st.sampled_from(LedgerKind), stored=STORED)
def test_nothing_that_is_stored_makes_a_read_fail(kind: LedgerKind, stored: Any) -> None:
    told = read(kind, stored)
    write(told)


def test_every_kind_of_payload_can_be_written() -> None:
    assert set(FORMS) == set(typing.get_args(p.Payload))


def test_an_unusable_value_is_named_and_counts_as_nothing() -> None:
    told = read(LedgerKind.MOVE, {"executed": {"target": 7, "spent": "-1", "received": "2.5"}})
    assert told.body == p.Executed(target=p.CallTarget(), received=Usdc(2_500_000))
    assert told.unusable == (p.UnusableValue("executed.spent"), p.UnusableValue("executed.target"))


def test_a_payload_that_is_no_object_is_unusable() -> None:
    assert read(LedgerKind.NOTE, [1]) == p.EventPayload(
        body=p.Noted(), unusable=(p.UnusableValue(""),)
    )
