"""What a day has used, and what is left of the vault's cash."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.agents.policy import Policy
from domain.chain_facts import BlockStamp, VaultState
from domain.rules.caps import available_cash, spent_on, unrecorded_spend
from domain.rules.snapshot import OrdersToday
from domain.times import day_of
from tests.domain.material import START, VAULT, case, deposit, ledger, row, usdc


def vault(cash: str | int, spent_today: str | int = 0, *, exists: bool = True) -> VaultState:
    block = BlockStamp(9, "0x", START)
    return VaultState(VAULT, block, exists, cash=usdc(cash), spent_today=usdc(spent_today))


def test_todays_fills_lower_no_other_days_claims() -> None:
    claim = row("buy", 110, notional=True, ordered=True, target={"market": "BTC"})
    state = ledger(deposit(500), claim).state
    fills = OrdersToday(live=usdc(110), filled=usdc(110))
    assert spent_on(case(state=state, orders=fills), day_of(START)) == usdc(0)
    tomorrow = case(state=state, orders=fills, now=START + timedelta(days=1))
    assert spent_on(tomorrow, day_of(START)) == usdc(110)


@pytest.mark.parametrize(
    ("cash", "cap", "left", "by"),
    [(300, 200, 200, "policy"), (100, 200, 100, "mandate"), (200, 200, 200, "mandate")],
)
def test_the_smaller_of_cash_and_a_policys_budget_is_available(
    cash: int, cap: int, left: int, by: str
) -> None:
    policy = Policy(total_cap_usdc=usdc(cap))
    state = ledger(deposit(cash)).state
    assert available_cash(case(state=state, policy=policy)) == (usdc(left), by)
    read = case(state=state, policy=policy, chain=vault(cash))
    assert available_cash(read) == (usdc(left), by)
    assert available_cash(case(policy=policy)) == (usdc(cap), "policy"), "cash is unknown"


def test_a_vault_that_is_not_made_yet_says_nothing_of_the_cash_or_the_day() -> None:
    at = case(state=ledger(deposit(300)).state, chain=vault(7, 5, exists=False))
    assert available_cash(at) == (usdc(300), "mandate")
    assert unrecorded_spend(at) == usdc(0)
    assert unrecorded_spend(case(chain=vault(300, 5))) == usdc(5)
