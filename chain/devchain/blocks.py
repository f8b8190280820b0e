"""Blocks, transactions and logs of the development chain, and how JSON-RPC writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from eth.abc import SignedTransactionAPI
from eth_utils import to_checksum_address


class RpcError(Exception):
    """An error as JSON-RPC tells it; `data` is a revert's return data, 0x hex."""

    def __init__(self, code: int, message: str, data: str | None = None):
        super().__init__(message)
        self.code, self.data = code, data


def to_hex(value: int | bytes) -> str:
    """0x hex of a quantity or of bytes."""
    return hex(value) if isinstance(value, int) else "0x" + bytes(value).hex()


def from_hex(text: str) -> bytes:
    """Bytes of 0x hex; an odd count of digits gets a leading zero."""
    plain = text.removeprefix("0x")
    return bytes.fromhex(plain if len(plain) % 2 == 0 else "0" + plain)


@dataclass(frozen=True, slots=True)
class Log:
    """One log, in the words of JSON-RPC."""

    block: int
    json: dict[str, Any]


@dataclass(slots=True)
class Mined:
    """One mined transaction."""

    hash: bytes
    raw: bytes
    tx: SignedTransactionAPI
    sender: bytes
    status: int
    gas_used: int
    logs: list[tuple[bytes, list[int], bytes]] = field(default_factory=list)
    contract: bytes | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One block; `timestamp` in unix seconds, `root` the state root after it."""

    number: int
    timestamp: int
    hash: bytes
    parent: bytes
    root: bytes
    txs: tuple[Mined, ...]


def log_json(
    block: Block,
    mined: Mined,
    position: int,
    index: int,
    address: bytes,
    topics: list[int],
    data: bytes,
) -> dict[str, Any]:
    """One log, as `eth_getLogs` tells it."""
    return {
        "address": to_checksum_address(address),
        "topics": [to_hex(t.to_bytes(32, "big")) for t in topics],
        "data": to_hex(data),
        "blockNumber": to_hex(block.number),
        "blockHash": to_hex(block.hash),
        "blockTimestamp": to_hex(block.timestamp),
        "transactionHash": to_hex(mined.hash),
        "transactionIndex": to_hex(position),
        "logIndex": to_hex(index),
        "removed": False,
    }
