"""Sent transactions of an account, found by its nonces: a failed call leaves no log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Protocol

from chain.rpc import decoding
from chain.rpc.errors import NodeError
from chain.rpc.node_pool import NodePool
from domain.chain_facts import BlockStamp, Receipt, SentTransactions

MAX_SENT: Final = 16
CONTRACT_SENDER: Final = "The agent's address is a contract, so that no nonce tells what it sent."
TOO_MANY: Final = f"The agent's wallet sent more than {MAX_SENT} transactions since."
PRUNED: Final = "The node no longer knows the agent's nonce of that time."


class Node(Protocol):
    """The part of a chain that this module reads."""

    def node(self) -> NodePool:
        """The node pool."""
        ...

    async def receipt(self, tx_hash: str) -> Receipt | None:
        """A mined transaction."""
        ...


async def transactions_to(
    chain: Node, sender: str, to: str, after_block: int, head: BlockStamp
) -> SentTransactions:
    """The transactions of `sender` to `to` in the blocks after `after_block` up to `head`, oldest
    first.

    An account's nonce grows by one with each of its transactions, failed ones too: the blocks in
    which it grew are found by halving, and only those are read.
    Errors: `chain_unavailable`.
    """
    rpc = chain.node()
    if await rpc.fact("eth_getCode", sender, hex(head.number)) not in ("0x", None):
        return SentTransactions(unknown=CONTRACT_SENDER, as_of=head)
    count = _TransactionCounts(rpc, sender)
    try:
        first, last = await count.at(min(after_block, head.number)), await count.at(head.number)
        if last - first > MAX_SENT:
            return SentTransactions(unknown=TOO_MANY, as_of=head)
        numbers = await _blocks_with_transactions(count, (after_block, first), (head.number, last))
    except NodeError:
        return SentTransactions(unknown=PRUNED, as_of=head)
    waits = await rpc.quantity("eth_getTransactionCount", sender, "pending") > last
    calls: list[Receipt] = []
    for number in numbers:
        for tx in await _transactions_of_block(rpc, number, sender):
            receipt = await chain.receipt(tx.hash) if tx.to == to.lower() else None
            if receipt is not None:
                depth = max(0, head.number - receipt.block.number)
                calls.append(replace(receipt, data=tx.data, depth=depth, revert=None))
    return SentTransactions(calls=tuple(calls), waits=waits, as_of=head)


async def transaction_of_nonce(chain: Node, sender: str, nonce: int, newest: int) -> str | None:
    """The hash of the account's transaction with a nonce, in a block up to `newest`; None where
    there is none, or where it is too old for the node to tell. Errors: `chain_unavailable`.
    """
    rpc = chain.node()
    count = _TransactionCounts(rpc, sender)
    try:
        if newest < 1 or await count.at(newest) <= nonce:
            return None
        span, low, high = 1, newest - 1, newest
        while low > 0 and await count.at(low) > nonce:
            span, high = 2 * span, low
            low = max(0, low - span)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if await count.at(middle) > nonce else (middle, high)
    except NodeError:
        return None
    in_block = await _transactions_of_block(rpc, high, sender)
    return next((tx.hash for tx in in_block if tx.nonce == nonce), None)


@dataclass(frozen=True, slots=True)
class _BlockTransaction:
    """A transaction of a block; `to` is lower case."""

    hash: str
    data: str
    nonce: int
    to: str


class _TransactionCounts:
    """The account's transaction count by block, each read once."""

    def __init__(self, rpc: NodePool, sender: str):
        self._rpc, self._sender = rpc, sender
        self._counts: dict[int, int] = {}

    async def at(self, number: int) -> int:
        """The transaction count at a block. Errors: NodeError where its state is pruned."""
        if number not in self._counts:
            raw = await self._rpc.ask("eth_getTransactionCount", self._sender, hex(number))
            self._counts[number] = self._rpc.number(raw)
        return self._counts[number]


async def _blocks_with_transactions(
    count: _TransactionCounts, low: tuple[int, int], high: tuple[int, int]
) -> list[int]:
    """The blocks in (low, high] with transactions of the account, found by bisection."""
    blocks: list[int] = []
    ranges = [(low, high)]
    while ranges:
        (first, count_at_first), (last, count_at_last) = ranges.pop()
        if count_at_first >= count_at_last or first >= last:
            continue
        if last - first == 1:
            blocks.append(last)
            continue
        middle = (first + last) // 2
        midpoint = (middle, await count.at(middle))
        ranges += [(midpoint, (last, count_at_last)), ((first, count_at_first), midpoint)]
    return blocks


async def _transactions_of_block(
    rpc: NodePool, number: int, sender: str
) -> list[_BlockTransaction]:
    block = await rpc.fact("eth_getBlockByNumber", hex(number), True)
    try:
        return [
            _BlockTransaction(
                hash=decoding.block_hash(tx["hash"]),
                data=decoding.calldata(tx),
                nonce=rpc.number(tx["nonce"]),
                to=(tx.get("to") or "").lower(),
            )
            for tx in block["transactions"]
            if tx["from"].lower() == sender.lower()
        ]
    except decoding.NONSENSE:
        raise rpc.unavailable("a block whose transactions make no sense") from None
