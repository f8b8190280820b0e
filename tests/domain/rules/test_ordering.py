"""What a mandate and a policy say to an order at a venue."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from domain.agents.policy import Policy
from domain.ledger.events.payloads import CallTarget
from domain.mandates.mandate import Mandate, Status
from domain.mandates.targets import Target
from domain.rules.action_checks import remaining
from domain.rules.caps import day_used
from domain.rules.order_rules import mandate_refuses, policy_refuses, venues_of
from domain.rules.rule import OrderCheck
from domain.rules.snapshot import OrdersToday
from domain.rules.target_rules import ordered
from domain.rules.venue_exposure import may_trade
from domain.settings import Switches
from tests.domain.material import (
    START,
    case,
    deposit,
    executed,
    ledger,
    mandate,
    mandate_read,
    row,
    usdc,
    venue_fill,
)

VENUE = Target("venue", venue="hyperliquid", symbols=("BTC", "xyz:XYZ100"))


def of_venue(**more: Any) -> Mandate:
    return mandate(allowed_targets=(Target("vault"), VENUE), **more)


def an_order(amount: str = "20", **more: Any) -> OrderCheck:
    plain: dict[str, Any] = {
        "product": "BTC", "mode": "live", "amount": usdc(amount), "reduce_only": False,
    }  # fmt: skip
    return OrderCheck(**(plain | more))


def code(mandate: Mandate, wanted: OrderCheck, **more: Any) -> str | None:
    refused = mandate_refuses(case(mandate, **more), wanted)
    return None if refused is None else refused.kind.code


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, None),
        ({"accepted_at": None}, "mandate_not_accepted"),
        ({"status": Status.STOPPED}, "mandate_stopped"),
        ({"status": Status.SETTLED}, "mandate_stopped"),
        ({"status": Status.SIGNED}, "wrong_status"),
        ({"paused_at": START}, "mandate_paused"),
        ({"ends_at": START + timedelta(hours=1)}, "mandate_ended"),
    ],
)
def test_a_mandate_that_is_not_working_takes_no_order(
    changes: dict[str, Any], refused: str | None
) -> None:
    assert code(of_venue(**changes), an_order()) == refused


def test_only_named_products_of_the_venue() -> None:
    assert code(of_venue(), an_order(product="ETH")) == "target_not_allowed"
    assert code(mandate(), an_order()) == "target_not_allowed"
    every = mandate(allowed_targets=(replace(VENUE, symbols=()),))
    assert may_trade(every, "ETH")
    assert not may_trade(mandate(allowed_targets=(replace(VENUE, venue="other"),)), "BTC")


def test_the_caps_of_the_mandate_bind_and_the_stricter_policy_before_them() -> None:
    assert code(of_venue(), an_order("50")) is None
    assert code(of_venue(), an_order("50.000001")) == "over_per_tx_cap"
    strict = Policy(per_tx_cap_usdc=usdc(15))
    assert code(of_venue(), an_order("16"), policy=strict) == "over_per_tx_cap"


def test_live_orders_share_the_day_with_the_vault_and_paper_only_with_paper() -> None:
    rows = ledger(deposit(500), executed(100, 100, tx="0xe1")).state
    assert code(of_venue(), an_order("50"), state=rows) is None
    one = OrdersToday(live=usdc(1))
    assert code(of_venue(), an_order("50"), state=rows, orders=one) == "over_daily_cap"
    paper, on_paper = OrdersToday(paper=usdc(100)), an_order("50", mode="paper")
    assert code(of_venue(), on_paper, state=rows, orders=paper) is None
    paper = OrdersToday(paper=usdc("100.000001"))
    assert code(of_venue(), on_paper, state=rows, orders=paper) == "over_daily_cap"
    assert code(of_venue(), an_order("50"), state=rows, orders=paper) is None


def test_an_order_is_told_when_it_fits_a_day_that_is_held_not_spent() -> None:
    """Whether a claim has landed nobody knows who did not read the vault; what is spent or rests counts until midnight."""
    said = ledger(deposit(500), row("buy", 149, tx="0x01", at=START)).state
    now = START + timedelta(minutes=5)
    claimed = mandate_refuses(case(of_venue(), said, now=now), an_order("2"))
    assert claimed is not None
    assert claimed.retry_at == START.replace(hour=0) + timedelta(days=1)
    resting = case(of_venue(), orders=OrdersToday(live=usdc(149)))
    refused = mandate_refuses(resting, an_order("2"))
    assert refused is not None
    assert refused.retry_at == START.replace(hour=0) + timedelta(days=1)


def test_an_order_that_is_priced_anew_counts_itself_once() -> None:
    mine = OrdersToday(live=usdc(120))
    assert code(of_venue(), an_order("50"), orders=mine) == "over_daily_cap"
    assert code(of_venue(), an_order("50", own=usdc(20)), orders=mine) is None


def test_a_call_of_the_vault_has_the_day_less_live_orders() -> None:
    at = case(of_venue(), ledger(deposit(500)).state, orders=OrdersToday(live=usdc(110)))
    assert day_used(at) == usdc(110)
    assert (remaining(at).value, remaining(at).binding.key) == (usdc(40), "per_day")
    told = mandate_read(at)["limits"]
    assert told["used"]["per_day"]["value"] == "0.000000", "the vault's book stays the vault's"
    assert told["used"]["orders_per_day"]["live"] == "110.000000"
    assert told["allowed"]["orders_per_day"]["value"] == "150.000000"
    assert "orders_per_day" not in mandate_read(case())["limits"]["used"]


def test_a_fill_that_an_agent_reports_too_counts_once_and_the_larger_of_both() -> None:
    said = row("buy", 110, notional=True, ordered=True, target={"market": "BTC"})
    state = ledger(deposit(500), said).state
    assert day_used(case(of_venue(), state)) == usdc(110), "a claim alone counts"
    both = OrdersToday(live=usdc(110), filled=usdc(110))
    assert day_used(case(of_venue(), state, orders=both)) == usdc(110)
    more = OrdersToday(live=usdc(140), filled=usdc(120))
    assert day_used(case(of_venue(), state, orders=more)) == usdc(140)
    less = OrdersToday(live=usdc(60), filled=usdc(30))
    assert day_used(case(of_venue(), state, orders=less)) == usdc(140), "what rests is no fill yet"
    host = row("buy", 110, notional=True, target={"market": "api.example"})
    paid = case(of_venue(), ledger(deposit(500), host).state, orders=OrdersToday(live=usdc(30), filled=usdc(30)))  # fmt: skip
    assert day_used(paid) == usdc(140), "a paid host is not the venue"


def test_what_is_at_the_venue_whose_orders_are_made_here_is_told_by_its_fills() -> None:
    m, place = of_venue(), CallTarget(market="BTC")
    assert ordered(m, place)
    assert not ordered(m, CallTarget(market="ETH"))
    assert not ordered(mandate(allowed_targets=(replace(VENUE, venue="other"),)), place)


def test_what_only_shrinks_a_position_meets_no_cap() -> None:
    full = OrdersToday(live=usdc(150))
    assert code(of_venue(), an_order("400", reduce_only=True), orders=full) is None


def test_the_stop_line_counts_what_venue_fills_came_to() -> None:
    rows = ledger(deposit(500), venue_fill("0.002", "64000")).state
    on = {"testnet": {"BTC": Decimal(14_000)}}  # 128 became 28: just at the line of 400
    assert code(of_venue(), an_order(), state=rows, marks=on) is None
    below = {"testnet": {"BTC": Decimal("13999.5")}}
    assert code(of_venue(), an_order(), state=rows, marks=below) == "below_stop_line"
    assert code(of_venue(), an_order(mode="paper"), state=rows, marks=below) is None
    # What is not known says nothing, and the other network's result is not this one's.
    assert code(of_venue(), an_order(), state=rows) is None
    mainnet = Switches(venue_mainnet=True)
    assert code(of_venue(), an_order(), state=rows, marks=below, switches=mainnet) is None


HERE: dict[str, Any] = {"venues": ["hyperliquid"]}


@pytest.mark.parametrize(
    ("policy", "open_now", "refused"),
    [
        (None, 0, "target_not_allowed"),
        ({}, 0, "target_not_allowed"),
        ({"venues": ["other"]}, 0, "target_not_allowed"),
        (HERE, 0, None),
        ({"venues": [{"venue": "Hyperliquid"}]}, 0, None),
        ({"venues": "hyperliquid"}, 0, None),
        ({"venues": {"hyperliquid": True}}, 0, "target_not_allowed"),
        (HERE | {"per_tx_cap_usdc": usdc(19)}, 0, "over_per_tx_cap"),
        (HERE | {"total_cap_usdc": usdc(50)}, 30, None),
        (HERE | {"total_cap_usdc": usdc(50)}, 31, "over_budget"),
    ],
)
def test_what_an_owners_policy_says(
    policy: dict[str, Any] | None, open_now: int, refused: str | None
) -> None:
    told = policy_refuses(
        None if policy is None else Policy(**policy), "BTC", usdc(20), usdc(open_now)
    )
    assert (told.kind.code if told else None) == refused


def test_venues_of_an_owners_own_json_are_read_without_trust() -> None:
    assert venues_of(Policy(venues=[1, None, {"x": 1}, "A"])) == ("a",)
