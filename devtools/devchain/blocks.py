"""Blocks, transactions and logs of the development chain, and how JSON-RPC writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import rlp
from eth.abc import SignedTransactionAPI
from eth_utils import keccak, to_checksum_address

from chain.rpc.header_hash import computed_hash

GAS_LIMIT: Final = 60_000_000
BASE_FEE: Final = 1_000_000  # 0.001 gwei, about what Base asks
ZERO32: Final = "0x" + "00" * 32
NO_BLOOM: Final = "0x" + "00" * 256


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
class ExecutedLog:
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
    """One block; `timestamp` in unix seconds, `root` the state root after it, `salt` what tells it
    from the block in its place before a reorganisation.
    """

    number: int
    timestamp: int
    parent: bytes
    root: bytes
    txs: tuple[Mined, ...]
    salt: int = 0
    header: Mapping[str, object] = field(init=False, repr=False, compare=False)
    hash: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "header", _header_json(self))
        object.__setattr__(self, "hash", from_hex(computed_hash(self.header) or ""))


def _header_json(block: Block) -> dict[str, object]:
    """The fields of a header, whose hash is the block's. What stands for the roots of transactions
    and receipts commits to the transactions alone.
    """
    txs = to_hex(keccak(rlp.encode([t.hash for t in block.txs])))
    return {
        "parentHash": to_hex(block.parent),
        "sha3Uncles": ZERO32,
        "miner": "0x" + "00" * 20,
        "stateRoot": to_hex(block.root),
        "transactionsRoot": txs,
        "receiptsRoot": txs,
        "logsBloom": NO_BLOOM,
        "difficulty": "0x0",
        "number": to_hex(block.number),
        "gasLimit": to_hex(GAS_LIMIT),
        "gasUsed": to_hex(sum(t.gas_used for t in block.txs)),
        "timestamp": to_hex(block.timestamp),
        "extraData": to_hex(block.salt.to_bytes(8, "big")),
        "mixHash": ZERO32,
        "nonce": "0x" + "00" * 8,
        "baseFeePerGas": to_hex(BASE_FEE),
        "withdrawalsRoot": ZERO32,
    }


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
