"""What is named in several places is named in all of them: whoever adds one is told of the rest."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from app.pages.agents import NUMBERS
from app.words import policy
from app.words.steps import TITLES
from domain.agents.policy import JSON_FIELDS, Policy, PolicyFields
from domain.ledger.events.chain_events import CHAIN_EVENTS, ChainEvent
from domain.ledger.state.measured import COUNTS
from domain.refusals import REFUSALS
from domain.rules.rule import Row
from domain.rules.rule_table import (
    AGENT,
    APPROVAL,
    BUDGET,
    BY_CODE,
    BY_REFUSAL,
    EXPLAINED,
    REPEAT,
    RULES,
)
from tools.agents.policy import PolicyIn, PolicyOut

ROOT = Path(__file__).parents[2]


def named(of: Any) -> set[str]:
    return {f.name for f in fields(of)}


# -- a policy's field


def test_a_field_of_a_policy_is_kept_taken_and_answered() -> None:
    kept = named(Policy) - {"updated_at"}
    assert named(PolicyFields) == kept
    assert set(PolicyIn.model_fields) - {"agent_id"} == kept
    assert kept <= set(PolicyOut.model_fields)


def test_the_form_of_a_policy_has_every_field_for_what_it_leaves_out_is_unset() -> None:
    shown = {*NUMBERS, *JSON_FIELDS, "accepts_mandates"}
    assert shown == named(PolicyFields) == set(policy.FIELDS)


# -- a rule


def test_what_a_rule_refuses_is_a_refusal_and_what_the_owner_is_told_of_it_has_words() -> None:
    assert set(BY_REFUSAL) <= set(REFUSALS)
    assert all(rule.holds and rule.fails for rule in BY_REFUSAL.values())
    assert all(rule.text and rule.broken for rule in RULES)


def test_no_two_rules_have_one_code_or_one_place() -> None:
    assert len(BY_CODE) == len(RULES)
    places = [rule.before.place for rule in RULES if rule.before]
    places_of_bars = [rule.before.bar for rule in RULES if rule.before and rule.before.bar]
    of_rows = [[a.place for r in RULES for a in r.after if row in a.rows] for row in Row]
    for numbers in (places, places_of_bars, *of_rows):
        assert len(set(numbers)) == len(numbers)


def test_a_rule_that_flags_what_was_done_refuses_what_is_asked() -> None:
    """But for another's action, one told twice, or a payment: nobody asks for calldata of those."""
    assert [rule for rule in RULES if not rule.before] == [AGENT, REPEAT, EXPLAINED]
    assert all(rule.after for rule in RULES)


def test_a_rule_that_refuses_an_action_refuses_an_order() -> None:
    """But for an approval, which an order never waits for, and the cash of the vault."""
    assert [rule for rule in RULES if rule.before and not rule.order] == [BUDGET, APPROVAL]


# -- an event of the chain


@pytest.mark.parametrize("event", CHAIN_EVENTS, ids=lambda e: e.log)
def test_an_event_is_in_the_measured_book_and_has_a_title(event: ChainEvent) -> None:
    assert event.payload_type in COUNTS
    assert event.step[1] in TITLES
