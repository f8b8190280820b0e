"""Mark policy: when the keeper records a vault's value on chain, which bounds later exits.

The vault holds exits to 98% of the larger of the value now and the value recorded in an earlier
block (chain.md). A gain since the record is unprotected against a flash loan that presses the value
now; a loss since the record refuses a fair exit. A new record mends both. After a close none is
sent: a market held down over several blocks must not be written into the record.
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
DRIFT_BPS: Final = 100
"""How far the positions may stand from the record; half of what a fair exit may lose."""
MAX_SPREAD_BPS: Final = 100
"""How far two readings may differ that both show a fall."""
LOOK_BACK: Final = 3
"""Blocks before the newest at which a fall must stand too, where the chain asks for no more."""
MIN_MOVE: Final = Usdc(1_000_000)
LAST_PERIOD: Final = timedelta(hours=1)
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
    return mandate.ends_at is not None and vault.block.at + LAST_PERIOD >= mandate.ends_at


def record_drift(mandate: Mandate, vault: VaultState) -> Move | None:
    """The direction in which a working vault's positions left the record by enough to record them
    again: by 1% and 1 USDC, a gain in the last hour by 1 USDC. None where a probe is silent, and
    for positions under 1 USDC.
    """
    if closed(mandate, vault) or not vault.measured or vault.positions < MIN_MOVE:
        return None
    apart = max(MIN_MOVE, vault.recorded.share_down(DRIFT_BPS))
    if vault.positions + apart <= vault.recorded:
        return "fall"
    rises = MIN_MOVE if ends_soon(mandate, vault) else apart
    return "gain" if vault.positions >= vault.recorded + rises else None


def fall_persists(mandate: Mandate, confirmed_vault: VaultState | None, newest: VaultState) -> bool:
    """True where a fall is not momentary: the state some blocks ago, confirmed by enough nodes,
    shows it too, and both readings are within 1%. A market pressed for one block lowers no record.
    """
    if confirmed_vault is None or not confirmed_vault.exists or not newest.exists:
        return False
    falls = (replace(vault, recorded=newest.recorded) for vault in (confirmed_vault, newest))
    if any(record_drift(mandate, vault) != "fall" for vault in falls):
        return False
    low, high = sorted((confirmed_vault.positions, newest.positions))
    return low >= high.share_up(BASE - MAX_SPREAD_BPS)


def came_out_low(meant: Usdc, recorded: Usdc) -> bool:
    """True where a record came out lower than intended: the market was pressed in its block."""
    return recorded < meant.share_down(BASE - MAX_SPREAD_BPS)


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
    """The record, where it is the reason that the vault refused an exit as unfair: the same exit
    may pass once the current value is recorded. None where it would not, or is unknown.

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
