"""Fields and inputs that many operations share."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from domain.text import NAME_MAX, composed, text_problem
from tools.model.name_policy import name_problem
from tools.model.operation import RequestModel, ResponseModel

PublicId = Annotated[
    str,
    Field(
        max_length=64,
        description="the mandate's id",
        examples=["m_abcdefgh23"],
        json_schema_extra={"pattern": "^m_[a-z2-7]{10}$"},
    ),
]
AgentId = Annotated[
    str,
    Field(
        max_length=64,
        description="the agent's id (agents_me shows yours)",
        examples=["u_abcdefgh23"],
    ),
]
OwnAgentId = Annotated[
    str, Field(max_length=64, description="an agent's id, or `me`", examples=["u_abcdefgh23"])
]
KeyId = Annotated[str, Field(max_length=64, description="the key's id", examples=["k_abcdefgh23"])]
ApprovalId = Annotated[
    str, Field(max_length=64, description="the approval's id", examples=["ap_abcdefgh23"])
]
ChainId = Annotated[int, Field(ge=1, le=2**53, description="EIP-155 chain id", examples=[84532])]
Limit = Annotated[int, Field(ge=1, le=200, description="rows a page")]
Cursor = Annotated[str | None, Field(max_length=512, description="next_cursor of the page before")]
TxHash = Annotated[
    str,
    Field(
        pattern=r"^0x[0-9a-fA-F]{64}$",
        description="transaction hash, 0x and 64 hex digits",
        examples=["0x" + "5c" * 32],
    ),
]
HexData = Annotated[
    str,
    Field(
        pattern=r"^0x([0-9a-fA-F]{2})*$",
        max_length=65_536,
        description="calldata, 0x hex",
        examples=["0x6e553f65"],
    ),
]
Signature = Annotated[
    str,
    Field(
        pattern=r"^0x([0-9a-fA-F]{2})+$",
        max_length=16_384,
        description="signature, 0x hex",
        examples=["0x" + "1b" * 65],
    ),
]
Address = Annotated[
    str,
    Field(
        max_length=64,
        description="address, lower case or with its EIP-55 checksum",
        examples=["0x036cbd53842c5426634e7929541ec2318f3dcf7e"],
    ),
]


def _fit(text: str, *, lines: bool = False) -> str:
    text = composed(text)
    why = text_problem(text, lines=lines)
    if why is not None:
        raise PydanticCustomError("text", "{why}", {"why": why})
    return text


def _require_name(text: str) -> str:
    text = _fit(text).strip()
    if not 1 <= len(text) <= NAME_MAX:
        raise PydanticCustomError("text", "1 to {most} characters", {"most": NAME_MAX})
    why = name_problem(text)
    if why is not None:
        raise PydanticCustomError("text", "{why}", {"why": why})
    return text


# Free text of people and agents (contract 1): NFC, nothing invisible.
Name = Annotated[
    str,
    Field(min_length=1, max_length=NAME_MAX, examples=["Scout"]),
    AfterValidator(_require_name),
]
Line = Annotated[str, AfterValidator(_fit)]
Lines = Annotated[str, AfterValidator(partial(_fit, lines=True))]


class OneMandate(RequestModel):
    """An operation on one mandate."""

    public_id: PublicId


T = TypeVar("T")


class Page(ResponseModel, Generic[T]):
    """A page; `next_cursor` is null at the end."""

    items: list[T]
    next_cursor: str | None


class Nothing(RequestModel):
    """No input."""
