"""The rules of a mandate: one entry each, in the order in which they are published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from domain.mandates.mandate import ClauseKey
from domain.rules import amount_rules as amounts
from domain.rules import status_rules as status
from domain.rules import target_rules as targets
from domain.rules.rule import After, Before, JudgedRow, MandateRule, Numbers, Row

_REPORTS: Final = frozenset({Row.STATEMENT, Row.REPEAT, Row.CLAIM})
_CLAIMS: Final = frozenset({Row.CLAIM})
# The rules that the vault does not enforce; chain.md says which those are.
_EXECUTED: Final = frozenset({Row.EXECUTED})

PER_ACTION: Final = MandateRule(
    code="over_per_tx_cap",
    clause=ClauseKey.PER_ACTION,
    text="No action above the cap per action",
    broken="An action above the per-action limit",
    holds="Within the per-action limit (clause 2)",
    fails="Above the per-action limit (clause 2): the vault would refuse it",
    before=Before(6, amounts.within_cap, names_remaining=True),
    order=amounts.within_cap,
    after=(After(7, _CLAIMS | _EXECUTED, amounts.above_cap),),
)
PER_DAY: Final = MandateRule(
    code="over_daily_cap",
    clause=ClauseKey.PER_DAY,
    text="No more in a UTC day than the cap per day",
    broken="More in a day than the day limit",
    holds="Within what is left today (clause 3)",
    fails="More than is left today (clause 3): the vault would refuse it before 00:00 UTC",
    before=Before(7, amounts.within_day, needs_vault=True, names_remaining=True),
    order=amounts.order_within_day,
    after=(After(9, _CLAIMS, amounts.above_day),),
)
BUDGET: Final = MandateRule(
    code="over_budget",
    clause=ClauseKey.BUDGET,
    text="Never more at risk than the budget",
    broken="More than the budget",
    holds="The vault has the cash for it",
    fails="The vault has not the cash for it",
    before=Before(8, amounts.within_cash, needs_vault=True, names_remaining=True),
    after=(
        After(8, _CLAIMS | _EXECUTED, amounts.above_budget),
        After(10, _CLAIMS, amounts.above_cash),
    ),
)
TARGET: Final = MandateRule(
    code="target_not_allowed",
    clause=ClauseKey.MARKETS,
    text="Only the allowed targets",
    broken="A call that is not on the list",
    holds="The call is on your list (clause 5)",
    fails="The call is not on your list (clause 5): the vault would refuse it",
    before=Before(5, targets.listed),
    order=targets.order_listed,
    after=(
        After(13, _CLAIMS, targets.claimed_unlisted),
        After(13, frozenset({Row.FACT, Row.STATEMENT, Row.REPEAT}), targets.paid_unlisted),
    ),
)
STOPPED: Final = MandateRule(
    code="mandate_stopped",
    clause=ClauseKey.AT_STOP,
    text="Nothing after the stop",
    broken="An action after the stop",
    holds="The mandate is not stopped",
    fails="The mandate is stopped",
    quiet=True,
    before=Before(2, status.not_stopped, bar=1, needs_vault=True),
    order=status.not_stopped,
    after=(
        After(3, _REPORTS, status.reported_after_stop),
        After(3, _EXECUTED, status.executed_after_stop),
    ),
)
ENDED: Final = MandateRule(
    code="mandate_ended",
    clause=ClauseKey.PERIOD,
    text="Nothing after the end date",
    broken="An action after the end",
    holds="Before the end date (clause 8)",
    fails="Past the end date (clause 8)",
    quiet=True,
    before=Before(4, status.not_ended, bar=2),
    order=status.not_ended,
    after=(After(5, _REPORTS, status.after_end),),
)
PAUSED: Final = MandateRule(
    code="mandate_paused",
    clause=ClauseKey.YOUR_FLOORS,
    text="Nothing while paused",
    broken="An action while it was paused",
    holds="The agent is not paused",
    fails="The agent is paused",
    quiet=True,
    before=Before(3, status.not_paused, bar=4, needs_vault=True),
    order=status.not_paused,
    after=(After(6, _REPORTS, status.reported_while_paused),),
)
ACCEPTED: Final = MandateRule(
    code="not_accepted",
    refused_as="mandate_not_accepted",
    clause=ClauseKey.YOUR_FLOORS,
    text="Nothing before acceptance",
    broken="An action before the agent had accepted",
    holds="The agent has accepted the mandate",
    fails="The agent has not accepted the mandate",
    quiet=True,
    before=Before(1, status.accepted, bar=3),
    order=status.accepted,
    after=(After(2, _REPORTS | _EXECUTED, status.before_acceptance),),
)
STOP_LINE: Final = MandateRule(
    code="below_stop_line",
    clause=ClauseKey.STOP_LINE,
    text="No new risk below the stop line",
    broken="An action below the stop line",
    holds="The mandate stands above its stop line (clause 4)",
    fails="The mandate stands below its stop line (clause 4)",
    before=Before(9, amounts.within_line, bar=5, needs_vault=True),
    order=amounts.order_within_line,
    after=(After(11, _CLAIMS, amounts.below_line),),
)
APPROVAL: Final = MandateRule(
    code=amounts.APPROVAL_MISSING,
    clause=ClauseKey.ASKING,
    text="Ask the owner above the approval amount",
    broken="An action without your approval",
    before=Before(10, amounts.approved, waits=True),
    after=(After(12, _CLAIMS | _EXECUTED, amounts.unapproved),),
)
AGENT: Final = MandateRule(
    code="agent_mismatch",
    clause=ClauseKey.YOUR_FLOORS,
    text="Only the agent of the terms acts",
    broken="An action that the agent did not make",
    after=(After(4, _EXECUTED, targets.executed_by_other),),
)
REPEAT: Final = MandateRule(
    code="duplicate_tx",
    clause=ClauseKey.YOUR_FLOORS,
    text="One report a transaction",
    broken="One transaction reported twice",
    after=(After(1, frozenset({Row.REPEAT}), targets.reported_again),),
)

EXPLAINED: Final = MandateRule(
    code="payment_unreported",
    clause=ClauseKey.MARKETS,
    text="What a payment of the purse bought is said within the hour",
    broken="A payment of which nobody said what it bought",
    after=(After(14, frozenset({Row.FACT}), targets.unexplained),),
)

RULES: Final = (
    PER_ACTION, PER_DAY, BUDGET, TARGET, STOPPED, ENDED,
    PAUSED, ACCEPTED, STOP_LINE, APPROVAL, AGENT, REPEAT, EXPLAINED,
)  # fmt: skip
BY_CODE: Final[Mapping[str, MandateRule]] = {rule.code: rule for rule in RULES}

# The checks before an action, in the order of the refusals.
CHECKED: Final = sorted(
    ((rule, rule.before) for rule in RULES if rule.before), key=lambda pair: pair[1].place
)
REFUSING: Final = tuple(rule for rule, before in CHECKED if not before.waits)
BY_REFUSAL: Final[Mapping[str, MandateRule]] = {rule.refusal: rule for rule in REFUSING}
# What bars every action, in the order in which it is told.
BARS: Final = sorted(
    ((rule, before) for rule, before in CHECKED if before.bar), key=lambda pair: pair[1].bar or 0
)
_JUDGEMENTS: Final = sorted(
    ((rule, after) for rule in RULES for after in rule.after), key=lambda pair: pair[1].place
)
JUDGED: Final[Mapping[Row, Sequence[tuple[MandateRule, Callable[[JudgedRow], Numbers | None]]]]] = {
    row: [(rule, after.judge) for rule, after in _JUDGEMENTS if row in after.rows] for row in Row
}


def clause_of(code: str) -> int | None:
    """The number of the clause that a broken rule belongs to; None for a code that is no rule's."""
    rule = BY_CODE.get(code)
    return None if rule is None else int(rule.clause)
