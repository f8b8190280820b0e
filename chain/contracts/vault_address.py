"""Vault address of signed terms, computed offline (CREATE2).

The factory makes a vault as a clone with immutable arguments (OpenZeppelin `Clones`, CREATE2), from
an implementation that its own constructor made first (CREATE with nonce 1, EIP-161).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from eth_abi import encode
from eth_typing import HexStr
from eth_utils import to_checksum_address

from chain.contracts import eip712
from domain.mandates.targets import Target

_CONFIG: Final = "(address,address" + ",uint256" * 7 + ",bytes32,uint256)"
_LISTS: Final = ("(address,bytes4,uint32)[]", "(address,bytes4)[]")
_FIGURES: Final = (
    "budgetUsdc",
    "perTxCap",
    "dailyCap",
    "stopFloorBps",
    "endsAt",
    "agentFeeBps",
    "onFloor",
)


def vault_address(
    factory: str, message: Mapping[str, str], targets: Sequence[Target], digest: str
) -> str:
    """Compute the address that the factory's `predict` returns for signed terms, EIP-55.

    Shapes: `message` of terms of version 2; `digest` is theirs in the factory's domain.
    """
    # What only a vault is asked for is not loaded with the service.
    from web3.types import Nonce
    from web3.utils.address import get_create2_address, get_create_address

    config = (
        message["owner"],
        message["agent"],
        *(int(message[name]) for name in _FIGURES),
        bytes.fromhex(digest.removeprefix("0x")),
        int(message["approvalAbove"]),
    )
    args = encode([_CONFIG, *_LISTS], [config, *eip712.listed(targets)])
    deployer = to_checksum_address(factory)
    implementation = bytes.fromhex(get_create_address(deployer, Nonce(1))[2:])
    code = (
        b"\x61"
        + (len(args) + 0x2D).to_bytes(2, "big")
        + bytes.fromhex("3d81600a3d39f3363d3d373d3d3d363d73")
        + implementation
        + bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
        + args
    )
    return str(get_create2_address(deployer, HexStr(digest), HexStr("0x" + code.hex())))
