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
# What nodes tell beside the header.
_BESIDE: Final = frozenset(
    {"hash", "size", "totalDifficulty", "transactions", "uncles", "withdrawals"}
)


def computed_hash(raw: Mapping[str, object]) -> str | None:
    """keccak256(rlp(header)), 0x hex; None where a field is missing or unknown, as on chains with
    longer headers. Errors: ValueError for a field that is no hex.
    """
    present = [name for name in FIELDS if raw.get(name) is not None]
    unknown = raw.keys() - set(FIELDS) - _BESIDE
    if unknown or len(present) < ALWAYS or present != list(FIELDS[: len(present)]):
        return None
    return "0x" + keccak(rlp.encode([_item(name, raw[name]) for name in present])).hex()


def _item(name: str, raw: object) -> bytes | int:
    text = str(raw)
    return int(text, 16) if name in _QUANTITIES else bytes.fromhex(text.removeprefix("0x"))
