"""Transfer reports, and the balance deltas that each step of one brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from domain.chain_facts import Receipt, TransferLog
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.times import Timestamp
from domain.wire_fields import copy_fields, described

STATES: Final = ("idle", "reserved", "in_transit", "delivered")
REPORTED, CONFIRMED, FAILED = "reported", "confirmed", "failed"
REF_REPORT, REF_CONFIRMED, REF_FAILED = "transfer_report", "transfer_confirmed", "transfer_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReport:
    """A transfer that an agent or the chain told of (spec 2.14).

    Amounts are units of the asset with 6 decimals; `amount_actual` is what the chain moved, where
    that differs.
    """

    agent_id: str
    chain_id: int
    asset: str
    amount: Usdc
    amount_actual: Usdc | None
    tx_hash: str
    direction: str
    reported_by: str
    reported_at: Timestamp
    confirmed_at: Timestamp | None
    status: str
    override_reason: str | None = field(metadata=described("the operator's own words"))


@dataclass(frozen=True, slots=True)
class StoredTransfer:
    """One transfer report (spec 2.14); amounts in micro-units, `tx_hash` lower case."""

    chain_id: int
    tx_hash: str
    agent_id: str
    asset: str
    amount: int
    direction: str
    reported_by: str
    status: str
    reported_at: datetime
    override_reason: str | None = None
    amount_actual: int | None = None
    confirmed_at: datetime | None = None

    def as_report(self) -> TransferReport:
        """The report as it is shown."""
        return copy_fields(
            TransferReport,
            self,
            amount=Usdc(self.amount),
            amount_actual=None if self.amount_actual is None else Usdc(self.amount_actual),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One balance event, in micro-units."""

    chain_id: int
    asset: str
    state: str
    delta: int
    ref_kind: str
    ref_id: str


@dataclass(frozen=True, slots=True)
class TransferTransition:
    """A report after one transition, and its balance deltas."""

    report: StoredTransfer
    deltas: tuple[Delta, ...]


@dataclass(frozen=True, slots=True)
class TransferOutcome:
    """The chain's outcome of a reported transfer: moved `actual` micro-units, or failed (None)."""

    actual: int | None


