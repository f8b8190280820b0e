"""Block header hash: computed from a block's fields, it proves all of them, the time included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import rlp
from eth_utils import keccak

# In the order of the header; the first fifteen are in every header, the others came one by one.
FIELDS: Final = (
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
)
ALWAYS: Final = 15
_QUANTITIES: Final = frozenset(
    {
        "difficulty",
        "number",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "baseFeePerGas",
        "blobGasUsed",
        "excessBlobGas",
    }
)
# What nodes tell: the header, and more beside it.
_KNOWN: Final = frozenset(FIELDS) | {
    "hash", "size", "totalDifficulty", "transactions", "uncles", "withdrawals"
}  # fmt: skip


def computed_hash(raw: Mapping[str, object]) -> str | None:
    """keccak256(rlp(header)), 0x hex; None where a field is missing or unknown, as on chains with
    longer headers. Errors: ValueError for a field that is no hex,
    OverflowError for a negative one.
    """
    present = tuple([name for name in FIELDS if raw.get(name) is not None])
    if not raw.keys() <= _KNOWN or len(present) < ALWAYS or present != FIELDS[: len(present)]:
        return None
    items = [_item(name, str(raw[name])) for name in present]
    return "0x" + keccak(rlp.encode(items, infer_serializer=False)).hex()


def _item(name: str, text: str) -> bytes:
    if name not in _QUANTITIES:
        return bytes.fromhex(text.removeprefix("0x"))
    number = int(text, 16)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
