"""A ledger with every kind of row and with damaged payloads is verified and read."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import Any

import pytest

from domain.ledger.state.ledger_state import EMPTY, LedgerState
from domain.rules.snapshot import MandateSnapshot
from domain.settings import Config, Switches
from storage.integrity.ledger_check import verify
from storage.repositories.event_row import row_hash
from storage.schema import migrate
from storage.sql import canonical, micros
from storage.store import open_store
from tests.databases import PATIENT
from tests.domain.material import MARKET, START, mandate, mandate_read

pytestmark = pytest.mark.anyio

Row = tuple[str, str, int | None, str | None, int | None, dict[str, Any] | list[Any] | None]
CALLED = {"target": MARKET, "selector": "0x6e553f65", "market": "test-market", "label": "Deposit"}
GONE = {"event_id": "ev_9", "seq": 9, "kind": "move", "amount_usdc": "5.000000", "tx_hash": "0x05", "occurred_at": "2026-11-02T09:00:00.000Z",
        "payload": {"executed": {**CALLED, "spent": "5.000000", "received": "0.000000"}, "log_index": 0}}  # fmt: skip
# kind, by, micros, transaction, block, payload
ROWS: list[Row] = [
    ("signed", "owner", None, None, None, {"digest": "0xab", "signer_type": "eoa"}),
    ("deposit", "chain", 500_000_000, "0x01", 1, {"from": "0xaa", "log_index": 0}),
    ("buy", "agent", 40_000_000, "0x02", None, {"position": {"id": "p"}, "target": {"address": MARKET}, "mark": "41.000000", "why": "cheap"}),
    ("move", "chain", 40_000_000, "0x02", 2, {"executed": {**CALLED, "spent": "40.000000", "received": "0.000000", "approved": "40.000000", "agent": "0xbb"}, "direction": "out", "log_index": 0}),
    ("note", "keeper", None, None, None, {"marked": {"cash": "460.000000", "positions": "42.000000", "floor": "400.000000", "block": 2}}),
    ("note", "chain", None, "0x03", 3, {"control": {"what": "paused", "agent": "0xbb"}, "log_index": 0}),
    ("note", "chain", None, "0x04", 4, {"control": {"what": "resumed", "agent": "0xbb"}, "log_index": 0}),
    ("note", "owner", 10_000_000, None, None, {"approval": {"approval_id": "ap_1", "status": "approved", "clause": 6}, "target": {"market": "m"}}),
    ("move", "chain", 5_000_000, "0x05", 5, {"executed": {**CALLED, "spent": "5.000000", "received": "0.000000"}, "log_index": 0}),
    ("note", "chain", None, "0x05", None, {"reverses": GONE, "text": "The chain was reorganised; this row's log is gone."}),
    ("move", "chain", 5_000_000, "0x05", 6, {"executed": {**CALLED, "spent": "5.000000", "received": "0.000000"}, "restates": "ev_9"}),
    ("sell", "agent", 3_000_000, None, None, {"violation": {"codes": ["mandate_paused"], "detail": {"mandate_paused": {"clause": 10}}}}),
    ("fee", "agent", 20_000, None, None, {"fee_kind": "x402", "resource": "https://a.example/x"}),
    ("fee", "agent", 20_000, None, None, {}),
    ("resolve", "agent", -1_000_000, None, None, {"position": {"id": "p"}}),
    ("note", "agent", None, None, None, {"refusal": {"reason": "OverPerTxCap", "source": "agent", "reason_source": "agent", "check": None}}),
    ("note", "agent", None, None, None, {"preview": {"ok": True}, "text": "checked", "next_at": "2026-11-03T00:00:00Z"}),
    # damaged
    ("buy", "agent", 1_000_000, None, None, {"mark": "lots", "position": 7, "target": [1]}),
    ("move", "chain", None, "0x06", 7, {"executed": "x", "log_index": 0}),
    ("move", "chain", None, "0x07", 8, {"executed": {"spent": "NaN", "received": -3}, "log_index": 0}),
    ("note", "chain", None, "0x08", None, {"reverses": [], "control": 3}),
    ("deposit", "chain", -5, "0x09", 9, {"from": {}, "log_index": 0}),
    ("note", "keeper", None, None, None, {"marked": {"cash": "?", "positions": None}}),
    ("note", "owner", None, None, None, [1]),
    ("note", "owner", None, None, None, None),
    ("stop", "owner", None, None, None, {"reason": "owner", "record_only": True}),
    ("move", "chain", 46_000_000, "0x0a", 10, {"unwound": {**CALLED, "spent": "0.000000", "received": "46.000000", "by": "0xaa"}, "direction": "in", "log_index": 0}),
    ("stop", "chain", None, "0x0b", 11, {"reason": "owner", "by": "0xaa", "log_index": 0}),
    ("resolve", "chain", 1_000_000, "0x0c", 12, {"settled": {"spent": "45.000000", "returned": "46.000000", "gain": "1.000000", "agent_fee": "0.100000"}, "log_index": 0}),
    ("payout", "chain", 100_000, "0x0d", 13, {"agent": "0xbb", "log_index": 0}),
    ("withdraw", "chain", 500_900_000, "0x0e", 14, {"log_index": 0}),
]  # fmt: skip


def _written(url: str) -> None:
    """A file with these rows and the head of their ledger."""
    migrate.upgrade(url)
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    before, at = "", START
    for seq, (kind, by, amount, tx, block, payload) in enumerate(ROWS, start=1):
        at += timedelta(seconds=1)
        row = {
            "public_id": "m_aaaaaaaaaa", "seq": seq, "event_id": f"ev_{seq}", "kind": kind, "reported_by": by, "amount_micros": amount,
            "tx_hash": tx, "chain_id": 84532, "log_index": 0 if block and tx and isinstance(payload, dict) and "log_index" in payload else None,
            "block_number": block, "pairs_with": 3 if seq == 4 else None, "payload": canonical(payload), "occurred_at": micros(at),
            "created_at": micros(at), "prev_hash": before,
        }  # fmt: skip
        before = row_hash(row)
        row["row_hash"] = before
        names = ", ".join(row)
        marks = ", ".join(f":{n}" for n in row)
        connection.execute(f"INSERT INTO ledger_events ({names}) VALUES ({marks})", row)
    connection.execute(
        "INSERT INTO ledger_heads VALUES ('m_aaaaaaaaaa', ?, ?, ?)", (len(ROWS), before, micros(at))
    )
    connection.commit()
    connection.close()


async def _state(url: str) -> LedgerState:
    store = await open_store(url, PATIENT)
    try:
        return await store.read(lambda uow: uow.ledger.state("m_aaaaaaaaaa"))
    finally:
        await store.close()


async def test_damaged_payloads_are_read_as_what_is_left_of_them(tmp_path: Any) -> None:
    """In: 500. Out 40 and 5, back 46: 501, less 0.1 to the agent and 500.9 to the owner: nothing is left."""
    url = f"sqlite:///{tmp_path / 'damaged.sqlite'}"
    _written(url)
    report = await verify(url)
    assert report.as_json() == {
        "ok": True, "ledgers": 1, "rows": len(ROWS), "checkpoints": 0, "balances": 0, "anchors": 0,
        "paper_books": 0, "paper_entries": 0, "findings": [],
    }  # fmt: skip
    state = await _state(url)
    m, c = state.measured, state.claimed
    assert (m.cash, m.deposits, m.spent, m.received) == (0, 500_000_000, 45_000_000, 46_000_000)
    assert (m.paused, m.settled is not None, m.stopped is not None) == (False, True, True)
    assert (c.fee_tools, c.fee_unclassified_count, c.resolved) == (20_000, 1, -1_000_000)
    assert state.violations == {"mandate_paused": 1}
    assert state.bad
    store = await open_store(url, PATIENT)
    events = tuple(await store.read(lambda uow: uow.ledger.newest("m_aaaaaaaaaa", 50)))
    await store.close()
    case = MandateSnapshot(
        mandate(), state, START + timedelta(hours=1), Config(), Switches(), events=events
    )
    view = mandate_read(case)
    assert view["progress"]["data_issue"] is True
    assert len(view["events"]) == len(ROWS)
    assert {s["kind"] for s in view["steps"]} == {
        "instruction", "research", "verify", "consent", "action", "outcome", "funding", "control", "note"
    }  # fmt: skip


async def test_a_checkpoint_that_is_no_fold_is_reported_and_never_shown(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'damaged.sqlite'}"
    _written(url)
    honest = await _state(url)
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    connection.execute(
        "INSERT INTO ledger_checkpoints VALUES ('m_aaaaaaaaaa', 8, 1, '{\"seq\": 8}')"
    )
    connection.commit()
    connection.close()
    assert await _state(url) == honest
    report = await verify(url)
    assert [(f.seq, f.what) for f in report.findings] == [
        (8, "the checkpoint is not the fold of the rows up to it")
    ]
    assert honest != EMPTY
