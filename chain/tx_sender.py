"""Transaction sender: signs with the house's key, manages nonces, replaces what is stuck."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import anyio
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils import to_checksum_address

from chain.adapter import EvmChain
from chain.chains import EvmChains
from chain.contracts import transactions
from chain.contracts.fixed_addresses import (
    DETERMINISTIC_DEPLOYER,
    creation_code,
    fixed_address,
    fixed_deployment,
)
from chain.quorum import majority, note_dissent, query_each_node
from chain.reads import sending
from chain.reads.receipts import revert_of
from chain.rpc.errors import NodeError
from domain.chain_facts import Call, Receipt, Transaction
from domain.refusals import Refused, refusal

EXECUTE_GAS: Final = 700_000
POLLS: Final = 60
POLL_S: Final = 0.5
STUCK_AFTER: Final = 20
SPARE: Final = 20
"""Transactions that the key must be able to pay for before it sends one that can wait."""


class TxSender:
    """The `HouseKeeper` port: sends the keeper's transactions."""

    def __init__(self, chains: EvmChains, private_key: str, poll_s: float = POLL_S):
        self._chains, self._poll_s = chains, poll_s
        self._account: LocalAccount = Account.from_key(private_key)
        self._locks: dict[int, anyio.Lock] = {}

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""
        return str(self._account.address)

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt.

        Errors: `would_revert` where the simulation at the newest block reverts: nothing is sent;
        `chain_unavailable` when the transaction is not mined in time. A transaction that reverts on
        chain is returned with ok False.
        """
        # One transaction at a time: the nonce is the chain's count. One chain waits for no other.
        async with self._locks.setdefault(call.chain_id, anyio.Lock()):
            chain = self._chains.get(call.chain_id)
            transaction = await self._prepared(chain, call)
            hashes = [await self._sign_and_broadcast(chain, transaction)]
            for poll in range(POLLS):
                for tx_hash in hashes:
                    receipt = await _receipt_or_none(chain, tx_hash)
                    if receipt is not None:
                        return receipt
                if poll and poll % STUCK_AFTER == 0:
                    transaction = transaction.with_higher_fee()
                    hashes.append(await self._sign_and_broadcast(chain, transaction))
                await anyio.sleep(self._poll_s)
            raise chain.node().unavailable("the keeper's transaction is not mined yet")

    async def affords(self, chain_id: int) -> bool:
        """True where the balance pays for `SPARE` transactions at the current fees. Errors:
        `chain_unavailable`.
        """
        chain, address = self._chains.get(chain_id), self.address
        balance = await sending.balance(chain, address)
        fee, tip = await sending.fees(chain)
        return balance >= SPARE * EXECUTE_GAS * (2 * fee + tip)

    async def _prepared(self, chain: EvmChain, call: Call) -> Transaction:
        draft = {"from": self.address, "to": call.to, "data": call.data}
        estimates = await query_each_node(chain, lambda view: _estimate_gas(view, draft))
        reverts = {
            n: estimate if isinstance(estimate, str) else None for n, estimate in estimates.items()
        }
        agreeing = majority(len(chain.views), reverts)
        if not agreeing:
            raise chain.node().unavailable("its nodes do not say the same of a call")
        note_dissent(chain.node(), "a call", agreeing, reverts)
        revert_name = estimates[agreeing[0]]
        if isinstance(revert_name, str):
            raise Refused(refusal("would_revert", why=revert_name))
        fee, tip = await sending.fees(chain)
        gas = sending.median({n: e for n, e in estimates.items() if isinstance(e, int)}) * 13 // 10
        return Transaction(
            chain_id=call.chain_id,
            to=call.to,
            data=call.data,
            value=int(call.value),
            nonce=await sending.next_nonce(chain, self.address),
            gas=max(gas, EXECUTE_GAS),
            max_fee=2 * fee + tip,
            tip=tip,
        )

    async def _sign_and_broadcast(self, chain: EvmChain, transaction: Transaction) -> str:
        """Sign a transaction, send it to every node and return its hash. Errors:
        `chain_unavailable` where no node accepts it.
        """
        signed = transactions.sign(self._account.key, transaction)
        await sending.broadcast(chain, signed.raw)
        return signed.tx_hash


async def _estimate_gas(view: EvmChain, draft: dict[str, str]) -> int | str:
    """The gas of a call, or the name of the error with which it would revert."""
    rpc = view.node()
    try:
        # In the block that comes next, where it will be mined: in that of a mark of ours an
        # exit is not judged by that mark yet.
        return rpc.number(await rpc.ask("eth_estimateGas", draft, "pending"))
    except NodeError as fault:
        if not fault.reverted:
            raise rpc.unavailable(f"the call cannot be tried: {fault}") from None
        return revert_of(fault).name


async def _receipt_or_none(chain: EvmChain, tx_hash: str) -> Receipt | None:
    """The receipt; of several nodes a failed read counts as not mined yet."""
    try:
        return await chain.receipt(tx_hash)
    except Refused:
        if not chain.asks_several:
            raise
        return None


def address_of(private_key: str) -> str:
    """EIP-55 address of a private key."""
    return str(Account.from_key(private_key).address)


async def deploy(
    chain: EvmChain, private_key: str, contract: str, args: tuple[str | bool | None, ...] = ()
) -> str:
    """Deploy a committed artifact and return its address. Errors: `chain_unavailable` when the
    deployment fails or is not mined.
    """
    subject, code = f"the deployment of {contract}", creation_code(contract, args)
    receipt = await _mined(chain, private_key, {"data": code}, subject)
    return to_checksum_address(str(receipt["contractAddress"]))


async def deploy_fixed(
    chain: EvmChain, private_key: str, contract: str, args: tuple[str | bool | None, ...] = ()
) -> str:
    """Deploy a committed artifact at its fixed address, unless it is there already; where the chain
    has no deterministic deployer, like `deploy`. Errors: `chain_unavailable`.
    """
    if not await has_code(chain, DETERMINISTIC_DEPLOYER):
        return await deploy(chain, private_key, contract, args)
    address = fixed_address(contract, args)
    if not await has_code(chain, address):
        data = fixed_deployment(contract, args)
        await send_once(chain, private_key, DETERMINISTIC_DEPLOYER, data)
    if not await has_code(chain, address):
        raise chain.node().unavailable(f"{contract} is not at {address}")
    return address


async def has_code(chain: EvmChain, address: str) -> bool:
    """True where a contract stands at an address. Errors: `chain_unavailable`."""
    code = await chain.node().ask("eth_getCode", address, "latest")
    return isinstance(code, str) and len(code) > 2


async def send_once(chain: EvmChain, private_key: str, to: str, data: str) -> None:
    """Send a call of the key's account and wait for it. Errors: `chain_unavailable` when it fails
    or is not mined.
    """
    await _mined(chain, private_key, {"to": to, "data": data}, f"the call of {to}")


async def _mined(
    chain: EvmChain, private_key: str, transaction: Mapping[str, str], subject: str
) -> Mapping[str, object]:
    """The receipt of a transaction. Errors: `chain_unavailable`."""
    account, rpc = Account.from_key(private_key), chain.node()
    estimate = await rpc.quantity("eth_estimateGas", {"from": account.address, **transaction})
    fee, tip = await sending.fees(chain)
    nonce = await rpc.quantity("eth_getTransactionCount", account.address, "latest")
    signed = account.sign_transaction(
        {
            "type": 2,
            "chainId": chain.chain_id,
            "nonce": nonce,
            "gas": estimate * 12 // 10,
            "value": 0,
            "maxFeePerGas": 2 * fee + tip,
            "maxPriorityFeePerGas": tip,
            **transaction,
        }
    )
    tx_hash = await rpc.ask("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
    for _ in range(POLLS):
        receipt: Mapping[str, object] | None = await rpc.ask("eth_getTransactionReceipt", tx_hash)
        if receipt is not None:
            if receipt["status"] != "0x1":
                break
            return receipt
        await anyio.sleep(POLL_S)
    raise rpc.unavailable(f"{subject} failed")
