"""Models of an act: what is asked for, and the answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from domain.mandates.approvals import ApprovalItem
from domain.money import Usdc
from domain.reads.row_models import LedgerRow
from domain.rules.action_checks import RemainingNow
from domain.times import Timestamp
from tools.actions.held_call import AskedBy, NextTold
from tools.model.fields import Address, HexData, Lines, OneMandate
from tools.model.operation import RequestModel, ResponseModel


class ActionIn(RequestModel):
    """The action: a market by its name, the purse, a call, or to give the mandate back."""

    kind: Literal["enter", "exit", "call", "fund", "drain", "forfeit"]
    market: str | None = Field(
        default=None, max_length=64, description="a market's id (markets_list)"
    )
    amount_usdc: Usdc | None = Field(
        default=None,
        description="USDC, a decimal string",
    )
    share_bps: Literal[10_000] | None = Field(
        default=None, description="in place of amount_usdc: 10000 takes all"
    )
    target: Address | None = Field(default=None, description="the contract")
    data: HexData | None = Field(default=None, description="calldata, 0x hex")
    approve_amount: Usdc | None = Field(
        default=None, description="USDC that target may pull; left out: none"
    )


class ActIn(OneMandate):
    """One act of the agent."""

    action: ActionIn = Field(
        description='{kind: "enter", market, amount_usdc}, {kind: "exit", market, amount_usdc or '
        'share_bps}, {kind: "call", target, data, approve_amount}, {kind: "fund", amount_usdc}, '
        '{kind: "drain"}: the purse, or {kind: "forfeit"}: the vault\'s stop(), final',
        examples=[{"kind": "enter", "market": "base-usdc-lending", "amount_usdc": "25"}],
    )
    why: Lines | None = Field(default=None, max_length=2_000, description="kept with the report")
    idempotency_key: str = Field(
        pattern=r"^[A-Za-z0-9._:-]{1,128}$",
        description="names this act: the same key is never sent twice",
        examples=["enter-1"],
    )


class ActOut(ResponseModel):
    """The outcome of an act."""

    outcome: Literal["landed", "reverted", "pending", "held", "unknown"] = Field(
        description="held: the owner is asked at approval_url; once it is decided repeat with the "
        "same key"
    )
    tx_hash: str | None = None
    event: LedgerRow | None = Field(default=None, description="the report of it, made here")
    remaining: RemainingNow
    reason: str | None = Field(
        default=None, description="the service's own words: what an open outcome rests on"
    )
    approval_url: str | None = Field(default=None, description="where the owner decides")
    approval: ApprovalItem | None = None
    asked_by: AskedBy | None = None
    expires_at: Timestamp | None = Field(
        default=None, description="held: until when the owner can decide"
    )
    next: list[NextTold] | None = None


class TransactionTold(ResponseModel):
    """A transaction to sign (EIP-1559). Units: wei, and gas."""

    chain_id: int
    to: str
    data: str
    value: str
    nonce: int
    gas: int
    max_fee: str
    tip: str


class ActPreparedOut(ResponseModel):
    """The transaction to sign, or the answer where there is nothing to sign."""

    to_sign: TransactionTold | None = None
    sender: str | None = Field(default=None, description="the address that has to sign it")
    answer: ActOut | None = Field(
        default=None,
        description="what stands already; beside to_sign: it was sent, and waits with a lower fee",
    )


class ActSendIn(ActIn):
    """One act of the agent with its signed transaction."""

    signed: HexData = Field(description="the signed bytes of the transaction (EIP-1559), 0x hex")
