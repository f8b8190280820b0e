"""Positions in markets: what a market says that a holder has there, and what it lets go."""

from __future__ import annotations

from typing import Final

from eth_abi import encode
from eth_utils import keccak

from chain.reads.blocks import CALL_GAS, BlockReader, pinned
from chain.rpc import decoding
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp, Call
from domain.mandates.market_exits import MarketPosition

_TO_ASSETS: Final = keccak(text="convertToAssets(uint256)")[:4]
_MAX_REDEEM: Final = keccak(text="maxRedeem(address)")[:4]
_MAX_WITHDRAW: Final = keccak(text="maxWithdraw(address)")[:4]
_WORD: Final = 32


async def share_position(
    view: BlockReader, market: str, holder: str, block: BlockStamp
) -> MarketPosition:
    """The position in an ERC-4626 market. Errors: `chain_unavailable` where it tells no balance."""
    shares = await _owned(view, market, holder, block)
    owner = encode(["address"], [holder])
    return MarketPosition(
        shares=shares,
        value=await _number(view, market, _TO_ASSETS + encode(["uint256"], [shares]), block),
        free_shares=await _number(view, market, _MAX_REDEEM + owner, block),
        free_amount=await _number(view, market, _MAX_WITHDRAW + owner, block),
    )


async def pool_position(
    view: BlockReader, token: str, holder: str, block: BlockStamp
) -> MarketPosition:
    """The position in an Aave pool, whose cash lies with its token. Errors: `chain_unavailable`
    where the token tells no balance.
    """
    supplied, cash = await _owned(view, token, holder, block), await view.balance(token, block)
    free = min(supplied, cash)
    return MarketPosition(shares=supplied, value=supplied, free_shares=free, free_amount=free)


async def _owned(view: BlockReader, token: str, holder: str, block: BlockStamp) -> int:
    shares = await view.holding(token, holder, block)
    if shares is None:
        raise view.node().unavailable("the market does not say what the vault has there")
    return shares


async def _number(view: BlockReader, to: str, data: bytes, block: BlockStamp) -> int | None:
    """The number that a view answers; None for a revert or an empty answer, which is not zero."""
    try:
        answer = await view.eth_call(to, "0x" + data.hex(), block)
    except NodeError:
        return None
    return int.from_bytes(answer[:_WORD], "big") if len(answer) >= _WORD else None


async def answered(view: BlockReader, call: Call) -> int | None:
    """The number that a call answers at the newest block, sent by its sender; None where it answers
    none. Errors: `chain_unavailable`.
    """
    block = await view.latest()
    request = {"from": call.sender, "to": call.to, "data": call.data, "gas": CALL_GAS}
    try:
        raw = decoding.raw(await view.node().ask("eth_call", request, pinned(block)))
    except NodeError as fault:
        if not fault.reverted:
            raise view.node().unavailable(f"the call cannot be tried: {fault}") from None
        return None
    except decoding.NONSENSE:
        return None
    return int.from_bytes(raw[:_WORD], "big") if len(raw) >= _WORD else None
