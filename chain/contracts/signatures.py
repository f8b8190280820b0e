"""Signatures: recover an EOA's address offline, or build the query of a contract wallet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_keys import keys
from eth_keys.exceptions import BadSignature, ValidationError

from chain.contracts.abi_codec import artifact

_N: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_MAGIC_6492: Final = bytes.fromhex("6492" * 16)
_LARGEST_CODE: Final = 49_152  # bytes, EIP-3860: the question travels as the code of a creation
_ZERO_ADDRESS: Final = "0x" + "00" * 20


def parts(signature: bytes) -> tuple[int, int, int] | None:
    """Parse 65 bytes (v 27/28 or 0/1) or 64 bytes (EIP-2098) into (r, s, y parity); None for a high
    s or any other form.

    eth-account recovers the high-s twin of a signature without complaint; accepting it would give
    one consent two forms.
    """
    if len(signature) == 64:
        r, packed = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        parity, s = packed >> 255, packed & ((1 << 255) - 1)
    elif len(signature) == 65:
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
        parity = signature[64] - 27 if signature[64] in (27, 28) else signature[64]
    else:
        return None
    return (r, s, parity) if parity in (0, 1) and 0 < r < _N and 0 < s <= _N // 2 else None


def recover(digest: bytes, signature: bytes) -> str | None:
    """EIP-55 address of the EOA that signed, or None."""
    rsv = parts(signature)
    if rsv is None:
        return None
    r, s, parity = rsv
    try:
        key = keys.Signature(vrs=(parity, r, s)).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError):
        return None
    return str(key.to_checksum_address())


def sign(key: bytes | str, digest: str) -> str:
    """Sign a digest with a key: r, s and v, 0x hex."""
    raw = key if isinstance(key, bytes) else bytes.fromhex(key.removeprefix("0x"))
    signed = keys.PrivateKey(raw).sign_msg_hash(bytes.fromhex(digest.removeprefix("0x")))
    return on_chain_form("0x" + signed.to_bytes().hex())


def key_of_signature(digest: str, signature: str) -> str | None:
    """EIP-55 address of the key that signed a digest, both 0x hex; None where none did."""
    return recover(*(bytes.fromhex(text.removeprefix("0x")) for text in (digest, signature)))


def on_chain_form(signature: str) -> str:
    """Normalise an EOA's signature to r, s, v with v 27/28, the only form that OpenZeppelin's ECDSA
    accepts; a contract wallet's signature stays unchanged.
    """
    raw = bytes.fromhex(signature.removeprefix("0x"))
    rsv = parts(raw)
    if rsv is None:
        return "0x" + raw.hex()
    r, s, parity = rsv
    return "0x" + (r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([27 + parity])).hex()


@dataclass(frozen=True, slots=True)
class SignerQuery:
    """Query of a contract wallet: the data of an eth_call without `to`, which returns one byte."""

    kind: Literal["erc1271", "erc6492"]
    data: str


def question(digest: bytes, signature: bytes, signer: str) -> SignerQuery | None:
    """Build the ERC-1271 or ERC-6492 query; None where the signature is malformed or too long."""
    kind: Literal["erc1271", "erc6492"] = "erc1271"
    factory, call = _ZERO_ADDRESS, b""
    if signature[-32:] == _MAGIC_6492:
        try:
            factory, call, signature = decode(["address", "bytes", "bytes"], signature[:-32])
        except DecodingError:
            return None
        kind = "erc6492"
    arguments = encode(
        ["address", "bytes32", "address", "bytes", "bytes"],
        [signer, digest, factory, call, signature],
    )
    data = artifact("SigCheck")["bytecode"] + arguments.hex()
    return SignerQuery(kind, data) if len(data) <= 2 + 2 * _LARGEST_CODE else None
