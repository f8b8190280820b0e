"""The hash of a block, computed from its header: it commits to all of it, the time too."""

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
    """keccak256(rlp(header)), 0x hex; None where a field is missing or one is not known here, as on
    chains whose headers hold more.

    Errors: ValueError for a field that is no hex.
    """
    there = [name for name in FIELDS if raw.get(name) is not None]
    unknown = raw.keys() - set(FIELDS) - _BESIDE
    if unknown or len(there) < ALWAYS or there != list(FIELDS[: len(there)]):
        return None
    return "0x" + keccak(rlp.encode([_item(name, raw[name]) for name in there])).hex()


def _item(name: str, raw: object) -> bytes | int:
    text = str(raw)
    return int(text, 16) if name in _QUANTITIES else bytes.fromhex(text.removeprefix("0x"))
