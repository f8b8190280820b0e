"""Log requery: reads one vault's logs by another method, where logs seem to be missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chain.adapter import EvmChain
from chain.logs.log_reader import LogReader, readable
from chain.rpc import decoding
from chain.rpc.decoding import Header, Log
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import VaultLog

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
    with readable(chain):
        if method == "range":
            logs = await LogReader(chain).filtered_logs({"address": vault}, low, high)
            stamps = await chain.headers({log.block for log in logs})
            return _decoded(chain, vault, logs, stamps)
        if high - low >= MAX_BLOCKS:
            raise chain.node().unavailable("too many blocks to read one by one")
        stamps = await chain.headers(range(low, high + 1))
        by_hash = _by_hash if method == "blocks" else _by_receipts
        hashes = [header.block.hash for header in stamps.values()]
        return _decoded(chain, vault, await by_hash(chain, vault, hashes), stamps)


async def _by_hash(chain: EvmChain, vault: str, hashes: Sequence[str]) -> list[Log]:
    request: list[RpcCall] = [("eth_getLogs", [{"address": vault, "blockHash": h}]) for h in hashes]
    return [g for answer in await chain.node().facts(request) for g in decoding.logs(answer)]


async def _by_receipts(chain: EvmChain, _: str, hashes: Sequence[str]) -> list[Log]:
    request: list[RpcCall] = [("eth_getBlockReceipts", [h]) for h in hashes]
    answers = await chain.node().facts(request)
    return [g for receipts in answers for r in receipts for g in decoding.logs(r["logs"])]


def _decoded(
    chain: EvmChain, vault: str, logs: Iterable[Log], stamps: Mapping[int, Header]
) -> list[VaultLog]:
    by_place: dict[tuple[int, int], VaultLog] = {}
    for entry in logs:
        if entry.address.lower() != vault.lower():
            continue
        stamp = stamps[entry.block].block
        if entry.block_hash != stamp.hash:
            raise chain.node().unavailable("logs of another block than the one asked for")
        log = chain.vault_log(entry, stamp)
        if log is not None:
            by_place[log.block.number, log.log_index] = log
    return [by_place[place] for place in sorted(by_place)]
