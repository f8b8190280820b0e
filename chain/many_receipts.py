"""Many mined transactions at once: a batch a question, whatever the number of transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chain import answers
from chain.blocks import Blocks
from chain.receipts import Told, mined
from chain.transport import Question
from domain.facts import BlockStamp, Receipt


async def receipts(chain: Blocks, tx_hashes: Iterable[str]) -> Mapping[str, Receipt | None]:
    """The mined transactions by their hashes, lower case; None for one that the chain has not seen.

    A failed one comes with its calldata and without the reason, which would take a replay each. One
    of which the node tells nonsense holds no other back: it is left out.
    Errors: `chain_unavailable`.
    """
    wanted = list(dict.fromkeys(tx_hash.lower() for tx_hash in tx_hashes))
    told = await _asked(chain, "eth_getTransactionReceipt", [[h] for h in wanted])
    seen, where = {h: t for h, t in zip(wanted, told, strict=True) if t is not None}, {}
    for tx_hash, one in seen.items():
        try:
            if str(one["transactionHash"]).lower() == tx_hash:
                where[tx_hash] = answers.block_hash(one["blockHash"])
        except answers.NONSENSE:
            continue
    blocks = await _blocks(chain, list(dict.fromkeys(where.values())))
    newest = await chain.latest()
    data = await _calldata(chain, [h for h in where if _failed(seen[h])])
    found: dict[str, Receipt | None] = {h: None for h in wanted if h not in seen}
    for tx_hash, mined_in in where.items():
        block = blocks.get(mined_in)
        try:
            found[tx_hash] = (
                mined(chain, seen[tx_hash], block, newest, data.get(tx_hash), None)
                if block is not None
                else None  # it was reorganised away between two questions
            )
        except answers.NONSENSE:
            continue
    return found


def _failed(told: Told) -> bool:
    try:
        return int(told["status"], 16) != 1
    except answers.NONSENSE:
        return False


async def _blocks(chain: Blocks, hashes: Sequence[str]) -> dict[str, BlockStamp]:
    told = await _asked(chain, "eth_getBlockByHash", [[h, False] for h in hashes])
    found = {}
    for block_hash, one in zip(hashes, told, strict=True):
        if one is None:
            continue
        try:
            stamp = answers.stamp(one)
        except answers.NONSENSE:
            stamp = None
        if stamp is None or stamp.hash != block_hash:
            raise chain.node().unavailable("another block than the one asked for")
        found[block_hash] = stamp
    return found


async def _calldata(chain: Blocks, hashes: Sequence[str]) -> dict[str, str]:
    """What was sent in transactions, as far as the node still knows it."""
    told = await _asked(chain, "eth_getTransactionByHash", [[h] for h in hashes])
    sent = zip(hashes, told, strict=True)
    return {h: str(t["input"]) for h, t in sent if isinstance(t, dict) and t.get("to")}


async def _asked(chain: Blocks, method: str, params: Sequence[list[Any]]) -> list[Any]:
    asked: list[Question] = [(method, one) for one in params]
    return await chain.node().facts(asked) if asked else []
