"""Sealing: short values that leave the service and come back, under the key ring of a service."""

from __future__ import annotations

import hashlib
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LEAST_KEY_BYTES: Final = 32
MOST_KEYS: Final = 8
# A body of 256 KiB as a JSON string, whose quotes take two bytes each, with a few headers, sealed.
MOST_TOKEN_CHARS: Final = 768 * 1024
_VERSION: Final = "s1."
_DERIVED_FOR: Final = b"wallet sealing 1"
_ID_BYTES, _NONCE_BYTES, _TAG_BYTES = 4, 12, 16


class SealBroken(Exception):
    """The token was not sealed for this purpose by a key of the ring, or was changed."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of `WALLET_STATE_KEYS`: the first one seals, each of them opens.

    Shapes: `keys` are secrets of 32 bytes or more, the newest first. `shared` says that they came
    from the setting, by which an operator says that several processes serve.
    Errors: ValueError, without the keys in its text.
    """

    keys: tuple[bytes, ...] = field(repr=False)
    shared: bool = True
    _ciphers: dict[bytes, AESGCM] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.keys) <= MOST_KEYS:
            raise ValueError(f"a key ring has 1 to {MOST_KEYS} keys")
        if any(len(key) < LEAST_KEY_BYTES for key in self.keys):
            raise ValueError(f"a key of the ring has {LEAST_KEY_BYTES} bytes or more")
        if len(set(self.keys)) != len(self.keys):
            raise ValueError("a key of the ring stands there twice")

    def seal(self, purpose: str, plain: bytes) -> str:
        """An opaque token of A-Z, a-z, 0-9, `-`, `_` and `.` that `open` reads for this purpose."""
        key_id, cipher = next(iter(self._loaded().items()))
        nonce = os.urandom(_NONCE_BYTES)
        sealed = cipher.encrypt(nonce, plain, _bound_to(purpose, key_id))
        return _VERSION + urlsafe_b64encode(key_id + nonce + sealed).decode().rstrip("=")

    def open(self, purpose: str, token: str) -> bytes:
        """The value that was sealed for this purpose. Errors: `SealBroken`."""
        raw = _decoded(token)
        key_id, nonce, sealed = raw[:_ID_BYTES], raw[_ID_BYTES:][:_NONCE_BYTES], raw[_ID_BYTES:]
        cipher = self._loaded().get(key_id)
        if cipher is None:
            raise SealBroken("the key is not of this ring")
        from cryptography.exceptions import InvalidTag

        try:
            return cipher.decrypt(nonce, sealed[_NONCE_BYTES:], _bound_to(purpose, key_id))
        except InvalidTag:
            raise SealBroken("the token was changed, or sealed for another purpose") from None

    def _loaded(self) -> Mapping[bytes, AESGCM]:
        """The ciphers by the id of their key. Most processes never need them, so the library is
        loaded by the first use.
        """
        if not self._ciphers:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF

            for secret in self.keys:
                kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_DERIVED_FOR)
                key = kdf.derive(secret)
                self._ciphers[hashlib.sha256(key).digest()[:_ID_BYTES]] = AESGCM(key)
        return self._ciphers


def _bound_to(purpose: str, key_id: bytes) -> bytes:
    return _VERSION.encode() + key_id + purpose.encode()


def _decoded(token: str) -> bytes:
    """The bytes of a token in its one spelling. Errors: `SealBroken`."""
    body = token.removeprefix(_VERSION)
    if len(token) > MOST_TOKEN_CHARS or body == token or not body.isascii():
        raise SealBroken("it is no token")
    try:
        raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        raise SealBroken("it is no token") from None
    if urlsafe_b64encode(raw).decode().rstrip("=") != body:
        raise SealBroken("it is no token")
    if len(raw) < _ID_BYTES + _NONCE_BYTES + _TAG_BYTES:
        raise SealBroken("it is no token")
    return raw


def key_ring(text: str) -> KeyRing:
    """The ring that a setting holds: keys with commas or line ends between them, newest first.

    Errors: ValueError, without the keys in its text.
    """
    keys: Sequence[str] = [key.strip() for key in text.replace("\n", ",").split(",")]
    return KeyRing(tuple(key.encode() for key in keys if key))


def ephemeral_ring() -> KeyRing:
    """A ring of one key that this process alone has: what it sealed ends with it."""
    return KeyRing((os.urandom(LEAST_KEY_BYTES),), shared=False)
