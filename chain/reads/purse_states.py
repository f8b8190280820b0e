"""Purse states at one block: what lies in each, and the epoch of the bills that are good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from eth_abi import encode
from eth_utils import keccak

from chain.quorum import NodeAnswers, quorum_read_each
from chain.reads.blocks import CALL_GAS, BlockReader, pinned
from chain.reads.vault_states import agreed_head
from chain.rpc import decoding
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import BlockStamp, PurseState
from domain.money import LIMIT_MICROS, Usdc

PURSES_AT_ONCE: Final = 100
_BALANCE_OF: Final = keccak(text="balanceOf(address)")[:4]
_EPOCH: Final = "0x" + keccak(text="epoch()")[:4].hex()


async def purse_states(
    chain: BlockReader, purses: Sequence[str], block: BlockStamp
) -> Mapping[str, PurseState]:
    """Read many purses at one block, by address in lower case; one that was never opened has
    neither code nor epoch, and may hold what somebody sent there.

    Errors: `chain_unavailable`.
    """
    usdc = chain.configured("USDC", chain.usdc)
    states: dict[str, PurseState] = {}
    for n in range(0, len(purses), PURSES_AT_ONCE):
        some = purses[n : n + PURSES_AT_ONCE]
        questions: list[RpcCall] = []
        for purse in some:
            data = "0x" + (_BALANCE_OF + encode(["address"], [purse])).hex()
            questions += [_call(usdc, data, block), _call(purse, _EPOCH, block)]
        answers = await chain.node().facts(questions)
        for k, purse in enumerate(some):
            state = _state(chain, purse, block, answers[2 * k], answers[2 * k + 1])
            states[purse.lower()] = state
    return states


def _call(to: str, data: str, block: BlockStamp) -> RpcCall:
    return "eth_call", [{"to": to, "data": data, "gas": CALL_GAS}, pinned(block)]


def _state(
    chain: BlockReader, purse: str, block: BlockStamp, balance: object, epoch: object
) -> PurseState:
    try:
        held, number = decoding.raw(str(balance)), decoding.raw(str(epoch))
    except ValueError:
        held, number = b"", b""
    micros = int.from_bytes(held[:32], "big")
    if len(held) != 32 or micros > LIMIT_MICROS:
        raise chain.node().unavailable("USDC tells no balance of a purse")
    exists = len(number) == 32
    current = int.from_bytes(number[:32], "big")
    return PurseState(purse.lower(), block, exists, Usdc(micros), current)


async def agreed_states(
    chain: NodeAnswers[BlockReader], purses: Sequence[str], block: BlockStamp | None = None
) -> Mapping[str, PurseState]:
    """Read purses through each node, at the given block or the newest agreed one; return only
    states that more than half of all nodes give.
    """
    at = block if block is not None else await agreed_head(chain)
    keys = [p.lower() for p in purses]

    async def read(view: BlockReader) -> Mapping[str, PurseState]:
        return await purse_states(view, purses, at)

    answers = await quorum_read_each(chain, "a purse", keys, read)
    return {purse: state for purse, (state, *_) in answers.items()}
