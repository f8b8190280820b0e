"""Transactions: signed with a key, and read back out of their signed bytes (EIP-1559)."""

from __future__ import annotations

from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_account.types import TransactionDictType
from eth_typing import HexStr
from eth_utils import keccak, to_checksum_address
from hexbytes import HexBytes

from domain.chain_facts import SignedTransaction, Transaction

LONGEST_BYTES = 128 * 1024


def sign(key: str | bytes, transaction: Transaction) -> SignedTransaction:
    """Sign a transaction."""
    account = Account.from_key(key)
    signed = account.sign_transaction(_fields(transaction))
    return SignedTransaction(
        raw="0x" + bytes(signed.raw_transaction).hex(),
        tx_hash="0x" + bytes(signed.hash).hex(),
        sender=str(account.address),
        transaction=transaction,
    )


def address_of(key: str | bytes) -> str:
    """EIP-55 address of a private key."""
    return str(Account.from_key(key).address)


def read_signed(raw: str) -> SignedTransaction | None:
    """The transaction of signed bytes and its sender; None for whatever is no signed call of a
    contract in the form of EIP-1559.
    """
    try:
        data = bytes.fromhex(raw.removeprefix("0x"))
        if not 0 < len(data) <= LONGEST_BYTES or data[0] != 2:
            return None
        fields = TypedTransaction.from_bytes(HexBytes(data)).as_dict()
        if fields["accessList"]:
            return None
        transaction = Transaction(
            chain_id=fields["chainId"],
            to=to_checksum_address(fields["to"]),
            data="0x" + bytes(fields["data"]).hex(),
            value=fields["value"],
            nonce=fields["nonce"],
            gas=fields["gas"],
            max_fee=fields["maxFeePerGas"],
            tip=fields["maxPriorityFeePerGas"],
        )
        sender = str(Account.recover_transaction(HexBytes(data)))
    except Exception:
        # Whatever cannot be read is none; what a stranger's bytes break is no concern of ours.
        return None
    tx_hash = "0x" + keccak(data).hex()
    return SignedTransaction(
        raw="0x" + data.hex(), tx_hash=tx_hash, sender=sender, transaction=transaction
    )


def _fields(transaction: Transaction) -> TransactionDictType:
    """The fields that are signed."""
    return {
        "type": 2,
        "chainId": transaction.chain_id,
        "to": HexStr(transaction.to),
        "data": HexStr(transaction.data),
        "value": transaction.value,
        "nonce": transaction.nonce,
        "gas": transaction.gas,
        "maxFeePerGas": transaction.max_fee,
        "maxPriorityFeePerGas": transaction.tip,
    }
