"""Caps: the binding limit of each kind, and the amount used of it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.ledger.state.claimed import PendingClaim
from domain.mandates.approvals import Reservation
from domain.money import ZERO, Usdc
from domain.rules.snapshot import MandateSnapshot, today
from domain.rules.valuation import at_risk, cash
from domain.times import bounds, day_of

SetBy = Literal["mandate", "policy"]


def spent_on(snapshot: MandateSnapshot, day: str) -> Usdc:
    """Spend of a UTC day by block time: what the chain measured, and what agents claim for venues
    and paid hosts.

    A claim at the venue whose orders are made here may be of the same fills that the venue
    reports: of the day's claims and fills there the larger counts, so that none counts twice
    (decision 0029).
    """
    measured, claimed = snapshot.measured.days.get(day), snapshot.state.claimed
    claimed_notional = claimed.notional.get(day, 0)
    if day == today(snapshot):
        claimed_notional -= min(claimed.ordered.get(day, 0), snapshot.orders.filled.micros)
    return Usdc((measured.spent if measured else 0) + claimed_notional)


def pending(snapshot: MandateSnapshot) -> Mapping[str, PendingClaim]:
    """Claims that still wait for their chain row, by event id."""
    return snapshot.state.claimed.pending


def pending_on(snapshot: MandateSnapshot, day: str) -> Usdc:
    """The USDC that pending claims would take out on a UTC day."""
    begins, ends = bounds(day)
    return Usdc(sum([c.out for c in pending(snapshot).values() if begins <= c.at < ends]))


def spent_today(snapshot: MandateSnapshot) -> Usdc:
    """Spend of this UTC day: measured, notional, and pending claims."""
    return spent_on(snapshot, today(snapshot)) + pending_on(snapshot, today(snapshot))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAmount:
    """A live reservation, and the amount of it that no claim covers."""

    reservation: Reservation
    amount: Usdc


def held_amounts(snapshot: MandateSnapshot) -> list[HeldAmount]:
    """The live reservations; of one that a pending claim matches, only what is beyond the claim."""
    if not snapshot.reservations:
        return []
    matcher = _ClaimMatcher(snapshot.reservations)
    unclaimed: dict[str, Usdc] = {}
    for claim in sorted(pending(snapshot).values(), key=lambda c: c.at):
        match = matcher.take(claim) if claim.out else None
        if match is not None:
            unclaimed[match.action.action_hash] = max(ZERO, match.amount - Usdc(claim.out))
    return [
        HeldAmount(reservation=r, amount=unclaimed.get(r.action.action_hash, r.amount))
        for r in snapshot.reservations
    ]


class _ClaimMatcher:
    """Matches claims, in the order of their times, to reservations, each reservation once. There
    may be hundreds of both, so that the candidates of each (target, selector) are sorted by amount.
    """

    def __init__(self, reservations: Sequence[Reservation]):
        self._all = reservations
        by_time = sorted(enumerate(reservations), key=lambda one: one[1].made_at)
        self._later = deque(by_time)
        self._used_indexes: set[int] = set()
        self._rows: dict[tuple[str | None, str | None], list[tuple[int, int]]] = defaultdict(list)

    def take(self, claim: PendingClaim) -> Reservation | None:
        """Take the reservation whose amount is nearest to the claim's, the first of several; None
        where none matches: a claim is of calldata that was handed out before it. A claim need not
        name its target.
        """
        self._admit(claim.at)
        target = None if claim.address is None else claim.address.lower()
        selector = None if claim.selector is None else claim.selector.lower()
        rows = self._rows[target, selector]
        at = bisect_left(rows, (claim.out, -1))
        while at and rows[at - 1][1] in self._used_indexes:
            at -= 1
            del rows[at]
        self._drop(rows, at)
        nearest = [rows[at]] if at < len(rows) else []
        if at:
            same = bisect_left(rows, (rows[at - 1][0], -1))
            self._drop(rows, same)
            nearest.append(rows[same])
        if not nearest:
            return None
        _, index = min(nearest, key=lambda row: (abs(row[0] - claim.out), row[1]))
        self._used_indexes.add(index)
        return self._all[index]

    def _drop(self, rows: list[tuple[int, int]], at: int) -> None:
        while at < len(rows) and rows[at][1] in self._used_indexes:
            del rows[at]

    def _admit(self, at: datetime) -> None:
        """Make candidates of what was handed out by a time."""
        while self._later and self._later[0][1].made_at <= at:
            index, reservation = self._later.popleft()
            action, row = reservation.action, (reservation.amount.micros, index)
            for target in (None, action.target):
                for selector in (None, action.selector):
                    insort(self._rows[target, selector], row)


def reserved(snapshot: MandateSnapshot) -> Usdc:
    """Amounts of calldata that was handed out and may still be sent."""
    return Usdc(sum(h.amount.micros for h in held_amounts(snapshot)))


def _stricter(own: Usdc, policy: Usdc | None) -> tuple[Usdc, SetBy]:
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")


def per_tx_cap(snapshot: MandateSnapshot) -> tuple[Usdc, SetBy]:
    """The cap per action and its origin: the stricter of mandate and policy binds (contract 5)."""
    policy = snapshot.policy
    return _stricter(snapshot.mandate.per_tx_cap, policy.per_tx_cap_usdc if policy else None)


def daily_cap(snapshot: MandateSnapshot) -> Usdc:
    """The cap per UTC day."""
    return snapshot.mandate.daily_cap


def budget(snapshot: MandateSnapshot) -> tuple[Usdc, SetBy]:
    """The budget and its origin: a policy's total cap may be stricter."""
    policy = snapshot.policy
    return _stricter(snapshot.mandate.budget_usdc, policy.total_cap_usdc if policy else None)


