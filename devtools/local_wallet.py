"""A wallet whose key is in this process: for the demo, the examples and the tests, never for the
service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_typing import HexStr
from web3 import AsyncHTTPProvider, AsyncWeb3
from web3.exceptions import TransactionNotFound
from web3.types import TxParams, TxReceipt, Wei

from domain.chain_facts import Call

GAS_MARGIN_PERCENT: Final = 30
EXECUTE_GAS: Final = 700_000  # chain.md: execute wants at least 600k, an estimate finds less


class LocalWallet:
    """Signs with one private key and sends to one RPC address."""

    def __init__(self, private_key: str, rpc_url: str):
        self._account: LocalAccount = Account.from_key(private_key)
        self._web3 = AsyncWeb3(AsyncHTTPProvider(rpc_url))
        self._web3.provider.global_ccip_read_enabled = False

    @property
    def address(self) -> str:
        """EIP-55 address of the key."""
        return str(self._account.address)

    def sign_text(self, text: str) -> str:
        """EIP-191 personal signature, 0x hex."""
        return "0x" + self._account.sign_message(
            encode_defunct(text=text)
        ).signature.hex().removeprefix("0x")

    def sign_typed(self, typed_data: Mapping[str, object]) -> str:
        """EIP-712 signature over a whole typed-data object, 0x hex."""
        signable = encode_typed_data(full_message=dict(typed_data))
        return "0x" + self._account.sign_message(signable).signature.hex().removeprefix("0x")

    async def send(self, call: Call, *, gas: int | None = None) -> TxReceipt:
        """Sign and send one call, and wait for its receipt; a reverted one is returned with status
        0.

        Units: `gas` is the limit; without it the node's estimate plus a margin is taken, at least
        what execute wants.
        """
        eth = self._web3.eth
        tx: TxParams = {
            "chainId": call.chain_id,
            "from": self._account.address,
            "to": self._web3.to_checksum_address(call.to),
            "data": HexStr(call.data),
            "value": Wei(int(call.value)),
            "nonce": await eth.get_transaction_count(self._account.address),
        }
        fee = await eth.gas_price
        tx["maxFeePerGas"] = Wei(2 * fee)
        tx["maxPriorityFeePerGas"] = Wei(0)
        if gas is None:
            gas = max(await eth.estimate_gas(tx) * (100 + GAS_MARGIN_PERCENT) // 100, EXECUTE_GAS)
        tx["gas"] = gas
        raw = self._account.sign_transaction(dict(tx)).raw_transaction  # type: ignore[arg-type]  # the stub knows no TxParams
        return await eth.wait_for_transaction_receipt(await eth.send_raw_transaction(raw))

    async def receipt(self, tx_hash: str) -> TxReceipt | None:
        """The receipt of a transaction; None while no block holds it."""
        try:
            return await self._web3.eth.get_transaction_receipt(HexStr(tx_hash))
        except TransactionNotFound:
            return None

    async def close(self) -> None:
        """Close the HTTP session."""
        await self._web3.provider.disconnect()
