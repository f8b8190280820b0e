"""Caps: the binding limit of each kind, and the amount used of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.ledger.state.claimed import PendingClaim
from domain.mandates.approvals import Reservation
from domain.money import ZERO, Usdc
from domain.rules.snapshot import MandateSnapshot, today
from domain.times import bounds


def spent_on(snapshot: MandateSnapshot, day: str) -> Usdc:
    """Spend of a UTC day by when it happened: what the chain measured, and what its agents say went
    to venues and paid hosts.

    What an agent says of the venue whose orders are made here may be of the very fills that the
    venue tells of: of the day's claims and fills there the larger counts, so that none counts twice
    (decision 0029).
    """
    measured, claims = snapshot.measured.days.get(day), snapshot.state.claimed
    claimed_notional = claims.notional.get(day, 0)
    if day == today(snapshot):
        claimed_notional -= min(claims.ordered.get(day, 0), snapshot.orders.filled.micros)
    return Usdc((measured.spent if measured else 0) + claimed_notional)


def pending(snapshot: MandateSnapshot) -> Mapping[str, PendingClaim]:
    """Claims that still wait for their chain row, by event id."""
    return snapshot.state.claimed.pending


def pending_on(snapshot: MandateSnapshot, day: str) -> Usdc:
    """What they would take out on a UTC day."""
    begins, ends = bounds(day)
    return Usdc(sum([c.out for c in pending(snapshot).values() if begins <= c.at < ends]))


def spent_today(snapshot: MandateSnapshot) -> Usdc:
    """What counts of this UTC day: measured, notional, and claims that wait for the chain."""
    return spent_on(snapshot, today(snapshot)) + pending_on(snapshot, today(snapshot))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAmount:
    """Calldata that was handed out and may still be sent: what it holds beyond a claim that tells
    of it.
    """

    reservation: Reservation
    amount: Usdc


def holds(snapshot: MandateSnapshot) -> list[HeldAmount]:
    """The live reservations. A pending claim counts in the place of the reservation that it is of,
    never beside it: of that one only what the claim does not tell of is left.
    """
    if not snapshot.reservations:
        return []
    free = _Free(snapshot.reservations)
    left: dict[str, Usdc] = {}
    for claim in sorted(pending(snapshot).values(), key=lambda c: c.at):
        near = free.take(claim) if claim.out else None
        if near is not None:
            left[near.action.action_hash] = max(ZERO, near.amount - Usdc(claim.out))
    return [
        HeldAmount(reservation=r, amount=left.get(r.action.action_hash, r.amount))
        for r in snapshot.reservations
    ]


class _Free:
    """The reservations that no claim was found to be of yet. Hundreds meet hundreds of claims, so
    that each kind of claim looks into a list in the order of its amounts.
    """

    def __init__(self, reservations: Sequence[Reservation]):
        self._all = reservations
        self._taken: set[int] = set()
        self._rows: dict[tuple[str | None, str | None], list[tuple[int, int]]] = {}

    def take(self, claim: PendingClaim) -> Reservation | None:
        """The one whose amount is nearest to the claim's, the first of several, from now on taken;
        None where the claim can be of none. A claim need not name where it went.
        """
        rows = self._of(claim)
        at = bisect_left(rows, (claim.out, -1))
        while at and rows[at - 1][1] in self._taken:
            at -= 1
            del rows[at]
        self._drop(rows, at)
        near = [rows[at]] if at < len(rows) else []
        if at:
            same = bisect_left(rows, (rows[at - 1][0], -1))
            self._drop(rows, same)
            near.append(rows[same])
        if not near:
            return None
        _, number = min(near, key=lambda row: (abs(row[0] - claim.out), row[1]))
        self._taken.add(number)
        return self._all[number]

    def _drop(self, rows: list[tuple[int, int]], at: int) -> None:
        while at < len(rows) and rows[at][1] in self._taken:
            del rows[at]

    def _of(self, claim: PendingClaim) -> list[tuple[int, int]]:
        """(micros, number) of those that a claim may be of, sorted."""
        target = None if claim.address is None else claim.address.lower()
        selector = None if claim.selector is None else claim.selector.lower()
        rows = self._rows.get((target, selector))
        if rows is None:
            rows = self._rows[target, selector] = sorted(
                (r.amount.micros, number)
                for number, r in enumerate(self._all)
                if number not in self._taken
                and (target is None or r.action.target == target)
                and (selector is None or r.action.selector == selector)
            )
        return rows


def reserved(snapshot: MandateSnapshot) -> Usdc:
    """Amounts of calldata that was handed out and may still be sent."""
    return Usdc(sum(h.amount.micros for h in holds(snapshot)))


def per_tx_cap(snapshot: MandateSnapshot) -> tuple[Usdc, str]:
    """The cap per action and who set it: the stricter of mandate and policy binds (contract 5)."""
    own, policy = (
        snapshot.mandate.per_tx_cap,
        snapshot.policy.per_tx_cap_usdc if snapshot.policy else None,
    )
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")


def daily_cap(snapshot: MandateSnapshot) -> Usdc:
    """The cap per UTC day."""
    return snapshot.mandate.daily_cap


def budget(snapshot: MandateSnapshot) -> tuple[Usdc, str]:
    """The budget and who set it: a policy's total cap may be stricter."""
    own, policy = (
        snapshot.mandate.budget_usdc,
        snapshot.policy.total_cap_usdc if snapshot.policy else None,
    )
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")
