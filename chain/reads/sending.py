"""Sending: the fees, an account's next nonce, and signed bytes handed to the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median_low
from typing import Final

from chain.quorum import NodeAnswers, query_each_node, quorum_read
from chain.reads.blocks import BlockReader
from chain.rpc.errors import NodeError
from domain.chain_facts import SendingFacts

_ON_ITS_WAY: Final = ("known", "underpriced", "nonce too low")


async def fees(chain: NodeAnswers[BlockReader]) -> tuple[int, int]:
    """(gas price, tip) in wei, each the median of the nodes' answers."""
    prices = await query_each_node(chain, lambda view: view.node().quantity("eth_gasPrice"))
    tips = await query_each_node(
        chain, lambda view: view.node().quantity("eth_maxPriorityFeePerGas")
    )
    return median(prices), median(tips)


async def next_nonce(chain: NodeAnswers[BlockReader], address: str) -> int:
    """The nonce of the account's next transaction at the newest block."""
    return await quorum_read(
        chain,
        "a nonce",
        lambda view: view.node().quantity("eth_getTransactionCount", address, "latest"),
    )


async def balance(chain: NodeAnswers[BlockReader], address: str) -> int:
    """The account's balance in wei, the median of the nodes' answers."""
    answers = await query_each_node(
        chain, lambda view: view.node().quantity("eth_getBalance", address, "latest")
    )
    return median(answers)


async def sending_facts(chain: NodeAnswers[BlockReader], address: str) -> SendingFacts:
    """Facts that an account sends by. Errors: `chain_unavailable`."""
    price, tip = await fees(chain)
    return SendingFacts(
        nonce=await next_nonce(chain, address),
        balance=await balance(chain, address),
        max_fee=2 * price + tip,
        tip=tip,
    )


async def broadcast(chain: NodeAnswers[BlockReader], raw: str) -> None:
    """Hand signed bytes to every node: one that withholds them cannot delay them. Errors:
    `chain_unavailable` where no node accepts them.
    """
    await query_each_node(chain, lambda view: _send_raw(view, raw))


async def _send_raw(view: BlockReader, raw: str) -> None:
    try:
        await view.node().ask("eth_sendRawTransaction", raw)
    except NodeError as fault:
        if not any(word in str(fault) for word in _ON_ITS_WAY):
            raise view.node().unavailable(f"it takes no transaction: {fault}") from None


def median(amounts: Mapping[int, int]) -> int:
    """The lower median: one node's outlier decides nothing."""
    return median_low(amounts.values())
