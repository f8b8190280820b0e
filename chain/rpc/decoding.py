"""Decoding of a node's answers: blocks, bytes, logs, the lens's states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from eth_utils import to_checksum_address

from chain.rpc.header_hash import computed_hash
from domain.chain_facts import BlockStamp, VaultState
from domain.money import LIMIT_MICROS, ZERO, Usdc

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
LARGEST: Final = 2**63 - 1
LATEST_S: Final = 253_402_300_799  # the last second that a date can name
# What a malformed answer raises while it is read; who asked turns it into `chain_unavailable`.
NONSENSE: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A block, and the hash of the one before it.

    `proved`: the header hashes to the block's name; False where it does not, None where not all of
    its fields are known.
    """

    block: BlockStamp
    parent: str
    proved: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log as a node tells it. Hashes are lower case, the address as it was told."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    block: int
    block_hash: str
    tx_hash: str
    index: int
    removed: bool = False


def stamp(raw: object) -> BlockStamp:
    """Number, hash and time of a block. Errors: one of `NONSENSE`."""
    block = _fields(raw)
    at = _moment(_number(block, "timestamp"))
    return BlockStamp(_number(block, "number"), block_hash(block["hash"]), at)


def _moment(seconds: int) -> datetime:
    if seconds > LATEST_S:  # which some systems tell by an OSError
        raise ValueError("no time of a block")
    return datetime.fromtimestamp(seconds, UTC)


def header(raw: object) -> Header:
    """A block with its parent's hash. Errors: one of `NONSENSE`."""
    fields, block = _fields(raw), stamp(raw)
    computed = computed_hash(fields)
    proved = None if computed is None else computed == block.hash
    return Header(block=block, parent=block_hash(fields["parentHash"]), proved=proved)


def log(entry: object) -> Log:
    """A JSON-RPC log. Errors: one of `NONSENSE`."""
    one = _fields(entry)
    topics = one["topics"]
    if not isinstance(topics, list):
        raise TypeError("topics that are no list")
    return Log(
        address=_text(one, "address"),
        topics=tuple([raw(t) for t in topics]),
        data=raw(_text(one, "data")),
        block=_number(one, "blockNumber"),
        block_hash=block_hash(one["blockHash"]),
        tx_hash=block_hash(one["transactionHash"]),
        index=_number(one, "logIndex"),
        removed=bool(one.get("removed")),
    )


def logs(raw: object) -> list[Log]:
    """A list of them, without those that a reorganisation took back. Errors: one of `NONSENSE`."""
    if not isinstance(raw, list):
        raise TypeError("no list where logs are due")
    return [one for one in map(log, raw) if not one.removed]


def _fields(raw: object) -> Mapping[str, object]:
    if not isinstance(raw, dict):
        raise TypeError("no object where one is due")
    return raw


def _text(raw: Mapping[str, object], name: str) -> str:
    value = raw[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def _number(raw: Mapping[str, object], name: str) -> int:
    """A block's number, a time or a place: none that a column could not hold."""
    text = _text(raw, name)
    if not _QUANTITY.fullmatch(text) or (value := int(text, 16)) > LARGEST:
        raise ValueError(f"{name} is no number of a block")
    return value


def block_hash(header: object) -> str:
    """A hash of a block or a transaction, lower case. Errors: one of `NONSENSE`."""
    if not isinstance(header, str) or len(raw(header)) != 32:
        raise ValueError("a hash has 32 bytes")
    return header.lower()


def calldata(sent: Any) -> str:
    """What a transaction carries, 0x hex. Errors: one of `NONSENSE`."""
    data = sent["input"]
    if not isinstance(data, str):
        raise TypeError("calldata is 0x hex")
    return "0x" + raw(data).hex()


def raw(text: str) -> bytes:
    """Bytes of 0x hex."""
    return bytes.fromhex(text.removeprefix("0x"))


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
    "recorded",
    "values",
)
SILENT: Final = 2**256 - 1
"""What the vault tells of a probe that did not answer."""


def vault_state(address: str, block: BlockStamp, answers: Sequence[Any]) -> VaultState:
    """A vault's state out of the lens's tuple."""
    s = dict(zip(_FIELDS, answers, strict=True))
    if not s["ok"]:
        return VaultState(address, block, exists=False)
    agent = to_checksum_address(s["agent"])
    no_agent = int(agent, 16) == 0

    def money(name: str) -> Usdc:
        return Usdc(s[name]) if s[name] else ZERO

    values = tuple(_probed(v) for v in s["values"])
    beyond = sum(
        v for v, value in zip(s["values"], values, strict=True) if v != SILENT and value is None
    )
    return VaultState(
        address,
        block,
        exists=True,
        agent=None if no_agent else agent,
        paused=no_agent and not s["stopped"] and not s["settled"],
        stopped=s["stopped"],
        stop_reason=s["stopReason"],
        settled=s["settled"],
        withdrawable=s["withdrawable"],
        lock_reason=s["lockReason"],
        lock_until=_moment(s["until"]) if s["until"] else None,
        cash=money("cash"),
        positions=money("positions") - Usdc(beyond),
        floor=money("floor"),
        spent_today=money("spentToday"),
        total_deposited=money("totalDeposited"),
        total_spent=money("totalSpent"),
        total_returned=money("totalReturned"),
        fee_owed=money("feeOwed"),
        balance=money("balance"),
        answered=tuple(v is not None for v in values),
        recorded=money("recorded"),
        values=values,
    )


def _probed(raw: int) -> Usdc | None:
    """A probe's value; one that says more than every USDC there is has not answered."""
    return Usdc(raw) if raw <= LIMIT_MICROS else None
