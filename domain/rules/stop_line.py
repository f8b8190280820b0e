"""The stop line: conditions for a keeper mark, and for closing positions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from domain.chain_facts import VaultState
from domain.ledger.state.measured import MeasuredBook
from domain.mandates.mandate import Mandate
from domain.rules.snapshot import MandateSnapshot

CLOCKS_APART_S: Final = 60
HOUR: Final = timedelta(hours=1)


def is_below_floor(vault: VaultState) -> bool:
    """True where a funded vault stands below its floor: the vault's own comparison. One that
    stands exactly on its line goes on, and one with a silent probe: its worth is unknown.
    """
    has_known_worth = vault.measured and bool(vault.total_deposited)
    return has_known_worth and vault.cash + vault.positions < vault.floor


def worth_marking(mandate: Mandate, book: MeasuredBook, vault: VaultState, fresh_s: int) -> bool:
    """True where a mark of this vault would add information (contract 5, "Observations"): while
    positions are open the first reading of a UTC day, and one that is more than 1% away from the
    last observation, at most hourly; below the stop line two in a row, and the next above
    it, which the next below it follows after half of the time in which a mark is fresh. Where a
    venue's stop line rests on it too, as often as that. No switch and no key is part of it.

    A reading with a silent probe is no mark: its worth is unknown.
    """
    if not vault.measured:
        return False
    if is_below_floor(vault):
        if not latched(book, fresh_s) and not _ended_lately(book, vault.block.at, fresh_s):
            return True
    elif book.mark is not None and book.mark.worth < book.mark.floor:
        return True  # one reading above the line ends a row of those below it
    if not vault.positions and not book.opened:
        return False
    # A mark that was read ahead of the ledger counts as soon as the rows before it are there.
    last = book.mark
    newest = max((o.at for o in (book.seen, last) if o is not None), default=None)
    if newest is None or vault.block.at.date() > newest.date():
        return True
    at_venue = any(t.kind == "venue" for t in mandate.allowed_targets)
    if at_venue and (vault.block.at - newest).total_seconds() >= fresh_s / 2:
        return True
    if last is not None and vault.block.at - last.at < HOUR:
        return False
    worth = (book.cash or 0) + sum(p.value for p in book.opened.values())
    now = (vault.cash + vault.positions + vault.fee_owed).micros
    return abs(now - worth) * 100 > worth


def latched(book: MeasuredBook, fresh_s: int) -> bool:
    """True where the two newest marks, in a row, stand below the floor of a funded vault (contract
    5): the stop line is reached, and stays so until a mark says otherwise.
    """
    mark, earlier = book.mark, book.earlier
    if not book.deposits or mark is None or earlier is None:
        return False
    is_consecutive = (mark.at - earlier.at).total_seconds() <= fresh_s
    return is_consecutive and mark.worth < mark.floor and earlier.worth < earlier.floor


def _ended_lately(book: MeasuredBook, at: datetime, fresh_s: int) -> bool:
    """True while a row of marks below the line was just ended by one above: no mark a reading."""
    mark, earlier = book.mark, book.earlier
    if mark is None or earlier is None:
        return False
    ended = earlier.worth < earlier.floor and mark.worth >= mark.floor
    return ended and (at - mark.at).total_seconds() < fresh_s / 2


def fresh(at: datetime, snapshot: MandateSnapshot) -> bool:
    """True while an observation of `at` may be acted on (setting `mark_fresh_s`)."""
    return -CLOCKS_APART_S <= (snapshot.now - at).total_seconds() <= snapshot.config.mark_fresh_s


def vault_worth(snapshot: MandateSnapshot) -> int | None:
    """The vault's part of the worth of a mandate that also has positions at the venue.

    Cash alone is known from the chain's own logs. Positions are worth the higher of the last two
    marks, the newer one fresh, so that one bad mark closes nothing; None where that is not known.
    Units: micro-USDC.
    """
    book = snapshot.measured
    if book.cash is None or snapshot.mandate.differs_at is not None:
        return None
    if not book.opened:
        return book.cash
    if book.mark is None or book.earlier is None or not fresh(book.mark.at, snapshot):
        return None
    return max(mark.worth + book.flows - mark.flows for mark in (book.mark, book.earlier))
