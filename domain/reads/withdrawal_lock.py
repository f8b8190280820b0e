"""The withdrawal lock: the outcome of withdrawAll now, and the vault's own state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from domain.chain_facts import StagedLog
from domain.rules.mark_policy import RecordedValue, recorded_value
from domain.rules.snapshot import MandateSnapshot
from domain.times import Timestamp, timestamp
from domain.wire_fields import LEFT_OUT, copy_fields, described

LockReason = Literal["no_vault", "unknown", "open_positions", "locked"]

# The vault's lockStatus; what it does not name is some other lock.
_REASONS: Final[Mapping[int, LockReason | None]] = {0: None, 1: "open_positions"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The effect of `withdrawAll` now (spec 2.10); `withdrawable` is null where the vault could not
    be read.
    """

    withdrawable: bool | None
    reason: LockReason | None
    until: Timestamp | None = None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """The vault at the newest block, null where it was not read, and what is coming.

    `age_s` stands only where the chain did not answer in time: this is then what the vault said
    last, at a block that is so many seconds old.
    `provisional` are logs that are not deep enough to be ledger rows.
    """

    stopped: bool | None
    settled: bool | None
    agent: str | None
    agent_known: bool
    paused: bool | None
    as_of_block: int | None
    as_of: Timestamp | None
    refreshed_at: Timestamp | None
    recorded_value: RecordedValue | None = field(
        metadata=described("what exits are judged by; null where it is not known, and once settled")
    )
    provisional: tuple[StagedLog, ...]
    age_s: int | None = field(
        default=None,
        metadata=LEFT_OUT
        | described("seconds since as_of, where the chain did not answer in time just now"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """The block that a read is of, and that block's own time."""

    block: int
    block_time: Timestamp


def as_of(snapshot: MandateSnapshot) -> AsOf | None:
    """The older block of the complete ledger and the vault that was read; None where neither is."""
    vault = snapshot.chain.block if snapshot.chain is not None and snapshot.chain.exists else None
    blocks = [block for block in (snapshot.complete, vault) if block is not None]
    oldest = min(blocks, key=lambda block: block.number, default=None)
    return None if oldest is None else AsOf(block=oldest.number, block_time=oldest.at)


def age_s(snapshot: MandateSnapshot) -> int | None:
    """Seconds since the block at which the vault was read last; None where it was read now."""
    chain = snapshot.chain
    if chain is None or not chain.exists or not chain.last_known:
        return None
    return max(0, int((snapshot.now - chain.block.at).total_seconds()))


def lock(snapshot: MandateSnapshot) -> Lock:
    """Mirror the vault's lockStatus."""
    chain = snapshot.chain
    if snapshot.mandate.vault_address is None:
        return Lock(withdrawable=False, reason="no_vault", message="There is no vault yet.")
    if chain is None or not chain.exists or chain.last_known:
        message = "The vault was not read just now; nothing can be said about its lock."
        return Lock(withdrawable=None, reason="unknown", message=message)
    if chain.withdrawable:
        message = "withdrawAll pays everything but the agent's earned fee to the owner, now."
        return Lock(withdrawable=True, reason=None, message=message)
    until = timestamp(chain.lock_until) if chain.lock_until else None
    return Lock(
        withdrawable=False,
        reason=_REASONS.get(chain.lock_reason, "locked"),
        until=chain.lock_until,
        message=f"Open positions hold the withdrawal back until {until} at the latest; "
        "unwinding them lifts it sooner.",
    )


def chain_state(snapshot: MandateSnapshot) -> ChainState:
    """The vault's own state, and its age."""
    chain = snapshot.chain if snapshot.chain is not None and snapshot.chain.exists else None
    raw = dict.fromkeys(("stopped", "settled", "agent", "paused"))
    return copy_fields(
        ChainState,
        chain,
        **(raw if chain is None else {}),
        agent_known=chain is not None,
        as_of_block=chain.block.number if chain else None,
        as_of=chain.block.at if chain else None,
        refreshed_at=snapshot.mandate.refreshed_at,
        recorded_value=recorded_value(chain),
        provisional=snapshot.provisional,
        age_s=age_s(snapshot),
    )
