"""What is named in several places is named in all of them: whoever adds one is told of the rest."""

from __future__ import annotations

import ast
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from app.views.agents import NUMBERS
from app.views.approval import CHECKS
from app.views.components import policy_log
from app.views.statement import BREACHES
from app.words.steps import TITLES
from domain.agents.policy import JSON_FIELDS, Policy, PolicyFields
from domain.ledger.events.chain_events import CHAIN_EVENTS, ChainEvent
from domain.ledger.state.measured import COUNTS
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.rules.action_checks import ActionRequest, action_checks
from domain.rules.rule_codes import CLAUSE_OF
from storage.repositories import mandates, policies
from tests.domain.material import CALL, MARKET, deposit, ledger, usdc
from tools.actions import execute_call
from tools.agents.policy import PolicyIn, PolicyOut
from tools.trading.orders.routes import CITING

ROOT = Path(__file__).parents[2]


def named(of: Any) -> set[str]:
    return {f.name for f in fields(of)}


def of_type(of: Any, wanted: type) -> set[str]:
    """The fields of a class that hold a value of a type, or None."""
    hints = get_type_hints(of)
    return {f.name for f in fields(of) if wanted in (hints[f.name], *get_args(hints[f.name]))}


# -- a policy's field


def test_a_field_of_a_policy_is_kept_taken_and_answered() -> None:
    kept = named(Policy) - {"updated_at"}
    assert named(PolicyFields) == kept
    assert set(PolicyIn.model_fields) - {"agent_id"} == kept
    assert kept <= set(PolicyOut.model_fields)


def test_the_form_of_a_policy_has_every_field_for_what_it_leaves_out_is_unset() -> None:
    shown = {*NUMBERS, *JSON_FIELDS, "accepts_mandates"}
    assert shown == named(PolicyFields) == set(policy_log.FIELDS)


@pytest.mark.parametrize(
    ("of", "stored"),
    [(Policy, policies.MONEY), (Mandate, mandates.MONEY)],
    ids=["policy", "mandate"],
)
def test_an_amount_is_stored_as_one(of: Any, stored: Any) -> None:
    assert of_type(of, Usdc) == set(stored)


def test_a_time_of_a_mandate_is_stored_as_one() -> None:
    assert of_type(Mandate, datetime) == mandates.TIMES | set(mandates.POLLED)


# -- a rule

# Told only of what was done: nobody asks for calldata of another's action, or of one done twice.
ONLY_FLAGGED = {"agent_mismatch", "duplicate_tx"}
# The same rule, by the name that it has as a refusal.
REFUSED_AS = {"not_accepted": "mandate_not_accepted"}
# An order waits for no approval, and what is idle in the vault is not what it spends.
NOT_OF_ORDERS = {"approval_missing", "over_budget"}


def checked() -> set[str]:
    wanted = ActionRequest(MARKET, CALL, usdc(1))
    return {c.code for c in action_checks(ledger(deposit(500)).case(), wanted)}


def refused_by_orders() -> set[str]:
    """What `mandate_refuses` refuses with."""
    tree = ast.parse((ROOT / "domain" / "rules" / "order_rules.py").read_text())
    (last,) = [n for n in tree.body if getattr(n, "name", "") == "policy_refuses"]
    calls = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        and getattr(n.func, "id", "") == "refusal"
        and n.lineno < last.lineno
    ]
    return {ast.literal_eval(c.args[0]) for c in calls}


def test_a_rule_that_flags_what_was_done_refuses_what_is_asked() -> None:
    assert {REFUSED_AS.get(c, c) for c in CLAUSE_OF} - ONLY_FLAGGED == checked()


def test_a_rule_that_refuses_an_action_refuses_an_order() -> None:
    assert refused_by_orders() - {"wrong_status"} == checked() - NOT_OF_ORDERS


def test_a_rule_that_refuses_is_among_the_refusals_of_its_operation() -> None:
    (call,) = [op for op in execute_call.OPERATIONS if op.name == "mandate_execute_call"]
    assert checked() - {"approval_missing"} <= set(call.refusals)
    assert refused_by_orders() <= set(CITING)


def test_a_rule_has_its_words_on_the_pages() -> None:
    assert set(BREACHES) == set(CLAUSE_OF)
    assert set(CHECKS) == checked() - {"approval_missing"}


# -- an event of the chain


@pytest.mark.parametrize("event", CHAIN_EVENTS, ids=lambda e: e.log)
def test_an_event_is_in_the_measured_book_and_has_a_title(event: ChainEvent) -> None:
    assert event.payload_type in COUNTS
    assert event.step[1] in TITLES
