"""Receipts: mined transactions with logs and revert reasons, and a vault's creation log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeAlias

from eth_utils import keccak, to_checksum_address

from chain.contracts import abi_codec
from chain.networks import VAULTS
from chain.quorum import NodeAnswers, quorum_read_each
from chain.reads.blocks import BlockReader
from chain.rpc import decoding
from chain.rpc.errors import Json, NodeError
from chain.rpc.http_transport import RpcCall
from domain.chain_facts import BlockStamp, Receipt, Revert, VaultLog

LOOK_BACK: Final = 1_000
ReceiptJson: TypeAlias = Mapping[str, Json]


async def receipts(chain: BlockReader, tx_hashes: Iterable[str]) -> Mapping[str, Receipt | None]:
    """Mined transactions by lower-case hash; None for one that the chain does not have.

    A failed one carries its calldata but no revert reason, which would need a replay each. A
    malformed answer leaves only its own transaction out.
    Errors: `chain_unavailable`.
    """
    hashes = list(dict.fromkeys(tx_hash.lower() for tx_hash in tx_hashes))
    answers = await _ask_each(chain, "eth_getTransactionReceipt", [[h] for h in hashes])
    raws = dict(zip(hashes, answers, strict=True))
    mined = {h: block_hash for h, raw in raws.items() if (block_hash := _mined_in(raw, h))}
    by_hash: dict[str, Receipt | None] = {h: None for h, raw in raws.items() if raw is None}
    if not mined:
        return by_hash
    blocks = await chain.blocks_of(list(dict.fromkeys(mined.values())))
    newest = await chain.latest()
    data = await _calldata(chain, [h for h in mined if _failed(raws[h])])
    for tx_hash, block_hash in mined.items():
        block = blocks.get(block_hash)
        if block is None:  # it was reorganised away between two questions
            by_hash[tx_hash] = None
            continue
        with suppress(*decoding.NONSENSE):
            by_hash[tx_hash] = _receipt(chain, raws[tx_hash], block, newest, data.get(tx_hash))
    return by_hash


def _mined_in(raw: Json, tx_hash: str) -> str | None:
    """The hash of the block of a receipt; None where it makes no sense, or is another's."""
    with suppress(*decoding.NONSENSE):
        if str(raw["transactionHash"]).lower() == tx_hash:
            return decoding.block_hash(raw["blockHash"])
    return None


async def agreed_receipts(
    chain: NodeAnswers[BlockReader], tx_hashes: Iterable[str]
) -> Mapping[str, Receipt | None]:
    """Mined transactions as more than half of the configured nodes give them; a transaction without
    a majority is left out, because its state is unknown.

    Errors: `chain_unavailable` where no node answers.
    """
    agreed = await quorum_read_each(
        chain,
        "a transaction",
        hashes := [h.lower() for h in tx_hashes],
        lambda view: receipts(view, hashes),
        _comparable,
    )
    return {h: _merge(answers, len(chain.views)) for h, answers in agreed.items()}


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


async def _ask_each(
    chain: BlockReader, method: str, params: Sequence[Sequence[object]]
) -> list[Json]:
    questions: list[RpcCall] = [(method, param_list) for param_list in params]
    return await chain.node().facts(questions) if questions else []


def _receipt(
    chain: BlockReader, raw: ReceiptJson, block: BlockStamp, newest: BlockStamp, data: str | None
) -> Receipt:
    """A `Receipt` of a node's JSON and its block. Errors: one of `NONSENSE`."""
    logs = [decoding.log(g) for g in raw["logs"]]
    transfers = map(chain.transfer, logs)
    return Receipt(
        tx_hash=str(raw["transactionHash"]).lower(),
        ok=int(raw["status"], 16) == 1,
        sender=to_checksum_address(raw["from"]),
        to=to_checksum_address(raw["to"]) if raw.get("to") else None,
        block=block,
        depth=max(0, newest.number - block.number),
        logs=tuple(log for g in logs if (log := chain.vault_log(g, block)) is not None),
        transfers=tuple(t for t in transfers if t is not None),
        revert=None,
        data=data,
        purse_logs=tuple(g for r in logs if (g := chain.purse_log(r, block)) is not None),
    )


async def is_pending(chain: BlockReader, tx_hash: str) -> bool:
    """True for a transaction that the node knows and no block holds yet."""
    raw = await chain.node().ask("eth_getTransactionByHash", tx_hash)
    if raw is not None and not isinstance(raw, dict):
        raise chain.node().unavailable("a transaction that makes no sense")
    return raw is not None and raw.get("blockNumber") is None


async def revert_reason(chain: BlockReader, receipt: Receipt) -> Revert | None:
    """Replay a failed transaction on its parent block: a receipt does not carry the reason.

    None where the replay does not fail, or the node no longer has the transaction or the state of
    that block.
    """
    transaction = await chain.node().fact("eth_getTransactionByHash", receipt.tx_hash)
    if not transaction or not transaction.get("to"):
        return None
    call = {n: transaction[n] for n in ("from", "to", "gas", "value", "input")}
    try:
        await chain.node().ask("eth_call", call, hex(max(0, receipt.block.number - 1)))
    except NodeError as fault:
        return revert_of(fault) if fault.reverted else None
    return None


def revert_of(fault: NodeError) -> Revert:
    """Decode a reverted call's error, by name where it is known."""
    return (
        abi_codec.decode_revert(fault.data)
        if fault.data
        else Revert("Unknown", {"message": str(fault)}, None)
    )


async def creation(
    chain: BlockReader, public_id: str, digest: str, by: BlockStamp
) -> VaultLog | None:
    """Find the factory's log of the vault of these terms, in `by` or the blocks before it."""
    request = {
        "address": chain.configured(VAULTS, chain.factory),
        "topics": [
            list(abi_codec.event_topics("MandateVaultFactory")),
            "0x" + keccak(text=public_id).hex(),
        ],
        "fromBlock": hex(max(chain.facts.start_block, by.number - LOOK_BACK, 0)),
        "toBlock": hex(by.number),
    }
    try:
        for log_entry in decoding.logs(await chain.node().ask("eth_getLogs", request)):
            block = await chain.block(log_entry.block)
            if block is None or log_entry.block_hash != block.hash:
                continue
            log = chain.vault_log(log_entry, block)
            if log is not None and log.args["digest"] == digest:
                return log
    except (NodeError, *decoding.NONSENSE) as error:
        raise chain.node().unavailable(
            f"the vault's creation cannot be looked for ({type(error).__name__})"
        ) from None
    return None
