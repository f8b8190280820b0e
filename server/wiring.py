"""Composition: the real clock, ids, store, chains and keeper, put together once."""

from __future__ import annotations

import base64
import secrets
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        return datetime.now(UTC)


class SystemIds:
    """Ids and tokens from the operating system's CSPRNG."""

    def short(self, prefix: str) -> str:
        """Return `prefix` and 10 random characters of a-z2-7 (50 bits)."""
        return prefix + base64.b32encode(secrets.token_bytes(7)).decode().lower()[:10]

    def token(self, prefix: str) -> str:
        """Return `prefix` and 43 base64url characters (256 bits)."""
        return prefix + secrets.token_urlsafe(32)

    def nonce256(self) -> int:
        """Return a random 256-bit integer."""
        return secrets.randbits(256)