def unconfirmed_spend(snapshot: MandateSnapshot, own_reserved: Usdc = ZERO) -> Usdc:
    """Spend of this UTC day that may be on its way and is no chain row yet.

    One action shows up to three times: reserved when its calldata is handed out, claimed when it
    is reported, in the vault's figure when it is mined. A claim replaces its reservation; of that
    sum and the vault's excess over the ledger the larger counts, so that no action counts twice.
    `own_reserved` is the amount of a live reservation for the same action.
    """
    pending_spend = pending_on(snapshot, today(snapshot)) + reserved(snapshot) - own_reserved
    return max(pending_spend, unrecorded_spend(snapshot), ZERO)


def unrecorded_spend(snapshot: MandateSnapshot) -> Usdc:
    """The vault's spend of this UTC day that no ledger row has yet."""
    day, chain = today(snapshot), snapshot.chain
    if chain is None or not chain.exists or day_of(chain.block.at) != day:
        return ZERO
    totals = snapshot.measured.days.get(day)
    return max(ZERO, chain.spent_today - Usdc(totals.spent if totals else 0))


def day_used(snapshot: MandateSnapshot, reserved: Usdc = ZERO) -> Usdc:
    """The amount that counts against the day cap, with live orders, unseen by the vault."""
    return (
        spent_on(snapshot, today(snapshot))
        + unconfirmed_spend(snapshot, reserved)
        + snapshot.orders.live
    )


def available_cash(
    snapshot: MandateSnapshot, own_reserved: Usdc = ZERO
) -> tuple[Usdc | None, SetBy]:
    """Cash that no reservation may still take, or the rest of a stricter policy's budget, with the
    limit that binds; None where cash is unknown.
    """
    limit, by = budget(snapshot)
    room = max(ZERO, limit - at_risk(snapshot)) if by == "policy" else None
    chain, held = snapshot.chain, reserved(snapshot) - own_reserved
    if chain is not None and chain.exists:
        free: Usdc | None = chain.cash
        held -= unrecorded_spend(snapshot)
    else:
        free = cash(snapshot)
    if free is not None:
        free = max(ZERO, free - max(ZERO, held))
    if room is not None and (free is None or room < free):
        return room, "policy"
    return free, "mandate"


def day_fits(snapshot: MandateSnapshot, amount: Usdc, reserved: Usdc = ZERO) -> bool:
    """True where the day cap leaves room for `amount`; equality passes."""
    return day_used(snapshot, reserved) + amount <= daily_cap(snapshot)
