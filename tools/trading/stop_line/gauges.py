"""Gauges of the stop line keeper, for operators."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from storage.unit_of_work import UnitOfWork

# The lease by which one process leads, as it is kept among the claims of work.
LEADER: Final = ("stop line", "leader")
STUCK: Final = frozenset({"warned", "blocked"})


def gauges_of(uow: UnitOfWork, now: datetime) -> dict[str, int]:
    """Figures for /metrics.

    Shapes: `wallet_keeper_mandates` by network and state (open, blocked, warned, done), and
    `wallet_keeper_blocked`, the mandates that stand at their line while nothing can be closed.
    """
    counts = uow.venue_keeping.counts()
    raw = {
        f'wallet_keeper_mandates{{network="{network}",state="{state}"}}': n
        for (network, state), n in sorted(counts.items())
    }
    until = uow.work.until(*LEADER)
    stuck = sum(n for (_, state), n in counts.items() if state in STUCK)
    return raw | {
        "wallet_keeper_blocked": stuck,
        # Whole seconds for which a process leads from now on; 0 where none does.
        "wallet_keeper_lease_seconds": max(0, int(((until or now) - now).total_seconds())),
    }
