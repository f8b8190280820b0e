"""A development chain with our contracts on it, and deployments on other chains."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from chain.adapter import ChainConfig, EvmChain
from chain.tx_sender import deploy
from devtools.devchain import DevChain, serve
from devtools.local_wallet import address_of
from domain.ports import Clock
from domain.refusals import Refused, refusal
from server.settings import Settings
from server.wiring import SystemClock, chain_facts


@dataclass(frozen=True, slots=True)
class Deployed:
    """Addresses of what was deployed."""

    usdc: str
    factory: str
    lens: str
    market: str | None
    share_value: str | None = None


async def deploy_all(
    rpc_url: str,
    chain_id: int,
    key: str,
    keeper: str,
    *,
    usdc: str | None = None,
    approvals_on_chain: bool = False,
) -> Deployed:
    """Deploy the factory and the lens, and on a chain without USDC a test USDC and a market with
    its value probe.
    """
    chain = EvmChain(ChainConfig(chain_id, rpc_url, confirmations=0))
    try:
        token = usdc or await deploy(chain, key, "TestUSDC")
        market = None if usdc else await deploy(chain, key, "TestMarket", (token,))
        factory = await deploy(
            chain, key, "MandateVaultFactory", (token, keeper, approvals_on_chain)
        )
        lens = await deploy(chain, key, "VaultLens")
        value = await deploy(chain, key, "ShareValue", (market,)) if market else None
    finally:
        await chain.close()
    return Deployed(token, factory, lens, market, value)


@dataclass(frozen=True, slots=True)
class Devnet:
    """A running development chain."""

    chain: DevChain
    rpc_url: str
    deployed: Deployed
    keeper_key: str


@asynccontextmanager
async def devnet(
    host: str,
    port: int,
    chain_id: int,
    journal: Path | None = None,
    clock: Clock | None = None,
    *,
    approvals_on_chain: bool = False,
) -> AsyncIterator[Devnet]:
    """Start a chain, deploy on it where nothing is there yet, stop it at the end. Its first key
    deploys, its second keeps.
    """
    time = clock or SystemClock()
    chain = DevChain(lambda: int(time.now().timestamp()), chain_id, journal)
    runner, url = await serve(chain, host, port)
    deployer, keeper = ("0x" + chain.keys[n].hex() for n in (0, 1))
    try:
        fresh = chain.head.number == 0
        keeper_address = address_of(keeper)
        deployed = (
            await deploy_all(
                url, chain_id, deployer, keeper_address, approvals_on_chain=approvals_on_chain
            )
            if fresh
            else _again(chain)
        )
        yield Devnet(chain, url, deployed, keeper)
    finally:
        await runner.cleanup()
        chain.close()


def _again(chain: DevChain) -> Deployed:
    """Where a replayed journal has the contracts: the first five creations, in their order.

    Errors: ValueError for a journal of an earlier edition, which made four.
    """
    if len(chain.created()) < 5:
        raise ValueError("the journal is of an earlier edition of the contracts: begin another")
    usdc, market, factory, lens, value = chain.created()[:5]
    return Deployed(usdc, factory, lens, market, value)


def environment(net: Devnet, chain_id: int) -> dict[str, str]:
    """The settings a service needs to use the chain."""
    prefix = f"WALLET_CHAINS__{chain_id}__"
    return {
        "WALLET_DEFAULT_CHAIN_ID": str(chain_id),
        f"{prefix}RPC_URL": net.rpc_url,
        f"{prefix}USDC": net.deployed.usdc,
        f"{prefix}FACTORY": net.deployed.factory,
        f"{prefix}LENS": net.deployed.lens,
        f"{prefix}CONFIRMATIONS": "0",
        f"{prefix}POLL_S": "1",
        "WALLET_KEEPER_PRIVATE_KEY": net.keeper_key,
    }


async def run_devnet(
    host: str,
    port: int,
    chain_id: int,
    journal: Path | None,
    say: Callable[[Any], None],
    *,
    venue_port: int | None = None,
) -> None:
    """Run a chain until interrupted, and print the settings to use it; with a port for it, a local
    venue too, where the chain's unlocked accounts have money.
    """
    async with AsyncExitStack() as stack:
        net = await stack.enter_async_context(devnet(host, port, chain_id, journal))
        settings = environment(net, chain_id)
        if venue_port is not None:
            from devtools.local_venue import venues

            funded = [address_of("0x" + key.hex()) for key in net.chain.keys]
            both = await stack.enter_async_context(venues(host, venue_port, funded))
            settings |= both.environment()
        for name, value in settings.items():
            say(f"{name}={value}")
        say(f"market: {net.deployed.market}")
        say(f"share_value: {net.deployed.share_value}")
        await anyio.sleep_forever()


async def deploy_contracts(
    settings: Settings,
    chain_id: int,
    key: str,
    keeper_address: str | None,
    *,
    approvals_on_chain: bool = False,
) -> dict[str, str]:
    """Deploy on a configured chain; answers the settings to add.

    Errors: `not_configured` without an RPC address, USDC or keeper.
    """
    facts, rpc_url = _where(settings, chain_id)
    if keeper_address is None and settings.keeper_private_key is not None:
        keeper_address = address_of(settings.keeper_private_key.get_secret_value())
    if keeper_address is None:
        raise Refused(refusal("not_configured", what="a keeper address"))
    done = await deploy_all(
        rpc_url,
        chain_id,
        key,
        keeper_address,
        usdc=facts.usdc,
        approvals_on_chain=approvals_on_chain,
    )
    prefix = f"WALLET_CHAINS__{chain_id}__"
    raw = {
        f"{prefix}USDC": done.usdc,
        f"{prefix}FACTORY": done.factory,
        f"{prefix}LENS": done.lens,
    }
    return raw | (
        {"market": done.market, "share_value": done.share_value or ""} if done.market else {}
    )


async def deploy_share_value(
    settings: Settings, chain_id: int, key: str, market: str
) -> dict[str, str]:
    """Deploy the value probe of an ERC-4626 market; answers the line for its entry in the markets
    file.

    Errors: `not_configured` without an RPC address.
    """
    facts, _ = _where(settings, chain_id)
    chain = EvmChain(facts)
    try:
        return {"share_value": await deploy(chain, key, "ShareValue", (market,))}
    finally:
        await chain.close()


def _where(settings: Settings, chain_id: int) -> tuple[ChainConfig, str]:
    facts = next((f for f in chain_facts(settings) if f.chain_id == chain_id), None)
    if facts is None or facts.rpc_url is None:
        raise Refused(refusal("not_configured", what=f"an RPC address of chain {chain_id}"))
    return facts, facts.rpc_url
