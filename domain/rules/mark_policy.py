"""The value that the vault judges exits by: when it is recorded anew, and what an old one refuses.

The vault holds exits to 98% of the larger of the value now and the value recorded in an earlier
block (chain.md). What a position gained since is held by nothing where a flash loan presses the
value now; what it lost since refuses the fair exit. A record mends both. After a close none is
sent: whoever holds a market pressed over blocks must not find a keeper that writes it down.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Literal

from domain.chain_facts import Revert, VaultState
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.wire_fields import described

Move = Literal["gain", "fall"]
"""Which way the positions left the record."""
OFF_BPS: Final = 100
"""How far the positions may stand from the record; half of what a fair exit may lose."""
APART_BPS: Final = 100
"""How far two readings may differ that both show a fall."""
LOOK_BACK: Final = 3
"""Blocks before the newest at which a fall must stand too, where the chain asks for no more."""
LEAST: Final = Usdc(1_000_000)
LAST: Final = timedelta(hours=1)
"""Before the end any gain is recorded: from the end on the keeper records nothing."""
MARGIN: Final = timedelta(minutes=2)
"""What a transaction may take; it must not be mined after the close."""
LOSS_BPS: Final = 200
"""What a fair exit may lose: the vault's MAX_EXIT_LOSS_BPS."""
ROUNDING_BPS: Final = 10
"""A record that stands higher by less refuses nothing that an exit's own cost does not."""
BASE: Final = 10_000
Recorder = Literal["owner", "keeper"]


def closed(mandate: Mandate, vault: VaultState) -> bool:
    """True where the vault is closed, or will be before a transaction of now is mined."""
    over = mandate.ends_at is not None and vault.block.at + MARGIN >= mandate.ends_at
    return vault.stopped or vault.settled or over


def ends_soon(mandate: Mandate, vault: VaultState) -> bool:
    """True in the last hour."""
    return mandate.ends_at is not None and vault.block.at + LAST >= mandate.ends_at


def moved(mandate: Mandate, vault: VaultState) -> Move | None:
    """Which way the positions of a working vault left the record, by so much that recording them
    pays: by 1% and 1 USDC, a gain in the last hour by 1 USDC. None where a probe is silent, and of
    positions under 1 USDC.
    """
    if closed(mandate, vault) or not vault.measured or vault.positions < LEAST:
        return None
    apart = max(LEAST, vault.recorded.share_down(OFF_BPS))
    if vault.positions + apart <= vault.recorded:
        return "fall"
    rises = LEAST if ends_soon(mandate, vault) else apart
    return "gain" if vault.positions >= vault.recorded + rises else None


def stands(mandate: Mandate, deep: VaultState | None, newest: VaultState) -> bool:
    """True where a fall is no moment's: what enough nodes said some blocks ago shows it too, and
    both readings are within 1% of each other. A market that is pressed for a block lowers nothing.
    """
    if deep is None or not deep.exists or not newest.exists:
        return False
    falls = (replace(seen, recorded=newest.recorded) for seen in (deep, newest))
    if any(moved(mandate, seen) != "fall" for seen in falls):
        return False
    low, high = sorted((deep.positions, newest.positions))
    return low >= high.share_up(BASE - APART_BPS)


def pressed(meant: Usdc, recorded: Usdc) -> bool:
    """True where a record came out lower than it was meant to: somebody pressed the market in its
    block.
    """
    return recorded < meant.share_down(BASE - APART_BPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedValue:
    """The record by which exits are judged, beside the value now."""

    recorded: Usdc = field(
        metadata=described("value of the positions that the vault recorded in an earlier block")
    )
    now: Usdc = field(metadata=described("value of the positions at the block that was read"))
    least_returned: Usdc = field(
        metadata=described(
            "what an exit of all positions has to bring; of a part: 98% of its value and of "
            "recorded - now"
        )
    )
    stale: bool = field(
        metadata=described("true where recorded stands above now by more than a fair exit may lose")
    )
    who_may_record: tuple[Recorder, ...] = field(
        default=("owner", "keeper"), metadata=described("who may send the vault's record()")
    )

    def as_json(self) -> dict[str, object]:
        """Shape: the fields, money as text."""
        return {
            "recorded": str(self.recorded),
            "now": str(self.now),
            "least_returned": str(self.least_returned),
            "stale": self.stale,
            "who_may_record": list(self.who_may_record),
        }


def recorded_value(vault: VaultState | None) -> RecordedValue | None:
    """The record of a vault that is not settled; None where it or its value now is not known."""
    if vault is None or not vault.exists or vault.settled or not vault.measured:
        return None
    bar = max(vault.recorded, vault.positions)
    return RecordedValue(
        recorded=vault.recorded,
        now=vault.positions,
        least_returned=bar.share_up(BASE - LOSS_BPS),
        stale=vault.positions < vault.recorded.share_up(BASE - LOSS_BPS),
    )


def refuses(vault: VaultState | None, revert: Revert | None) -> RecordedValue | None:
    """The record, where it is what refuses an exit that the vault called unfair: the same exit may
    pass once the value now is recorded. None where it would not, or where nothing is known.

    The vault says by `UnfairExit` what was given up and what came back; below the floor of a
    working mandate it says `MandateStopped` alone.
    """
    record = recorded_value(vault)
    if record is None or vault is None or revert is None:
        return None
    if record.now >= record.recorded.share_down(BASE - ROUNDING_BPS):
        return None
    if revert.name == "UnfairExit":
        loss = Usdc(int(revert.args["given"])) - (record.recorded - record.now)
        fair = Usdc(int(revert.args["returned"])) >= loss.share_up(BASE - LOSS_BPS)
    else:
        fair = revert.code == "below_stop_line" and not vault.stopped
    return record if fair else None
