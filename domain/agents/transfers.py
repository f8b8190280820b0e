"""Transfer reports, and the balance deltas that each step of one brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from domain.facts import Receipt, TransferLog
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.times import Timestamp

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
    override_reason: str | None


@dataclass(frozen=True, slots=True)
class Report:
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

    def told(self) -> TransferReport:
        """The report as it is shown."""
        return TransferReport(
            agent_id=self.agent_id,
            chain_id=self.chain_id,
            asset=self.asset,
            amount=Usdc(self.amount),
            amount_actual=None if self.amount_actual is None else Usdc(self.amount_actual),
            tx_hash=self.tx_hash,
            direction=self.direction,
            reported_by=self.reported_by,
            reported_at=self.reported_at,
            confirmed_at=self.confirmed_at,
            status=self.status,
            override_reason=self.override_reason,
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
class Step:
    """A report after one step of its life, and what the step moves."""

    report: Report
    deltas: tuple[Delta, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a chain says of a reported transfer: moved `actual` micro-units, or failed (None)."""

    actual: int | None


def units(amount: int) -> str:
    """Micro-units as text with 6 decimals."""
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 1_000_000}.{abs(amount) % 1_000_000:06d}"


def _delta(report: Report, state: str, amount: int, ref_kind: str) -> Delta:
    return Delta(
        chain_id=report.chain_id,
        asset=report.asset,
        state=state,
        delta=amount,
        ref_kind=ref_kind,
        ref_id=report.tx_hash,
    )


def reported(report: Report, *, idle: int, allow_overdraft: bool) -> Step:
    """An agent's report: in_transit +amount; outbound also idle -amount (spec 3.3).

    Units: `idle` is the balance before it, in micro-units.
    Errors: `insufficient_idle` for an outbound amount above idle, unless the policy allows an
    overdraft.
    """
    moved = _delta(report, "in_transit", report.amount, REF_REPORT)
    if report.direction == "in":
        return Step(report, (moved,))
    if report.amount > idle:
        if not allow_overdraft:
            raise _insufficient(report, idle)
        why = f"allow_overdraft: idle was {units(idle)}, the report moves {units(report.amount)}"
        report = replace(report, override_reason=why)
    return Step(report, (moved, _delta(report, "idle", -report.amount, REF_REPORT)))


def _insufficient(report: Report, idle: int) -> Refused:
    left, asked = units(idle), units(report.amount)
    told = refusal(
        "insufficient_idle",
        remaining={"idle": left},
        asset=report.asset,
        chain_id=report.chain_id,
        idle=left,
        amount=asked,
    )
    return Refused(told)


def settled(report: Report, outcome: Outcome, *, idle: int, now: datetime) -> Step:
    """The chain's word on a waiting report: in_transit -reported; what really moved ends up on
    idle.

    An outbound transfer that moved another amount corrects idle by the difference, which may not
    take idle below zero unless the report itself was an overdraft. A failed one gives an outbound
    amount back.
    Errors: ValueError for a report that has its outcome: what is confirmed once stays.
    """
    if report.status != REPORTED:
        raise ValueError(f"the report is {report.status}")
    if outcome.actual is None:
        back = _delta(report, "in_transit", -report.amount, REF_FAILED)
        idle_back = (
            (_delta(report, "idle", report.amount, REF_FAILED),)
            if report.direction == "out"
            else ()
        )
        return Step(replace(report, status=FAILED), (back, *idle_back))
    actual = outcome.actual
    after = replace(
        report,
        status=CONFIRMED,
        confirmed_at=now,
        amount_actual=actual if actual != report.amount else None,
    )
    change = actual if report.direction == "in" else report.amount - actual
    if change < 0 and report.override_reason is None:
        change = -min(-change, max(0, idle))
    landed = (_delta(report, "idle", change, REF_CONFIRMED),) if change else ()
    return Step(after, (_delta(report, "in_transit", -report.amount, REF_CONFIRMED), *landed))


def seen_by_chain(report: Report) -> Step:
    """An inbound transfer that nobody reported: confirmed at once, on idle."""
    return Step(report, (_delta(report, "idle", report.amount, REF_CONFIRMED),))


def outcome(
    report: Report,
    receipt: Receipt | None,
    *,
    token: str | None,
    holders: frozenset[str],
    confirmations: int,
    now: datetime,
    fails_after: timedelta,
) -> Outcome | None:
    """Judge a waiting report by the chain; None while it has to wait on.

    Shapes: `token` is the asset's address, None where it is not known; `holders` are the agent's
    addresses, lower case. A transaction that succeeded without moving the asset to or from the
    agent is a failed report.
    """
    if receipt is None:
        return Outcome(None) if now - report.reported_at >= fails_after else None
    if receipt.depth < confirmations:
        return None
    if not receipt.ok:
        return Outcome(None)
    if token is None:
        return None
    moved = net_moved(receipt.transfers, token, holders, report)
    return Outcome(moved if moved > 0 else None)


def net_moved(
    logs: Sequence[TransferLog], token: str, holders: frozenset[str], report: Report
) -> int:
    """What the transaction moved in the report's direction, in base units of the token.

    Without an address on file the transaction's only transfer counts, or the one of exactly the
    reported amount.
    """
    of_token = [g for g in logs if g.token.lower() == token.lower()]
    if not holders:
        if len(of_token) == 1:
            return of_token[0].amount
        return next((g.amount for g in of_token if g.amount == report.amount), 0)
    came = sum(g.amount for g in of_token if g.recipient.lower() in holders)
    went = sum(g.amount for g in of_token if g.sender.lower() in holders)
    return came - went if report.direction == "in" else went - came
