"""Whether rows add up to the vault: what ended, too, and after it was settled as before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.chain_facts import BlockStamp, VaultState
from domain.ledger.state.measured import MeasuredBook, SettlementResult, VaultClosed
from domain.rules.reconciliation import totals_match

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
VAULT = VaultState("0x1", BlockStamp(9, "0x", AT), True)
STOP = VaultClosed(at=AT, block=3, log_index=0)
SETTLED = SettlementResult(at=AT, returned=0, spent=0, gain=0, agent_fee=0)


@pytest.mark.parametrize("settled", [False, True])
def test_a_stop_that_no_row_tells_of_is_seen_also_of_a_settled_vault(settled: bool) -> None:
    rows = MeasuredBook(settled=SETTLED if settled else None)
    vault = replace(VAULT, settled=settled, stopped=True)
    assert not totals_match(rows, vault)
    assert totals_match(replace(rows, stopped=STOP), vault)


def test_a_vault_that_was_settled_past_its_end_was_never_stopped() -> None:
    assert totals_match(MeasuredBook(settled=SETTLED), replace(VAULT, settled=True))


@pytest.mark.parametrize("stopped", [False, True])
def test_a_settlement_that_no_row_tells_of_is_seen(stopped: bool) -> None:
    rows = MeasuredBook(stopped=STOP if stopped else None)
    assert not totals_match(rows, replace(VAULT, settled=True, stopped=stopped))


def test_a_stop_for_another_reason_than_the_vaults_is_seen() -> None:
    rows = MeasuredBook(stopped=replace(STOP, reason="floor"))
    assert totals_match(rows, replace(VAULT, stopped=True, stop_reason=3))
    assert not totals_match(rows, replace(VAULT, stopped=True, stop_reason=1))


def test_another_agent_than_the_terms_name_is_seen() -> None:
    mine, other = "0x" + "aB" * 20, "0x" + "cd" * 20
    assert totals_match(MeasuredBook(), replace(VAULT, agent=mine.lower()), agent=mine)
    assert totals_match(MeasuredBook(), VAULT, agent=mine)
    assert not totals_match(MeasuredBook(), replace(VAULT, agent=other), agent=mine)
