"""When the keeper writes a working vault's worth on chain, so that its exits are judged by it.

The vault holds exits to 98% of the larger of the value now and the value recorded in an earlier
block (chain.md). What a position gained since the record is held by nothing where a flash loan
presses the value now; a mark records it. The keeper's marks raise the record and never lower it on
purpose, and after a close it sends none: whoever holds a market pressed over blocks must not find a
keeper that writes the pressed value down.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from domain.facts import VaultState
from domain.mandates.mandate import Mandate
from domain.money import Usdc

RISE_BPS: Final = 100
"""What a position may have gained since the record; half of what a fair exit may lose."""
LEAST: Final = Usdc(1_000_000)
LAST: Final = timedelta(hours=1)
"""Before the end any gain is recorded: from the end on no mark is sent."""
MARGIN: Final = timedelta(minutes=2)
"""What a transaction may take; it must not be mined after the close."""


def closed(m: Mandate, vault: VaultState) -> bool:
    """True where the vault is closed, or will be before a transaction of now is mined: what it
    records from then on is a bar that nobody needs to have moved.
    """
    over = m.ends_at is not None and vault.block.at + MARGIN >= m.ends_at
    return vault.stopped or vault.settled or over


def ends_soon(m: Mandate, vault: VaultState) -> bool:
    """True in the last hour."""
    return m.ends_at is not None and vault.block.at + LAST >= m.ends_at


def may_rise(m: Mandate, vault: VaultState) -> bool:
    """True where a mark might tell more than the record: the vault works, every probe answered, and
    there is anything to hold.
    """
    return not closed(m, vault) and vault.measured and vault.positions >= LEAST


def rose(m: Mandate, vault: VaultState, recorded: Usdc) -> bool:
    """True where the positions are worth so much more than the record that a mark pays: by 1 USDC,
    and by 1% but in the last hour.
    """
    bps = 0 if ends_soon(m, vault) else RISE_BPS
    least = max(LEAST.micros, recorded.micros * bps // 10_000)
    return vault.positions.micros >= recorded.micros + least
