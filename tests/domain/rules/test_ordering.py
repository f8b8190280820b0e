"""What a mandate and a policy say to an order at a venue."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.agents.policy import Policy
from domain.mandates.mandate import Mandate, Status
from domain.mandates.targets import Target
from domain.rules.ordering import (
    OrderWanted,
    mandate_refuses,
    may_trade,
    policy_refuses,
    venues_of,
)
from tests.domain.material import START, case, deposit, executed, ledger, mandate, usdc

VENUE = Target("venue", venue="hyperliquid", symbols=("BTC", "xyz:XYZ100"))


def of_venue(**more: Any) -> Mandate:
    return mandate(allowed_targets=(Target("vault"), VENUE), **more)


def an_order(amount: str = "20", **more: Any) -> OrderWanted:
    plain: dict[str, Any] = {
        "product": "BTC", "mode": "live", "amount": usdc(amount), "reduce_only": False, "counted": usdc(0),
    }  # fmt: skip
    return OrderWanted(**(plain | more))


def code(m: Mandate, wanted: OrderWanted, **more: Any) -> str | None:
    refused = mandate_refuses(case(m, **more), wanted)
    return None if refused is None else refused.kind.code


def test_an_order_within_the_mandate_passes() -> None:
    assert code(of_venue(), an_order()) is None
    assert code(of_venue(), an_order("50")) is None


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"accepted_at": None}, "mandate_not_accepted"),
        ({"status": Status.STOPPED}, "mandate_stopped"),
        ({"status": Status.SETTLED}, "mandate_stopped"),
        ({"status": Status.SIGNED}, "wrong_status"),
        ({"paused_at": START}, "mandate_paused"),
        ({"ends_at": START + timedelta(hours=1)}, "mandate_ended"),
    ],
)
def test_a_mandate_that_is_not_working_takes_no_order(
    changes: dict[str, Any], refused: str
) -> None:
    assert code(of_venue(**changes), an_order()) == refused


def test_only_named_products_of_the_venue() -> None:
    assert code(of_venue(), an_order(product="ETH")) == "target_not_allowed"
    assert code(mandate(), an_order()) == "target_not_allowed"
    every = mandate(allowed_targets=(replace(VENUE, symbols=()),))
    assert may_trade(every, "ETH")
    assert not may_trade(mandate(allowed_targets=(replace(VENUE, venue="other"),)), "BTC")


def test_the_caps_of_the_mandate_bind_and_the_stricter_policy_before_them() -> None:
    assert code(of_venue(), an_order("50.000001")) == "over_per_tx_cap"
    strict = Policy(per_tx_cap_usdc=usdc(15))
    assert code(of_venue(), an_order("16"), policy=strict) == "over_per_tx_cap"


def test_live_orders_share_the_day_with_the_vault_and_paper_only_with_paper() -> None:
    rows = ledger(deposit(500), executed(100, 100, tx="0xe1")).state
    assert code(of_venue(), an_order("50"), state=rows) is None
    assert code(of_venue(), an_order("50", counted=usdc(1)), state=rows) == "over_daily_cap"
    assert code(of_venue(), an_order("50", mode="paper", counted=usdc(100)), state=rows) is None
    assert (
        code(of_venue(), an_order("50", mode="paper", counted=usdc(101)), state=rows)
        == "over_daily_cap"
    )


def test_what_only_shrinks_a_position_meets_no_cap() -> None:
    assert code(of_venue(), an_order("400", reduce_only=True, counted=usdc(150))) is None


def test_the_stop_line_counts_what_venue_fills_came_to() -> None:
    rows = ledger(deposit(500)).state
    assert code(of_venue(), an_order(result=usdc(-100)), state=rows) is None
    assert code(of_venue(), an_order(result=usdc("-100.000001")), state=rows) == "below_stop_line"
    assert code(of_venue(), an_order(mode="paper", result=usdc(-300)), state=rows) is None


@pytest.mark.parametrize(
    ("policy", "open_now", "refused"),
    [
        (None, 0, "target_not_allowed"),
        (Policy(), 0, "target_not_allowed"),
        (Policy(venues=["other"]), 0, "target_not_allowed"),
        (Policy(venues=["hyperliquid"]), 0, None),
        (Policy(venues=[{"venue": "Hyperliquid"}]), 0, None),
        (Policy(venues="hyperliquid"), 0, None),
        (Policy(venues={"hyperliquid": True}), 0, "target_not_allowed"),
        (Policy(venues=["hyperliquid"], per_tx_cap_usdc=usdc(19)), 0, "over_per_tx_cap"),
        (Policy(venues=["hyperliquid"], total_cap_usdc=usdc(50)), 30, None),
        (Policy(venues=["hyperliquid"], total_cap_usdc=usdc(50)), 31, "over_budget"),
    ],
)
def test_what_an_owners_policy_says(
    policy: Policy | None, open_now: int, refused: str | None
) -> None:
    told = policy_refuses(policy, "BTC", usdc(20), usdc(open_now))
    assert (told.kind.code if told else None) == refused


def test_venues_of_an_owners_own_json_are_read_without_trust() -> None:
    assert venues_of(Policy(venues=[1, None, {"x": 1}, "A"])) == ("a",)
