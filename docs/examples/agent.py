"""A small agent over plain HTTP: reads what it may do, acts once inside the limits, reports.

    WALLET_BASE=… WALLET_KEY=ak_… AGENT_PRIVATE_KEY=0x… RPC_URL=… python agent.py MARKET AMOUNT

It needs aiohttp, eth-abi, eth-account and web3. The private key stays here, never in the service.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from decimal import Decimal
from typing import Any

from aiohttp import ClientSession
from eth_abi import encode
from eth_account import Account
from web3 import AsyncHTTPProvider, AsyncWeb3

DEPOSIT = bytes.fromhex("6e553f65")  # ERC-4626 deposit(uint256,address)
EXECUTE_GAS = 900_000  # the vault's execute wants at least 600,000


class Wallet:
    """The service's API with one agent key; a refusal is returned, not raised."""

    def __init__(self, http: ClientSession, base: str, key: str):
        self._http, self._base, self._headers = http, base, {"X-Service-User-Key": key}

    async def ask(
        self, method: str, path: str, key: str | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Call a route; `key` is the idempotency key of a report."""
        headers = self._headers | ({"Idempotency-Key": key} if key else {})
        where = {"params": arguments} if method == "GET" else {"json": arguments}
        async with self._http.request(
            method, self._base + path, headers=headers, **where
        ) as response:
            told: dict[str, Any] = await response.json()
            return told

    async def need(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Call a route that must not refuse. Errors: SystemExit with the refusal's words."""
        return granted(await self.ask(method, path, **arguments))


def granted(told: dict[str, Any]) -> dict[str, Any]:
    """An answer that is no refusal. Errors: SystemExit with the refusal's words."""
    if "error" in told:
        raise SystemExit(f"{told['error']}: {told['reason']} ({told['who_fixes']} can fix it)")
    return told


async def accepted_mandate(wallet: Wallet) -> dict[str, Any]:
    """The mandate to work under: one that is accepted, or the first offer."""
    me = await wallet.need("GET", "/wallet/agents/me")
    for offer in (await wallet.need("GET", f"/wallet/agents/{me['agent_id']}/offers"))["items"]:
        await wallet.need("POST", f"/wallet/mandates/{offer['mandate']['public_id']}/accept")
    mandates = (await wallet.need("GET", "/wallet/mandates", status="working"))["items"]
    if not mandates:
        raise SystemExit("no working mandate")
    return dict(mandates[0]["mandate"])


async def calldata(
    wallet: Wallet, mandate: dict[str, Any], market: str, amount: str
) -> dict[str, Any]:
    """Ask for the call; wait where the owner must approve, go smaller where a limit binds."""
    vault, path = mandate["vault_address"], f"/wallet/mandates/{mandate['public_id']}"
    while True:
        units = int(Decimal(amount) * 10**6)
        data = "0x" + (DEPOSIT + encode(["uint256", "address"], [units, vault])).hex()
        told = await wallet.ask(
            "GET", path + "/execute-call", target=market, data=data, approve_amount=amount
        )
        if told.get("status") == "pending_approval":
            print(f"waiting for the owner: {told['approval']['approval_id']}")
            await asyncio.sleep(2)
        elif (
            told.get("error") in ("over_per_tx_cap", "over_daily_cap")
            and told["remaining"]["value"] != "0.000000"
        ):
            print(f"{told['reason']} Trying {told['remaining']['value']}.")
            amount = told["remaining"]["value"]
        else:
            return {**granted(told), "amount": amount}


async def send(call: dict[str, Any], private_key: str, rpc_url: str) -> tuple[bool, str]:
    """Sign and send; whether it succeeded, and its hash."""
    web3 = AsyncWeb3(AsyncHTTPProvider(rpc_url))
    account = Account.from_key(private_key)
    transaction = {
        "chainId": call["chain_id"],
        "to": call["to"],
        "data": call["data"],
        "value": int(call["value"]),
        "gas": EXECUTE_GAS,
        "nonce": await web3.eth.get_transaction_count(account.address),
        "maxFeePerGas": 2 * await web3.eth.gas_price,
        "maxPriorityFeePerGas": 0,
    }
    raw = account.sign_transaction(transaction).raw_transaction
    receipt = await web3.eth.wait_for_transaction_receipt(await web3.eth.send_raw_transaction(raw))
    await web3.provider.disconnect()
    return receipt["status"] == 1, "0x" + bytes(receipt["transactionHash"]).hex()


async def report(
    wallet: Wallet, mandate: dict[str, Any], amount: str, tx_hash: str
) -> dict[str, Any]:
    """Report the buy; a lost answer is asked for with the same key, never sent as something new."""
    path = f"/wallet/mandates/{mandate['public_id']}/events"
    key = f"buy-{uuid.uuid5(uuid.NAMESPACE_URL, tx_hash)}"
    buy = {"kind": "buy", "amount_usdc": amount, "tx_hash": tx_hash, "payload": {"why": "a step"}}
    for attempt in range(5):
        try:
            return await wallet.ask("POST", path, key, **buy)
        except OSError:
            await asyncio.sleep(2**attempt)
    raise SystemExit("the service does not answer; ask /reconcile later")


async def main(market: str, amount: str) -> None:
    """One step inside the mandate."""
    env = os.environ
    async with ClientSession() as http:
        wallet = Wallet(http, env["WALLET_BASE"], env["WALLET_KEY"])
        mandate = await accepted_mandate(wallet)
        call = await calldata(wallet, mandate, market, amount)
        ok, tx_hash = await send(call, env["AGENT_PRIVATE_KEY"], env["RPC_URL"])
        if not ok:
            told = await wallet.ask(
                "POST",
                f"/wallet/mandates/{mandate['public_id']}/refusals",
                reason="server_guard",
                tx_hash=tx_hash,
            )
            raise SystemExit(f"the vault refused: {told}")
        told = await report(wallet, mandate, call["amount"], tx_hash)
        print(f"done: {call['amount']} USDC, {tx_hash}, violation: {told['violation']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
