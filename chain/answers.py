"""Reading what a node answers: blocks, bytes, logs, the lens's states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from eth_utils import to_checksum_address

from domain.facts import BlockStamp, VaultState
from domain.money import ZERO, Usdc

# What a malformed answer raises while it is read; who asked turns it into `chain_unavailable`.
NONSENSE: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def stamp(told: Mapping[str, Any]) -> BlockStamp:
    """Number, hash and time of a block."""
    at = datetime.fromtimestamp(int(told["timestamp"], 16), UTC)
    return BlockStamp(int(told["number"], 16), block_hash(told["hash"]), at)


def block_hash(told: Any) -> str:
    """A block's hash, lower case."""
    if len(raw(told)) != 32:
        raise ValueError("a hash has 32 bytes")
    return str(told).lower()


def raw(text: str) -> bytes:
    """Bytes of 0x hex."""
    return bytes.fromhex(text.removeprefix("0x"))


def topics(log: Mapping[str, Any]) -> list[bytes]:
    """The topics of a JSON-RPC log."""
    return [raw(t) for t in log["topics"]]


_FIELDS: Final = (
    "ok",
    "stopped",
    "settled",
    "withdrawable",
    "stopReason",
    "lockReason",
    "agent",
    "until",
    "cash",
    "positions",
    "floor",
    "spentToday",
    "totalDeposited",
    "totalSpent",
    "totalReturned",
    "feeOwed",
    "balance",
    "answered",
)


def vault_state(address: str, block: BlockStamp, told: Sequence[Any]) -> VaultState:
    """A vault's state out of the lens's tuple."""
    s = dict(zip(_FIELDS, told, strict=True))
    if not s["ok"]:
        return VaultState(address, block, exists=False)
    agent = to_checksum_address(s["agent"])
    nobody = int(agent, 16) == 0

    def money(name: str) -> Usdc:
        return Usdc(s[name]) if s[name] else ZERO

    return VaultState(
        address,
        block,
        exists=True,
        agent=None if nobody else agent,
        paused=nobody and not s["stopped"] and not s["settled"],
        stopped=s["stopped"],
        stop_reason=s["stopReason"],
        settled=s["settled"],
        withdrawable=s["withdrawable"],
        lock_reason=s["lockReason"],
        lock_until=datetime.fromtimestamp(s["until"], UTC) if s["until"] else None,
        cash=money("cash"),
        positions=money("positions"),
        floor=money("floor"),
        spent_today=money("spentToday"),
        total_deposited=money("totalDeposited"),
        total_spent=money("totalSpent"),
        total_returned=money("totalReturned"),
        fee_owed=money("feeOwed"),
        balance=money("balance"),
        answered=tuple(s["answered"]),
    )
