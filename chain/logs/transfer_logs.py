"""USDC transfers into known addresses, read from ERC-20 Transfer logs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from chain.adapter import EvmChain
from chain.contracts.abi_codec import ERC20_TRANSFER_TOPIC
from chain.rpc import decoding
from chain.rpc.errors import NodeError
from domain.chain_facts import TransferLog
from domain.refusals import Refused, refusal

ADDRESSES_A_CALL: Final = 200
BLOCKS_A_CALL: Final = 500


async def inbound(
    chain: EvmChain, holders: Iterable[str], low: int, high: int
) -> list[tuple[str, TransferLog]]:
    """(transaction hash, log) of USDC transfers to these addresses in the blocks from `low` to
    `high`, both inclusive.

    Errors: `chain_unavailable`, `not_configured`.
    """
    transfers: list[tuple[str, TransferLog]] = []
    remaining = iter(sorted(holders))
    while batch := list(islice(remaining, ADDRESSES_A_CALL)):
        try:
            logs = decoding.logs(await _logs(chain, batch, low, high))
        except decoding.NONSENSE as error:
            reason = f"a log that makes no sense ({type(error).__name__})"
            raise chain.node().unavailable(reason) from None
        decoded = ((g, chain.transfer(g)) for g in logs)
        transfers += [(g.tx_hash, log) for g, log in decoded if log is not None]
    return transfers


async def _logs(chain: EvmChain, holders: list[str], low: int, high: int) -> list[object]:
    """Call eth_getLogs, and halve the range until the provider answers."""
    to = ["0x" + "00" * 12 + h.lower().removeprefix("0x") for h in holders]
    log_filter = {
        "address": chain.usdc,
        "topics": [ERC20_TRANSFER_TOPIC, None, to],
        "fromBlock": hex(low),
        "toBlock": hex(high),
    }
    try:
        raw = await chain.node().ask("eth_getLogs", log_filter)
    except NodeError as fault:
        if low == high:
            reason = f"eth_getLogs refused: {fault}"
            raise Refused(
                refusal("chain_unavailable", chain_id=chain.chain_id, why=reason)
            ) from None
        middle = (low + high) // 2
        return [
            *await _logs(chain, holders, low, middle),
            *await _logs(chain, holders, middle + 1, high),
        ]
    if not isinstance(raw, list):
        raise Refused(
            refusal("chain_unavailable", chain_id=chain.chain_id, why="eth_getLogs gave no list")
        )
    return raw
