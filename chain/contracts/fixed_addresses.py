"""Addresses that are the same whoever deploys: CREATE2 by the canonical deterministic deployer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eth_abi import encode
from eth_typing import HexStr
from eth_utils import to_checksum_address

from chain.contracts import abi_codec

DETERMINISTIC_DEPLOYER: Final = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""Takes 32 bytes of salt and creation code (github.com/Arachnid/deterministic-deployment-proxy)."""
SALT: Final = "0x" + "00" * 32


def creation_code(contract: str, args: Sequence[str | bool | None] = ()) -> str:
    """A committed artifact's creation code with its constructor's arguments, 0x hex."""
    compiled = abi_codec.artifact(contract)
    constructor: dict[str, list[dict[str, str]]] = next(
        (e for e in compiled["abi"] if e["type"] == "constructor"), {"inputs": []}
    )
    types = [i["type"] for i in constructor["inputs"]]
    return str(compiled["bytecode"]) + encode(types, list(args)).hex()


def fixed_address(contract: str, args: Sequence[str | bool | None] = ()) -> str:
    """Address at which the canonical deployer puts a contract with salt zero, EIP-55."""
    from web3.utils.address import get_create2_address

    deployer = to_checksum_address(DETERMINISTIC_DEPLOYER)
    return str(get_create2_address(deployer, HexStr(SALT), HexStr(creation_code(contract, args))))


def fixed_deployment(contract: str, args: Sequence[str | bool | None] = ()) -> str:
    """Calldata that has the canonical deployer put it there, 0x hex."""
    return SALT + creation_code(contract, args).removeprefix("0x")
