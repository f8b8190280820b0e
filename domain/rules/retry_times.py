"""Retry times: the moments at which waiting alone frees an amount (contract 5)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from domain.ledger.state.claimed import PendingClaim
from domain.rules.caps import held_amounts, pending
from domain.rules.snapshot import MandateSnapshot, OrdersToday, moment, today
from domain.times import midnight


def earliest_possible(
    snapshot: MandateSnapshot, fits: Callable[[MandateSnapshot], bool]
) -> datetime | None:
    """The first time at which the snapshot fits by waiting alone, None where it never does. The
    reserved amount only falls from one expiry to the next, so that a binary search finds it.
    """
    times = {*frees(snapshot), midnight(moment(snapshot))}
    ends = sorted(at for at in times if not snapshot.mandate.ended(at))
    at = bisect_left(ends, True, key=lambda end: fits(by_waiting(snapshot, end)))
    return ends[at] if at < len(ends) else None


def frees(snapshot: MandateSnapshot) -> list[datetime]:
    """The times, soonest first, at which a reservation or a claim's wait ends."""
    reservation_ends = {h.reservation.expires_at for h in held_amounts(snapshot)}
    claim_ends = {
        _claim_end(snapshot, c) for c in pending(snapshot).values() if _may_end(snapshot, c)
    }
    return sorted(at for at in reservation_ends | claim_ends if at > snapshot.now)


def _may_end(snapshot: MandateSnapshot, claim: PendingClaim) -> bool:
    """Whether the end of a claim's wait may free its amount. Where the vault was not read nobody
    knows: its figure of the day is what still counts a claim that has landed.
    """
    return bool(claim.out) and snapshot.chain is not None and snapshot.chain.exists


def _claim_end(snapshot: MandateSnapshot, claim: PendingClaim) -> datetime:
    return claim.at + timedelta(seconds=snapshot.config.claim_ttl_s)


def by_waiting(snapshot: MandateSnapshot, at: datetime) -> MandateSnapshot:
    """The snapshot at `at` (later than now) if nothing else happens: reservations that end until
    then are free, a claim whose wait is over counts no longer, nor do the orders of a past day. A
    claim that has outlasted its wait already stays, and one that may have landed unseen: its end
    is unknown.
    """
    state = snapshot.state
    waits = {
        id: c
        for id, c in pending(snapshot).items()
        if not (_may_end(snapshot, c) and snapshot.now < _claim_end(snapshot, c) <= at)
    }
    later = replace(
        snapshot,
        now=at,
        state=replace(state, claimed=replace(state.claimed, pending=waits)),
        reservations=tuple(r for r in snapshot.reservations if r.expires_at > at),
    )
    return later if today(later) == today(snapshot) else replace(later, orders=OrdersToday())
