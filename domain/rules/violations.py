"""Rules that a reported or executed action can break; breaking one flags the row, it never refuses
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.pairing import partner
from domain.ledger.events.payloads import AgentStatement, Executed
from domain.money import ZERO, Usdc
from domain.rules.rule import JudgedRow, MandateRule, Numbers, Row
from domain.rules.rule_table import JUDGED
from domain.rules.snapshot import MandateSnapshot

SPENDING: Final = frozenset({LedgerKind.BUY, LedgerKind.MOVE})
ACTING: Final = frozenset({LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE})


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """One broken rule with its numbers."""

    rule: MandateRule
    numbers: Numbers

    @property
    def code(self) -> str:
        """The code that flags the row."""
        return self.rule.code

    def detail(self) -> dict[str, object]:
        """The numbers, with the clause."""
        return {"clause": int(self.rule.clause), **asdict(self.numbers)}


def violations(
    snapshot: MandateSnapshot, event: NewEvent, same_tx: Sequence[Event] = ()
) -> list[BrokenRule]:
    """Every rule that a row breaks, as the mandate stood before it.

    Shapes: `same_tx` are the rows that already name its transaction, oldest first.
    Source: contract 5 (violation codes); equality passes. What the chain has told of is judged by
    the chain's facts, and only by what the vault does not enforce, at its own place in the chain;
    so both rows of a pair get the same verdict in either order. Contract 3: whatever the agent
    reports while it has no say is flagged, money in it or not.
    """
    row, twin = _row(event, same_tx)
    source = event if twin is None else twin
    body, spent = source.content.body, outflow(event)
    requested = spent
    called = body if row is Row.EXECUTED and isinstance(body, Executed) else None
    if called is not None:
        spent = called.spent
        requested = max(spent, called.approved) if spent else ZERO
    elif row is Row.EXECUTED:
        return []  # unwinding is what a closed vault is for
    judged = JudgedRow(snapshot, event, source.occurred_at, spent, requested, called, twin)
    verdicts = ((rule, judge(judged)) for rule, judge in JUDGED[row])
    return [BrokenRule(rule, numbers) for rule, numbers in verdicts if numbers is not None]


def _row(event: NewEvent, same_tx: Sequence[Event]) -> tuple[Row, Event | None]:
    """The form of a row, and its twin where it is of a pair."""
    acts = event.kind in ACTING
    if event.reported_by is not Reporter.AGENT:
        return (Row.EXECUTED if acts else Row.FACT), None
    if _repeats(event, same_tx):
        return Row.REPEAT, None
    if not acts:
        return Row.STATEMENT, None
    twin = partner(event, same_tx)
    return (Row.CLAIM if twin is None else Row.EXECUTED), twin


def _repeats(event: NewEvent, same_tx: Sequence[Event]) -> bool:
    """True for a second report of one transaction: of the same kind, or of another action."""
    acts = event.kind in ACTING
    return event.kind is not LedgerKind.NOTE and any(
        e.reported_by is Reporter.AGENT and (e.kind is event.kind or (acts and e.kind in ACTING))
        for e in same_tx
    )


def outflow(event: NewEvent | Event) -> Usdc:
    """The USDC that an action takes out: 0 for a sale or a move in."""
    statement = event.content.body
    came_in = isinstance(statement, AgentStatement) and statement.direction == "in"
    if event.kind not in SPENDING or event.amount_usdc is None or came_in:
        return ZERO
    return event.amount_usdc


def with_violation(event: NewEvent, broken: list[BrokenRule]) -> Mapping[str, object]:
    """The payload with its `violation` block (spec 2.4 rule 2)."""
    if not broken:
        return event.payload
    detail = {b.code: b.detail() for b in broken}
    return {**event.payload, "violation": {"codes": [b.code for b in broken], "detail": detail}}