def units(amount: int) -> str:
    """Micro-units as text with 6 decimals."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 1_000_000}.{abs(amount) % 1_000_000:06d}"


def _deltas(report: StoredTransfer, ref_kind: str, **states: int) -> tuple[Delta, ...]:
    """The deltas of a step, one for each state that changes."""
    return tuple(
        Delta(
            chain_id=report.chain_id,
            asset=report.asset,
            state=state,
            delta=delta,
            ref_kind=ref_kind,
            ref_id=report.tx_hash,
        )
        for state, delta in states.items()
        if delta
    )


def report_transfer(
    report: StoredTransfer, *, idle: int, allow_overdraft: bool
) -> TransferTransition:
    """An agent's report: in_transit +amount; outbound also idle -amount (spec 3.3).

    Units: `idle` is the balance before it, in micro-units.
    Errors: `insufficient_idle` for an outbound amount above idle, unless the policy allows an
    overdraft.
    """
    out = report.direction == "out"
    if out and report.amount > idle:
        if not allow_overdraft:
            raise _insufficient(report, idle)
        reason = f"allow_overdraft: idle was {units(idle)}, the report moves {units(report.amount)}"
        report = replace(report, override_reason=reason)
    moved = {"in_transit": report.amount, "idle": -report.amount if out else 0}
    return TransferTransition(report, _deltas(report, REF_REPORT, **moved))


def _insufficient(report: StoredTransfer, idle: int) -> Refused:
    available, requested = units(idle), units(report.amount)
    block = refusal(
        "insufficient_idle",
        remaining={"idle": available},
        asset=report.asset,
        chain_id=report.chain_id,
        idle=available,
        amount=requested,
    )
    return Refused(block)


def settle_transfer(
    report: StoredTransfer, outcome: TransferOutcome, *, idle: int, now: datetime
) -> TransferTransition:
    """Apply the chain's outcome to a report: in_transit -reported; the moved amount goes to idle.

    An outbound transfer that moved another amount corrects idle by the difference, which may not
    take idle below zero unless the report itself was an overdraft. A failed one gives an outbound
    amount back. One that failed and is found on chain after all is confirmed late: what its
    failure gave back is taken again.
    Errors: ValueError for a report that has its outcome: what is confirmed once stays, and what
    failed fails once.
    """
    if report.status == CONFIRMED or (report.status == FAILED and outcome.actual is None):
        raise ValueError(f"the report is {report.status}")
    out = report.direction == "out"
    if outcome.actual is None:
        back = {"in_transit": -report.amount, "idle": report.amount if out else 0}
        failed = replace(report, status=FAILED)
        return TransferTransition(failed, _deltas(report, REF_FAILED, **back))
    actual, in_transit = outcome.actual, report.amount if report.status == REPORTED else 0
    confirmed = replace(
        report,
        status=CONFIRMED,
        confirmed_at=now,
        amount_actual=actual if actual != report.amount else None,
    )
    change = in_transit - actual if out else actual
    if report.override_reason is None:
        change = _within(change, idle)
    moved = {"in_transit": -in_transit, "idle": change}
    return TransferTransition(confirmed, _deltas(report, REF_CONFIRMED, **moved))


def _within(change: int, idle: int) -> int:
    """A change that takes idle no further than to zero."""
    return change if change >= 0 else -min(-change, max(0, idle))


def confirm_unreported(report: StoredTransfer) -> TransferTransition:
    """An inbound transfer without a report: confirmed at once, on idle."""
    return TransferTransition(report, _deltas(report, REF_CONFIRMED, idle=report.amount))


def unreported_deltas(
    chain_id: int, tx_hash: str, asset: str, gained: int, *, idle: int
) -> tuple[Delta, ...]:
    """Deltas on idle of a transaction that another, or none, reported; 0 marks it counted."""
    change = _within(gained, idle)
    return (
        Delta(
            chain_id=chain_id,
            asset=asset,
            state="idle",
            delta=change,
            ref_kind=REF_CONFIRMED,
            ref_id=tx_hash,
        ),
    )


def outcome(
    report: StoredTransfer,
    receipt: Receipt | None,
    *,
    gained: int,
    confirmations: int,
    now: datetime,
    fails_after: timedelta,
) -> TransferOutcome | None:
    """Judge a pending report by the chain; None while it stays pending.

    Shapes: `gained` is what the transaction moved to the agent's proven addresses, in micro-units,
    below zero where it left them, 0 where it touched none or the asset's contract is not known. A
    transaction that does not bear a report out says nothing against it either: it fails in time.
    """
    if receipt is not None:
        if receipt.depth < confirmations:
            return None
        if not receipt.ok:
            return TransferOutcome(None)
        if bears_out(report, gained):
            return TransferOutcome(abs(gained))
    return TransferOutcome(None) if now - report.reported_at >= fails_after else None


def bears_out(report: StoredTransfer, gained: int) -> bool:
    """True where the transfer's direction is the report's."""
    return gained > 0 if report.direction == "in" else gained < 0


def gains(logs: Iterable[TransferLog], token: str, holders: Mapping[str, str]) -> dict[str, int]:
    """Net amount that a transaction moved to (or, below zero, from) each agent's proven addresses,
    in base units of the token; agents with a net of zero are left out.

    Shapes: `holders` gives the agent id of a proven address, lower case.
    """
    totals: dict[str, int] = {}
    for g in logs:
        if g.token.lower() != token.lower():
            continue
        for address, amount in ((g.recipient, g.amount), (g.sender, -g.amount)):
            agent_id = holders.get(address.lower())
            if agent_id is not None:
                totals[agent_id] = totals.get(agent_id, 0) + amount
    return {agent_id: amount for agent_id, amount in totals.items() if amount}
