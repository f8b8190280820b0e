"""Log requery: reads one vault's logs by another method than the reader, where logs seem to be
missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chain.adapter import EvmChain
from chain.rpc import decoding
from chain.rpc.decoding import Log
from chain.rpc.errors import NodeError
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import BlockStamp, VaultLog
from domain.refusals import Refused

WAYS: Final = ("range", "blocks", "receipts")
MAX_BLOCKS: Final = 1_000


async def requery_logs(
    chain: EvmChain, method: str, vault: str, low: int, high: int
) -> list[VaultLog]:
    """Every log of one vault in the blocks from `low` to `high`, both inclusive.

    Shapes: `method` is "range" (by address alone), "blocks" (by the hash of each block) or
    "receipts" (from the receipts of each block; needs no log index of the node).
    Errors: `chain_unavailable`, also for more than a thousand blocks one by one.
    """
    try:
        if method == "range":
            return await _by_range(chain, vault, low, high)
        if high - low >= MAX_BLOCKS:
            raise chain.node().unavailable("too many blocks to read one by one")
        stamps = [h.block for h in (await chain.headers(range(low, high + 1))).values()]
        if method == "blocks":
            logs = await _by_hash(chain, vault, stamps)
        else:
            logs = await _by_receipts(chain, stamps)
        return _decoded(chain, vault, logs, {s.number: s for s in stamps})
    except decoding.NONSENSE as error:
        reason = f"a log that makes no sense ({type(error).__name__})"
        raise chain.node().unavailable(reason) from None


async def _by_hash(chain: EvmChain, vault: str, stamps: Sequence[BlockStamp]) -> list[Log]:
    request: list[RpcCall] = [
        ("eth_getLogs", [{"address": vault, "blockHash": s.hash}]) for s in stamps
    ]
    return [g for answer in await chain.node().facts(request) for g in decoding.logs(answer)]


async def _by_receipts(chain: EvmChain, stamps: Sequence[BlockStamp]) -> list[Log]:
    request: list[RpcCall] = [("eth_getBlockReceipts", [s.hash]) for s in stamps]
    answers = await chain.node().facts(request)
    return [g for receipts in answers for r in receipts for g in decoding.logs(r["logs"])]


async def _by_range(chain: EvmChain, vault: str, low: int, high: int) -> list[VaultLog]:
    log_filter = {"address": vault, "fromBlock": hex(low), "toBlock": hex(high)}
    try:
        logs = decoding.logs(await chain.node().ask("eth_getLogs", log_filter))
    except NodeError as fault:
        if low == high or not fault.too_much:
            raise _refused(chain, fault) from None
        middle = (low + high) // 2
        first = await _by_range(chain, vault, low, middle)
        return first + await _by_range(chain, vault, middle + 1, high)
    headers = await chain.headers({log.block for log in logs})
    return _decoded(chain, vault, logs, {n: h.block for n, h in headers.items()})


def _refused(chain: EvmChain, fault: NodeError) -> Refused:
    return chain.node().unavailable(f"eth_getLogs refused: {fault}")


def _decoded(
    chain: EvmChain,
    vault: str,
    logs: Iterable[Log],
    stamps: Mapping[int, BlockStamp],
) -> list[VaultLog]:
    by_place: dict[tuple[int, int], VaultLog] = {}
    for entry in logs:
        if entry.address.lower() != vault.lower():
            continue
        stamp = stamps[entry.block]
        if entry.block_hash != stamp.hash:
            raise chain.node().unavailable("logs of another block than the one asked for")
        log = chain.vault_log(entry, stamp)
        if log is not None:
            by_place[log.block.number, log.log_index] = log
    return [by_place[place] for place in sorted(by_place)]
