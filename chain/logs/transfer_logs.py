"""USDC transfers into known addresses, read from ERC-20 Transfer logs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from chain.adapter import EvmChain
from chain.contracts.abi_codec import ERC20_TRANSFER_TOPIC
from chain.logs.log_reader import LogReader
from domain.chain_facts import TransferLog

ADDRESSES_A_CALL: Final = 200
BLOCKS_A_CALL: Final = 500


async def inbound(
    chain: EvmChain, holders: Iterable[str], low: int, high: int
) -> list[tuple[str, TransferLog]]:
    """(transaction hash, log) of USDC transfers to these addresses in the blocks from `low` to
    `high`, both inclusive. Errors: `chain_unavailable`, `not_configured`.
    """
    transfers: list[tuple[str, TransferLog]] = []
    reader, remaining = LogReader(chain), iter(sorted(holders))
    while batch := list(islice(remaining, ADDRESSES_A_CALL)):
        to = ["0x" + "00" * 12 + h.lower().removeprefix("0x") for h in batch]
        log_filter = {"address": chain.usdc, "topics": [ERC20_TRANSFER_TOPIC, None, to]}
        # Providers word their limits in many ways.
        for entry in await reader.filtered_logs(log_filter, low, high, any_refusal=True):
            log = chain.transfer(entry)
            if log is not None:
                transfers.append((entry.tx_hash, log))
    return transfers
