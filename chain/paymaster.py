"""Gas sponsorship: an ERC-7677 paymaster client, and decoding of smart account calldata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import to_checksum_address
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chain.rpc.client import RpcClient
from chain.rpc.errors import NodeError
from domain.chain_facts import InnerCall
from domain.refusals import Refused

TIMEOUT_S: Final = 5
# execute(address,uint256,bytes) and executeBatch((address,uint256,bytes)[]) of the widespread
# ERC-4337 accounts.
_EXECUTE: Final = bytes.fromhex("b61d27f6")
_BATCH: Final = bytes.fromhex("34fcd5be")
_HEX: Final = r"^0x([0-9a-fA-F]{2})*$"
_Data = Annotated[str, Field(pattern=_HEX, max_length=16_384)]
_Number = Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{1,32}$")]
_Address = Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{40}$")]


class _Sponsor(BaseModel):
    """The sponsor's name and icon, as a wallet may show them."""

    model_config = ConfigDict(extra="ignore")
    name: Annotated[str, Field(max_length=200)]
    icon: Annotated[str, Field(max_length=20_000)] | None = None


class _PaymasterAnswer(BaseModel):
    """The fields of ERC-7677's answers for entry points 0.6 and 0.7; other fields are ignored."""

    model_config = ConfigDict(extra="ignore")
    paymasterAndData: _Data | None = None
    paymaster: _Address | None = None
    paymasterData: _Data | None = None
    paymasterVerificationGasLimit: _Number | None = None
    paymasterPostOpGasLimit: _Number | None = None
    sponsor: _Sponsor | None = None
    isFinal: bool | None = None


class Paymaster:
    """Client of one paymaster service; an answer late or malformed is `chain_unavailable`."""

    def __init__(self, url: str, chain_id: int, timeout_s: int = TIMEOUT_S):
        self._rpc = RpcClient(url, chain_id, timeout_s, names_chain=False)
        self._chain_id = chain_id

    async def ask(
        self,
        method: Literal["pm_getPaymasterStubData", "pm_getPaymasterData"],
        user_op: Mapping[str, object],
        entry_point: str,
    ) -> dict[str, object]:
        """The paymaster's fields of a user operation (ERC-7677). Errors: `chain_unavailable`."""
        try:
            raw = await self._rpc.ask(method, dict(user_op), entry_point, hex(self._chain_id), {})
        except NodeError as fault:
            raise self._rpc.unavailable(f"the paymaster refused: {str(fault)[:200]}") from None
        try:
            answer = _PaymasterAnswer.model_validate(raw, strict=True)
        except ValidationError:
            raise self.nonsense() from None
        if answer.paymasterAndData is None and (
            answer.paymaster is None or answer.paymasterData is None
        ):
            raise self.nonsense()
        return answer.model_dump(exclude_none=True)

    def nonsense(self) -> Refused:
        """Build the refusal for a malformed answer."""
        return self._rpc.unavailable("the paymaster's answer makes no sense")

    async def close(self) -> None:
        """Close the HTTP session."""
        await self._rpc.close()


def inner_calls(call_data: str) -> Sequence[InnerCall] | None:
    """Decode the calls inside a smart account's calldata; None where its form is unknown."""
    if not re.fullmatch(_HEX, call_data):
        return None
    data = bytes.fromhex(call_data[2:])
    try:
        if data[:4] == _EXECUTE:
            calls = [decode(["address", "uint256", "bytes"], data[4:])]
        elif data[:4] == _BATCH:
            calls = list(decode(["(address,uint256,bytes)[]"], data[4:])[0])
        else:
            return None
    except (DecodingError, OverflowError):
        return None
    return [
        InnerCall(to_checksum_address(to), value, "0x" + bytes(inner).hex())
        for to, value, inner in calls
    ]
