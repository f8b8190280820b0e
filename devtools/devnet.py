"""A development chain with our contracts on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from chain.tx_sender import address_of
from devtools.devchain import DevChain, serve
from domain.ports import Clock
from server.cli.deployment import Deployed, deploy_all, plain_hub_address
from server.settings import ChainSettings
from server.system import SystemClock

IDLE_S: Final = 600
"""Seconds without a block after which an empty one is mined."""


def mine_if_idle(chain: DevChain) -> None:
    """Mine where nothing was sent for long: calls see the newest block's time, and a factory
    refuses terms that were written more than an hour after it.
    """
    with chain.lock:
        if chain.clock() - chain.head.timestamp >= IDLE_S:
            chain.mine()


async def _keep_time(chain: DevChain) -> None:
    while True:
        await asyncio.sleep(IDLE_S / 10)
        mine_if_idle(chain)


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
    time_goes_on = asyncio.create_task(_keep_time(chain))
    deployer, keeper = ("0x" + chain.keys[n].hex() for n in (0, 1))
    try:
        fresh = chain.head.number == 0
        keeper_address = address_of(keeper)
        deployed = (
            await deploy_all(
                url, chain_id, deployer, keeper_address, approvals_on_chain=approvals_on_chain
            )
            if fresh
            else _replayed_contracts(chain)
        )
        yield Devnet(chain, url, deployed, keeper)
    finally:
        time_goes_on.cancel()
        await runner.cleanup()
        chain.close()


def _replayed_contracts(chain: DevChain) -> Deployed:
    """The addresses of the contracts in a replayed journal: the first six creations, in order.

    Errors: ValueError for a journal of an earlier edition, which made five or something else.
    """
    usdc, market, factory, lens, value, deployer = (chain.created() + [""] * 6)[:6]
    hub = plain_hub_address(deployer, factory) if deployer else ""
    state = chain.state_at(chain.head.number, chain.head.timestamp, chain.head.root)
    if not (hub and state.get_code(bytes.fromhex(hub[2:]))):
        raise ValueError("the journal is of an earlier edition of the contracts: begin another")
    return Deployed(usdc, factory, lens, market, value, deployer, hub)


def chain_settings(net: Devnet, poll_s: int = 2, name: str | None = None) -> ChainSettings:
    """The settings of a service in this process that uses the chain."""
    return ChainSettings(
        rpc_url=net.rpc_url,
        usdc=net.deployed.usdc,
        factory=net.deployed.factory,
        lens=net.deployed.lens,
        purse_deployer=net.deployed.purse_deployer,
        purse_hub=net.deployed.purse_hub,
        confirmations=0,
        poll_s=poll_s,
        name=name,
    )


MARKETS: Final = """
[[markets]]
id = "{id}"
name = "{name}"
status = "live"
kind = "erc4626"
chain_id = {chain_id}
address = "{address}"
share_value = "{share_value}"
"""


def market_entry(
    net: Devnet, chain_id: int, market_id: str = "test-market", name: str = "Test Market"
) -> str:
    """The entry of a development chain's market in a markets file."""
    at = net.deployed
    return MARKETS.format(
        id=market_id,
        name=name,
        chain_id=chain_id,
        address=at.market,
        share_value=at.share_value,
    )


def environment(net: Devnet, chain_id: int) -> dict[str, str]:
    """The settings a service needs to use the chain."""
    prefix = f"WALLET_CHAINS__{chain_id}__"
    return {
        "WALLET_DEFAULT_CHAIN_ID": str(chain_id),
        f"{prefix}RPC_URL": net.rpc_url,
        f"{prefix}USDC": net.deployed.usdc,
        f"{prefix}FACTORY": net.deployed.factory,
        f"{prefix}LENS": net.deployed.lens,
        f"{prefix}PURSE_DEPLOYER": net.deployed.purse_deployer or "",
        f"{prefix}PURSE_HUB": net.deployed.purse_hub or "",
        f"{prefix}CONFIRMATIONS": "0",
        f"{prefix}POLL_S": "1",
        "WALLET_KEEPER_PRIVATE_KEY": net.keeper_key,
    }


async def run_devnet(
    host: str,
    port: int,
    chain_id: int,
    journal: Path | None,
    report: Callable[[object], None],
    *,
    venue_port: int | None = None,
    markets: Path | None = None,
) -> None:
    """Run a chain until interrupted, and print the settings to use it; with a port for it, a local
    venue too, where the chain's unlocked accounts have money; with a path for it, a markets file
    that names its market. Errors: OSError where that file cannot be written.
    """
    async with AsyncExitStack() as stack:
        net = await stack.enter_async_context(devnet(host, port, chain_id, journal))
        settings = environment(net, chain_id)
        if venue_port is not None:
            from devtools.local_venue import venues

            funded = [address_of("0x" + key.hex()) for key in net.chain.keys]
            both = await stack.enter_async_context(venues(host, venue_port, funded))
            settings |= both.environment()
        if markets is not None:
            await anyio.Path(markets).write_text(market_entry(net, chain_id))
            settings["WALLET_MARKETS_FILE"] = str(markets.absolute())
        for name, value in settings.items():
            report(f"{name}={value}")
        report(f"market: {net.deployed.market}")
        report(f"share_value: {net.deployed.share_value}")
        await anyio.sleep_forever()
