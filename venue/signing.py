"""Venue signatures: the digests of its two schemes, signing, and signer recovery."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

import msgpack
from eth_account.messages import encode_defunct, encode_typed_data
from eth_keys import keys
from eth_keys.datatypes import PrivateKey
from eth_keys.exceptions import BadSignature, ValidationError
from eth_utils import keccak

from domain.trading.venue_values import Network
from venue.actions import UserSigned


class Field(TypedDict):
    """A field of an EIP-712 type."""

    name: str
    type: str


class TypedDataJson(TypedDict):
    """Typed data that a wallet shows and signs (EIP-712)."""

    domain: Mapping[str, str | int]
    types: Mapping[str, list[Field]]
    primaryType: str
    message: Mapping[str, object]


class SignatureJson(TypedDict):
    """A signature as JSON."""

    r: str
    s: str
    v: int


_N: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_ZERO_ADDRESS: Final = "0x" + "00" * 20
_WORD: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_RAW: Final = re.compile(r"0x[0-9a-fA-F]{130}")


def _fields(text: str) -> list[Field]:
    """The fields of an EIP-712 type, as its encoding names them."""
    pairs = (field.split() for field in text.split(","))
    return [{"name": name, "type": kind} for kind, name in pairs]


_DOMAIN: Final = "string name,string version,uint256 chainId,address verifyingContract"
_AGENT: Final = "string source,bytes32 connectionId"
USER_SIGNED: Final[Mapping[str, tuple[str, list[Field]]]] = {
    "approveAgent": (
        "HyperliquidTransaction:ApproveAgent",
        _fields("string hyperliquidChain,address agentAddress,string agentName,uint64 nonce"),
    ),
    "approveBuilderFee": (
        "HyperliquidTransaction:ApproveBuilderFee",
        _fields("string hyperliquidChain,string maxFeeRate,address builder,uint64 nonce"),
    ),
}

# The phantom agent's typed data never changes but for one word; its constant parts are hashed once.
_L1_SEPARATOR: Final = keccak(
    keccak(text=f"EIP712Domain({_DOMAIN})")
    + keccak(text="Exchange")
    + keccak(text="1")
    + (1337).to_bytes(32, "big")
    + bytes(32)
)
_AGENT_TYPE: Final = keccak(text=f"Agent({_AGENT})")
_L1_HEAD: Final[Mapping[Network, bytes]] = {
    "mainnet": _AGENT_TYPE + keccak(text="a"),
    "testnet": _AGENT_TYPE + keccak(text="b"),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """An ECDSA signature with a low s; `v` is 27 or 28."""

    r: int
    s: int
    v: int

    def as_json(self) -> SignatureJson:
        """JSON of shape `{r, s, v}`; r and s always have 64 digits."""
        return {"r": f"0x{self.r:064x}", "s": f"0x{self.s:064x}", "v": self.v}

    @classmethod
    def parse(cls, raw: Mapping[str, object]) -> Signature:
        """Parse `{r, s, v}` from a request.

        Errors: ValueError for other fields, other than 64 digits, a v other than 27 and 28, a value
        off the curve, and a high s: it recovers to the same address, so accepting it would give one
        consent two forms.
        """
        if set(raw) != {"r", "s", "v"}:
            raise ValueError("a signature has r, s and v")
        r, s, v = raw["r"], raw["s"], raw["v"]
        if not (
            isinstance(r, str) and isinstance(s, str) and _WORD.fullmatch(r) and _WORD.fullmatch(s)
        ):
            raise ValueError("r and s are 0x and 64 hex digits")
        if type(v) is not int or v not in (27, 28):
            raise ValueError("v is 27 or 28")
        return cls._checked(int(r, 16), int(s, 16), v)

    @classmethod
    def from_hex(cls, text: str) -> Signature:
        """Parse 65 bytes as a wallet returns them; v may be 0 or 1. Errors: ValueError."""
        if not _RAW.fullmatch(text):
            raise ValueError("a signature has 65 bytes")
        v = int(text[130:], 16)
        if v not in (0, 1, 27, 28):
            raise ValueError("v is 27 or 28")
        return cls._checked(int(text[2:66], 16), int(text[66:130], 16), v + 27 if v < 27 else v)

    @classmethod
    def _checked(cls, r: int, s: int, v: int) -> Signature:
        if not (0 < r < _N and 0 < s < _N):
            raise ValueError("r or s is outside the curve's order")
        if s > _N // 2:
            raise ValueError("s is in the upper half")
        return cls(r, s, v)


def action_hash(
    action: Mapping[str, object],
    nonce: int,
    *,
    vault: str | None = None,
    expires_after: int | None = None,
) -> bytes:
    """Hash of an L1 action.

    Shapes: keccak(msgpack(action) ++ nonce ++ vault ++ expiry). Units: `nonce` and `expires_after`
    ms since 1970.
    Errors: OverflowError for a nonce or expiry beyond 64 bits. Source: the venue's signing rules;
    key order counts.
    """
    packed = msgpack.packb(action) + nonce.to_bytes(8, "big")
    packed += b"\x00" if vault is None else b"\x01" + bytes.fromhex(vault.removeprefix("0x"))
    if expires_after is not None:
        packed += b"\x00" + expires_after.to_bytes(8, "big")
    return bytes(keccak(packed))


def l1_digest(network: Network, hashed: bytes) -> bytes:
    """EIP-712 digest of the network's phantom agent over an action's hash."""
    return bytes(keccak(b"\x19\x01" + _L1_SEPARATOR + keccak(_L1_HEAD[network] + hashed)))


def l1_typed_data(network: Network, hashed: bytes) -> TypedDataJson:
    """The phantom agent's typed data, for an external signer that displays it."""
    return {
        "domain": {
            "name": "Exchange",
            "version": "1",
            "chainId": 1337,
            "verifyingContract": _ZERO_ADDRESS,
        },
        "types": {
            "EIP712Domain": _fields(_DOMAIN),
            "Agent": _fields(_AGENT),
        },
        "primaryType": "Agent",
        "message": {
            "source": "a" if network == "mainnet" else "b",
            "connectionId": "0x" + hashed.hex(),
        },
    }


