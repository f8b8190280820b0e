"""Sent transactions of an account, found by its nonces: a failed call leaves no log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Protocol

from chain.rpc import decoding
from chain.rpc.errors import NodeError
from chain.rpc.node_pool import NodePool
from domain.chain_facts import BlockStamp, Receipt, SentTransactions

SENT_MOST: Final = 16
SMART: Final = "The agent's address is a contract, so that no nonce tells what it sent."
MANY: Final = f"The agent's wallet sent more than {SENT_MOST} transactions since."
FORGOTTEN: Final = "The node no longer knows the agent's nonce of that time."


class Node(Protocol):
    """What is asked of a chain here."""

    def node(self) -> NodePool:
        """Its JSON-RPC."""
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
        return SentTransactions(unknown=SMART, as_of=head)
    count = _Count(rpc, sender)
    try:
        first, last = await count.at(min(after_block, head.number)), await count.at(head.number)
        if last - first > SENT_MOST:
            return SentTransactions(unknown=MANY, as_of=head)
        numbers = await _grew(count, (after_block, first), (head.number, last))
    except NodeError:
        return SentTransactions(unknown=FORGOTTEN, as_of=head)
    waits = await rpc.quantity("eth_getTransactionCount", sender, "pending") > last
    calls: list[Receipt] = []
    for number in numbers:
        for tx in await _of_block(rpc, number, sender, to):
            receipt = await chain.receipt(tx.hash)
            if receipt is not None:
                depth = max(0, head.number - receipt.block.number)
                calls.append(replace(receipt, data=tx.data, depth=depth, revert=None))
    return SentTransactions(calls=tuple(calls), waits=waits, as_of=head)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A transaction of a block: its hash, and what was sent."""

    hash: str
    data: str


class _Count:
    """How many transactions of an account are in the chain up to a block, each asked once."""

    def __init__(self, rpc: NodePool, sender: str):
        self._rpc, self._sender = rpc, sender
        self._known: dict[int, int] = {}

    async def at(self, number: int) -> int:
        """Errors: NodesFault where the node does not keep that block's state."""
        if number not in self._known:
            raw = await self._rpc.ask("eth_getTransactionCount", self._sender, hex(number))
            self._known[number] = self._rpc.number(raw)
        return self._known[number]


async def _grew(count: _Count, low: tuple[int, int], high: tuple[int, int]) -> list[int]:
    """The blocks in (low, high] that hold transactions of the account, in order."""
    blocks: list[int] = []
    ranges = [(low, high)]
    while ranges:
        (first, before), (last, after) = ranges.pop()
        if before >= after or first >= last:
            continue
        if last - first == 1:
            blocks.append(last)
            continue
        middle = (first + last) // 2
        at = (middle, await count.at(middle))
        ranges += [(at, (last, after)), ((first, before), at)]
    return blocks


async def _of_block(rpc: NodePool, number: int, sender: str, to: str) -> list[_Sent]:
    block = await rpc.fact("eth_getBlockByNumber", hex(number), True)
    try:
        return [
            _Sent(decoding.block_hash(tx["hash"]), decoding.calldata(tx))
            for tx in block["transactions"]
            if tx["from"].lower() == sender.lower() and (tx.get("to") or "").lower() == to.lower()
        ]
    except decoding.NONSENSE:
        raise rpc.unavailable("a block whose transactions make no sense") from None
