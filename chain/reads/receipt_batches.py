"""Receipt batches: reads many mined transactions with one batch request for each kind of query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chain.quorum import NodeAnswers, majority, note_dissent, query_until
from chain.reads.blocks import BlockReader
from chain.reads.receipts import ReceiptJson, mined_receipt
from chain.rpc import decoding
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import BlockStamp, Receipt


async def receipts(chain: BlockReader, tx_hashes: Iterable[str]) -> Mapping[str, Receipt | None]:
    """Mined transactions by lower-case hash; None for one that the chain does not have.

    A failed one carries its calldata but no revert reason, which would need a replay each. A
    malformed answer leaves only its own transaction out.
    Errors: `chain_unavailable`.
    """
    hashes = list(dict.fromkeys(tx_hash.lower() for tx_hash in tx_hashes))
    answers = await _ask_each(chain, "eth_getTransactionReceipt", [[h] for h in hashes])
    mined_receipts, block_hashes = (
        {h: t for h, t in zip(hashes, answers, strict=True) if t is not None},
        {},
    )
    for tx_hash, raw in mined_receipts.items():
        try:
            if str(raw["transactionHash"]).lower() == tx_hash:
                block_hashes[tx_hash] = decoding.block_hash(raw["blockHash"])
        except decoding.NONSENSE:
            continue
    blocks = await _blocks(chain, list(dict.fromkeys(block_hashes.values())))
    newest = await chain.latest()
    data = await _calldata(chain, [h for h in block_hashes if _failed(mined_receipts[h])])
    by_hash: dict[str, Receipt | None] = {h: None for h in hashes if h not in mined_receipts}
    for tx_hash, block_hash in block_hashes.items():
        block = blocks.get(block_hash)
        try:
            by_hash[tx_hash] = (
                mined_receipt(
                    chain, mined_receipts[tx_hash], block, newest, data.get(tx_hash), None
                )
                if block is not None
                else None  # it was reorganised away between two questions
            )
        except decoding.NONSENSE:
            continue
    return by_hash


async def agreed_receipts(
    chain: NodeAnswers[BlockReader], tx_hashes: Iterable[str]
) -> Mapping[str, Receipt | None]:
    """Mined transactions as more than half of the configured nodes give them; a transaction without
    a majority is left out, because its state is unknown.

    Errors: `chain_unavailable` where no node answers.
    """
    hashes, views = [h.lower() for h in tx_hashes], chain.views

    def agreeing(tx_hash: str, answers: Mapping[int, Mapping[str, Receipt | None]]) -> list[int]:
        receipts_by_node = {
            n: by_hash[tx_hash] for n, by_hash in answers.items() if tx_hash in by_hash
        }
        return majority(
            len(views), {n: _comparable(receipt) for n, receipt in receipts_by_node.items()}
        )

    answers = await query_until(
        chain,
        lambda view: receipts(view, hashes),
        lambda answers: all(agreeing(h, answers) for h in hashes),
    )
    agreed: dict[str, Receipt | None] = {}
    for tx_hash in hashes:
        places = agreeing(tx_hash, answers)
        if places:
            comparable = {n: _comparable(by_hash.get(tx_hash)) for n, by_hash in answers.items()}
            note_dissent(chain.node(), "a transaction", places, comparable)
            agreed[tx_hash] = _merge([answers[n][tx_hash] for n in places], len(views))
    return agreed


def _comparable(receipt: Receipt | None) -> Receipt | None:
    """The part of a receipt that depends neither on the node's height nor on its pruning."""
    return None if receipt is None else replace(receipt, depth=0, revert=None, data=None)


def _merge(receipts: Sequence[Receipt | None], nodes: int) -> Receipt | None:
    """Merge equal receipts, with the smallest depth among them."""
    present = [receipt for receipt in receipts if receipt is not None]
    if not present:
        return None
    data = [receipt.data for receipt in present if receipt.data is not None]
    agreed_data = next((d for d in data if data.count(d) > nodes // 2), None)
    return replace(present[0], depth=min(receipt.depth for receipt in present), data=agreed_data)


def _failed(raw: ReceiptJson) -> bool:
    try:
        return int(raw["status"], 16) != 1
    except decoding.NONSENSE:
        return False


async def _blocks(chain: BlockReader, hashes: Sequence[str]) -> dict[str, BlockStamp]:
    answers = await _ask_each(chain, "eth_getBlockByHash", [[h, False] for h in hashes])
    stamps = {}
    for block_hash, raw in zip(hashes, answers, strict=True):
        if raw is None:
            continue
        try:
            stamp = decoding.stamp(raw)
        except decoding.NONSENSE:
            stamp = None
        if stamp is None or stamp.hash != block_hash:
            raise chain.node().unavailable("another block than the one asked for")
        stamps[block_hash] = stamp
    return stamps


async def _calldata(chain: BlockReader, hashes: Sequence[str]) -> dict[str, str]:
    """Calldata of transactions by hash, as far as the node still has them."""
    answers = await _ask_each(chain, "eth_getTransactionByHash", [[h] for h in hashes])
    inputs = {}
    for tx_hash, raw in zip(hashes, answers, strict=True):
        try:
            if raw is not None and raw.get("to"):
                inputs[tx_hash] = decoding.calldata(raw)
        except decoding.NONSENSE:
            continue
    return inputs


async def _ask_each(chain: BlockReader, method: str, params: Sequence[list[Any]]) -> list[Any]:
    questions: list[RpcCall] = [(method, param_list) for param_list in params]
    return await chain.node().facts(questions) if questions else []
