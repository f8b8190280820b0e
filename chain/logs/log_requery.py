"""Log requery: reads the logs of one vault and its purses by another method, where logs seem to be
missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.contracts.purse_logs import paired, token_filters
from chain.logs.log_reader import LogReader, Watched, readable
from chain.rpc import decoding
from chain.rpc.decoding import Header, Log
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import PurseFacts, VaultLog

WAYS: Final = ("range", "blocks", "receipts")
MAX_BLOCKS: Final = 1_000


async def requery_logs(
    chain: EvmChain,
    method: str,
    vault: str,
    low: int,
    high: int,
    purses: Iterable[PurseFacts] = (),
) -> list[VaultLog]:
    """Every log of one vault, and of its purses, in the blocks from `low` to `high`, both
    inclusive.

    Shapes: `method` is "range" (by address alone), "blocks" (by the hash of each block) or
    "receipts" (from the receipts of each block; needs no log index of the node).
    Errors: `chain_unavailable`, also for more than a thousand blocks one by one.
    """
    watched = Watched.of([vault], purses)
    with readable(chain):
        if method == "range":
            reader, logs = LogReader(chain), list[Log]()
            for log_filter in _filters(chain, watched):
                logs += await reader.filtered_logs(log_filter, low, high)
            stamps = await chain.headers({log.block for log in logs})
            return _decoded(chain, watched, logs, stamps)
        if high - low >= MAX_BLOCKS:
            raise chain.node().unavailable("too many blocks to read one by one")
        stamps = await chain.headers(range(low, high + 1))
        by_hash = _by_hash if method == "blocks" else _by_receipts
        hashes = [header.block.hash for header in stamps.values()]
        return _decoded(chain, watched, await by_hash(chain, watched, hashes), stamps)


def _filters(chain: EvmChain, watched: Watched) -> list[dict[str, object]]:
    """Filters of the contracts by their addresses alone, and of USDC about the purses."""
    own: list[dict[str, object]] = [{"address": of} for of in watched.vaults]
    if not watched.purses or chain.usdc is None:
        return own
    hubs = sorted({p.hub for p in watched.purses.values()})
    words = ["0x" + "00" * 12 + p.removeprefix("0x") for p in sorted(watched.purses)]
    # A hub keeps many purses: its logs name the purse behind the mandate.
    own.append({"address": hubs, "topics": [list(abi_codec.hub_topics()), None, words]})
    return own + token_filters(chain.usdc, watched.purses)


async def _by_hash(chain: EvmChain, watched: Watched, hashes: Sequence[str]) -> list[Log]:
    filters = _filters(chain, watched)
    request: list[RpcCall] = [
        ("eth_getLogs", [{**of, "blockHash": h}]) for h in hashes for of in filters
    ]
    return [g for answer in await chain.node().facts(request) for g in decoding.logs(answer)]


async def _by_receipts(chain: EvmChain, _: Watched, hashes: Sequence[str]) -> list[Log]:
    request: list[RpcCall] = [("eth_getBlockReceipts", [h]) for h in hashes]
    answers = await chain.node().facts(request)
    return [g for receipts in answers for r in receipts for g in decoding.logs(r["logs"])]


def _decoded(
    chain: EvmChain, watched: Watched, logs: Iterable[Log], stamps: Mapping[int, Header]
) -> list[VaultLog]:
    by_place: dict[tuple[int, int, str], VaultLog] = {}
    to_pair: list[VaultLog] = []
    places = {*watched.addresses, (chain.usdc or "").lower()}
    for entry in logs:
        if entry.address.lower() not in places:
            continue
        stamp = stamps[entry.block].block
        if entry.block_hash != stamp.hash:
            raise chain.node().unavailable("logs of another block than the one asked for")
        if entry.address.lower() in watched.vaults:
            log = chain.vault_log(entry, stamp)
            if log is not None:
                by_place[log.block.number, log.log_index, log.address] = log
        elif (log := chain.purse_log(entry, stamp)) is not None:
            to_pair.append(log)
    for log in paired(to_pair, watched.purses):
        by_place[log.block.number, log.log_index, log.address] = log
    return [by_place[place] for place in sorted(by_place)]
