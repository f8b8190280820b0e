"""Many mined transactions at once: a batch a question, whatever the number of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chain.quorum import NodeAnswers, dissent, majority, until
from chain.reads.blocks import BlockReader
from chain.reads.receipts import Told, mined
from chain.rpc import decoding
from chain.rpc.http_transport import Question
from domain.chain_facts import BlockStamp, Receipt


async def receipts(chain: BlockReader, tx_hashes: Iterable[str]) -> Mapping[str, Receipt | None]:
    """The mined transactions by their hashes, lower case; None for one that the chain has not seen.

    A failed one comes with its calldata and without the reason, which would take a replay each. One
    of which the node tells nonsense holds no other back: it is left out.
    Errors: `chain_unavailable`.
    """
    hashes = list(dict.fromkeys(tx_hash.lower() for tx_hash in tx_hashes))
    answers = await _ask_each(chain, "eth_getTransactionReceipt", [[h] for h in hashes])
    mined_answers, where = {h: t for h, t in zip(hashes, answers, strict=True) if t is not None}, {}
    for tx_hash, one in mined_answers.items():
        try:
            if str(one["transactionHash"]).lower() == tx_hash:
                where[tx_hash] = decoding.block_hash(one["blockHash"])
        except decoding.NONSENSE:
            continue
    blocks = await _blocks(chain, list(dict.fromkeys(where.values())))
    newest = await chain.latest()
    data = await _calldata(chain, [h for h in where if _failed(mined_answers[h])])
    result: dict[str, Receipt | None] = {h: None for h in hashes if h not in mined_answers}
    for tx_hash, mined_in in where.items():
        block = blocks.get(mined_in)
        try:
            result[tx_hash] = (
                mined(chain, mined_answers[tx_hash], block, newest, data.get(tx_hash), None)
                if block is not None
                else None  # it was reorganised away between two questions
            )
        except decoding.NONSENSE:
            continue
    return result


async def agreed_receipts(
    chain: NodeAnswers[BlockReader], tx_hashes: Iterable[str]
) -> Mapping[str, Receipt | None]:
    """The same as more than half of the configured nodes say alike; a transaction of which they do
    not is left out: nobody knows yet.

    Errors: `chain_unavailable` where none answers.
    """
    hashes, views = [h.lower() for h in tx_hashes], chain.views

    def limit(tx_hash: str, statement: Mapping[int, Mapping[str, Receipt | None]]) -> list[int]:
        there = {n: by_hash[tx_hash] for n, by_hash in statement.items() if tx_hash in by_hash}
        return majority(len(views), {n: _fact(one) for n, one in there.items()})

    statement = await until(
        chain,
        lambda view: receipts(view, hashes),
        lambda statement: all(limit(h, statement) for h in hashes),
    )
    agreed: dict[str, Receipt | None] = {}
    for tx_hash in hashes:
        same = limit(tx_hash, statement)
        if same:
            own = {n: _fact(by_hash.get(tx_hash)) for n, by_hash in statement.items()}
            dissent(chain.node(), "a transaction", same, own)
            agreed[tx_hash] = _together([statement[n][tx_hash] for n in same], len(views))
    return agreed


def _fact(receipt: Receipt | None) -> Receipt | None:
    """What does not depend on how far a node is, and on what it still knows."""
    return None if receipt is None else replace(receipt, depth=0, revert=None, data=None)


def _together(same: Sequence[Receipt | None], nodes: int) -> Receipt | None:
    """One of those that are alike, no deeper than any of them has it."""
    names = [one for one in same if one is not None]
    if not names:
        return None
    data = [one.data for one in names if one.data is not None]
    known = next((d for d in data if data.count(d) > nodes // 2), None)
    return replace(names[0], depth=min(one.depth for one in names), data=known)


def _failed(raw: Told) -> bool:
    try:
        return int(raw["status"], 16) != 1
    except decoding.NONSENSE:
        return False


async def _blocks(chain: BlockReader, hashes: Sequence[str]) -> dict[str, BlockStamp]:
    answers = await _ask_each(chain, "eth_getBlockByHash", [[h, False] for h in hashes])
    stamps = {}
    for block_hash, one in zip(hashes, answers, strict=True):
        if one is None:
            continue
        try:
            stamp = decoding.stamp(one)
        except decoding.NONSENSE:
            stamp = None
        if stamp is None or stamp.hash != block_hash:
            raise chain.node().unavailable("another block than the one asked for")
        stamps[block_hash] = stamp
    return stamps


async def _calldata(chain: BlockReader, hashes: Sequence[str]) -> dict[str, str]:
    """What was sent in transactions, as far as the node still knows it."""
    answers = await _ask_each(chain, "eth_getTransactionByHash", [[h] for h in hashes])
    inputs = {}
    for tx_hash, sent in zip(hashes, answers, strict=True):
        try:
            if sent is not None and sent.get("to"):
                inputs[tx_hash] = decoding.calldata(sent)
        except decoding.NONSENSE:
            continue
    return inputs


async def _ask_each(chain: BlockReader, method: str, params: Sequence[list[Any]]) -> list[Any]:
    request: list[Question] = [(method, one) for one in params]
    return await chain.node().facts(request) if request else []
