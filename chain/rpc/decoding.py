"""Decoding of node answers: blocks, hex bytes, logs, and the lens's vault states."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from eth_utils import to_checksum_address

from chain.rpc.errors import Json
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
    """A block and its parent's hash. `proved`: True where the header hashes to the block's name,
    False where it does not, None where not all of its fields are known.
    """

    block: BlockStamp
    parent: str
    proved: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log from a node. Hashes are lower case; the address is unchanged."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    block: int
    block_hash: str
    tx_hash: str
    index: int
    removed: bool = False


def stamp(raw: object) -> BlockStamp:
    """Parse a block's number, hash and time. Errors: one of `NONSENSE`."""
    block = _fields(raw)
    at = _moment(_number(block, "timestamp"))
    return BlockStamp(_number(block, "number"), block_hash(block["hash"]), at)


def _moment(seconds: int) -> datetime:
    if seconds > LATEST_S:  # which some systems tell by an OSError
        raise ValueError("no time of a block")
    return datetime.fromtimestamp(seconds, UTC)


def header(raw: object) -> Header:
    """Parse a block with its parent's hash. Errors: one of `NONSENSE`."""
    fields, block = _fields(raw), stamp(raw)
    computed = computed_hash(fields)
    proved = None if computed is None else computed == block.hash
    return Header(block=block, parent=block_hash(fields["parentHash"]), proved=proved)


def log(raw_log: object) -> Log:
    """Parse a JSON-RPC log. Errors: one of `NONSENSE`."""
    fields = _fields(raw_log)
    topics = fields["topics"]
    if not isinstance(topics, list):
        raise TypeError("topics that are no list")
    return Log(
        address=_text(fields, "address"),
        topics=tuple([raw(t) for t in topics]),
        data=raw(_text(fields, "data")),
        block=_number(fields, "blockNumber"),
        block_hash=block_hash(fields["blockHash"]),
        tx_hash=block_hash(fields["transactionHash"]),
        index=_number(fields, "logIndex"),
        removed=bool(fields.get("removed")),
    )


def logs(raw: object) -> list[Log]:
    """Parse a list of logs without removed ones. Errors: one of `NONSENSE`."""
    if not isinstance(raw, list):
        raise TypeError("no list where logs are due")
    return [entry for entry in map(log, raw) if not entry.removed]


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
    """Parse a block number, time or index; it must fit a database column."""
    text = _text(raw, name)
    if not _QUANTITY.fullmatch(text) or (value := int(text, 16)) > LARGEST:
        raise ValueError(f"{name} is no number of a block")
    return value


def block_hash(raw_hash: object) -> str:
    """Parse the hash of a block or a transaction, lower case. Errors: one of `NONSENSE`."""
    if not isinstance(raw_hash, str) or len(raw(raw_hash)) != 32:
        raise ValueError("a hash has 32 bytes")
    return raw_hash.lower()


def calldata(transaction: Json) -> str:
    """Calldata of a transaction's JSON, 0x hex. Errors: one of `NONSENSE`."""
    data = transaction["input"]
    if not isinstance(data, str):
        raise TypeError("calldata is 0x hex")
    return "0x" + raw(data).hex()


def raw(text: str) -> bytes:
    """Parse 0x hex."""
    return bytes.fromhex(text.removeprefix("0x"))


SILENT: Final = 2**256 - 1
"""What the vault tells of a probe that did not answer."""


def vault_state(address: str, block: BlockStamp, s: Mapping[str, Json]) -> VaultState:
    """Build a vault's state from the lens's fields by their names."""
    if not s["ok"]:
        return VaultState(address, block, exists=False)
    agent = to_checksum_address(s["agent"])
    no_agent = int(agent, 16) == 0

    def money(name: str) -> Usdc:
        return Usdc(s[name]) if s[name] else ZERO

    values = tuple(_probed(v) for v in s["values"])
    unusable = sum(
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
        positions=money("positions") - Usdc(unusable),
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
    """A probe's value; above all USDC there is it counts as no answer."""
    return Usdc(raw) if raw <= LIMIT_MICROS else None
