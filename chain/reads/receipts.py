"""Receipts: mined transactions with logs and revert reasons, and the creation log of a vault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from eth_utils import keccak, to_checksum_address

from chain.contracts import abi_codec
from chain.reads.blocks import BlockReader
from chain.rpc import decoding
from chain.rpc.errors import NodeError
from domain.chain_facts import BlockStamp, Receipt, Revert, VaultLog

LOOK_BACK: Final = 1_000
ReceiptJson: TypeAlias = Mapping[str, Any]


async def receipt(chain: BlockReader, tx_hash: str) -> Receipt | None:
    """Return the mined transaction with its revert decoded; None when the chain does not
    have it.
    """
    rpc = chain.node()
    raw = await rpc.fact("eth_getTransactionReceipt", tx_hash)
    if raw is None:
        return None
    try:
        mined_in = decoding.block_hash(raw["blockHash"])
        if str(raw["transactionHash"]).lower() != tx_hash.lower():
            raise ValueError("another receipt than the one asked for")
        block = await chain.block(mined_in)
        if block is None:
            return None  # it was reorganised away between the two questions
        return await _receipt(chain, raw, block)
    except decoding.NONSENSE as error:
        raise rpc.unavailable(f"a receipt that makes no sense ({type(error).__name__})") from None


async def _receipt(chain: BlockReader, raw: ReceiptJson, block: BlockStamp) -> Receipt:
    newest = await chain.latest()
    ok = int(raw["status"], 16) == 1
    transaction = None if ok else await _transaction(chain, str(raw["transactionHash"]))
    revert = None if transaction is None else await _revert_reason(chain, transaction, block)
    return mined_receipt(
        chain,
        raw,
        block,
        newest,
        None if transaction is None else decoding.calldata(transaction),
        revert,
    )


def mined_receipt(
    chain: BlockReader,
    raw: ReceiptJson,
    block: BlockStamp,
    newest: BlockStamp,
    data: str | None,
    revert: Revert | None,
) -> Receipt:
    """Build a `Receipt` from a node's JSON and its block; a failed one gets its calldata and
    revert.
    """
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
        revert=revert,
        data=data,
    )


async def is_pending(chain: BlockReader, tx_hash: str) -> bool:
    """True for a transaction that the node knows and no block holds yet."""
    raw = await chain.node().ask("eth_getTransactionByHash", tx_hash)
    if raw is not None and not isinstance(raw, dict):
        raise chain.node().unavailable("a transaction that makes no sense")
    return raw is not None and raw.get("blockNumber") is None


async def _transaction(chain: BlockReader, tx_hash: str) -> Mapping[str, Any] | None:
    """The transaction's JSON, where the node still has it."""
    raw = await chain.node().fact("eth_getTransactionByHash", tx_hash)
    return raw if raw and raw.get("to") else None


async def _revert_reason(
    chain: BlockReader, transaction: Mapping[str, Any], block: BlockStamp
) -> Revert | None:
    """Replay the transaction on its parent block: a receipt does not carry the reason.

    None where the replay does not fail, or the node no longer has the state of that block.
    """
    call = {n: transaction[n] for n in ("from", "to", "gas", "value", "input")}
    try:
        await chain.node().ask("eth_call", call, hex(max(0, block.number - 1)))
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
        "address": chain.configured("the vault factory", chain.factory),
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
