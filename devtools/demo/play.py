"""The story in fourteen chapters; every one is done for real, and insisted on."""

from __future__ import annotations

import json
import logging
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import anyio
from aiohttp import ClientSession
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from pydantic import SecretStr

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.tx_sender import address_of
from devtools.demo.chapters import acts, asks, is_refused, reads, registers, signs
from devtools.demo.ending import leaves
from devtools.demo.falling import falls
from devtools.demo.looking import settles_in
from devtools.demo.orders import orders
from devtools.demo.paying import pays
from devtools.demo.people import Owner, harness
from devtools.demo.signing import signs_each
from devtools.demo.stage import ASKING_CHAIN_ID, CHAIN_ID, DemoStage
from devtools.demo.stop_line import keeps
from devtools.demo.story import StepFailed, Story
from devtools.demo.trading import trades
from devtools.demo.wallet import DemoWallet
from devtools.devnet import Devnet, chain_settings, devnet, market_entry
from devtools.local_venue import LocalVenues, venues
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.money import Usdc
from domain.refusals import Refused
from http_shim import http_server
from server.cli.maintenance import create_house_key
from server.runtime.serve import serve_until
from server.settings import Settings
from server.system import ending_signals
from skill.connecting import client_config

GIB: Final = Usdc.parse("10000")


async def play(*, stay: bool, port: int, seller: str | None = None) -> int:
    """Play the story; 0 only if every step held. `seller` is the command of a paid service, without
    which the last chapter is left out.
    """
    story, started = Story(), time.monotonic()
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    try:
        # The port first: while the chains start, another program could take it.
        with (
            http_server.bound("127.0.0.1", port) as sock,
            tempfile.TemporaryDirectory(prefix="wallet-demo-") as folder,
        ):
            await _on_stage(story, Path(folder), sock, seller, stay=stay, started=started)
    except* StepFailed as failed:
        story.fail("; ".join(str(e) for e in _leaves(failed)))
    except* Refused as refused:
        story.fail(
            "; ".join(
                f"{e.code}: {e.refusal.reason}" for e in _leaves(refused) if isinstance(e, Refused)
            )
        )
    else:
        return 0
    return 1


def _leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    """The exceptions inside nested groups."""
    return [
        x
        for e in group.exceptions
        for x in (_leaves(e) if isinstance(e, BaseExceptionGroup) else [e])
    ]


async def _on_stage(
    story: Story,
    folder: Path,
    sock: socket.socket,
    seller: str | None,
    *,
    stay: bool,
    started: float,
) -> None:
    story.chapter(1, "A chain, contracts, a database and the service")
    async with (
        devnet("127.0.0.1", 0, CHAIN_ID) as net,
        devnet("127.0.0.1", 0, ASKING_CHAIN_ID, approvals_on_chain=True) as asking,
        venues("127.0.0.1", 0, _people(net)) as both,
    ):
        story.print_line(f"embedded EVM (chain {CHAIN_ID}) at {net.rpc_url}")
        story.print_line(f"another, whose vaults keep approvals (chain {ASKING_CHAIN_ID})")
        for name, address in (
            ("test USDC", net.deployed.usdc),
            ("vault factory", net.deployed.factory),
            ("ERC-4626 market", net.deployed.market),
        ):
            story.print_line(f"{name} at {address}")
        markets = folder / "markets.toml"
        markets.write_text(
            market_entry(net, CHAIN_ID)
            + market_entry(asking, ASKING_CHAIN_ID, "signed-market", "Signed Market")
        )
        story.print_line(
            f"local trading venue at {both.mainnet_url} (mainnet) and {both.testnet_url} (testnet)"
        )
        settings = _settings(folder, net, asking, markets, http_server.address_of(sock), both)
        async with anyio.create_task_group() as group, ClientSession() as http:
            stop = anyio.Event()
            demo = _wallet(net, asking, settings) if stay else None
            base = await group.start(_service, settings, sock, stop, demo)
            story.hold(
                f"a fresh SQLite database, and the service on one port: {base}",
                truth=await _up(http, base),
            )
            stage = await _cast(story, folder, net, asking, settings, base, http)
            try:
                await _chapters(stage, seller)
                story.end(int(time.monotonic() - started))
                if stay:
                    await settles_in(stage)
                    await _stay(stage)
            finally:
                await _leave(stage, demo)
                stop.set()


def _wallet(net: Devnet, asking: Devnet, settings: Settings) -> DemoWallet:
    """The owner's wallet for the browser, on both chains of this process."""
    chains = {CHAIN_ID: net, ASKING_CHAIN_ID: asking}
    return DemoWallet("0x" + net.chain.keys[2].hex(), chains, settings.base_url or "")


def _people(net: Devnet) -> list[str]:
    """Addresses of the chain's keys, which have money at the venue too."""
    return [address_of("0x" + key.hex()) for key in net.chain.keys]


