"""Purse states at one block: what lies in each, and the epoch of the bills that are good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from eth_abi import encode
from eth_utils import keccak

from chain.networks import USDC
from chain.quorum import NodeAnswers, quorum_read_each
from chain.reads.blocks import CALL_GAS, BlockReader, pinned
from chain.reads.vault_states import agreed_head
from chain.rpc import decoding
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import BlockStamp, PurseState
from domain.money import LIMIT_MICROS, Usdc

QUESTIONS_AT_ONCE: Final = 200
_BALANCE_OF: Final = keccak(text="balanceOf(address)")[:4]
_IS_USED: Final = keccak(text="authorizationState(address,bytes32)")[:4]
_EPOCH: Final = "0x" + keccak(text="epoch()")[:4].hex()


async def purse_states(
    chain: BlockReader, purses: Sequence[str], block: BlockStamp, nonces: Sequence[str] = ()
) -> Mapping[str, PurseState]:
    """Read many purses at one block, by address in lower case; one that was never opened has
    neither code nor epoch, and may hold what somebody sent there. Each is asked for all `nonces`.

    Errors: `chain_unavailable`.
    """
    usdc = chain.configured(USDC, chain.usdc)
    questions: list[RpcCall] = []
    for purse in purses:
        data = "0x" + (_BALANCE_OF + encode(["address"], [purse])).hex()
        questions += [_call(usdc, data, block), _call(purse, _EPOCH, block)]
        for nonce in nonces:
            of = encode(["address", "bytes32"], [purse, bytes.fromhex(nonce[2:])])
            questions.append(_call(usdc, "0x" + (_IS_USED + of).hex(), block))
    answers: list[object] = []
    for n in range(0, len(questions), QUESTIONS_AT_ONCE):
        answers += await chain.node().facts(questions[n : n + QUESTIONS_AT_ONCE])
    states, each = dict[str, PurseState](), 2 + len(nonces)
    for k, purse in enumerate(purses):
        balance, epoch, *used = answers[k * each : (k + 1) * each]
        state = _state(chain, purse, block, balance, epoch)
        words = zip(nonces, used, strict=True)
        taken = frozenset(nonce for nonce, word in words if _is_used(chain, word))
        states[purse.lower()] = replace(state, used=taken)
    return states


def _call(to: str, data: str, block: BlockStamp) -> RpcCall:
    return "eth_call", [{"to": to, "data": data, "gas": CALL_GAS}, pinned(block)]


def _is_used(chain: BlockReader, answer: object) -> bool:
    try:
        word = decoding.raw(str(answer))
    except ValueError:
        word = b""
    if len(word) != 32 or int.from_bytes(word, "big") > 1:
        raise chain.node().unavailable("USDC does not tell whether a nonce of a purse is used")
    return bool(word[-1])


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
    chain: NodeAnswers[BlockReader],
    purses: Sequence[str],
    block: BlockStamp | None = None,
    nonces: Sequence[str] = (),
) -> Mapping[str, PurseState]:
    """Read purses through each node, at the given block or the newest agreed one; return only
    states that more than half of all nodes give.
    """
    at = block if block is not None else await agreed_head(chain)
    keys = [p.lower() for p in purses]

    async def read(view: BlockReader) -> Mapping[str, PurseState]:
        return await purse_states(view, purses, at, nonces)

    answers = await quorum_read_each(chain, "a purse", keys, read)
    return {purse: state for purse, (state, *_) in answers.items()}
