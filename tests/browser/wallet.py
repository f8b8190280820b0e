"""The wallet in the browser: it announces itself as EIP-6963 says, the test signs, the development
chain takes. It can be told to misbehave in each way that wallets do.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from aiohttp import ClientSession

from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, PLENTY

NAME: Final = "Test wallet"
ANNOUNCED: Final = """
(() => {
  const request = async ({ method, params }) => {
    const told = await window.askWallet(JSON.stringify({ method, params: params ?? [] }));
    if (told.code) throw Object.assign(new Error(told.message), { code: told.code });
    return told.result;
  };
  const icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";
  const info = Object.freeze({ uuid: "t", name: "Test wallet", rdns: "example.test", icon });
  const detail = Object.freeze({ info, provider: { request } });
  const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  addEventListener("eip6963:requestProvider", announce);
  announce();
})();
"""
SENDS: Final = ("eth_sendTransaction", "wallet_sendCalls")
SIGNS: Final = ("personal_sign", "eth_signTypedData_v4")


class Says(Exception):
    """What a wallet answers instead of a result (EIP-1193)."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code, self.message = code, message


@dataclass
class Wallet:
    """A wallet with one key. `fault` is what it answers to signing and sending; `held` keeps its
    answer back, before or after it has sent.
    """

    own: LocalWallet
    rpc: str
    account: str = ""
    chain_id: int = CHAIN_ID
    gas: int = PLENTY
    switches: int | None = None
    fault: Says | None = None
    locked: bool = False
    drops: bool = False
    holds: asyncio.Event | None = None
    answers_late: asyncio.Event | None = None
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.account = self.account or self.own.address

    def count(self, *methods: str) -> int:
        """How often it was asked for one of these."""
        return sum(m in methods for m in self.asked)

    async def asked_to_send(self, times: int) -> None:
        """Wait until it was."""
        with anyio.fail_after(STUCK_S):
            while self.count(*SENDS) < times:
                await anyio.sleep(0.02)

    async def answer(self, _: Any, request: str) -> dict[str, Any]:
        """The binding's end: one EIP-1193 request."""
        told = json.loads(request)
        self.asked.append(told["method"])
        try:
            return {"result": await self._result(told["method"], told["params"])}
        except Says as says:
            return {"code": says.code, "message": says.message}

    async def _result(self, method: str, params: list[Any]) -> Any:
        if method in (*SENDS, *SIGNS):
            if self.holds is not None:
                await self.holds.wait()
            if self.fault is not None:
                raise self.fault
        match method:
            case "eth_requestAccounts":
                return [] if self.locked else [self.account]
            case "eth_chainId":
                return hex(self.chain_id)
            case "wallet_switchEthereumChain":
                return self._switched(int(params[0]["chainId"], 16))
            case "personal_sign":
                return self.own.sign_text(bytes.fromhex(params[0][2:]).decode())
            case "eth_signTypedData_v4":
                return self.own.sign_typed(json.loads(params[1]))
            case "eth_sendTransaction":
                return await self._sends(params[0])
        return await self.passed_on(method, params)

    def _switched(self, wanted: int) -> None:
        if self.switches is not None and self.switches < 0:
            raise Says(4902, "Unrecognized chain")
        if self.switches is None:
            self.chain_id = wanted

    async def _sends(self, request: dict[str, str]) -> str:
        assert int(request["chainId"], 16) == self.chain_id
        if self.drops:
            tx = "0x" + "ab" * 32
        else:
            call = Call(self.chain_id, request["to"], request["data"])
            receipt = await self.own.send(call, gas=self.gas)
            tx = "0x" + bytes(receipt["transactionHash"]).hex()
        self.sent.append(tx)
        if self.answers_late is not None:
            await self.answers_late.wait()
        return tx

    async def passed_on(self, method: str, params: list[Any]) -> Any:
        """Ask the wallet's own node."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with ClientSession() as http, http.post(self.rpc, json=asked) as answer:
            told = await answer.json()
        if "error" in told:
            raise Says(-32603, told["error"]["message"])
        return told["result"]
