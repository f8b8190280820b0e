"""The stop line: what the keeper asks before it marks, and before it closes anything."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from domain.facts import VaultState
from domain.ledger.measured import Mark, Measured
from domain.rules.case import Case

CLOCKS_APART_S: Final = 60


def below(vault: VaultState) -> bool:
    """True where a funded vault stands below its floor: the vault's own comparison. One that
    stands exactly on its line goes on, and one with a silent probe: its worth is unknown.
    """
    known = vault.measured and bool(vault.total_deposited)
    return known and vault.cash + vault.positions < vault.floor


def worth_marking(m: Measured, vault: VaultState, now: datetime, fresh_s: int) -> bool:
    """True where a mark of this vault would tell anything: its figures changed, the last mark is
    half as old as one may be, money flowed after it in the chain (a reorganisation may have moved a
    deposit that it saw), or it stands below its line. What a silent probe leaves out is no mark.
    """
    last = m.mark
    if not vault.measured:
        return False
    if last is None or below(vault):
        return True
    told = (vault.cash.micros, vault.positions.micros, vault.floor.micros)
    age_s = (now - last.at).total_seconds()
    # A mark from a time to come was stamped by a clock that ran ahead: it says nothing of its age.
    old = age_s >= fresh_s / 2 or age_s < -CLOCKS_APART_S
    return old or m.flows != last.flows or told != (last.cash, last.positions, last.floor)


def at_stop_line(case: Case) -> bool:
    """True where two fresh marks in a row stand below the floor (contract 5); an unknown or stale
    mark says nothing.

    A funded vault only: before the first deposit there is nothing to lose.
    """
    m = case.measured
    return bool(m.deposits) and all(
        mark is not None and fresh(mark, case) and mark.worth < mark.floor
        for mark in (m.mark, m.earlier)
    )


def fresh(mark: Mark, case: Case) -> bool:
    """True while a mark may be acted on (a setting)."""
    return -CLOCKS_APART_S <= (case.now - mark.at).total_seconds() <= case.config.mark_fresh_s


def vault_worth(case: Case) -> int | None:
    """What the vault adds to the line of a mandate that also holds something at the venue.

    Cash alone is told by the chain's own logs. Positions are worth the higher of the last two
    marks, the newer one fresh, so that one bad mark closes nothing; None where that is not known.
    Units: micro-USDC.
    """
    m = case.measured
    if m.cash is None or case.mandate.differs_at is not None:
        return None
    if not m.opened:
        return m.cash
    if m.mark is None or m.earlier is None or not fresh(m.mark, case):
        return None
    return max(mark.worth + m.flows - mark.flows for mark in (m.mark, m.earlier))