def _settings(
    folder: Path, net: Devnet, asking: Devnet, markets: Path, base: str, both: LocalVenues
) -> Settings:
    return Settings(
        database_url=f"sqlite:///{folder / 'wallet.sqlite'}",
        base_url=base,
        default_chain_id=CHAIN_ID,
        chains={
            CHAIN_ID: chain_settings(net, poll_s=1),
            ASKING_CHAIN_ID: chain_settings(asking, poll_s=1, name="second development chain"),
        },
        keeper_private_key=SecretStr(net.keeper_key),
        markets_file=markets,
        door="on",
        keeper_tick_s=1,
        chain_read_ms=5_000,  # its chains are in this process, and work at a machine's own pace
        venue_mainnet_url=both.mainnet_url,
        venue_testnet_url=both.testnet_url,
        signer_socket=folder / "signer.sock",
        signer_keys=folder / "signer",
        signer_seal_file=folder / "seal",
    )


async def _service(
    settings: Settings,
    sock: socket.socket,
    stop: anyio.Event,
    demo: DemoWallet | None,
    *,
    task_status: Any,
) -> None:
    ready = task_status.started
    await serve_until(settings, sock, stop, keeper=True, ready=ready, demo=demo)


async def _up(http: ClientSession, base: str) -> bool:
    async with http.get(base + "/readyz") as response:
        return response.status == 200


async def _cast(
    story: Story,
    folder: Path,
    net: Devnet,
    asking: Devnet,
    settings: Settings,
    base: str,
    http: ClientSession,
) -> DemoStage:
    owner_wallet, agent_wallet = (
        LocalWallet("0x" + net.chain.keys[n].hex(), net.rpc_url) for n in (2, 3)
    )
    mint = Call(
        CHAIN_ID,
        net.deployed.usdc,
        abi_codec.calldata("TestUSDC", "mint", (owner_wallet.address, GIB)),
    )
    await owner_wallet.send(mint)
    owner = Owner(http, base, owner_wallet, CHAIN_ID)
    keeper = await create_house_key(settings, "keeper")
    chain = EvmChain(settings.chain_facts()[0])
    people = owner, agent_wallet
    return DemoStage(story, folder, net, settings, base, *people, chain, asking, keeper["key"])


async def _leave(stage: DemoStage, demo: DemoWallet | None) -> None:
    with anyio.CancelScope(shield=True):
        for wallet in (stage.owner.wallet, stage.agent_wallet):
            await wallet.close()
        if demo is not None:
            await demo.close()
        await stage.chain.close()


async def _chapters(stage: DemoStage, seller: str | None) -> None:
    await registers(stage)
    await signs(stage)
    stdio = StdioServerParameters(
        command=sys.executable, args=["-m", "server", "mcp"], env=stage.service_env()
    )
    async with harness(stdio, stage.agent_wallet) as agent:
        await acts(stage, agent)
    headers = {"X-Service-User-Key": stage.seen["agent_key"]}
    async with harness(
        sse_client(stage.base + "/sse", headers=headers), stage.agent_wallet
    ) as agent:
        await is_refused(stage, agent)
    key_file = _key_file(stage)
    local = StdioServerParameters(
        command=sys.executable,
        args=["-m", "server", "mcp", "--url", stage.base, "--agent-key-file", key_file],
        env=stage.service_env(),
    )
    async with harness(local, stage.agent_wallet) as agent:
        await asks(stage, agent)
    await reads(stage)
    await leaves(stage)
    await falls(stage, 9)
    await signs_each(stage, 10)
    secret = await trades(stage.story, stage.owner, 11)
    await orders(stage, secret, 12)
    await keeps(stage, secret, 13)
    if seller is None:
        stage.story.print_line("no --seller: the chapter of payments is left out")
    else:
        await pays(stage, seller, key_file, 14)


def _key_file(s: DemoStage) -> str:
    """The agent's key in a file of its own, which no service reads."""
    file = s.folder / "agent.key"
    file.touch(mode=0o600)
    file.write_text("0x" + s.net.chain.keys[3].hex())
    return str(file)


async def _stay(s: DemoStage) -> None:
    """Serve until a signal, as by Ctrl-C, ends it; then everything that was made goes."""
    with anyio.open_signal_receiver(*ending_signals()) as signals:
        _invite(s)
        async for _ in signals:
            return


def _invite(s: DemoStage) -> None:
    """Say how to connect."""
    key = s.seen["agent_key"]
    print("\nThe service stays up, with the door on. Ctrl-C ends it.\n")
    print(f"In a browser: {s.base}/app, with the demo wallet that it offers.\n")
    for name, config in client_config(s.base, key).items():
        print(f"{name}: {config if isinstance(config, str) else json.dumps(config)}")
    print(f'\ncurl -H "X-Service-User-Key: {key}" {s.base}/wallet/agents/me', flush=True)
