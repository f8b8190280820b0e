"""Signatures: the digest of each scheme, and the address that a signature recovers to.

Made apart from the signer of the service on purpose: a fake that shares its code proves nothing.
Source: venue page 1.3; EIP-712.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, get_args, get_origin, get_type_hints

import msgpack
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature, ValidationError
from eth_utils.crypto import keccak

from devtools.devvenue.refusals import UNRECOVERABLE, Malformed, Refused
from devtools.devvenue.wires import USER_SIGNED, UserSigned

_DOMAIN_TYPE: Final = keccak(
    b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_AGENT_TYPE: Final = keccak(b"Agent(string source,bytes32 connectionId)")
_L1_CHAIN_ID: Final = 1337


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _domain(name: str, chain_id: int) -> bytes:
    parts = [_DOMAIN_TYPE, keccak(text=name), keccak(text="1"), _word(chain_id), _word(0)]
    return keccak(b"".join(parts))


def action_hash(
    action: Mapping[str, object], nonce: int, vault: str | None, expires_after: int | None
) -> bytes:
    """keccak of msgpack(action), the nonce, the vault and the expiry; keys in canonical order."""
    data = bytes(msgpack.packb(action)) + nonce.to_bytes(8, "big")
    data += b"\x00" if vault is None else b"\x01" + bytes.fromhex(vault[2:])
    if expires_after is not None:
        data += b"\x00" + expires_after.to_bytes(8, "big")
    return keccak(data)


def l1_digest(connection_id: bytes, mainnet: bool) -> bytes:
    """The digest that an L1 action's signature covers: the phantom agent of its network."""
    struct = keccak(_AGENT_TYPE + keccak(text="a" if mainnet else "b") + connection_id)
    return keccak(b"\x19\x01" + _domain("Exchange", _L1_CHAIN_ID) + struct)


def _message(form: type) -> list[tuple[str, str]]:
    """The fields of a user-signed action's message with their EIP-712 types."""
    hints = get_type_hints(form, include_extras=True)
    names = [name for name in hints if name not in ("signatureChainId", "type")]
    return [(name, _declared(hints[name])) for name in names]


def _declared(hint: object) -> str:
    if get_origin(hint) is Annotated and "address" in get_args(hint):
        return "address"
    return "uint64" if hint is int else "bool" if hint is bool else "string"


_MESSAGES: Final = {kind: (form.__name__, _message(form)) for kind, form in USER_SIGNED.items()}


def user_signed_digest(action: UserSigned) -> bytes:
    """The digest that a user-signed action's signature covers. The domain has the chain that it
    names.
    """
    message: Mapping[str, object] = action
    name, fields = _MESSAGES[action["type"]]
    declared = ",".join(f"{kind} {field}" for field, kind in fields)
    struct = keccak(text=f"HyperliquidTransaction:{name}({declared})")
    for field, kind in fields:
        struct += _encoded(message[field], kind)
    chain_id = int(action["signatureChainId"], 16)
    domain = _domain("HyperliquidSignTransaction", chain_id)
    return keccak(b"\x19\x01" + domain + keccak(struct))


def _encoded(value: object, kind: str) -> bytes:
    if isinstance(value, int):
        return _word(value)
    return _word(int(str(value), 16)) if kind == "address" else keccak(text=str(value))


def read_signature(body: object) -> tuple[int, int, int]:
    """r, s and v of a body; hex of up to 64 digits. Errors: `Malformed`."""
    if not isinstance(body, dict) or body.get("v") not in (27, 28):
        raise Malformed
    try:
        r, s = (int(body[name], 16) for name in ("r", "s"))
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed from error
    if not (0 <= r < 2**256 and 0 <= s < 2**256):
        raise Malformed
    return r, s, body["v"]


def recover(digest: bytes, signature: tuple[int, int, int]) -> str:
    """The address behind a signature; any pair of numbers has one. Errors: `Refused`."""
    r, s, v = signature
    try:
        key = Signature(vrs=(v - 27, r, s)).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError) as error:
        raise Refused(UNRECOVERABLE) from error
    return str(key.to_address())
