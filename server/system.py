"""The machine's clock, ids from its CSPRNG, and the signals by which it ends a process."""

from __future__ import annotations

import secrets
import signal
from datetime import UTC, datetime
from typing import Final

_BASE32: Final = bytes(b"abcdefghijklmnopqrstuvwxyz234567"[n % 32] for n in range(256))


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present as an aware UTC datetime."""
        return datetime.now(UTC)


class SystemIds:
    """Ids and tokens from the operating system's CSPRNG."""

    def short(self, prefix: str) -> str:
        """Return `prefix` and 10 random characters of a-z2-7 (50 bits)."""
        return prefix + secrets.token_bytes(10).translate(_BASE32).decode()

    def token(self, prefix: str) -> str:
        """Return `prefix` and 43 base64url characters (256 bits)."""
        return prefix + secrets.token_urlsafe(32)

    def nonce256(self) -> int:
        """Return a random 256-bit integer."""
        return secrets.randbits(256)


def ending_signals() -> list[signal.Signals]:
    """The signals at which a process drains and ends: SIGHUP too, which a terminal sends as it
    closes, but where whoever started the process had it ignored, as `nohup` does.
    """
    hung_up = signal.SIGHUP if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN else None
    return [s for s in (signal.SIGTERM, signal.SIGINT, hung_up) if s is not None]
