"""Markets that are hard to leave, on the embedded chain: an ERC-4626 one and a pool of Aave's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from eth_abi import decode

from chain.contracts import abi_codec
from chain.tx_sender import deploy
from domain.chain_facts import Call
from domain.mandates.markets import from_config
from domain.money import Usdc
from tests.contracts.harness import artifact
from tests.world import CHAIN_ID, Mandated, World

PIECES = {"vault": "HardExit", "pool": "IndexPool"}


@dataclass
class HardMarkets:
    """The markets `hard` (ERC-4626) and `pool` (Aave's form) of a world's markets file."""

    world: World
    vault: str
    pool: str
    token: str

    def targets(self) -> list[dict[str, Any]]:
        """The entries of both."""
        markets = from_config(self.world.deps.config.markets)
        return [{"kind": "vault"}, *(t.as_json() for m in markets for t in m.targets())]

    async def _read(self, to: str, function: str, *args: Any) -> int:
        chain = self.world.chains.get(CHAIN_ID)
        data = chain.function_call(function, args)
        answer = await chain.eth_call(to, data, await chain.latest())
        return int.from_bytes(answer, "big")

    async def owned(self, m: Mandated) -> int:
        """The shares of a vault."""
        return await self._read(self.vault, "balanceOf(address)", m.vault)

    async def supplied(self, m: Mandated) -> int:
        """The pool's balance of a vault."""
        return await self._read(self.token, "balanceOf(address)", m.vault)

    async def tell(self, to: str, function: str, *args: Any) -> None:
        """Send a call of a stranger's."""
        data = self.world.chains.get(CHAIN_ID).function_call(function, args)
        await self.world.wallets[0].send(Call(CHAIN_ID, to, data))

    async def harden(self, *, free: int = 2**256 - 1, boast: int = 0, keeps: str = "0") -> None:
        """Let the ERC-4626 market free so many shares, name so many more, keep so much of an exit."""
        values = free, boast, Usdc.parse(keeps)
        await self.tell(self.vault, "set(uint256,uint256,uint256)", *values)

    async def gain(self, amount: str) -> None:
        """Let the ERC-4626 market's shares be worth more."""
        await self.world.mint(self.vault, amount)

    async def lose(self, amount: str) -> None:
        """Let the ERC-4626 market's shares be worth less."""
        await self.tell(self.vault, "lose(uint256)", Usdc.parse(amount))

    async def grow(self, bps: int) -> None:
        """Let the pool's balances grow, and bring money for it."""
        await self.world.mint(self.token, "500")
        await self.tell(self.pool, "grow(uint256)", bps)

    async def enter(self, m: Mandated, market: str, amount: str) -> None:
        """The agent puts money into a market, and the ledger knows it."""
        chain, usdc = self.world.chains.get(CHAIN_ID), Usdc.parse(amount)
        to, data = self.vault, chain.function_call("deposit(uint256,address)", (usdc, m.vault))
        if market == "pool":
            to, call = self.pool, "supply(address,uint256,address,uint16)"
            data = chain.function_call(call, (self.world.evm.usdc, usdc, m.vault, 0))
        told = await m.as_agent("mandate_execute_call", target=to, data=data, approve_amount=amount)
        assert told.status == 200, told.body
        await m.recorded(m.agent_wallet, told.body)


async def hard_markets(world: World, **hard: Any) -> HardMarkets:
    """Deploy both and let the world's markets file know them; `hard` are keys of the ERC-4626 one."""
    chain = world.chains.get(CHAIN_ID)
    with patch.object(abi_codec, "artifact", artifact):
        made = {
            n: await deploy(chain, world.evm.key(0), c, (world.evm.usdc,))
            for n, c in PIECES.items()
        }
    answer = await chain.eth_call(
        made["pool"], chain.function_call("token()", ()), await chain.latest()
    )
    token = world.chains.address(decode(["address"], answer)[0])
    both = {"status": "live", "chain_id": CHAIN_ID}
    rows: Sequence[dict[str, Any]] = (
        both
        | {"id": "hard", "name": "Hard Market", "kind": "erc4626", "address": made["vault"]}
        | hard,
        both
        | {"id": "pool", "name": "Aave v3", "kind": "aave", "address": made["pool"]}
        | {"share_token": token},
    )
    world.deps = replace(world.deps, config=replace(world.deps.config, markets=tuple(rows)))
    return HardMarkets(world, made["vault"], made["pool"], token)
