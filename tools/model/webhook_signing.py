"""Webhook signing: secrets and signatures by Standard Webhooks (standardwebhooks.com)."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b32encode, b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

# For so long after a rotation the secret before it signs too, so that a receiver can change over.
BOTH: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class WebhookSigning:
    """Makes the secrets out of one key of the operator's: none of them is stored anywhere."""

    key: bytes

    def _raw(self, webhook_id: str, generation: int) -> bytes:
        message = f"{webhook_id}:{generation}".encode()
        return hmac.new(self.key, message, hashlib.sha256).digest()

    def secret(self, webhook_id: str, generation: int) -> str:
        """The secret as its owner is shown it: `whsec_` and base64 of 32 bytes."""
        return "whsec_" + b64encode(self._raw(webhook_id, generation)).decode()

    def link_code(self, purpose: str, receiver_id: str) -> str:
        """The code of a link in a letter to one receiver, which is stored nowhere."""
        message = f"{purpose}:{receiver_id}".encode()
        return b32encode(hmac.new(self.key, message, hashlib.sha256).digest()[:20]).decode().lower()

    def is_link_code(self, purpose: str, receiver_id: str, code: str) -> bool:
        """True for the very code of that link."""
        return hmac.compare_digest(self.link_code(purpose, receiver_id).encode(), code.encode())

    def headers(
        self,
        webhook_id: str,
        generation: int,
        rotated_at: datetime | None,
        *,
        message_id: str,
        body: str,
        now: datetime,
    ) -> dict[str, str]:
        """The three headers of a message; `body` is the very text that is sent."""
        stamp = str(int(now.timestamp()))
        message = f"{message_id}.{stamp}.{body}".encode()
        generations = [generation]
        if generation > 1 and rotated_at is not None and now < rotated_at + BOTH:
            generations.append(generation - 1)
        signatures = (
            hmac.new(self._raw(webhook_id, g), message, hashlib.sha256).digest()
            for g in generations
        )
        return {
            "webhook-id": message_id,
            "webhook-timestamp": stamp,
            "webhook-signature": " ".join(f"v1,{b64encode(s).decode()}" for s in signatures),
        }
