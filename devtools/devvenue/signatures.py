"""Signatures: the digest of each scheme, and the address that a signature recovers to.

Made apart from the signer of the service on purpose: a fake that shares its code proves nothing.
Source: venue page 1.3; EIP-712.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgpack
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_keys.exceptions import BadSignature, ValidationError
from eth_utils.crypto import keccak

from devtools.devvenue.refusals import UNRECOVERABLE, Refused
from devtools.devvenue.wires import Envelope, UserSigned

_L1_CHAIN_ID: Final = 1337
_AGENT: Final = {"Agent": {"source": "string", "connectionId": "bytes32"}}
_APPROVALS: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "approveAgent": {
        "HyperliquidTransaction:ApproveAgent": {
            "hyperliquidChain": "string",
            "agentAddress": "address",
            "agentName": "string",
            "nonce": "uint64",
        }
    },
    "approveBuilderFee": {
        "HyperliquidTransaction:ApproveBuilderFee": {
            "hyperliquidChain": "string",
            "maxFeeRate": "string",
            "builder": "address",
            "nonce": "uint64",
        }
    },
}


def action_hash(
    action: Mapping[str, object], nonce: int, vault: str | None, expires_after: int | None
) -> bytes:
    """keccak of msgpack(action), the nonce, the vault and the expiry; keys in canonical order."""
    data = bytes(msgpack.packb(action)) + nonce.to_bytes(8, "big")
    data += b"\x00" if vault is None else b"\x01" + bytes.fromhex(vault[2:])
    if expires_after is not None:
        data += b"\x00" + expires_after.to_bytes(8, "big")
    return keccak(data)


def signer_of(envelope: Envelope, *, mainnet: bool) -> str:
    """The address behind a signature; any pair of numbers has one. Errors: `Refused`.

    An L1 action is signed by the phantom agent of its network, a user-signed one as typed data
    whose domain has the chain that it names.
    """
    action = envelope.action
    fields = action.model_dump(by_alias=True, exclude_none=True)
    if isinstance(action, UserSigned):
        types, message = _APPROVALS[action.type], fields
        name, chain_id = "HyperliquidSignTransaction", int(action.signature_chain_id, 16)
    else:
        connection_id = action_hash(
            fields, envelope.nonce, envelope.vault_address, envelope.expires_after
        )
        types, message = _AGENT, {"source": "a" if mainnet else "b", "connectionId": connection_id}
        name, chain_id = "Exchange", _L1_CHAIN_ID
    ((_, declared),) = types.items()
    signable = encode_typed_data(
        domain_data={
            "name": name,
            "version": "1",
            "chainId": chain_id,
            "verifyingContract": "0x" + "00" * 20,
        },
        message_types={
            kind: [{"name": field, "type": of} for field, of in members.items()]
            for kind, members in types.items()
        },
        message_data={field: message[field] for field in declared},
    )
    vrs = envelope.signature.v, *(int(n, 16) for n in (envelope.signature.r, envelope.signature.s))
    try:
        return str(Account.recover_message(signable, vrs=vrs)).lower()
    except (BadSignature, ValidationError) as error:
        raise Refused(UNRECOVERABLE) from error
