"""Movements: the amounts that one ledger row moves, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from domain.ledger.events import payloads
from domain.ledger.events.payloads import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """The amounts that one row of the house moves, in micro-USDC."""

    deposited: int = 0
    withdrawn: int = 0
    paid: int = 0
    spent: int = 0
    received: int = 0

    @property
    def flow(self) -> int:
        """The owner's money, in less out."""
        return self.deposited - self.withdrawn

    @property
    def cash(self) -> int:
        """The change of the vault's cash."""
        return self.flow - self.paid - self.spent + self.received


STILL: Final = Movement()


def movement_of(payload: Payload | None, amount: int) -> Movement:
    """The movement that a payload books; `amount` is its row's, 0 where it has none."""
    match payload:
        case payloads.Deposited():
            return Movement(deposited=amount)
        case payloads.Withdrawn():
            return Movement(withdrawn=amount)
        case payloads.AgentPaid():
            return Movement(paid=amount)
        case payloads.Executed():
            return Movement(spent=payload.spent.micros, received=payload.received.micros)
        case payloads.Unwound():
            return Movement(received=payload.received.micros)
        case (
            None
            | payloads.Stopped()
            | payloads.Settled()
            | payloads.Control()
            | payloads.Marked()
            | payloads.PurseMoved()
            | payloads.LogReversed()
            | payloads.ClaimEnded()
            | payloads.PaymentUnexplained()
            | payloads.OwnerNoticed()
        ):
            return STILL
        case (
            payloads.VenueFilled()
            | payloads.TermsSigned()
            | payloads.ApprovalDecided()
            | payloads.AgentStatement()
            | payloads.RefusedAttempt()
        ):
            return STILL
        case unhandled:  # the type checker names a payload type that is missing here
            assert_never(unhandled)
