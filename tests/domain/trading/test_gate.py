"""Whether an order goes through: one function, and the 13 refusals in their order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.money import Usdc
from domain.refusal_kinds import orders
from domain.refusals import Refusal, refusal
from domain.settings import Switches
from domain.trading.modes import effective_mode
from domain.trading.order_caps import CapCheck, OrderLimits
from domain.trading.order_gate import (
    FieldProblem,
    GateInput,
    TooMany,
    gate,
    limit_raise,
    not_ready,
    rejected,
    verified_close,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OPEN = Switches(live_terminal=True, live_door=True, venue_mainnet=True)
TOO_MANY = TooMany(limit=10, period="minute", retry_at=NOW)
FULL = CapCheck(name="per_day", limit=Usdc(5), used=Usdc(5), attempted=Usdc(1))
RAISED = limit_raise("per_day_usdc", OrderLimits(per_order=Usdc(1), per_day=Usdc(1)))
UNKNOWN = refusal("wallet_outcome_unknown", order_id="o_1")
REJECTED = rejected("Insufficient margin.", "margin")
# What makes each code hold, from the first to the last; an order that is live otherwise.
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("wallet_rate_limited", {"throttled": TOO_MANY}),
    ("wallet_invalid_order", {"fault": FieldProblem(field="size", rule="a multiple of 0.001")}),
    ("wallet_live_off", {"switches": Switches()}),
    ("wallet_not_allowlisted", {"allowed": False}),
    ("wallet_mode_changed", {"mode_seen": "paper"}),
    ("wallet_not_ready", {"missing": not_ready("enable")}),
    ("wallet_over_cap", {"caps": (FULL,)}),
    ("wallet_limit_raise", {"raised": RAISED}),
    ("wallet_no_position", {"closing": True, "position": "none"}),
    ("wallet_signature_invalid", {"bad_signature": "other bytes"}),
    ("wallet_venue_rejected", {"rejection": REJECTED}),
    ("wallet_venue_unavailable", {"outage_reason": "it does not answer"}),
    ("wallet_outcome_unknown", {"unknown_order": UNKNOWN}),
]
LIVE = GateInput(transport="terminal", switches=OPEN, allowed=True, mode_seen="live")
CODES = [code for code, _ in FAULTS]

# A close that meets its position, or an order, with anything else that can be known of it.
attempts = st.builds(
    GateInput,
    transport=st.sampled_from(["terminal", "door"]),
    switches=st.builds(
        Switches, live_terminal=st.booleans(), live_door=st.booleans(), venue_mainnet=st.booleans()
    ),
    allowed=st.booleans(),
    mode_seen=st.sampled_from(["paper", "live", None]),
    closing=st.booleans(),
    names_book=st.booleans(),
    prepared=st.sampled_from(["paper", "live", None]),
    closes_need_allowlist=st.booleans(),
    throttled=st.sampled_from([None, None, TOO_MANY]),
    fault=st.sampled_from([None, None, FieldProblem(field="size", rule="x")]),
    missing=st.sampled_from([None, None, not_ready("link")]),
    caps=st.sampled_from([(), (FULL,)]),
    raised=st.sampled_from([None, None, RAISED]),
    position=st.sampled_from(["unasked", "open", "none", "unreadable"]),
    bad_signature=st.sampled_from([None, None, "x"]),
    rejection=st.sampled_from([None, None, REJECTED]),
    outage_reason=st.sampled_from([None, None, "x"]),
    unknown_order=st.sampled_from([None, None, UNKNOWN]),
)


def test_the_codes_are_the_13_in_their_order() -> None:
    assert [kind.code for kind in orders.KINDS] == CODES


@pytest.mark.parametrize(("code", "known"), FAULTS, ids=CODES)
def test_every_code_is_reachable_alone(code: str, known: dict[str, Any]) -> None:
    verdict = gate(replace(LIVE, **known))
    assert isinstance(verdict, Refusal)
    assert verdict.kind.code == code


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_where_several_hold_the_first_in_the_order_is_told(first: int) -> None:
    """Each with everything behind it that can hold at the same time."""
    code, known = FAULTS[first]
    later: dict[str, Any] = {}
    for other, more in FAULTS[first + 1 :]:
        # A close has no cap; an order that was meant for paper meets no lock.
        if other != "wallet_no_position" and (other != "wallet_mode_changed" or first < 2):
            later |= more
    verdict = gate(replace(LIVE, **(later | known)))
    assert isinstance(verdict, Refusal)
    assert verdict.kind.code == code


@given(attempts)
def test_the_executed_mode_is_the_one_that_was_seen(a: GateInput) -> None:
    verdict = gate(a)
    if not isinstance(verdict, Refusal) and a.mode_seen is not None and a.prepared is None:
        named = a.names_book and not a.closing
        assert verdict == ("paper" if named else a.mode_seen)


@given(attempts)
def test_what_was_prepared_in_one_mode_is_never_executed_in_the_other(a: GateInput) -> None:
    verdict = gate(a)
    if not isinstance(verdict, Refusal) and a.prepared is not None and not a.closing:
        assert verdict == a.prepared


@given(attempts)
def test_nothing_live_passes_a_shut_lock_unless_it_is_a_verified_close(a: GateInput) -> None:
    if gate(a) == "live" and effective_mode(a.switches, a.transport, allowed=a.allowed) == "paper":
        assert verified_close(a, "live")
        assert a.closing
        assert a.position == "open"
        assert a.allowed or not a.closes_need_allowlist


@given(attempts)
def test_no_cap_is_passed_but_by_a_verified_close(a: GateInput) -> None:
    verdict = gate(a)
    if not isinstance(verdict, Refusal) and any(not cap.holds for cap in a.caps):
        assert verified_close(a, verdict)


@given(attempts)
def test_a_close_whose_position_nobody_shows_is_never_live(a: GateInput) -> None:
    if a.closing and a.position != "open":
        assert gate(a) != "live"


@given(attempts, st.booleans())
def test_what_stands_in_the_way_does_not_go_away_when_more_does(a: GateInput, twice: bool) -> None:
    before = gate(a)
    after = gate(replace(a, throttled=TOO_MANY))
    assert isinstance(after, Refusal)
    assert after.kind.code == "wallet_rate_limited"
    if isinstance(before, Refusal):
        assert isinstance(gate(replace(a, unknown_order=UNKNOWN)), Refusal)


@pytest.mark.parametrize(
    ("surface", "switches", "allowed", "code", "switch"),
    [
        ("terminal", Switches(), True, "wallet_live_off", "terminal"),
        ("door", Switches(), True, "wallet_live_off", "door"),
        ("door", Switches(live_door=True), True, "wallet_live_off", "mainnet"),
        ("door", OPEN, False, "wallet_not_allowlisted", None),
        ("terminal", Switches(live_terminal=True), False, "wallet_not_allowlisted", None),
    ],
)
def test_the_refusal_says_which_lock_is_shut(
    surface: Any, switches: Switches, allowed: bool, code: str, switch: str | None
) -> None:
    told = gate(GateInput(transport=surface, switches=switches, allowed=allowed, mode_seen="live"))
    assert isinstance(told, Refusal)
    assert told.kind.code == code
    assert (told.remaining or {}).get("switch") == switch


def test_the_terminal_is_live_without_mainnet_and_the_door_is_not() -> None:
    only = Switches(live_terminal=True, live_door=True)
    assert effective_mode(only, "terminal", allowed=True) == "live"
    assert effective_mode(only, "door", allowed=True) == "paper"


def test_a_named_book_is_an_explicit_wish_for_paper_while_live() -> None:
    assert gate(replace(LIVE, mode_seen="paper", names_book=True)) == "paper"


def test_only_two_of_the_venues_refusals_may_be_tried_again() -> None:
    for kind, safe in (("no_liquidity", True), ("price_band", True), ("margin", False)):
        told = gate(replace(LIVE, rejection=rejected("no", kind)))
        assert isinstance(told, Refusal)
        assert told.as_json()["retry_safe"] is safe


def test_who_mends_it_is_the_agent_where_an_agent_called() -> None:
    told = gate(replace(LIVE, fault=FieldProblem(field="size", rule="x")))
    assert isinstance(told, Refusal)
    assert told.as_json("agent")["who_fixes"] == "agent"
    assert told.as_json("owner")["who_fixes"] == "owner"
