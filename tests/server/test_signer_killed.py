"""A signer that is killed while it answers: what is repeated is never done twice, nor signed with another nonce."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession, web

from http_shim.http_server import address_of, bound
from server.signer.client import SignerClient
from tests.hosted import hosted
from tests.tools.acting.test_act import address, enter, sent_by
from tests.waiting import PATIENTLY, STUCK_S
from tests.world import CHAIN_ID, World

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
SIGNED = re.compile(r"signed (0x[0-9a-f]{64}) .* nonce (\d+)")


class Node:
    """The node that a process asks; `at` is the call at which something happens to that process,
    `after` it was done.
    """

    def __init__(self, world: World):
        self.world, self.at, self.after, self.asked = world, "", False, asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        is_held = bool(self.at) and self.at.encode() in body
        if is_held and not self.after:
            await self._hold()
        async with ClientSession() as http, http.post(self.world.evm.url, data=body) as reply:
            told = await reply.read()
        if is_held:
            await self._hold()
        return web.Response(body=told, content_type="application/json")

    async def _hold(self) -> None:
        self.asked.set()
        await asyncio.sleep(STUCK_S)


class Process:
    """`wallet signer` as it is started, killed and started again on the same keys."""

    def __init__(self, world: World, folder: Path, node_url: str):
        self.folder, self.socket, self.process = folder, folder / "signer.sock", None
        self.log = folder / "signer.log"
        chain, evm = f"WALLET_CHAINS__{CHAIN_ID}__", world.evm
        self.env = PATIENTLY | {
            "PATH": os.defpath, "PYTHONPATH": str(ROOT), "WALLET_HOSTED_AGENTS": "on", "WALLET_LOG_LEVEL": "INFO",
            "WALLET_SIGNER_SOCKET": str(self.socket), "WALLET_SIGNER_KEYS": str(folder / "keys"),
            "WALLET_SIGNER_SEAL_FILE": str(folder / "seal"), "WALLET_SIGNER_PEER_UID": str(os.getuid()),
            f"{chain}RPC_URL": node_url, f"{chain}USDC": evm.usdc, f"{chain}FACTORY": evm.factory,
            f"{chain}LENS": evm.lens, f"{chain}CONFIRMATIONS": "0",
        }  # fmt: skip
        (folder / "seal").write_text("s" * 40)
        (folder / "seal").chmod(0o600)

    async def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "server", "signer"],
                env=self.env, cwd=self.folder, stdout=log, stderr=log,
            )  # fmt: skip
        with anyio.fail_after(STUCK_S):
            while not self.socket.exists():
                assert self.process.poll() is None, self.log.read_text()
                await anyio.sleep(0.05)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(STUCK_S)

    def signed(self) -> list[tuple[str, int]]:
        """Each transaction that it says to have signed, with its nonce."""
        return [(tx_hash, int(nonce)) for tx_hash, nonce in SIGNED.findall(self.log.read_text())]


@pytest.fixture
async def signer(world: World, tmp_path: Path) -> AsyncIterator[tuple[Process, Node]]:
    node = Node(world)
    app = web.Application()
    app.router.add_post("/{tail:.*}", node.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    sock = bound("127.0.0.1", 0)
    await web.SockSite(runner, sock).start()
    process = Process(world, tmp_path, address_of(sock))
    await process.start()
    world.remembers = False
    world.deps = replace(world.deps, agent_signer=SignerClient(process.socket))
    try:
        yield process, node
    finally:
        process.kill()
        await runner.cleanup()


async def test_a_signer_that_is_killed_at_its_work_has_signed_nothing_and_the_repeat_does_it_once(
    world: World, signer: tuple[Process, Node]
) -> None:
    process, node = signer
    m = await hosted(world)

    async def kill() -> None:
        with anyio.fail_after(STUCK_S):
            await node.asked.wait()
        process.kill()

    # What the signer asks its node for before it signs: who signed the terms, the vault, the call, the fee.
    for at in ("eth_call", "eth_gasPrice"):
        node.at, node.asked = at, asyncio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(kill)
            told = await enter(m, "in-1", "40")
        assert (told.status, told.body["error"]) == (409, "not_configured")
        assert process.signed() == []
        assert await sent_by(m) == 0
        node.at = ""
        await process.start()
    done: Any = (await enter(m, "in-1", "40")).body
    assert done["outcome"] == "landed", done
    assert [tx_hash for tx_hash, _ in process.signed()] == [done["tx_hash"]]
    assert await sent_by(m) == 1


async def test_what_was_signed_and_lost_with_its_signer_is_the_same_act_when_it_is_repeated(
    world: World, signer: tuple[Process, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = signer
    m = await hosted(world)
    key, real = await address(m), SignerClient._query_signer

    async def lost(self: SignerClient, request: Any) -> Any:
        await real(self, request)
        process.kill()
        raise ConnectionResetError

    for n in range(2):
        with monkeypatch.context() as gone:
            gone.setattr(SignerClient, "_query_signer", lost)
            told = await enter(m, "in-1", "40")
        assert (told.status, told.body["error"]) == (409, "not_configured")
        await process.start()
        assert len(process.signed()) == n + 1
    done: Any = (await enter(m, "in-1", "40")).body
    assert done["outcome"] == "landed", done
    # All of them have one nonce: whoever found a lost one could replace nothing by it.
    assert {nonce for _, nonce in process.signed()} == {0}
    assert (await enter(m, "in-1", "40")).body == done
    assert await sent_by(m) == 1
    other: Any = (await enter(m, "in-2", "5")).body
    assert (other["outcome"], await address(m)) == ("landed", key)
    assert [nonce for _, nonce in process.signed()] == [0, 0, 0, 1]
