"""An owner's wallet for the browser, for who looks at the demo without one of his own: its key is
the embedded chain's, and it signs for the chains of this process and no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from aiohttp import web

from app.session_guard import own_site
from devtools.devnet import Devnet
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.refusals import Refused, refusal

CHAIN_LINE: Final = re.compile(r"^Chain ID: ([0-9]{1,15})$", re.MULTILINE)
HERE: Final = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
MAX_BYTES: Final = 64 * 1024


class Answers(Exception):
    """Errors that a wallet answers instead of a result (EIP-1193's codes, and EIP-3326's 4902)."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code, self.message = code, message


def elsewhere(chain_id: object) -> Answers:
    """The refusal of every chain that is not embedded here."""
    return Answers(4902, f"the demo wallet signs for no chain but its own, and not for {chain_id}")


class DemoWallet:
    """Answers EIP-1193 requests of pages of this service.

    Shapes: `chains` by EIP-155 id, each an embedded chain of this process. Errors: Refused with
    `not_configured` for a chain that runs elsewhere.
    """

    def __init__(self, key: str, chains: Mapping[int, Devnet], base_url: str):
        if any(net.chain.chain_id != chain_id for chain_id, net in chains.items()):
            raise Refused(refusal("not_configured", what="an embedded chain of this id"))
        self._wallets = {i: LocalWallet(key, net.rpc_url) for i, net in chains.items()}
        self._base, self._one = base_url, anyio.Lock()

    @property
    def address(self) -> str:
        """The address of the wallet's key."""
        return next(iter(self._wallets.values())).address

    async def close(self) -> None:
        """Close the ways to the chains."""
        for wallet in self._wallets.values():
            await wallet.close()

    async def handle(self, request: web.Request) -> web.Response:
        """`POST {chain, method, params}` of a page of ours; `{result}`, or `{code, message}`."""
        if not (self._is_here(request.host) and own_site(request.headers, self._base)):
            return web.json_response({"code": 4100, "message": "not from this site"}, status=403)
        try:
            raw = json.loads((await request.content.read(MAX_BYTES)).decode())
            chain, method, params = int(raw["chain"]), str(raw["method"]), list(raw["params"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return web.json_response({"code": -32600, "message": "no request"}, status=400)
        try:
            return web.json_response({"result": await self.answer(chain, method, params)})
        except Answers as answers:
            return web.json_response({"code": answers.code, "message": answers.message})

    def _is_here(self, host: str) -> bool:
        """False under a foreign host name that was made to lead here (DNS rebinding)."""
        return HERE.fullmatch(host) is not None or host == urlsplit(self._base).netloc

    async def answer(self, chain: int, method: str, params: Sequence[Any]) -> object:
        """One request. Errors: Answers."""
        wallet = self._of(chain)
        try:
            match method:
                case "eth_requestAccounts" | "eth_accounts":
                    return [wallet.address]
                case "eth_chainId":
                    return hex(chain)
                case "wallet_switchEthereumChain":
                    chain_id = int(params[0]["chainId"], 16)
                    self._of(chain_id)
                    return chain_id
                case "personal_sign":
                    return self._text(bytes.fromhex(params[0][2:]).decode())
                case "eth_signTypedData_v4":
                    typed = json.loads(params[1])
                    return self._of(int(typed["domain"]["chainId"])).sign_typed(typed)
                case "eth_sendTransaction":
                    return await self._send(params[0])
                case "eth_getTransactionReceipt":
                    return await self._receipt(wallet, str(params[0]))
        except (LookupError, ValueError, TypeError, AttributeError):
            raise Answers(-32602, "it cannot be read") from None
        raise Answers(4200, f"the demo wallet knows no {method}")

    def _of(self, chain_id: int) -> LocalWallet:
        wallet = self._wallets.get(chain_id)
        if wallet is None:
            raise elsewhere(chain_id)
        return wallet

    def _text(self, text: str) -> str:
        name = CHAIN_LINE.findall(text)
        if len(name) != 1:
            raise Answers(4100, "the demo wallet signs texts that name their chain, and no others")
        return self._of(int(name[0])).sign_text(text)

    async def _send(self, request: Mapping[str, str]) -> str:
        chain_id = int(request["chainId"], 16)
        wallet = self._of(chain_id)
        if int(request.get("value", "0x0"), 16):
            raise Answers(4100, "the demo wallet sends no ether")
        call = Call(chain_id, str(request["to"]), str(request["data"]))
        async with self._one:  # one transaction number at a time
            try:
                receipt = await wallet.send(call)
            except Exception as error:
                raise Answers(-32000, f"the chain takes it not: {error}") from error
        return "0x" + bytes(receipt["transactionHash"]).hex()

    async def _receipt(self, wallet: LocalWallet, tx_hash: str) -> object:
        receipt = await wallet.receipt(tx_hash)
        return None if receipt is None else {"status": hex(receipt["status"])}
