"""Bills: what a purse is to pay for, kept before anybody can pay it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from domain.mandates.purses import BillTerms, TokenDomain
from domain.money import Usdc

BillState = Literal["open", "paid", "void", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """One x402 payment out of a purse (EIP-3009), from the moment when it is made.

    Shapes: addresses EIP-55; `nonce` and `salt` 0x and 64 digits; `resource` is the url that is
    paid for and `host` its host; `accepted` the seller's requirement and `echoed` what else of the
    seller's 402 the payment repeats; `signature` the bytes that the purse takes, None before the
    agent has signed. `key` names the request of the agent. `event_id` and `tx_hash` are of the
    payment under its nonce; without `paid_at` it is one to another payee or of another amount.
    Units: `valid_after` and `valid_before` unix seconds, both exclusive.
    """

    bill_id: str
    public_id: str
    agent_id: str
    key: str
    request_hash: str
    chain_id: int
    hub: str
    purse: str
    epoch: int
    resource: str
    host: str
    pay_to: str
    amount: Usdc
    nonce: str
    salt: str
    valid_after: int
    valid_before: int
    action_hash: str
    made_at: datetime
    token: TokenDomain
    accepted: Mapping[str, object]
    echoed: Mapping[str, object] = field(default_factory=dict)
    why: str | None = None
    payment_identifier: str | None = None
    approval_id: str | None = None
    signature: str | None = None
    voided_at: datetime | None = None
    paid_at: datetime | None = None
    tx_hash: str | None = None
    event_id: str | None = None

    @property
    def terms(self) -> BillTerms:
        """The five words that the purse pays by."""
        return BillTerms(
            pay_to=self.pay_to,
            amount=self.amount,
            valid_after=self.valid_after,
            valid_before=self.valid_before,
            nonce=self.nonce,
        )

    def state_at(self, now: datetime) -> BillState:
        """`paid` by the chain's own row alone; one that is neither paid nor void may be paid until
        its time is over. USDC takes a nonce once: one under which something else was paid is void.
        """
        if self.paid_at is not None:
            return "paid"
        if self.voided_at is not None or self.event_id is not None:
            return "void"
        return "open" if now.timestamp() < self.valid_before else "expired"
