"""The mandate read: every derivation of one mandate, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from domain.mandates.card import card_footer, card_header
from domain.mandates.clauses import clauses
from domain.mandates.mandate import MandateAttributes
from domain.money import Usdc
from domain.reads.event_rows import ledger_row
from domain.reads.fees import fees
from domain.reads.limits import limits
from domain.reads.progress import progress
from domain.reads.purse import payments_read, purse_read
from domain.reads.record import steps
from domain.reads.withdrawal_lock import as_of, chain_state, lock
from domain.rules.action_checks import remaining
from domain.rules.exposure import exposure
from domain.rules.snapshot import MandateSnapshot, ShownStatus
from domain.wire_fields import copy_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSummary:
    """The figures that tell mandates apart."""

    worth_est: Usdc | None
    realized: Usdc
    cash: Usdc | None
    floor: Usdc
    status: ShownStatus
    day: int | None
    horizon_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateSummary:
    """A row of the mandate list: attributes, figures, the largest action that is possible now, and
    what lies in the purse, null where there is none or it cannot be computed.
    """

    public_id: str
    status: str
    mandate: MandateAttributes
    progress: ProgressSummary
    pending_approvals: int
    possible_now: Usdc
    in_purse: Usdc | None


PARTS: Final[Mapping[str, Callable[[MandateSnapshot], object]]] = {
    "mandate": lambda snapshot: snapshot.mandate.attributes(),
    "progress": progress,
    "events": lambda snapshot: tuple(ledger_row(e) for e in snapshot.events),
    "clauses": lambda snapshot: clauses(
        snapshot.mandate, snapshot.switches, keeper_key=snapshot.keeper_key
    ),
    "card_header": lambda snapshot: card_header(snapshot.mandate),
    "card_footer": lambda snapshot: card_footer(snapshot.mandate),
    "limits": limits,
    "fees": fees,
    "steps": steps,
    "lock": lock,
    "chain_state": chain_state,
    "as_of": as_of,
    "exposure": exposure,
    "x402": purse_read,
    "payments": payments_read,
    "terms_status": lambda snapshot: snapshot.terms_status,
}
"""The derivation behind each key of the mandate read."""

OF_TERMS: Final = frozenset({"mandate", "clauses", "card_header", "card_footer"})
"""Those that look at the mandate, the switches and the keeper's key alone, so that they change with
these only."""


def summary(snapshot: MandateSnapshot) -> MandateSummary:
    """A row of the mandate list: attributes and the figures that tell mandates apart."""
    mandate, purse = snapshot.mandate, purse_read(snapshot)
    return MandateSummary(
        public_id=mandate.public_id,
        status=mandate.status.value,
        mandate=mandate.attributes(),
        progress=copy_fields(ProgressSummary, progress(snapshot)),
        pending_approvals=sum(a.status == "pending" for a in snapshot.approvals),
        possible_now=remaining(snapshot).value,
        in_purse=None if purse is None else purse.in_purse,
    )
