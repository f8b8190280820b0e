"""Models of a payment: what a seller asks for, and the answers."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from domain.mandates.approvals import ApprovalItem
from domain.mandates.bills import BillState
from domain.money import Usdc
from domain.times import Timestamp
from tools.actions.held_call import AskedBy, NextTold
from tools.model.fields import Lines, OneMandate, Signature
from tools.model.operation import ResponseModel
from tools.model.shared_models import TypedField

AS_SELLER: Final = "the seller's own words"


class PayIn(OneMandate):
    """A seller's 402 that is to be paid out of the mandate's purse."""

    payment_required: dict[str, object] = Field(
        description="the seller's PaymentRequired: the decoded PAYMENT-REQUIRED header, or a tool "
        "result's structuredContent; at most 16 KiB",
        examples=[
            {
                "x402Version": 2,
                "resource": {"url": "https://data.example/report"},
                "accepts": [
                    {
                        "scheme": "exact",
                        "network": "eip155:84532",
                        "amount": "250000",
                        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                        "payTo": "0x00000000000000000000000000000000000000b2",
                        "maxTimeoutSeconds": 60,
                    }
                ],
            }
        ],
    )
    choose: int | None = Field(
        default=None,
        ge=0,
        le=31,
        description="which of accepts, from 0; left out: the first that can be paid",
    )
    max_amount: Usdc = Field(description="the most USDC that you pay for it", examples=["0.5"])
    why: Lines = Field(
        max_length=2_000, description="what it is for, for the owner", examples=["the report"]
    )
    signature: Signature | None = Field(
        default=None,
        description="yours over the typed_data answered before; all else as then",
    )
    idempotency_key: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9._:-]{1,128}$",
        description="names this purchase; left out, the same request is the same bill while that "
        "can be paid, so buy the same twice at once under two keys",
        examples=["report-1"],
    )


class BillTold(ResponseModel):
    """A bill: open until valid_before, paid by the chain's own row alone."""

    bill_id: str
    state: BillState
    resource: str = Field(description=AS_SELLER)
    host: str = Field(description=AS_SELLER)
    pay_to: str
    amount_usdc: Usdc
    nonce: str = Field(
        description="4 bytes of the purse's epoch, and the first 28 of keccak256(abi.encode("
        "resource, pay_to, salt)); a purse takes no nonce of another epoch, so that a stock x402 "
        "client, which draws one at random, cannot pay out of it"
    )
    salt: str
    valid_after: Timestamp
    valid_before: Timestamp
    payment_identifier: str | None
    approval_id: str | None


class PurseTold(ResponseModel):
    """The purse that pays, at the block that was read."""

    address: str
    hub: str
    balance_usdc: Usdc
    reserved_usdc: Usdc = Field(description="of open bills, this one among them")
    block: int


class TransferDomain(ResponseModel):
    """The EIP-712 domain of the token."""

    name: str
    version: str
    chain_id: int = Field(alias="chainId")
    verifying_contract: str = Field(alias="verifyingContract")


class TransferMessage(ResponseModel):
    """The transfer that is authorised; integers as decimal text."""

    sender: str = Field(alias="from")
    to: str
    value: str
    valid_after: str = Field(alias="validAfter")
    valid_before: str = Field(alias="validBefore")
    nonce: str


class TransferTypedData(ResponseModel):
    """EIP-712 typed data of the transfer (EIP-3009), as a wallet takes it."""

    types: dict[str, list[TypedField]]
    primary_type: Literal["TransferWithAuthorization"] = Field(alias="primaryType")
    domain: TransferDomain
    message: TransferMessage


class Authorization(TransferMessage):
    """The transfer as a payment carries it."""


class ExactPayload(ResponseModel):
    """The payment of the scheme `exact`."""

    signature: str
    authorization: Authorization


SellersObject = Annotated[dict[str, object], Field(description=AS_SELLER)]


class PaymentPayload(ResponseModel):
    """The PaymentPayload of x402 version 2."""

    version: Literal[2] = Field(alias="x402Version")
    resource: SellersObject
    accepted: SellersObject
    payload: ExactPayload
    extensions: SellersObject | None = None


class PayOut(ResponseModel):
    """The transfer to sign; signed, the payment to send; or an item that waits for the owner."""

    bill: BillTold
    purse: PurseTold
    typed_data: TransferTypedData | None = Field(
        default=None, description="to sign with the agent's key; then call again with signature"
    )
    payment_payload: PaymentPayload | None = Field(
        default=None, description='over MCP it goes into _meta["x402/payment"] as it stands'
    )
    header: str | None = Field(
        default=None, description="over HTTP: the value of PAYMENT-SIGNATURE, base64 of it"
    )
    status: Literal["pending_approval"] | None = None
    approval: ApprovalItem | None = None
    approval_url: str | None = Field(
        default=None, description="pending_approval: the page on which the owner decides"
    )
    asked_by: AskedBy | None = None
    expires_at: Timestamp | None = Field(
        default=None, description="pending_approval: until when the owner can decide"
    )
    next: list[NextTold] | None = None
