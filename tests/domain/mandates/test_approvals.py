"""Approval items: one decision, and none after their time; policies: what a save changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from domain.agents.policy import Policy, changes
from domain.mandates.approvals import Approval, decided
from domain.refusals import Refused
from tests.domain.material import MARKET, SELECTOR, START, usdc, words
from tools.model.serialization import wire

PLACE = {"market": None, "address": MARKET, "selector": SELECTOR}
END = START + timedelta(days=1)
ITEM = Approval("ap_1", "m_1", "pending", PLACE, "0x", "h", usdc(30), "why", START, END)
SHOWN = words(
    "approval_id public_id status target data approve_amount_usdc clause why requested_at "
    "expires_at decided_at note"
)


def test_a_decision_is_made_once_and_repeating_it_changes_nothing() -> None:
    yes = decided(ITEM, "approve", "fine", START)
    assert (yes.status, yes.note, yes.decided_at) == ("approved", "fine", START)
    assert decided(yes, "approve", "again", START + timedelta(hours=1)) is yes
    assert decided(replace(yes, status="used"), "approve", None, START).status == "used"
    with pytest.raises(Refused, match="conflict"):
        decided(yes, "decline", None, START)
    no = decided(ITEM, "decline", None, START)
    assert decided(no, "decline", None, START) is no
    with pytest.raises(Refused, match="conflict"):
        decided(no, "approve", None, START)


def test_an_item_is_good_for_a_day_and_not_at_its_end() -> None:
    assert ITEM.status_at(END - timedelta(microseconds=1)) == "pending"
    assert ITEM.status_at(END) == "expired"
    assert replace(ITEM, status="approved").status_at(END) == "expired"
    assert replace(ITEM, status="declined").status_at(END) == "declined"
    with pytest.raises(Refused, match="approval_expired"):
        decided(ITEM, "approve", None, END)


def test_the_item_on_the_wire_is_the_contract_s() -> None:
    told = wire(ITEM.as_item(START.astimezone(UTC)))
    assert set(told) == SHOWN
    assert (told["clause"], told["approve_amount_usdc"]) == (6, "30.000000")
    assert told["decided_at"] is None


def test_a_first_policy_lists_what_it_sets_and_an_unchanged_save_nothing() -> None:
    first = Policy(per_tx_cap_usdc=usdc("5.0"), accepts_mandates=True, updated_at=START)
    assert changes(None, first) == {
        "per_tx_cap_usdc": {"from": None, "to": "5.000000"},
        "accepts_mandates": {"from": False, "to": True},
    }
    assert changes(first, replace(first, per_tx_cap_usdc=usdc("5.00"), updated_at=END)) == {}


def test_only_true_allows_an_overdraft() -> None:
    assert Policy(auto_vs_approval={"allow_overdraft": True}).allow_overdraft
    assert not any(
        Policy(auto_vs_approval=v).allow_overdraft
        for v in (None, {}, {"allow_overdraft": 1}, {"allow_overdraft": "true"}, [])
    )


def test_one_and_true_are_two_settings() -> None:
    """Only `true` allows an overdraft, so that a change between the two is a change."""
    one, yes = (Policy(auto_vs_approval={"allow_overdraft": v}) for v in (1, True))
    assert (one.allow_overdraft, yes.allow_overdraft) == (False, True)
    assert set(changes(one, yes)) == set(changes(yes, one)) == {"auto_vs_approval"}
    assert changes(yes, yes) == {}
    assert changes(Policy(assets=["USDC", 1]), Policy(assets=["USDC", True])) != {}
