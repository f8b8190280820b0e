"""An owner, a mandate with money in its vault, and the agent that may spend it, on a development
chain: `python first_agent.py URL RPC_URL`. Prints what the agent has to know, for a shell's `eval`.

Both keys are made here; the owner's is forgotten, so that this is a rehearsal and no way in for a
person.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Final

from aiohttp import ClientSession
from eth_account import Account

from chain.contracts import abi_codec
from devtools.demo.people import Owner
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.money import Usdc

MARKET: Final = "test-market"
BUDGET: Final = "500"
GAS_MONEY: Final = 10**18
"""Wei, for each of both."""


async def main(base_url: str, rpc_url: str) -> None:
    """Errors: StepFailed where the service refuses a step."""
    keys = ["0x" + bytes(Account.create().key).hex() for _ in range(2)]
    owner_wallet, agent_wallet = (LocalWallet(key, rpc_url) for key in keys)
    async with ClientSession() as http:

        async def node(method: str, *params: object) -> Any:
            """The answer of the chain's node."""
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            async with http.post(rpc_url, json=body) as response:
                return (await response.json())["result"]

        chain_id = int(await node("eth_chainId"), 16)
        rich = (await node("eth_accounts"))[-1]
        for wallet in (owner_wallet, agent_wallet):
            gift = {"from": rich, "to": wallet.address, "value": hex(GAS_MONEY)}
            await node("eth_sendTransaction", gift)
        owner = Owner(http, base_url, owner_wallet, chain_id)
        await owner.sign_in()
        named = {"name": "Scout", "address": agent_wallet.address}
        agent = await owner.ask("POST", "/wallet/agents", named, expect=201)
        policy = f"/wallet/agents/{agent['agent_id']}/policy"
        await owner.ask("PUT", policy, {"accepts_mandates": True})
        chains = (await owner.ask("GET", "/wallet/chains"))["items"]
        (usdc,) = [chain["usdc"] for chain in chains if chain["chain_id"] == chain_id]
        mint = abi_codec.calldata("TestUSDC", "mint", (owner.wallet.address, Usdc.parse(BUDGET)))
        await owner.wallet.send(Call(chain_id, usdc, mint))
        terms = {
            "purpose": "lend USDC",
            "budget_usdc": BUDGET,
            "per_tx_cap_usdc": "50",
            "daily_cap_usdc": "200",
            "horizon_days": 30,
            "agent_id": agent["agent_id"],
            "markets": [MARKET],
        }
        await owner.agree(terms, BUDGET)
        markets = (await owner.ask("GET", "/wallet/markets"))["items"]
        (market,) = [m["target"]["address"] for m in markets if m["id"] == MARKET]
    for wallet in (owner_wallet, agent_wallet):
        await wallet.close()
    for name, value in (
        ("WALLET_BASE", base_url),
        ("WALLET_KEY", agent["key"]),
        ("AGENT_PRIVATE_KEY", keys[1]),
        ("MARKET", market),
    ):
        sys.stdout.write(f"export {name}={value}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
