"""A contract wallet in the browser: Safe 1.4.1, two of two. It signs by ERC-1271, names hashes of its
own, and what it is asked to send happens when both have confirmed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from eth_abi import decode, encode
from eth_account import Account
from eth_account.messages import _hash_eip191_message, encode_defunct, encode_typed_data
from eth_utils import keccak, to_checksum_address

from tests.browser.wallet import Says, Wallet
from tests.chain.test_signatures import artifact
from tests.world import CHAIN_ID, Evm

ZERO: Final = "0x" + "00" * 20
TRANSACTION: Final = ["address", "uint256", "bytes", "uint8", "uint256", "uint256", "uint256",
                      "address", "address"]  # fmt: skip
STRANGER: Final = 7


def data(name: str, types: list[str], values: list[Any]) -> bytes:
    """The calldata of a function."""
    return keccak(text=f"{name}({','.join(types)})")[:4] + encode(types, values)


@dataclass
class SafeWallet(Wallet):
    """Its two owners sign in the test; `confirm` is the second of them."""

    keys: tuple[str, str] = ("", "")
    evm: Evm | None = None
    batches: bool = True
    queue: list[tuple[str, list[dict[str, str]]]] = field(default_factory=list)
    done: dict[str, list[str]] = field(default_factory=dict)

    async def deploy(self) -> None:
        """Put the wallet on the chain."""
        owners = [Account.from_key(k).address for k in self.keys]
        singleton, handler, maker = [
            await self._made(n)
            for n in ("Safe", "CompatibilityFallbackHandler", "SafeProxyFactory")
        ]
        address, number = "address", "uint256"
        types = ["address[]", number, address, "bytes", address, address, number, address]
        ordered = sorted(owners, key=lambda a: int(a, 16))
        setup = data("setup", types, [ordered, 2, ZERO, b"", handler, ZERO, 0, ZERO])
        make = data("createProxyWithNonce", ["address", "bytes", "uint256"], [singleton, setup, 7])
        receipt = await self._mined({"to": maker, "data": "0x" + make.hex()})
        proxy = next(log for log in receipt["logs"] if log["address"].lower() == maker.lower())
        self.account = to_checksum_address("0x" + proxy["topics"][1][-40:])

    async def _made(self, name: str) -> str:
        receipt = await self._mined({"data": artifact(name)["bytecode"]})
        return to_checksum_address(receipt["contractAddress"])

    async def _mined(self, tx: dict[str, str]) -> dict[str, Any]:
        sender = (await self.passed_on("eth_accounts", []))[STRANGER]
        tx_hash = await self.passed_on("eth_sendTransaction", [tx | {"from": sender, "gas": "0x895440"}])  # fmt: skip
        receipt = await self.passed_on("eth_getTransactionReceipt", [tx_hash])
        assert receipt["status"] == "0x1", tx["data"][:10]
        return dict(receipt) | {"transactionHash": tx_hash}

    def _both(self, typed: dict[str, Any]) -> bytes:
        accounts = sorted(
            (Account.from_key(k) for k in self.keys), key=lambda a: int(a.address, 16)
        )
        return b"".join(bytes(a.sign_typed_data(full_message=typed).signature) for a in accounts)

    def _message(self, digest: bytes) -> str:
        typed = self._typed("SafeMessage", [{"name": "message", "type": "bytes"}], {"message": digest})  # fmt: skip
        return "0x" + self._both(typed).hex()

    def _typed(self, primary: str, fields: list[dict[str, str]], message: Any) -> dict[str, Any]:
        domain = [{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}]  # fmt: skip
        return {
            "types": {"EIP712Domain": domain, primary: fields},
            "primaryType": primary,
            "domain": {"chainId": CHAIN_ID, "verifyingContract": self.account},
            "message": message,
        }

    async def _result(self, method: str, params: list[Any]) -> Any:
        match method:
            case "personal_sign":
                text = bytes.fromhex(params[0][2:]).decode()
                return self._message(bytes(_hash_eip191_message(encode_defunct(text=text))))
            case "eth_signTypedData_v4":
                signable = encode_typed_data(full_message=json.loads(params[1]))
                return self._message(bytes(_hash_eip191_message(signable)))
            case "eth_sendTransaction":
                return self._queued([params[0]])
            case "wallet_getCapabilities":
                if not self.batches:
                    raise Says(4200, "unknown method")
                return {params[1][0]: {"atomic": {"status": "supported"}}}
            case "wallet_sendCalls":
                assert params[0]["atomicRequired"]
                return {"id": self._queued(params[0]["calls"])}
            case "wallet_getCallsStatus":
                done = self.done.get(params[0])
                receipts = [{"transactionHash": h, "status": "0x1"} for h in done or ()]
                return {"status": 200 if done else 100, "receipts": receipts, "atomic": True}
        return await super()._result(method, params)

    def _queued(self, calls: list[dict[str, str]]) -> str:
        name = "0x" + keccak(text=f"{self.account}{len(self.done)}{len(self.queue)}").hex()
        self.queue.append((name, calls))
        return name

    async def confirm(self) -> None:
        """Both have confirmed: a stranger brings it to the chain."""
        name, calls = self.queue.pop()
        self.done[name] = [await self._executed(call) for call in calls]

    async def _executed(self, call: dict[str, str]) -> str:
        told = await self.passed_on(
            "eth_call", [{"to": self.account, "data": "0x" + data("nonce", [], []).hex()}, "latest"]
        )
        (nonce,) = decode(["uint256"], bytes.fromhex(told[2:]))
        plain = [to_checksum_address(call["to"]), 0, bytes.fromhex(call["data"][2:]), 0, 0, 0, 0, ZERO, ZERO]  # fmt: skip
        names = ("to", "value", "data", "operation", "safeTxGas", "baseGas", "gasPrice", "gasToken",
                 "refundReceiver", "nonce")  # fmt: skip
        types = [*TRANSACTION, "uint256"]
        fields = [{"name": n, "type": t} for n, t in zip(names, types, strict=True)]
        signed = self._both(
            self._typed("SafeTx", fields, dict(zip(names, [*plain, nonce], strict=True)))
        )
        brought = data("execTransaction", [*TRANSACTION, "bytes"], [*plain, signed])
        receipt = await self._mined({"to": self.account, "data": "0x" + brought.hex()})
        return str(receipt["transactionHash"])
