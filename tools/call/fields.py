"""Fields and inputs that many operations share."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import Field

from tools.call.operation import Gives, Takes

PublicId = Annotated[
    str,
    Field(
        max_length=64,
        description="the mandate's id",
        examples=["m_abcdefgh23"],
        json_schema_extra={"pattern": "^m_[a-z2-7]{10}$"},
    ),
]


Limit = Annotated[int, Field(ge=1, le=200, description="rows a page")]


Cursor = Annotated[str | None, Field(max_length=512, description="next_cursor of the page before")]


TxHash = Annotated[
    str, Field(pattern=r"^0x[0-9a-fA-F]{64}$", description="transaction hash, 0x and 64 hex digits")
]


HexData = Annotated[
    str, Field(pattern=r"^0x([0-9a-fA-F]{2})*$", max_length=65_536, description="calldata, 0x hex")
]


Address = Annotated[
    str, Field(max_length=64, description="address, lower case or with its EIP-55 checksum")
]


class OneMandate(Takes):
    """An operation on one mandate."""

    public_id: PublicId


T = TypeVar("T")


class Page(Gives, Generic[T]):
    """A page; `next_cursor` is null at the end."""

    items: list[T]
    next_cursor: str | None


class Nothing(Takes):
    """No input."""
