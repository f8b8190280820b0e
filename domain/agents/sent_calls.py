"""Calls of vaults that were signed here for agents, from before they are sent to what became of
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

CallOutcome = Literal["landed", "reverted"]


@dataclass(frozen=True, slots=True)
class SentBytes:
    """Signed bytes that may have been sent since `at`, 0x hex."""

    raw: str
    tx_hash: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCall:
    """One call by its idempotency key, stored before it is sent.

    Shapes: `request_hash` is of what was asked with the key; `sender` is lower case; `sent` the
    signed bytes, oldest first, which differ by their fees alone; `outcome` with its `tx_hash` is
    the result, `event_id` the report of it.
    """

    agent_id: str
    public_id: str
    key: str
    request_hash: str
    chain_id: int
    sender: str
    nonce: int
    action_hash: str
    stored_at: datetime
    sent: tuple[SentBytes, ...]
    why: str | None = None
    outcome: CallOutcome | None = None
    tx_hash: str | None = None
    event_id: str | None = None

    @property
    def newest(self) -> SentBytes:
        """The bytes with the highest fee."""
        return self.sent[-1]

    def replaced_by(self, newer: SentBytes) -> SentCall:
        """The call with further bytes, of a higher fee."""
        return replace(self, sent=(*self.sent, newer))

    def ended(self, outcome: CallOutcome, tx_hash: str, event_id: str | None) -> SentCall:
        """The call with its result."""
        return replace(self, outcome=outcome, tx_hash=tx_hash, event_id=event_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedKey:
    """A key that the signer holds for an agent; ended, it signs nothing.

    Shapes: `number` counts an agent's keys from 1, `address` is EIP-55. `ends_with_apps`: it was
    made at a consent, and ends with the last grant that has its number. `away_at` is when the
    signer has put it away.
    """

    agent_id: str
    number: int
    address: str
    made_at: datetime
    ends_with_apps: bool = False
    ended_at: datetime | None = None
    away_at: datetime | None = None

    @property
    def name(self) -> str:
        """The name by which the signer knows it; no later key of the agent has the same."""
        return f"{self.agent_id}-{self.number}"

    def ended(self, now: datetime) -> HostedKey:
        """The key after its end."""
        return replace(self, ended_at=now)
