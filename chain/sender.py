"""Sending transactions with a key of the house: one nonce manager, fees replaced when stuck,
receipts waited for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import anyio
from eth_abi import encode
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_account.types import TransactionDictType
from eth_typing import HexStr
from eth_utils import to_checksum_address

from chain import codec
from chain.evm import EvmChain, EvmChains
from chain.faults import RpcFault
from chain.nodes import Nodes
from chain.receipts import revert_of
from domain.facts import Call, Receipt
from domain.refusals import Refused, refusal

EXECUTE_GAS: Final = 700_000
POLLS: Final = 60
POLL_S: Final = 0.5
STUCK_AFTER: Final = 20
BUMP_PERCENT: Final = 130
SPARE: Final = 20
"""Transactions that the key must be able to pay for before it sends one that can wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A transaction before it is signed (EIP-1559). Units: wei, and gas."""

    chain_id: int
    to: str
    data: str
    value: int
    nonce: int
    gas: int
    max_fee: int
    tip: int

    def dearer(self) -> Transaction:
        """The same at a price that nodes take in the place of the first."""
        return replace(self, max_fee=_bumped(self.max_fee), tip=_bumped(self.tip))

    def as_json(self) -> TransactionDictType:
        """As it is signed."""
        return {
            "type": 2,
            "chainId": self.chain_id,
            "to": HexStr(self.to),
            "data": HexStr(self.data),
            "value": self.value,
            "nonce": self.nonce,
            "gas": self.gas,
            "maxFeePerGas": self.max_fee,
            "maxPriorityFeePerGas": self.tip,
        }


def _bumped(price: int) -> int:
    return price * BUMP_PERCENT // 100 + 1


class Sender:
    """The `HouseKeeper` port."""

    def __init__(self, chains: EvmChains, private_key: str, poll_s: float = POLL_S):
        self._chains, self._poll_s = chains, poll_s
        self._account: LocalAccount = Account.from_key(private_key)
        self._turns: dict[int, anyio.Lock] = {}

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""
        return str(self._account.address)

    async def send(self, call: Call) -> Receipt:
        """Sign, send and wait for the receipt.

        Errors: `would_revert` where the newest block says so, and nothing is sent;
        `chain_unavailable` when it is not mined in time. A transaction that reverts all the same is
        returned with ok False.
        """
        # One transaction at a time: the nonce is the chain's count. One chain waits for no other.
        async with self._turns.setdefault(call.chain_id, anyio.Lock()):
            chain = self._chains.get(call.chain_id)
            transaction = await self._prepared(chain, call)
            hashes = [await self._sent(chain, transaction)]
            for poll in range(POLLS):
                for tx_hash in hashes:
                    receipt = await chain.receipt(tx_hash)
                    if receipt is not None:
                        return receipt
                if poll and poll % STUCK_AFTER == 0:
                    transaction = transaction.dearer()
                    hashes.append(await self._sent(chain, transaction))
                await anyio.sleep(self._poll_s)
            raise self._unmined(chain, "the keeper's transaction is not mined yet")

    async def affords(self, chain_id: int) -> bool:
        """True where the balance pays for `SPARE` transactions at the fees of now.

        Errors: `chain_unavailable`.
        """
        rpc = self._chains.get(chain_id).node()
        has = await rpc.quantity("eth_getBalance", self.address, "latest")
        fee, tip = await self._fees(rpc)
        return has >= SPARE * EXECUTE_GAS * (2 * fee + tip)

    @staticmethod
    async def _fees(rpc: Nodes) -> tuple[int, int]:
        """(price of gas now, tip), in wei."""
        fee = rpc.number(await rpc.ask("eth_gasPrice"))
        return fee, rpc.number(await rpc.ask("eth_maxPriorityFeePerGas"))

    async def _prepared(self, chain: EvmChain, call: Call) -> Transaction:
        rpc = chain.node()
        sketch = {"from": self.address, "to": call.to, "data": call.data}
        try:
            # In the block that comes next, where it will be mined: in that of a mark of ours an
            # exit is not judged by that mark yet.
            gas = rpc.number(await rpc.ask("eth_estimateGas", sketch, "pending")) * 13 // 10
        except RpcFault as fault:
            if not fault.reverted:
                raise rpc.unavailable(f"the call cannot be tried: {fault}") from None
            raise Refused(refusal("would_revert", why=revert_of(fault).name)) from None
        fee, tip = await self._fees(rpc)
        return Transaction(
            chain_id=call.chain_id,
            to=call.to,
            data=call.data,
            value=int(call.value),
            nonce=rpc.number(await rpc.ask("eth_getTransactionCount", self.address, "latest")),
            gas=max(gas, EXECUTE_GAS),
            max_fee=2 * fee + tip,
            tip=tip,
        )

    async def _sent(self, chain: EvmChain, transaction: Transaction) -> str:
        signed = self._account.sign_transaction(transaction.as_json())
        tx_hash = "0x" + bytes(signed.hash).hex()
        try:
            await chain.node().ask(
                "eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()
            )
        except RpcFault as fault:
            if (
                "known" not in str(fault)
                and "underpriced" not in str(fault)
                and "nonce too low" not in str(fault)
            ):
                raise self._unmined(chain, str(fault)) from None
        return tx_hash

    @staticmethod
    def _unmined(chain: EvmChain, why: str) -> Refused:
        return Refused(refusal("chain_unavailable", chain_id=chain.chain_id, why=why))


async def deploy(
    chain: EvmChain, private_key: str, contract: str, args: tuple[Any, ...] = ()
) -> str:
    """Deploy a committed artifact and return its address.

    Errors: `chain_unavailable` when the deployment fails or is not mined.
    """
    account = Account.from_key(private_key)
    rpc = chain.node()
    loaded = codec.artifact(contract)
    inputs: list[dict[str, str]] = next(
        (e["inputs"] for e in loaded["abi"] if e["type"] == "constructor"), []
    )
    data = loaded["bytecode"] + encode([i["type"] for i in inputs], list(args)).hex()
    gas = (
        int(await rpc.ask("eth_estimateGas", {"from": account.address, "data": data}), 16)
        * 12
        // 10
    )
    fee = int(await rpc.ask("eth_gasPrice"), 16)
    tip = int(await rpc.ask("eth_maxPriorityFeePerGas"), 16)
    nonce = int(await rpc.ask("eth_getTransactionCount", account.address, "latest"), 16)
    signed = account.sign_transaction(
        {
            "type": 2,
            "chainId": chain.chain_id,
            "nonce": nonce,
            "data": data,
            "gas": gas,
            "value": 0,
            "maxFeePerGas": 2 * fee + tip,
            "maxPriorityFeePerGas": tip,
        }
    )
    tx_hash = await rpc.ask("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
    for _ in range(POLLS):
        told = await rpc.ask("eth_getTransactionReceipt", tx_hash)
        if told is not None:
            if told["status"] != "0x1":
                break
            return to_checksum_address(told["contractAddress"])
        await anyio.sleep(POLL_S)
    raise Refused(
        refusal(
            "chain_unavailable", chain_id=chain.chain_id, why=f"the deployment of {contract} failed"
        )
    )
