"""Web Push: what a browser's push service takes from us (RFC 8030), encrypted for that browser
alone (RFC 8291, in the coding of RFC 8188), under the operator's name (RFC 8292).
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from tools.model.sealing import KeyRing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

POINT_BYTES: Final = 65
AUTH_BYTES: Final = 16
# RFC 8291 allows one record, of what RFC 8030 makes every service take.
RECORD_BYTES: Final = 4_096
PAYLOAD_MAX: Final = 2_048
# RFC 8292 allows a day at the most.
NAMED_FOR: Final = timedelta(hours=12)
SEALED_FOR: Final = "a browser's push keys"


def plain_base64(raw: bytes) -> str:
    """base64url without padding, as the push standards write bytes."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def bytes_of(text: str) -> bytes:
    """The bytes of base64url with or without its padding. Errors: ValueError."""
    body = text.rstrip("=")
    raw = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    if plain_base64(raw) != body:
        raise ValueError("it is no base64url")
    return raw


@dataclass(frozen=True, slots=True)
class BrowserKeys:
    """The keys that a browser gave for its messages: a point of P-256, and 16 secret bytes.

    Errors: ValueError.
    """

    point: bytes
    auth: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.point) != POINT_BYTES or self.point[0] != 4:
            raise ValueError("p256dh is an uncompressed point of P-256")
        if len(self.auth) != AUTH_BYTES:
            raise ValueError("auth has 16 bytes")
        from cryptography.hazmat.primitives.asymmetric import ec

        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), self.point)


class WebPush:
    """The operator's key pair, under whose name every push service is called.

    Shapes: `private_key` is the scalar, 32 bytes in base64url. `contact` is where a push service
    reaches the operator (https or mailto), which some ask for.
    Errors: ValueError, without the key in its text.
    """

    def __init__(self, private_key: str, contact: str | None):
        from cryptography.hazmat.primitives.asymmetric import ec

        raw = bytes_of(private_key)
        if len(raw) != 32:
            raise ValueError("a VAPID key is 32 bytes in base64url")
        self._key = ec.derive_private_key(int.from_bytes(raw, "big"), ec.SECP256R1())
        self.contact = contact
        self._point = _point(self._key)
        # Whoever changes the pair loses every subscription, which was made for it: so its seal may
        # hang on it.
        self._ring = KeyRing((raw,))

    @property
    def public_key(self) -> str:
        """The key that a browser is told when it subscribes (`applicationServerKey`)."""
        return plain_base64(self._point)

    def sealed(self, keys: BrowserKeys) -> str:
        """A browser's keys as they are stored."""
        return self._ring.seal(SEALED_FOR, keys.point + keys.auth)

    def opened(self, sealed: str) -> BrowserKeys:
        """The keys behind what is stored. Errors: `SealBroken`."""
        raw = self._ring.open(SEALED_FOR, sealed)
        return BrowserKeys(raw[:POINT_BYTES], raw[POINT_BYTES:])

    def headers(
        self, endpoint: str, *, message_id: str, ttl: timedelta, urgent: bool, now: datetime
    ) -> dict[str, str]:
        """The headers of one message; an equal one takes the place of the one before (`Topic`)."""
        parts = urlsplit(endpoint)
        claims: dict[str, object] = {
            "aud": f"{parts.scheme}://{parts.netloc}",
            "exp": int((now + NAMED_FOR).timestamp()),
        }
        if self.contact is not None:
            claims["sub"] = self.contact
        return {
            "Authorization": f"vapid t={self._token(claims)},k={self.public_key}",
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(int(ttl.total_seconds())),
            "Urgency": "high" if urgent else "normal",
            "Topic": message_id,
        }

    def _token(self, claims: dict[str, object]) -> str:
        """A JWT of ES256 (RFC 7515)."""
        from cryptography.hazmat.primitives.asymmetric import ec, utils
        from cryptography.hazmat.primitives.hashes import SHA256

        parts = (json.dumps(part).encode() for part in ({"typ": "JWT", "alg": "ES256"}, claims))
        signed = ".".join(map(plain_base64, parts))
        r, s = utils.decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(SHA256())))
        return f"{signed}.{plain_base64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def new_private_key() -> str:
    """A new key of an operator, in the form of its setting."""
    from cryptography.hazmat.primitives.asymmetric import ec

    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return plain_base64(number.to_bytes(32, "big"))


def encrypt(keys: BrowserKeys, plain: bytes) -> bytes:
    """A message that only this browser opens. Errors: ValueError above 2 KiB."""
    from cryptography.hazmat.primitives.asymmetric import ec

    if len(plain) > PAYLOAD_MAX:
        raise ValueError("a message of at most 2 KiB")
    return encrypt_with(keys, plain, ec.generate_private_key(ec.SECP256R1()), os.urandom(16))


def encrypt_with(
    keys: BrowserKeys, plain: bytes, sender: EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    """The same with a given pair and salt. Source: RFC 8291, 3.4; RFC 8188, 2.1."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    browser = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), keys.point)
    point = _point(sender)
    shared = sender.exchange(ec.ECDH(), browser)
    secret = _derived(keys.auth, shared, b"WebPush: info\0" + keys.point + point, 32)
    key = _derived(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, secret, b"Content-Encoding: nonce\0", 12)
    head = salt + RECORD_BYTES.to_bytes(4, "big") + bytes([len(point)]) + point
    return head + AESGCM(key).encrypt(nonce, plain + b"\x02", None)


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def _point(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