def user_typed_data(action: UserSigned) -> TypedDataJson:
    """Typed data of a user-signed action, on the chain of its `signatureChainId`."""
    values: Mapping[str, object] = action
    primary, fields = USER_SIGNED[action["type"]]
    return {
        "domain": {
            "name": "HyperliquidSignTransaction",
            "version": "1",
            "chainId": int(action["signatureChainId"], 16),
            "verifyingContract": _ZERO_ADDRESS,
        },
        "types": {"EIP712Domain": _fields(_DOMAIN), primary: fields},
        "primaryType": primary,
        "message": {f["name"]: values[f["name"]] for f in fields},
    }


def user_digest(action: UserSigned) -> bytes:
    """EIP-712 digest of a user-signed action."""
    signable = encode_typed_data(full_message=dict(user_typed_data(action)))
    return bytes(keccak(b"\x19" + signable.version + signable.header + signable.body))


def text_digest(text: str) -> bytes:
    """EIP-191 hash that `personal_sign` signs."""
    signable = encode_defunct(text=text)
    return bytes(keccak(b"\x19" + signable.version + signable.header + signable.body))


def key_from(secret: bytes) -> PrivateKey:
    """Build a private key; cache it, because the constructor computes the public key."""
    return PrivateKey(secret)


def sign(key: PrivateKey, digest: bytes) -> Signature:
    """Sign a digest; deterministic (RFC 6979) and low s."""
    v, r, s = key.sign_msg_hash(digest).vrs
    return Signature(r, s, 27 + v)


def signer(digest: bytes, signature: Signature) -> str | None:
    """EIP-55 address that signed a digest; None where the signature is invalid."""
    try:
        key = keys.Signature(
            vrs=(signature.v - 27, signature.r, signature.s)
        ).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError):
        return None
    return str(key.to_checksum_address())
