"""EIP-712 typed data of mandate terms and approvals, and the hashes that the terms commit to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from eth_abi import encode
from eth_account.messages import encode_typed_data
from eth_utils import keccak

from domain.mandates.targets import Target


def digest(typed_data: Mapping[str, object]) -> str:
    """EIP-712 digest of a whole typed-data object, 0x hex. Errors: ValueError where the message
    does not fit its types.
    """
    signable = encode_typed_data(full_message=dict(typed_data))
    return "0x" + keccak(b"\x19" + signable.version + signable.header + signable.body).hex()


def listed(
    targets: Sequence[Target],
) -> tuple[list[tuple[str, bytes, int]], list[tuple[str, bytes]]]:
    """AllowedCall[] and ValueProbe[] of the contract entries in their order, one probe a target."""
    calls: list[tuple[str, bytes, int]] = []
    probes: dict[str, tuple[str, bytes]] = {}
    for target in targets:
        if target.kind != "contract" or target.address is None or target.selector is None:
            continue
        mask = sum(1 << word_index for word_index in set(target.self_args))
        calls.append((target.address, bytes.fromhex(target.selector[2:]), mask))
        if target.probe:
            probes.setdefault(
                target.address.lower(), (target.address, bytes.fromhex(target.probe[2:]))
            )
    return calls, list(probes.values())


def targets_hash(targets: Sequence[Target]) -> str:
    """keccak256(abi.encode(calls, probes)), which `allowedTargetsHash` commits to (chain.md), 0x
    hex.
    """
    calls, probes = listed(targets)
    return (
        "0x"
        + keccak(encode(["(address,bytes4,uint32)[]", "(address,bytes4)[]"], [calls, probes])).hex()
    )


def guard_hash(targets: Sequence[Target]) -> str:
    """keccak256 of the canonical JSON of the other entries, which `guardTargetsHash` commits to,
    0x hex.

    Shapes: entries in their order; keys sorted, no spaces, UTF-8 (RFC 8785 for the values that
    occur here).
    """
    entries = [t.as_json() for t in targets if t.kind in ("x402", "venue")]
    return (
        "0x"
        + keccak(
            text=json.dumps(entries, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        ).hex()
    )


def action_hash(vault: str, target: str, data: str, approve_amount: int) -> str:
    """Hash that identifies one action: keccak256(abi.encode(vault, target, keccak256(data),
    approveAmount)), 0x hex (contract 6).

    Units: `approve_amount` in USDC base units; `data` the exact calldata, 0x hex.
    """
    values = [vault, target, keccak(hexstr=data), approve_amount]
    return "0x" + keccak(encode(["address", "address", "bytes32", "uint256"], values)).hex()


_DOMAIN: Final = (
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
)
_APPROVAL: Final = (("mandate", "bytes32"), ("actionHash", "bytes32"), ("until", "uint64"))


def approve_action(
    chain_id: int, factory: str, mandate: str, action: str, until: int
) -> dict[str, object]:
    """Typed data that an owner signs to approve one action, in the factory's domain (chain.md).

    Units: `mandate` the digest of the signed terms and `action` an `action_hash`, 0x hex; `until`
    unix seconds, inclusive.
    """
    return {
        "types": {
            "EIP712Domain": [{"name": n, "type": t} for n, t in _DOMAIN],
            "ApproveAction": [{"name": n, "type": t} for n, t in _APPROVAL],
        },
        "primaryType": "ApproveAction",
        "domain": {
            "name": "MandateVault",
            "version": "2",
            "chainId": chain_id,
            "verifyingContract": factory,
        },
        "message": {"mandate": mandate, "actionHash": action, "until": str(until)},
    }
