"""The rules that an action can break: code, clause, sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.mandates.mandate import ClauseKey

CLAUSE_OF: Final[Mapping[str, ClauseKey]] = {
    "over_per_tx_cap": ClauseKey.PER_ACTION,
    "over_daily_cap": ClauseKey.PER_DAY,
    "over_budget": ClauseKey.BUDGET,
    "target_not_allowed": ClauseKey.MARKETS,
    "mandate_stopped": ClauseKey.AT_STOP,
    "mandate_ended": ClauseKey.PERIOD,
    "mandate_paused": ClauseKey.YOUR_FLOORS,
    "not_accepted": ClauseKey.YOUR_FLOORS,
    "below_stop_line": ClauseKey.STOP_LINE,
    "approval_missing": ClauseKey.ASKING,
    "agent_mismatch": ClauseKey.YOUR_FLOORS,
    "duplicate_tx": ClauseKey.YOUR_FLOORS,
}


RULE_TEXT: Final[Mapping[str, str]] = {
    "over_per_tx_cap": "No action above the cap per action",
    "over_daily_cap": "No more in a UTC day than the cap per day",
    "over_budget": "Never more at risk than the budget",
    "target_not_allowed": "Only the allowed targets",
    "mandate_stopped": "Nothing after the stop",
    "mandate_ended": "Nothing after the end date",
    "mandate_paused": "Nothing while paused",
    "not_accepted": "Nothing before acceptance",
    "below_stop_line": "No new risk below the stop line",
    "approval_missing": "Ask the owner above the approval amount",
    "agent_mismatch": "Only the agent of the terms acts",
    "duplicate_tx": "One report a transaction",
}
